//! The owner of a transaction, where it may not do everything: its view of the graph, and its permission to write.
//!
//! Idea: every write of every language passes one of the methods of a transaction, so these check it. Invariant: an act is checked before it changes
//! anything. Cost: nothing for a transaction of an unrestricted user.

use std::fmt;
use std::sync::Arc;
use store::{NameTable, Restriction, Snapshot};

/// Something that a transaction is about to do. Labels are all of the vertex, as the store has them.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// Create a vertex with these labels.
    CreateVertex(&'a [&'a str]),
    /// Create an edge of this type.
    CreateEdge(&'a str),
    /// Delete a vertex with these labels.
    DeleteVertex(&'a [&'a str]),
    /// Delete an edge of this type.
    DeleteEdge(&'a str),
    /// Set or remove this property of a vertex with these labels.
    SetProperty(&'a [&'a str], &'a str),
    /// Set or remove this property of an edge of this type.
    SetEdgeProperty(&'a str, &'a str),
    /// Add this label to a vertex.
    AddLabel(&'a str),
    /// Take this label from a vertex.
    RemoveLabel(&'a str),
    /// Use a label that the graph does not know yet.
    NewLabel(&'a str),
    /// Use an edge type that the graph does not know yet.
    NewEdgeType(&'a str),
    /// Use a property key that the graph does not know yet.
    NewKey(&'a str),
}

impl fmt::Display for Act<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labelled =
            |labels: &[&str]| labels.iter().fold(String::new(), |text, label| format!("{text}:`{label}`"));
        // Labels of what is there may be hidden from who asks; those of what is made it has named itself.
        match self {
            Act::CreateVertex(labels) => write!(f, "create a node ({})", labelled(labels)),
            Act::CreateEdge(kind) => write!(f, "create a relationship of type `{kind}`"),
            Act::DeleteVertex(_) => write!(f, "delete this node"),
            Act::DeleteEdge(kind) => write!(f, "delete a relationship of type `{kind}`"),
            Act::SetProperty(_, key) => write!(f, "set `{key}` of this node"),
            Act::SetEdgeProperty(kind, key) => write!(f, "set `{key}` of a relationship of type `{kind}`"),
            Act::AddLabel(label) => write!(f, "set the label `{label}`"),
            Act::RemoveLabel(label) => write!(f, "remove the label `{label}`"),
            Act::NewLabel(label) => write!(f, "make the new label `{label}`"),
            Act::NewEdgeType(kind) => write!(f, "make the new relationship type `{kind}`"),
            Act::NewKey(key) => write!(f, "make the new property key `{key}`"),
        }
    }
}

/// Decides which writes are allowed.
pub trait Permission: Send + Sync {
    /// May it be done?
    fn allows(&self, act: &Act<'_>) -> bool;
}

/// A forbidden act, in words, such as `delete a node`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden(pub String);

/// A user who may not do everything.
#[derive(Clone)]
pub struct Party {
    /// Restricts reads, if anything is hidden.
    pub restriction: Option<Arc<Restriction>>,
    /// Restricts writes.
    pub permission: Arc<dyn Permission>,
}

impl Party {
    /// The snapshot as the user sees it.
    pub fn shown(&self, snapshot: Snapshot) -> Snapshot {
        match &self.restriction {
            Some(restriction) => snapshot.restricted(restriction),
            None => snapshot,
        }
    }
    /// Is this label visible where vertices carry it?
    pub(crate) fn shows_label(&self, name: &str) -> bool {
        self.restriction.as_ref().is_none_or(|restriction| restriction.shows_label(name))
    }
    /// Fails where the act is not allowed.
    ///
    /// # Errors
    /// The act, if it is forbidden.
    pub fn demand(&self, act: &Act<'_>) -> Result<(), Forbidden> {
        if self.permission.allows(act) { Ok(()) } else { Err(Forbidden(act.to_string())) }
    }
}

/// Names of the labels of a set, or of any list of labels.
pub(crate) fn label_names(names: &NameTable, labels: &[model::LabelId]) -> Vec<Arc<str>> {
    labels.iter().filter_map(|label| names.label_name(*label).cloned()).collect()
}
