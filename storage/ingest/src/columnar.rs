//! Files of columns: Parquet, and Arrow's IPC as a file or a stream (Feather 2), known by how they begin.
//!
//! Reading and writing them is the feature `columnar`; a program that was built without it says so where it meets such a file.

use crate::ImportError;
use crate::source::{self, InputFile};
use crate::staged::IdNames;
use formats::tables::TableFormat;
use magic::{ARROW_MAGIC, ENCRYPTED_MAGIC, FEATHER_MAGIC, PARQUET_MAGIC, STREAM_MAGIC};
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "columnar")]
mod account;
#[cfg(feature = "columnar")]
mod footer;
mod magic;
#[cfg(feature = "columnar")]
mod pages;
#[cfg(feature = "columnar")]
mod part;
#[cfg(feature = "columnar")]
mod reading;
#[cfg(feature = "columnar")]
mod table;
#[cfg(feature = "columnar")]
mod values;

/// The format of a file of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnarForm {
    Parquet,
    ArrowFile,
    ArrowStream,
}

impl ColumnarForm {
    pub fn name(self) -> &'static str {
        match self {
            ColumnarForm::Parquet => "Parquet",
            ColumnarForm::ArrowFile | ColumnarForm::ArrowStream => "Arrow",
        }
    }
}

fn form(file: &InputFile) -> Result<Option<ColumnarForm>, ImportError> {
    let head = source::head(file)?;
    let unreadable = |what: &str| Err(ImportError::Read { path: file.shown.clone(), what: what.into() });
    let name = file.name().to_ascii_lowercase();
    Ok(Some(match &*head {
        head if head.starts_with(PARQUET_MAGIC) => ColumnarForm::Parquet,
        head if head.starts_with(ARROW_MAGIC) => ColumnarForm::ArrowFile,
        head if head.starts_with(STREAM_MAGIC) => ColumnarForm::ArrowStream,
        head if head.starts_with(ENCRYPTED_MAGIC) => {
            return unreadable("it is Parquet with encryption; write it without");
        }
        head if head.starts_with(FEATHER_MAGIC) => {
            return unreadable("it is Feather of the first version; write it as Parquet or as Arrow");
        }
        _ if name.ends_with(".parquet") => {
            return unreadable("it is called Parquet, but does not begin as Parquet does");
        }
        _ => return Ok(None),
    }))
}

/// Is it a file of columns?
pub(crate) fn is_columnar(file: &InputFile) -> Result<bool, ImportError> {
    Ok(form(file)?.is_some())
}

/// The reader of Parquet for queries; none in a program that was built without it.
#[must_use]
pub fn parquet() -> Option<Arc<dyn TableFormat>> {
    #[cfg(feature = "columnar")]
    return Some(Arc::new(table::Parquet));
    #[cfg(not(feature = "columnar"))]
    None
}

/// Makes rows of a file of columns, in a folder of its own.
#[cfg(feature = "columnar")]
pub(crate) fn rows(file: &InputFile, folder: &Path, ids: &IdNames) -> Result<InputFile, ImportError> {
    reading::rows(file, form(file)?.unwrap_or(ColumnarForm::Parquet), folder, ids)
}

/// This build has no reader for it.
#[cfg(not(feature = "columnar"))]
pub(crate) fn rows(file: &InputFile, _: &Path, _: &IdNames) -> Result<InputFile, ImportError> {
    let name = form(file)?.unwrap_or(ColumnarForm::Parquet).name();
    Err(ImportError::left_out(&file.shown, name, "columnar"))
}
