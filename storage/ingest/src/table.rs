//! The result of a layout: one table a file, whose columns have roles. Loading knows tables, never layouts.
//!
//! An id space is a set of ids that do not repeat; every edge end names the space it looks its id up in.

use crate::cell::{self, Kind};
use crate::sniff::is_comment;
use formats::records::{Field, Format};
use model::{EdgeTypeId, KeyId, LabelId};
use std::path::PathBuf;

/// Number of an id space in its plan.
pub(crate) type SpaceNo = usize;

/// The property type of a space's ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// Integers if all are, else text.
    #[default]
    Found,
    /// Integers; anything else is a wrong line.
    Int,
    /// Text.
    Text,
}

/// A set of ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    pub name: String,
    pub kind: IdKind,
    /// The property that keeps the ids.
    pub key: Option<KeyId>,
    /// Labels whose vertices have ids of this space, although no file may hold such vertices.
    pub labels: Vec<LabelId>,
    /// The label of vertices that no file holds: the database must.
    pub elsewhere: Option<String>,
}

/// The role of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    Ignore,
    /// The line of another file that the row was made of.
    Origin,
    /// The id of the row's vertex.
    Id,
    /// More labels, separated by the byte; also a property, if so.
    Labels { separator: u8, capitalise: bool, property: Option<usize> },
    /// Where the row's edge begins.
    Start,
    /// Where it ends.
    End,
    /// Its type.
    Type,
    /// A property: which of [`Table::properties`].
    Property(usize),
    /// The other end of an edge from or to the row's vertex: which of [`VertexTable::links`].
    Link(usize),
}

/// An edge that a column of a vertex file stands for.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub edge_type: EdgeTypeId,
    pub space: SpaceNo,
    /// Does the edge lead to the row's vertex, not from it?
    pub reversed: bool,
}

/// Rows that are vertices.
#[derive(Clone, Debug)]
pub(crate) struct VertexTable {
    pub space: SpaceNo,
    /// Labels of all rows.
    pub labels: Vec<LabelId>,
    pub links: Vec<Link>,
    /// Are the rows edges whose ends are vertices? Ids may repeat then, and be there.
    pub implied: bool,
}

/// Rows that are edges.
#[derive(Clone, Debug)]
pub(crate) struct EdgeTable {
    /// Type of rows that do not name another.
    pub edge_type: Option<EdgeTypeId>,
    pub source: SpaceNo,
    pub target: SpaceNo,
}

/// The kind of rows.
#[derive(Clone, Debug)]
pub(crate) enum Rows {
    Vertices(VertexTable),
    Edges(EdgeTable),
    /// One element of a list property of the vertex that `Start` names: its property is the only one of the table.
    Elements {
        space: SpaceNo,
    },
}

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Which input file.
    pub file: usize,
    pub format: Format,
    /// Header lines at the beginning of the file.
    pub skip: usize,
    pub roles: Vec<Role>,
    pub properties: Vec<(KeyId, Kind)>,
    pub rows: Rows,
    /// Names of the columns, where messages name them.
    pub columns: Vec<String>,
    /// Are lines that begin with `#` or `%` no rows?
    pub comments: bool,
}

impl Table {
    /// Is this record no row?
    pub fn passes_over(&self, record: &[u8]) -> bool {
        record.is_empty() || (self.comments && is_comment(record))
    }
    /// The line that messages name for a row.
    pub fn line(&self, line: u64, fields: &[Field<'_>]) -> u64 {
        match (self.roles.first(), fields.first()) {
            (Some(Role::Origin), Some(field)) => cell::int(field.bytes).map_or(line, |origin| origin as u64),
            _ => line,
        }
    }
    /// A fault of a column, for a message.
    pub fn wrong(&self, column: usize, what: String) -> String {
        match self.columns.get(column).filter(|name| !name.is_empty()) {
            Some(name) => format!("column `{name}`: {what}"),
            None => what,
        }
    }
}

/// An index that is wanted; unique ones also become constraints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedIndex {
    pub label: LabelId,
    pub key: KeyId,
    pub unique: bool,
}

/// The result of a layout.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub tables: Vec<Table>,
    pub spaces: Vec<Space>,
    pub indexes: Vec<WantedIndex>,
    /// Are the ids of every label that is met to be indexed too? Uniquely, unless several spaces share the label.
    pub index_ids: bool,
    pub skipped: Vec<PathBuf>,
    /// The detected meaning of ordinary files.
    pub understood: Vec<crate::Understood>,
}

impl Tables {
    /// The space of this name; made where it is new.
    pub fn space(&mut self, name: &str) -> SpaceNo {
        match self.spaces.iter().position(|space| space.name == name) {
            Some(found) => found,
            None => {
                self.spaces.push(Space { name: name.to_string(), ..Space::default() });
                self.spaces.len() - 1
            }
        }
    }
    /// Asks for an index; of two over the same, the unique one stays.
    pub fn want_index(&mut self, label: LabelId, key: KeyId, unique: bool) {
        match self.indexes.iter_mut().find(|index| (index.label, index.key) == (label, key)) {
            Some(index) => index.unique |= unique,
            None => self.indexes.push(WantedIndex { label, key, unique }),
        }
    }
}
