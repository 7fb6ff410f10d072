//! A graph out into files that [`crate::import`] reads back to an equal one.
//!
//! `csv` and `parquet` write a file for each set of labels and each type (`sheets`): the graph is read twice from one snapshot, first for the
//! columns, then for the rows. `jsonl` writes one file, an object a line, and `cypher` a script. Nodes are numbered for the files only: the numbers
//! are no properties.
//!
//! Invariant: a graph that a format cannot express is refused, and then no file is left.

mod cypher;
mod graph;
pub(crate) mod jsonl;
#[cfg(feature = "columnar")]
mod parquet;
pub(crate) mod sheets;
pub(crate) mod tables;

pub use graph::{ExportFormat, ExportOptions, ExportReport, ExportStopped, write_schema};
pub(crate) use graph::{SCHEMA_FILE, statements};

use crate::ImportError;
use graph::{Graph, refusal};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::Snapshot;
use world::files;

/// Writes the graph of a snapshot into a folder.
///
/// # Errors
/// The folder holds something already; a value has no form there; the disk refuses. Nothing is left then.
pub fn export(snapshot: &Snapshot, options: &ExportOptions) -> Result<ExportReport, ImportError> {
    let graph = Graph { snapshot, stopped: options.stopped.as_deref() };
    in_new_folder(&options.to, || match options.format {
        ExportFormat::Csv => tables::write(&graph, options),
        ExportFormat::Jsonl => jsonl::write(&graph, options),
        #[cfg(feature = "columnar")]
        ExportFormat::Parquet => parquet::write(&graph, options),
        ExportFormat::Cypher => cypher::write(&graph, options),
    })
}

/// Folders that exports of this process write into now.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder that no other export of this process writes into.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn enter(to: &Path) -> Result<OwnFolder, ImportError> {
        let whole = std::path::absolute(to).unwrap_or_else(|_| to.to_path_buf());
        match FOLDERS.lock().insert(whole.clone()) {
            true => Ok(OwnFolder(whole)),
            false => Err(refusal(format!("{} is being written by another export", to.display()))),
        }
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        FOLDERS.lock().remove(&self.0);
    }
}

/// Writes files into a folder that is missing or empty; where that fails, none is left.
///
/// # Errors
/// The folder is not empty, or an error of `write`.
pub fn in_new_folder<T, E: From<ImportError>>(
    to: &Path,
    write: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let _own = OwnFolder::enter(to)?;
    let was_there = files::exists(to);
    if was_there && !files::list_folder(to).map_err(ImportError::from)?.is_empty() {
        return Err(refusal(format!("{} holds something already", to.display())).into());
    }
    files::create_folder(to).map_err(ImportError::from)?;
    let written = write();
    if written.is_err() {
        // What cannot be removed is no database.
        let left = files::list_folder(to).unwrap_or_default();
        left.iter().for_each(|path| drop(files::remove_file(path)));
        if !was_there {
            let _ = files::remove_empty_folder(to);
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_exports_do_not_write_into_one_folder() {
        let place = files::TemporaryFolder::new("own-folder").unwrap();
        let to = place.path().join("x");
        let written = in_new_folder(&to, || {
            let other = in_new_folder(&to, || Ok::<(), ImportError>(()));
            assert!(other.is_err_and(|error| error.to_string().contains("by another export")));
            Ok::<(), ImportError>(files::write_bytes(&to.join("a"), b"1")?)
        });
        assert!(written.is_ok() && files::exists(&to.join("a")));
        let failed = || Err::<(), ImportError>(refusal("no".to_string()));
        assert!(in_new_folder(&place.path().join("y"), failed).is_err());
        assert!(in_new_folder(&place.path().join("y"), || Ok::<(), ImportError>(())).is_ok());
    }
}
