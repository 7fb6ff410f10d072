//! Changes that make the same program, so that no test can tell: a list, with the reason of each.
//!
//! ```text
//!   storage/model/src/id.rs, < becomes <= in Id::least, at 6
//!       if a < b { a } else { b }
//!       Where both are equal, it is the same whichever is taken.
//! ```
//!
//! An entry names the file, the change, the column within the trimmed line, and that line. A test holds that each names one change of the
//! code as it is.

use crate::find::Mutant;

const LIST: &str = include_str!("../same.txt");

/// An entry of the list.
pub struct Same {
    head: String,
    line: String,
    reason: String,
}

impl Same {
    /// Is it about this change?
    pub fn is(&self, mutant: &Mutant) -> bool {
        self.head == head(mutant) && self.line == mutant.line
    }
}

fn head(mutant: &Mutant) -> String {
    format!("{}, {}, at {}", mutant.file, mutant.change, mutant.column)
}

/// A change as the list names it.
pub fn entry(mutant: &Mutant) -> String {
    format!("{}\n    {}", head(mutant), mutant.line)
}

/// The list.
///
/// # Errors
/// An entry has no line or no reason.
pub fn read() -> Result<Vec<Same>, String> {
    parse(LIST)
}

fn parse(list: &str) -> Result<Vec<Same>, String> {
    let mut all: Vec<Same> = Vec::new();
    let lines = list.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    for line in lines {
        let text = line.trim().to_string();
        match all.last_mut().filter(|_| line.starts_with(' ')) {
            None => all.push(Same { head: text, line: String::new(), reason: String::new() }),
            Some(entry) if entry.line.is_empty() => entry.line = text,
            Some(entry) => entry.reason.push_str(&text),
        }
    }
    match all.iter().find(|entry| entry.reason.is_empty()) {
        Some(entry) => Err(format!("same.txt gives no reason for {}", entry.head)),
        None => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::mutants;
    use std::path::Path;

    const TEXT: &str = "fn least(a: u32, b: u32) -> u32 {\n    if a < b { a } else { b }\n}\n";

    #[test]
    fn an_entry_is_about_one_change() {
        let all = mutants("id.rs", TEXT).unwrap();
        let list =
            "# Why.\n\nid.rs, < becomes <= in least, at 6\n    if a < b { a } else { b }\n    Either.\n";
        let same = parse(list).unwrap();
        let named: Vec<&str> =
            all.iter().filter(|mutant| same[0].is(mutant)).map(|mutant| &*mutant.change).collect();
        assert_eq!(named, ["< becomes <= in least"]);
        // What is printed of a survivor is an entry without its reason.
        let mutant = all.iter().find(|mutant| same[0].is(mutant)).unwrap();
        assert!(list.contains(&entry(mutant)));
        assert!(parse(&entry(mutant)).is_err());
    }

    /// Code moves on; an entry whose line has changed is looked at again.
    #[test]
    fn every_entry_is_about_code_that_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let is_one = |same: &Same| {
            let file = same.head.split(',').next().unwrap();
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            let all = mutants(file, &text).unwrap();
            all.iter().filter(|mutant| same.is(mutant)).count() == 1
        };
        let gone = read().unwrap().into_iter().filter(|same| !is_one(same));
        let gone: Vec<String> = gone.map(|same| format!("{}\n    {}", same.head, same.line)).collect();
        assert!(gone.is_empty(), "same.txt:\n{}", gone.join("\n"));
    }
}
