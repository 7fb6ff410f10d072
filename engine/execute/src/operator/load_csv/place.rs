//! The location that a text names: a file below the import folder, or a URL.

use crate::ExecuteError;
use formats::urls::redacted;
use model::Value;
use std::path::{Component, Path, PathBuf};

/// Bytes of a file's name that a message shows.
const NAME_SHOWN_BYTES_MAX: usize = 200;

/// Where a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilePlace {
    /// Below the import folder.
    Below(PathBuf),
    Url(String),
}

/// The location that a text names: `file:///name.csv`, a path relative to the folder, or `https://…`.
pub(super) fn resolve(clause: &str, file: &Value) -> Result<FilePlace, ExecuteError> {
    let refuse = |why: &str| Err(refusal(clause, file, &why));
    let Some(text) = file.as_str() else { return refuse("the file is named by a text") };
    let relative = match text.split_once(':') {
        Some(("file", path)) => decoded(path).trim_start_matches('/').to_string(),
        Some((scheme, _)) if ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {
            return Ok(FilePlace::Url(text.to_string()));
        }
        Some((scheme, _)) if scheme.len() > 1 => {
            return refuse("only file:/// can be read, and https:// where it is allowed");
        }
        _ => text.to_string(),
    };
    let path = Path::new(&relative);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || relative.is_empty() || relative.contains('\0') {
        return refuse("the file must lie below the import folder");
    }
    Ok(FilePlace::Below(path.to_path_buf()))
}

/// An error with a named file.
pub(super) fn refusal(clause: &str, file: &Value, why: &dyn std::fmt::Display) -> ExecuteError {
    ExecuteError::External(format!("{clause} FROM {}: {why}", shown(file)))
}

/// An error within a file, with its name.
pub(super) fn in_file(clause: &str, file: &Value, error: ExecuteError) -> ExecuteError {
    let named = |what: String| format!("{clause} FROM {}: {what}", shown(file));
    match error {
        ExecuteError::FileContent(what) => ExecuteError::FileContent(named(what)),
        ExecuteError::External(what) => ExecuteError::External(named(what)),
        other => other,
    }
}

/// The name of a file, as messages show it: text in quotes, cut where it is long; a URL without its secrets.
fn shown(file: &Value) -> String {
    match file.as_str() {
        Some(text) => {
            let text = redacted(text);
            let end = text.floor_char_boundary(NAME_SHOWN_BYTES_MAX);
            format!("'{}{}'", text[..end].escape_debug(), if end < text.len() { "…" } else { "" })
        }
        None if file.is_null() => "null".into(),
        None => "a value that is no text".into(),
    }
}

/// `%20` and its like, as the characters they stand for.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_folder_are_named() {
        let ok = |text: &str| resolve("LOAD CSV", &text.into());
        let below = |path: &str| FilePlace::Below(path.into());
        assert_eq!(ok("file:///a%20b.csv").expect("it lies below"), below("a b.csv"));
        assert_eq!(ok("sub/a.csv").expect("it lies below"), below("sub/a.csv"));
        assert_eq!(ok("HTTPS://x/a.csv").expect("a URL"), FilePlace::Url("HTTPS://x/a.csv".into()));
        for bad in
            ["file:///../a", "../a", "a/../../b", "ftp://x/a.csv", "file:///", "", "a\0b", "file:///%2e%2e/a"]
        {
            assert!(ok(bad).is_err(), "{bad}");
        }
        assert!(resolve("LOAD CSV", &Value::Int(1)).is_err());
    }

    #[test]
    fn what_is_shown_of_a_url_has_no_secret() {
        let shown = |text: &str| shown(&text.into());
        assert_eq!(shown("https://ada:secret@x.org/a?token=secret"), "'https://x.org/a'");
        assert_eq!(shown("a@b.csv"), "'a@b.csv'");
    }
}
