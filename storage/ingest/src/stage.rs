//! Files that hold a whole graph, nodes and relationships together, made tables before they are read: CSV with typed headers in a temporary
//! folder, a file for each set of labels and each type.
//!
//! So there is one way into the database, whatever the form of a file. A reader of a form calls `found` with every [`Line`]; it is read twice, for
//! its columns and for its rows. Each row has in its column `:ORIGIN` its line in the file, and messages name that line.
//!
//! `lines`: an object of JSON a line; `node_link`: what networkx writes as JSON; `graphml`; `rdf`: triples.

use crate::ImportError;
use crate::export::sheets::FILES_MAX;
use crate::export::tables::{ColumnKind, Columns, RowFile, edge_columns, node_columns};
use crate::source::InputFile;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) mod graphml;
pub(crate) mod lines;
pub(crate) mod node_link;
pub(crate) mod rdf;

/// A node or a relationship of a file. Properties are written as `formats::typed` reads them.
pub(crate) enum Line {
    Node { id: NodeId, labels: Vec<String>, properties: Map<String, Json> },
    Edge { name: String, start: String, end: String, properties: Map<String, Json> },
}

/// The name of a node in a file.
pub(crate) struct NodeId {
    pub text: String,
    /// Is it a text, even where it is written as a number would be?
    pub is_text: bool,
}

/// Is called with every line and its number until it is false.
pub(crate) type TakeLine<'f> = &'f mut dyn FnMut(u64, Line) -> Result<bool, ImportError>;

/// Default names of nodes and relationships without one in the file.
#[derive(Clone, Debug)]
pub(crate) struct DefaultNames {
    pub label: String,
    pub edge_type: String,
}

/// How the ids of a file become properties, and their meaning in other files.
pub(crate) struct Ids {
    /// The property that keeps them; none where they are numbers of the file and no more.
    pub property: Option<&'static str>,
    /// Files with the same group speak of the same nodes.
    pub group: String,
}

/// A kind of rows: nodes with these labels, or relationships of this type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Nodes(Vec<String>),
    Edges(String),
}

struct Group {
    file: RowFile,
    /// The kind of the column of labels or the type.
    named: Option<String>,
    columns: Vec<String>,
}

impl Group {
    fn row(&mut self, line: u64, ids: &[&str], properties: &Map<String, Json>) -> Result<(), ImportError> {
        self.file.field(&line.to_string());
        ids.iter().for_each(|id| self.file.field(id));
        if let Some(named) = &self.named {
            match named.is_empty() {
                true => self.file.absent(),
                false => self.file.field(named),
            }
        }
        for column in &self.columns {
            match properties.get(column).filter(|json| !json.is_null()) {
                None => self.file.absent(),
                Some(json) => self.file.field(&json.to_string()),
            }
        }
        self.file.end()
    }
}

/// Observations of a file: its kinds of rows with their columns, and the type of its ids.
#[derive(Default)]
struct Survey {
    kinds: BTreeMap<Of, Columns<String>>,
    are_ids_text: bool,
}

impl Survey {
    fn look(&mut self, line: Line) {
        let (of, properties) = match line {
            Line::Node { id, labels, properties } => {
                self.are_ids_text |= id.is_text;
                (Of::Nodes(sorted(labels)), properties)
            }
            Line::Edge { name, properties, .. } => (Of::Edges(name), properties),
        };
        let columns = self.kinds.entry(of).or_default();
        columns.extend(properties.into_iter().map(|(name, _)| (name, ColumnKind::Any)));
    }
    /// The name of the column of the ids: the default, or with `_` before it where a property of a node has that name.
    fn id_column(&self, ids: &Ids) -> String {
        let Some(wanted) = ids.property else { return String::new() };
        let is_taken = |name: &String| {
            self.kinds.iter().any(|(of, columns)| matches!(of, Of::Nodes(_)) && columns.contains_key(name))
        };
        let mut name = wanted.to_string();
        while is_taken(&name) {
            name.insert(0, '_');
        }
        name
    }
}

/// Makes tables of a file, in a folder. `each` reads it; it is called twice.
pub(crate) fn tables(
    file: &InputFile,
    folder: &Path,
    ids: &Ids,
    each: &dyn Fn(TakeLine<'_>) -> Result<(), ImportError>,
) -> Result<Vec<InputFile>, ImportError> {
    let mut survey = Survey::default();
    each(&mut |_, line| {
        survey.look(line);
        Ok(true)
    })?;
    if survey.kinds.len() > FILES_MAX {
        let count = survey.kinds.len();
        let what = format!("{count} sets of labels and types, and {FILES_MAX} can be read");
        return Err(ImportError::Read { path: file.shown.clone(), what });
    }
    let (id_column, are_ids_text) = (survey.id_column(ids), survey.are_ids_text && ids.property.is_some());
    let (mut groups, mut made) = (BTreeMap::new(), Vec::new());
    for (number, (of, columns)) in survey.kinds.into_iter().enumerate() {
        let path = folder.join(format!("{number}.csv"));
        let (structural, named) = match &of {
            Of::Nodes(labels) => node_columns(&id_column, &ids.group, are_ids_text, labels),
            Of::Edges(name) => edge_columns(&ids.group, name),
        };
        let structural: Vec<String> = std::iter::once(":ORIGIN".to_string()).chain(structural).collect();
        let properties: Vec<(String, ColumnKind)> = columns.into_iter().collect();
        let rows = RowFile::create(path.clone(), &structural, &properties)?;
        let columns = properties.into_iter().map(|(name, _)| name).collect();
        groups.insert(of, Group { file: rows, named, columns });
        made.push(path);
    }
    each(&mut |number, line| {
        let (of, ids, properties) = match line {
            Line::Node { id, labels, properties } => (Of::Nodes(sorted(labels)), vec![id.text], properties),
            Line::Edge { name, start, end, properties } => (Of::Edges(name), vec![start, end], properties),
        };
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let changed = || ImportError::Read { path: file.shown.clone(), what: "it changed meanwhile".into() };
        let group = groups.get_mut(&of).ok_or_else(changed)?;
        group.row(number, &ids, &properties)?;
        Ok(true)
    })?;
    groups.into_values().try_for_each(|group| group.file.finish())?;
    let input = |path: PathBuf| InputFile::new(path, file.shown.clone());
    made.into_iter().map(input).collect()
}

fn sorted(mut labels: Vec<String>) -> Vec<String> {
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// Labels as one text has them: `:Person:Admin`, `Person;Admin`, `Person`.
fn labels_of(text: &str) -> Vec<String> {
    let labels = text.split([':', ';']).map(str::trim).filter(|label| !label.is_empty());
    labels.map(str::to_string).collect()
}
