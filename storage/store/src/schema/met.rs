//! Names that a restricted reader has met in the graph.

use model::{EdgeTypeId, KeyId, LabelId};
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// The number of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NameNo {
    /// Of a label.
    Label(LabelId),
    /// Of an edge type.
    EdgeType(EdgeTypeId),
    /// Of a property key.
    Key(KeyId),
}

/// Names that were met.
#[derive(Default)]
pub(crate) struct MetNames(Mutex<BTreeSet<NameNo>>);

impl MetNames {
    pub(crate) fn has(&self, name: NameNo) -> bool {
        self.0.lock().contains(&name)
    }
    pub(crate) fn add(&self, name: NameNo) {
        self.0.lock().insert(name);
    }
}
