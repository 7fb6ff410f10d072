//! GraphML: a graph as XML, as networkx, Gephi, yEd, TinkerPop and APOC write it.
//!
//! `<key>` declares a property with its type, `<node id>` and `<edge source target>` hold `<data key>`. The id of a node is kept as the property `id`. Labels are
//! those of the attribute `labels` (APOC), else of the data `labelV` (TinkerPop) or `labels`; the type is that of the attribute `label`, else of
//! the data `labelE` or `type`. Structured data, such as the drawings of yEd, is skipped.

use super::DefaultNames;
use crate::ImportError;
use crate::source::{self, InputFile};
use std::path::Path;

#[cfg(feature = "graphml")]
mod reading;
#[cfg(feature = "graphml")]
mod xml;

/// Bytes at the beginning of a file in which the first element must be met.
const BEGINNING_BYTES: usize = 16 * 1024;

/// Does the file begin as GraphML does?
pub(crate) fn is_graphml(file: &InputFile) -> Result<bool, ImportError> {
    let head = source::head(file)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(&head);
    let head = head.trim_ascii_start();
    let head = &head[..head.len().min(BEGINNING_BYTES)];
    let is_there = |wanted: &[u8]| memchr::memmem::find(head, wanted).is_some();
    Ok(head.starts_with(b"<") && (is_there(b"<graphml") || is_there(b":graphml")))
}

/// Makes tables of such a file, in a folder.
#[cfg(feature = "graphml")]
pub(crate) fn tables(
    file: &InputFile,
    folder: &Path,
    group: String,
    names: &DefaultNames,
) -> Result<Vec<InputFile>, ImportError> {
    let ids = super::Ids { property: Some("id"), group };
    reading::encode(file)?;
    super::tables(file, folder, &ids, &|found| reading::each(file, names, found))
}

#[cfg(not(feature = "graphml"))]
pub(crate) fn tables(
    file: &InputFile,
    _: &Path,
    _: String,
    _: &DefaultNames,
) -> Result<Vec<InputFile>, ImportError> {
    Err(ImportError::left_out(&file.shown, "GraphML", "graphml"))
}
