//! Why nothing was imported. Whatever it is, the database is as it was before.

use crate::{Layout, Rejected};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use store::StoreError;
use transact::TransactError;
use world::disk::DiskError;

/// Characters of a reason that are shown at its beginning, and as many at its end: what a file holds may be of any length.
const REASON_ENDS_CHARACTERS: usize = 300;

/// A reason as it is shown: the middle of a long one is left out.
pub(crate) fn shortened(what: &str) -> Cow<'_, str> {
    let from_start = what.char_indices().nth(REASON_ENDS_CHARACTERS).map(|(at, _)| at);
    let from_end = what.char_indices().rev().nth(REASON_ENDS_CHARACTERS).map(|(at, _)| at);
    match (from_start, from_end) {
        (Some(head), Some(tail)) if head < tail => {
            Cow::Owned(format!("{} … {}", &what[..head], &what[tail..]))
        }
        _ => Cow::Borrowed(what),
    }
}

/// Why nothing was imported.
#[derive(Clone, Debug)]
pub enum ImportError {
    /// There is no such file or folder.
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// No file there has the requested layout.
    Nothing {
        /// Where.
        path: PathBuf,
        /// The requested layout.
        layout: Layout,
    },
    /// A file cannot be read, or is not of the format that its first bytes promise.
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// The first line of a file does not name its columns.
    Header {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// The columns of a file differ from the given ones.
    Columns {
        /// The file.
        path: PathBuf,
        /// The fault.
        what: String,
    },
    /// The given mapping of the files is wrong, or incomplete.
    Mapping {
        /// The fault.
        what: String,
    },
    /// A line is malformed, and the import was strict.
    Rejected(Rejected),
    /// A place of a file is malformed that is read whole or not at all.
    Malformed(Rejected),
    /// The database has it already, and the import has no policy for that.
    Existing {
        /// A vertex or an edge.
        what: String,
    },
    /// Values that a constraint or unique index forbids.
    Constraint {
        /// The broken rule.
        what: String,
    },
    /// A graph cannot be written so that it is read again.
    Export {
        /// Why.
        what: String,
    },
    /// The import was cancelled.
    Stopped,
    /// The database refused the data, or could not store it.
    Database(TransactError),
}

impl ImportError {
    /// A file of a kind that this program was built without.
    #[cfg(not(all(feature = "archives", feature = "columnar")))]
    pub(crate) fn left_out(path: &std::path::Path, what: &str, feature: &str) -> ImportError {
        let what = format!("it is {what}, and this program was built without the feature `{feature}`");
        ImportError::Read { path: path.to_path_buf(), what }
    }
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            ImportError::NotFound { .. } => "Neo.ClientError.Import.NotFound",
            ImportError::Nothing { .. } => "Neo.ClientError.Import.NothingRecognised",
            ImportError::Read { .. } => "Neo.ClientError.Import.Unreadable",
            ImportError::Header { .. } => "Neo.ClientError.Import.MalformedHeader",
            ImportError::Columns { .. } => "Neo.ClientError.Import.WrongColumn",
            ImportError::Mapping { .. } => "Neo.ClientError.Import.WrongMapping",
            ImportError::Rejected(_) | ImportError::Malformed(_) => "Neo.ClientError.Import.MalformedLine",
            ImportError::Existing { .. } => "Neo.ClientError.Import.Exists",
            ImportError::Constraint { .. } => "Neo.ClientError.Schema.ConstraintValidationFailed",
            ImportError::Export { .. } => "Neo.ClientError.Export.Refused",
            ImportError::Stopped => "Neo.ClientError.Transaction.Terminated",
            ImportError::Database(error) => error.code(),
        }
    }
    /// The error of the columns or names of a file, with the file.
    pub(crate) fn of_file(self, file: &Path) -> ImportError {
        let path = file.to_path_buf();
        match self {
            ImportError::Export { what } => ImportError::Columns { path, what },
            ImportError::Database(TransactError::Store(
                error @ (StoreError::NameTooLong(_) | StoreError::NameRefused(_)),
            )) => ImportError::Columns { path, what: format!("{error}: {}", error.hint()) },
            other => other,
        }
    }
    /// May the same import succeed if it is tried again?
    pub fn is_retryable(&self) -> bool {
        matches!(self, ImportError::Database(error) if error.is_retryable())
    }
    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            ImportError::NotFound { .. } => "check the path".into(),
            ImportError::Nothing { layout: Layout::Auto, .. } => concat!(
                "layouts are: ldbc (LDBC SNB CSV folders, '|' separated, such as person_0_0.csv), ",
                "headers (CSV whose first line has columns such as id:ID, :LABEL, :START_ID, :END_ID, :TYPE), ",
                "edges (two ids a line, separated by tabs, blanks or commas), ",
                "csv (the first line names the columns); graphs as GraphML, RDF or JSON are known by how they begin; ",
                "--nodes and --edges say what the rows of a file are"
            )
            .into(),
            ImportError::Nothing { layout: Layout::Ldbc, .. } => {
                "files are known by name, such as person_0_0.csv and person_knows_person_0_0.csv".into()
            }
            ImportError::Nothing { layout: Layout::Headers, .. } => {
                "the first line names the columns: id:ID, :LABEL for vertices, :START_ID, :END_ID, :TYPE for edges".into()
            }
            ImportError::Nothing { layout: Layout::Edges, .. } => {
                "each line has two integers, separated by tabs, blanks or commas".into()
            }
            ImportError::Nothing { layout: Layout::Csv, .. } => {
                "the first line names the columns; say what the rows are, as in --nodes Person=people.csv:id".into()
            }
            ImportError::Columns { what, .. } if what.contains('\0') => {
                "the first line has NUL characters: is it UTF-16 without a byte order mark? save the file as UTF-8".into()
            }
            ImportError::Columns { .. } => {
                "--dry-run shows what is understood; flags and mappings name columns as the first line does".into()
            }
            ImportError::Mapping { .. } => concat!(
                "say it: --nodes Person=people.csv:id --edges KNOWS=friends.csv:from:Person,to:Person, ",
                "or [[nodes]] and [[edges]] in a file for --mapping"
            )
            .into(),
            ImportError::Read { what, .. } if what.contains("built without the feature") => {
                "build with the default features, or with --features and its name; the binaries that are handed out have all".into()
            }
            ImportError::Read { .. } => {
                "is it whole, of the kind that its name says, and may it be read? nothing was imported".into()
            }
            ImportError::Export { .. } | ImportError::Stopped => return None,
            ImportError::Header { what, .. } if what.starts_with("two columns are called") => {
                "give each column a name of its own".into()
            }
            ImportError::Header { .. } => "columns are written name:TYPE, such as age:int or :START_ID(Person)".into(),
            ImportError::Rejected(_) => "correct the line, or import without strict to leave such lines out".into(),
            ImportError::Malformed(_) => "correct the file there: files of this form are read whole or not at all".into(),
            ImportError::Existing { .. } => {
                "--existing skip leaves what is there as it is and adds the rest; --existing merge sets the properties of nodes, too".into()
            }
            ImportError::Constraint { .. } => "find the duplicates and change one of them, or drop the constraint".into(),
            ImportError::Database(error) => return error.hint(),
        })
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::NotFound { path } => write!(f, "{} does not exist", path.display()),
            ImportError::Nothing { path, layout: Layout::Auto } => {
                write!(f, "nothing to import at {}: no file has a layout that is known", path.display())
            }
            ImportError::Nothing { path, layout } => {
                let name = format!("{layout:?}").to_lowercase();
                write!(f, "nothing to import at {}: no file has the layout `{name}`", path.display())
            }
            ImportError::Read { path, what } => {
                write!(f, "{} cannot be read: {}", path.display(), shortened(what))
            }
            ImportError::Header { path, what } => {
                write!(f, "first line of {}: {}", path.display(), shortened(what))
            }
            ImportError::Columns { path, what } => {
                write!(f, "{}: {}; nothing was imported", path.display(), shortened(what))
            }
            ImportError::Mapping { what } => write!(f, "{}; nothing was imported", shortened(what)),
            ImportError::Rejected(Rejected { file, line, what })
            | ImportError::Malformed(Rejected { file, line, what }) => {
                write!(f, "{}:{line}: {}; nothing was imported", file.display(), shortened(what))
            }
            ImportError::Existing { what } => {
                write!(f, "{} is in the database already; nothing was imported", shortened(what))
            }
            ImportError::Constraint { what } => write!(f, "{}; nothing was imported", shortened(what)),
            ImportError::Export { what } => write!(f, "{}; nothing was exported", shortened(what)),
            ImportError::Stopped => f.write_str("the import was stopped; nothing was imported"),
            ImportError::Database(error) => write!(f, "{error}; nothing was imported"),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<TransactError> for ImportError {
    fn from(error: TransactError) -> ImportError {
        ImportError::Database(error)
    }
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> ImportError {
        ImportError::Database(TransactError::Store(error))
    }
}

impl From<DiskError> for ImportError {
    fn from(error: DiskError) -> ImportError {
        match error {
            DiskError::NotFound { path } => ImportError::NotFound { path },
            other => ImportError::Read { path: other.path().to_path_buf(), what: other.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_reason_is_left_out() {
        for length in [0, 1, 2 * REASON_ENDS_CHARACTERS, 2 * REASON_ENDS_CHARACTERS + 1] {
            let what = "ä".repeat(length);
            assert_eq!(shortened(&what), what);
        }
        let what = format!("ä{}ö", "x".repeat(1_000_000));
        let shown = shortened(&what);
        assert!(shown.starts_with('ä') && shown.ends_with('ö') && shown.contains(" … "), "{shown}");
        assert_eq!(shown.chars().count(), 2 * REASON_ENDS_CHARACTERS + 4);
    }
}
