//! The roles of columns of ordinary files: from flags, or from a small file of TOML.
//!
//! ```toml
//! [[nodes]]
//! file = "people.csv"
//! label = "Person"
//! id = "id"
//! columns = { born = { type = "date" }, full_name = "name", note = false }
//!
//! [[edges]]
//! file = "friends.csv"
//! type = "KNOWS"
//! from = { column = "from", label = "Person" }
//! to = { column = "to", label = "Person" }
//! ```
//!
//! Files are named as seen from the folder of the mapping. Columns that a mapping does not name become properties.

#[cfg(feature = "mapping-files")]
use crate::ImportError;
#[cfg(feature = "mapping-files")]
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Bytes that a file with a mapping may have.
#[cfg(feature = "mapping-files")]
const MAPPING_BYTES_MAX: u64 = 16 << 20;

/// The treatment of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "mapping-files", derive(Deserialize), serde(untagged))]
pub enum MappedColumn {
    /// `false`: it is left out.
    Kept(bool),
    /// The name of its property.
    Named(String),
    /// Both.
    Typed {
        /// The name of its property; the column's where absent.
        property: Option<String>,
        /// The type of its values, as typed headers write it; found out where absent.
        #[cfg_attr(feature = "mapping-files", serde(rename = "type"))]
        type_name: Option<String>,
    },
}

/// How a file is read, where that must be said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "mapping-files", derive(Deserialize), serde(deny_unknown_fields))]
pub struct MappedFile {
    /// The separator of its fields: one character.
    pub delimiter: Option<char>,
    /// Does its first line name the columns? Yes, where absent.
    pub header: Option<bool>,
    /// How its text is encoded: `utf-8`, `utf-16le`, `utf-16be` or `windows-1252`.
    pub encoding: Option<String>,
}

/// Rows that become nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "mapping-files", derive(Deserialize), serde(deny_unknown_fields))]
pub struct MappedNodes {
    /// The file, or a folder of such files.
    pub file: PathBuf,
    /// The label of all rows.
    label: Option<String>,
    /// Or several.
    #[cfg_attr(feature = "mapping-files", serde(default))]
    labels: Vec<String>,
    /// The column with the ids; nothing leads to nodes without.
    pub id: Option<String>,
    /// The treatment of columns.
    #[cfg_attr(feature = "mapping-files", serde(default))]
    pub columns: BTreeMap<String, MappedColumn>,
    /// How it is read.
    #[cfg_attr(feature = "mapping-files", serde(default))]
    pub read: MappedFile,
}

impl MappedNodes {
    /// Rows of a file with these labels, and the column of their ids.
    pub fn new(labels: Vec<String>, file: PathBuf, id: Option<String>) -> MappedNodes {
        let (columns, read) = (BTreeMap::new(), MappedFile::default());
        MappedNodes { file, label: None, labels, id, columns, read }
    }
    /// The labels of all rows.
    pub fn labels(&self) -> Vec<&str> {
        self.label.iter().chain(&self.labels).map(String::as_str).collect()
    }
}

/// One end of relationships.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "mapping-files", derive(Deserialize), serde(deny_unknown_fields))]
pub struct MappedEnd {
    /// The column with the ids of the nodes.
    pub column: String,
    /// The label of the nodes.
    pub label: String,
}

/// Rows that become relationships.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "mapping-files", derive(Deserialize), serde(deny_unknown_fields))]
pub struct MappedEdges {
    /// The file, or a folder of such files.
    pub file: PathBuf,
    /// The type of all rows.
    #[cfg_attr(feature = "mapping-files", serde(rename = "type"))]
    pub edge_type: String,
    /// Where they begin.
    pub from: MappedEnd,
    /// Where they end.
    pub to: MappedEnd,
    /// The treatment of columns.
    #[cfg_attr(feature = "mapping-files", serde(default))]
    pub columns: BTreeMap<String, MappedColumn>,
    /// How it is read.
    #[cfg_attr(feature = "mapping-files", serde(default))]
    pub read: MappedFile,
}

/// Which files hold which nodes and relationships.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "mapping-files", derive(Deserialize), serde(deny_unknown_fields))]
pub struct Mapping {
    /// Files of nodes.
    #[cfg_attr(feature = "mapping-files", serde(default))]
    pub nodes: Vec<MappedNodes>,
    /// Files of relationships.
    #[cfg_attr(feature = "mapping-files", serde(default))]
    pub edges: Vec<MappedEdges>,
}

impl Mapping {
    /// Does it say nothing?
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.edges.is_empty()
    }
    /// Names of all columns that hold ids.
    pub(crate) fn ids(&self) -> BTreeSet<String> {
        let of_nodes = self.nodes.iter().filter_map(|nodes| nodes.id.clone());
        let of_edges =
            self.edges.iter().flat_map(|edges| [edges.from.column.clone(), edges.to.column.clone()]);
        of_nodes.chain(of_edges).collect()
    }
    /// The files, as often as they are named, to be changed.
    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let edges = self.edges.iter_mut().map(|edges| &mut edges.file);
        self.nodes.iter_mut().map(|nodes| &mut nodes.file).chain(edges)
    }
    /// The files, each once, in the order in which they are named.
    pub(crate) fn files(&self) -> Vec<&Path> {
        let mut files: Vec<&Path> = Vec::new();
        let named = self.nodes.iter().map(|nodes| &nodes.file);
        for file in named.chain(self.edges.iter().map(|edges| &edges.file)) {
            if !files.contains(&file.as_path()) {
                files.push(file);
            }
        }
        files
    }
    /// Reads a mapping; its files lie where `folder` says, or else beside it.
    ///
    /// # Errors
    /// It cannot be read, or is no mapping: line and column say where.
    #[cfg(feature = "mapping-files")]
    pub fn read(path: &Path, folder: Option<&Path>) -> Result<Mapping, ImportError> {
        if world::files::size_bytes(path)? > MAPPING_BYTES_MAX {
            let what = format!("it is larger than {MAPPING_BYTES_MAX} bytes");
            return Err(ImportError::Mapping { what: format!("{}: {what}", path.display()) });
        }
        let text = world::files::read_text(path)?;
        let wrong = |what: String| ImportError::Mapping { what };
        let read: Result<Mapping, toml::de::Error> = toml::from_str(&text);
        let mut mapping = read.map_err(|error| {
            let (line, column) = place(&text, error.span().map_or(0, |span| span.start));
            // The reader of TOML ends at 80 lists, tables or names within one another.
            let what = match error.message().trim() {
                deep if deep.contains("recurs") => "it is nested deeper than 80; a mapping needs three",
                other => other,
            };
            wrong(format!("{}:{line}:{column}: {what}", path.display()))
        })?;
        let folder = folder.or(path.parent()).unwrap_or(Path::new(""));
        for file in mapping.nodes.iter_mut().map(|nodes| &mut nodes.file) {
            if !file.to_str().is_some_and(crate::remote::names::is_url) {
                *file = folder.join(&*file);
            }
        }
        for file in mapping.edges.iter_mut().map(|edges| &mut edges.file) {
            if !file.to_str().is_some_and(crate::remote::names::is_url) {
                *file = folder.join(&*file);
            }
        }
        match mapping.nodes.iter().find(|nodes| nodes.labels().is_empty()) {
            _ if mapping.is_empty() => {
                Err(wrong(format!("{} names neither [[nodes]] nor [[edges]]", path.display())))
            }
            Some(nodes) => {
                Err(wrong(format!("{}: the nodes of {} have no label", path.display(), nodes.file.display())))
            }
            None => Ok(mapping),
        }
    }
}

/// Line and column of a byte, from 1.
#[cfg(feature = "mapping-files")]
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// `Person=people.csv:id`; more labels are written `Person:Employee=…`.
///
/// # Errors
/// The text is not of this form.
pub fn nodes_flag(text: &str) -> Result<MappedNodes, String> {
    let parse = || {
        let (labels, rest) = text.split_once('=')?;
        let (file, id) = rest.rsplit_once(':')?;
        let labels: Vec<String> = labels.split(':').map(|label| label.trim().to_string()).collect();
        let whole = labels.iter().all(|label| !label.is_empty()) && !file.is_empty() && !id.is_empty();
        whole.then(|| MappedNodes::new(labels, file.into(), Some(id.to_string())))
    };
    parse().ok_or_else(|| "write LABEL=FILE:ID_COLUMN, such as Person=people.csv:id".to_string())
}

/// `KNOWS=friends.csv:from:Person,to:Person`.
///
/// # Errors
/// The text is not of this form.
pub fn edges_flag(text: &str) -> Result<MappedEdges, String> {
    let end = |column: &str, label: &str| {
        let is_whole = !column.is_empty() && !label.is_empty();
        is_whole.then(|| MappedEnd { column: column.to_string(), label: label.to_string() })
    };
    let parse = || {
        let (edge_type, rest) = text.split_once('=')?;
        let (from, to) = rest.rsplit_once(',')?;
        let (to_column, to_label) = to.rsplit_once(':')?;
        let (from, from_label) = from.rsplit_once(':')?;
        let (file, from_column) = from.rsplit_once(':')?;
        let (edge_type, file) = (edge_type.trim().to_string(), PathBuf::from(file));
        if edge_type.is_empty() || file.as_os_str().is_empty() {
            return None;
        }
        let (from, to) = (end(from_column, from_label)?, end(to_column, to_label)?);
        let (columns, read) = (BTreeMap::new(), MappedFile::default());
        Some(MappedEdges { file, edge_type, from, to, columns, read })
    };
    let form = "write TYPE=FILE:COLUMN:LABEL,COLUMN:LABEL, such as KNOWS=friends.csv:from:Person,to:Person";
    parse().ok_or_else(|| form.to_string())
}

#[cfg(all(test, feature = "mapping-files"))]
mod tests;
