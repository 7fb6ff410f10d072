//! Bookmarks: a commit version, as text that a client keeps and gives back.

use database::{Database, Error};
use model::{Map, Value};
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

const PREFIX: &str = "tanglewood:";
/// Bookmarks that a client may give at once.
const BOOKMARKS_MAX: usize = 1_024;

/// The bookmark of a commit version.
pub fn of(commit_version: u64) -> Value {
    format!("{PREFIX}{commit_version}").into()
}

/// The commit version that a session has seen: the latest of the bookmarks in `extra`.
///
/// # Errors
/// One of them is none of this database's.
pub fn latest(extra: &Map) -> Result<u64, Error> {
    let Some(Value::List(bookmarks)) = extra.get("bookmarks") else { return Ok(0) };
    if bookmarks.len() > BOOKMARKS_MAX {
        return Err(wrong(format!("{} bookmarks are too many; {BOOKMARKS_MAX} are read", bookmarks.len())));
    }
    bookmarks.iter().try_fold(0, |latest, bookmark| {
        commit_version(bookmark).map(|commit_version| commit_version.max(latest))
    })
}

/// Waits until the database has the commit at this version. `go_on` pauses between two checks, and returns whether the client still waits.
///
/// # Errors
/// It did not happen in time, or the client has gone.
pub fn wait(
    database: &Database,
    commit_version: u64,
    timeout: Duration,
    mut go_on: impl FnMut() -> bool,
) -> Result<(), Error> {
    let until_ns = after_ns(timeout);
    while commit_version > 0 && database.snapshot().commit_version() < commit_version {
        if monotonic_ns() >= until_ns || !go_on() {
            let code = "Neo.TransientError.Transaction.BookmarkTimeout";
            let message =
                format!("commit {commit_version}, of a bookmark that was given, did not happen here in time");
            return Err(Error { retryable: true, ..Error::new(code, message) });
        }
    }
    Ok(())
}

fn commit_version(bookmark: &Value) -> Result<u64, Error> {
    let text = bookmark.as_str().unwrap_or_default();
    text.strip_prefix(PREFIX)
        .and_then(|commit_version| commit_version.parse().ok())
        .ok_or_else(|| wrong(format!("`{}` is not a bookmark of this database", shown(text))))
}

/// A name from outside, cut where it becomes long.
fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

fn wrong(what: String) -> Error {
    Error::new("Neo.ClientError.Transaction.InvalidBookmark", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_counts_and_strangers_are_refused() {
        let extra = |bookmarks: &[&str]| -> Map {
            let list = bookmarks.iter().map(|text| (*text).into()).collect();
            [("bookmarks".into(), Value::list(list))].into_iter().collect()
        };
        assert_eq!(latest(&Map::new()), Ok(0));
        assert_eq!(latest(&extra(&["tanglewood:7", "tanglewood:12", "tanglewood:3"])), Ok(12));
        for wrong in ["", "neo4j:7", "tanglewood:", "tanglewood:-1", "tanglewood:99999999999999999999"] {
            let code = latest(&extra(&["tanglewood:7", wrong])).map_err(|error| error.code);
            assert_eq!(code, Err("Neo.ClientError.Transaction.InvalidBookmark".to_string()), "{wrong}");
        }
    }
}
