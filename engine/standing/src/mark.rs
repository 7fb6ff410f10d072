//! Marks: where a reader of a standing query resumes.
//!
//! A mark names a commit by its version and its time, and the answer that was read by a fingerprint: of the query's name, its text and the arguments.
//! So the mark of another query is refused, and so is one of another database, whose commit at that version had another time.

use crate::row::Row;
use std::fmt;
use std::str::FromStr;
use transact::Point;

/// A reader got everything of one answer up to a commit. Its text form is what `SUBSCRIBE … FROM` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The commit.
    pub at: Point,
    /// Which answer it was.
    answer: u32,
}

impl Mark {
    pub(crate) fn new(at: Point, answer: u32) -> Mark {
        Mark { at, answer }
    }
    pub(crate) fn is_of(&self, answer: u32) -> bool {
        self.answer == answer
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}-{:x}", self.at.commit_version, self.answer, self.at.time_micros)
    }
}

impl FromStr for Mark {
    type Err = String;
    fn from_str(text: &str) -> Result<Mark, String> {
        let read = || {
            let (commit_version, rest) = text.split_once('-')?;
            let (answer, time) = rest.split_once('-')?;
            let commit_version = commit_version.parse().ok()?;
            let time_micros = u64::from_str_radix(time, 16).ok()?;
            Some(Mark::new(Point { commit_version, time_micros }, u32::from_str_radix(answer, 16).ok()?))
        };
        // A mark is written in one way only.
        read().filter(|mark| mark.to_string() == text).ok_or_else(|| {
            let shown = &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)];
            format!("`{shown}` is no mark")
        })
    }
}

/// Bytes of an invalid mark that an error shows.
const SHOWN_BYTES_MAX: usize = 80;

/// The point after which a reader resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The commit at this version.
    Commit(u64),
    /// A mark that it was given.
    Mark(Mark),
}

impl Resume {
    /// Version of the commit.
    pub fn commit_version(&self) -> u64 {
        match self {
            Resume::Commit(commit_version) => *commit_version,
            Resume::Mark(mark) => mark.at.commit_version,
        }
    }
    /// Is this that commit?
    pub(crate) fn fits(&self, at: Point) -> bool {
        match self {
            // A commit version that no commit has is as good as that of the one before it.
            Resume::Commit(_) => true,
            Resume::Mark(mark) => mark.at == at,
        }
    }
}

/// Distinguishes answers: FNV-1a (Fowler, Noll, Vo), 64 bits folded to 32. It must not change from one version to the next.
pub(crate) fn fingerprint(name: &str, text: &str, arguments: &Row) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        // No text holds the last byte.
        for byte in bytes.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(name.as_bytes());
    add(text.as_bytes());
    arguments.values().iter().for_each(|value| add(format!("{value:?}").as_bytes()));
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    #[test]
    fn marks_are_read_as_they_were_written_or_not_at_all() {
        for (commit_version, time_micros) in [(0, 0), (4_711, 1_764_000_000_000_000), (u64::MAX, u64::MAX)] {
            let mark = Mark::new(Point { commit_version, time_micros }, 7);
            assert_eq!(mark.to_string().parse::<Mark>().unwrap(), mark);
        }
        let wrong =
            ["", "4711", "4711-00000007", "4711-7-a", "4711-00000007-a ", "+1-00000007-a", "1-00000007-A"];
        for wrong in wrong.into_iter().chain(["01-00000007-a", "1-00000007--a", "é-é-é", "1-00000007-a-b"])
        {
            assert!(wrong.parse::<Mark>().is_err(), "{wrong}");
        }
        assert!("é".repeat(1_000).parse::<Mark>().unwrap_err().len() < 200);
    }

    #[test]
    fn answers_have_fingerprints_that_do_not_change() {
        let row = |value: Value| Row::new([value]);
        assert_eq!(fingerprint("q", "RETURN 1 AS one", &Row::unit()), FIXED);
        let all = [
            fingerprint("q", "a", &Row::unit()),
            fingerprint("qa", "", &Row::unit()),
            fingerprint("r", "a", &Row::unit()),
            fingerprint("q", "a", &row(Value::Int(1))),
            fingerprint("q", "a", &row(Value::Float(1.0))),
            fingerprint("q", "a", &row(Value::from("1"))),
        ];
        assert!((1..all.len()).all(|at| !all[..at].contains(&all[at])));
    }
    const FIXED: u32 = 3129356366;
}
