//! Which files are edge lists, and how each is to be read: found out from the beginning of a file.

use super::lines::{Fields, PLAIN, is_comment};
use crate::source::{self, InputFile};
use crate::{ImportError, ImportOptions, cell};
use formats::records::Records;
use std::path::PathBuf;

/// Columns that are kept: two ends and two properties.
const COLUMNS_MAX: usize = 4;

/// How one file is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EdgeFile {
    pub file: usize,
    /// Fields a line has.
    pub columns: usize,
    /// The line with names, if there is one.
    pub header_line: Option<u64>,
    /// Names of the third and fourth column.
    pub property_names: Vec<String>,
    pub delimiter: Option<u8>,
}

/// Edge lists to be read.
#[derive(Debug, Default)]
pub(crate) struct EdgeLists {
    pub files: Vec<EdgeFile>,
    pub skipped: Vec<PathBuf>,
}

/// The edge lists among these files.
pub(crate) fn edge_lists(files: &[InputFile], options: &ImportOptions) -> Result<EdgeLists, ImportError> {
    let mut lists = EdgeLists::default();
    for (at, file) in files.iter().enumerate() {
        let head = source::head(file)?;
        match edge_file(at, &head, options.delimiter).filter(|_| file.staged.is_none()) {
            Some(found) => lists.files.push(found),
            None => lists.skipped.push(file.shown.clone()),
        }
    }
    // Files of single integers are vertices of a graph only beside edges.
    if lists.files.iter().all(|file| file.columns == 1) {
        lists.files.clear();
    }
    Ok(lists)
}

/// Is the beginning of a file that of a list of relationships between whole numbers?
pub(crate) fn is_edge_list(head: &[u8], delimiter: Option<u8>) -> bool {
    edge_file(0, head, delimiter).is_some()
}

pub(super) fn edge_file(file: usize, head: &[u8], delimiter: Option<u8>) -> Option<EdgeFile> {
    let mut header: Option<(u64, Vec<String>)> = None;
    for (line, record) in Records::new(head, PLAIN, 1) {
        if is_comment(record) {
            continue;
        }
        let fields: Vec<&[u8]> = Fields { rest: record, delimiter }.collect();
        let ids = fields.iter().take(2).filter(|field| cell::int(field).is_some()).count();
        if ids == fields.len().min(2) {
            let default = ["weight", "timestamp"];
            let named = |at: usize| {
                let names = header.as_ref().map(|(_, names)| names);
                names.and_then(|names| names.get(at + 2)).map_or(default[at].to_string(), String::clone)
            };
            let property_names = (0..fields.len().clamp(2, COLUMNS_MAX) - 2).map(named).collect();
            let header_line = header.map(|(line, _)| line);
            return Some(EdgeFile { file, columns: fields.len(), header_line, property_names, delimiter });
        }
        if header.is_some() || ids > 0 {
            return None;
        }
        let name = |field: &&[u8]| String::from_utf8_lossy(field).trim_matches('"').to_string();
        header = Some((line, fields.iter().map(name).collect()));
    }
    None
}
