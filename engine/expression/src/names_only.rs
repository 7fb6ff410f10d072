//! A graph that has names at most, for expressions that read nothing else: constants that are folded, and rows whose reads have become columns.

use super::error::EvalError;
use super::graph::{Graph, Names, Visit};
use model::{EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use std::sync::Arc;

/// Has names at most. Every other read fails with the given error.
pub struct NamesOnly {
    names: Option<Arc<store::Names>>,
    refusal: fn() -> EvalError,
}

impl NamesOnly {
    /// A graph with these names, and the error of every other read.
    pub fn of(names: Arc<store::Names>, refusal: fn() -> EvalError) -> NamesOnly {
        NamesOnly { names: Some(names), refusal }
    }
    /// No names either.
    pub const fn none(refusal: fn() -> EvalError) -> NamesOnly {
        NamesOnly { names: None, refusal }
    }
    fn refused<T>(&self) -> Result<T, EvalError> {
        Err((self.refusal)())
    }
    fn shown(&self, name: impl FnOnce(&store::Names) -> Option<Arc<str>>) -> Arc<str> {
        self.names.as_deref().and_then(name).unwrap_or_else(|| "".into())
    }
}

impl Names for NamesOnly {
    fn label(&self, name: &str) -> Option<LabelId> {
        self.names.as_ref()?.table().label(name)
    }
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.names.as_ref()?.table().edge_type(name)
    }
    fn key(&self, name: &str) -> Option<KeyId> {
        self.names.as_ref()?.table().key(name)
    }
}

impl Graph for NamesOnly {
    fn label_name(&self, label: LabelId) -> Arc<str> {
        self.shown(|names| names.table().label_name(label).cloned())
    }
    fn edge_type_name(&self, edge_type: EdgeTypeId) -> Arc<str> {
        self.shown(|names| names.table().edge_type_name(edge_type).cloned())
    }
    fn key_name(&self, key: KeyId) -> Arc<str> {
        self.shown(|names| names.table().key_name(key).cloned())
    }
    fn labels(&self, _: VertexId) -> Result<Vec<LabelId>, EvalError> {
        self.refused()
    }
    fn has_label(&self, _: VertexId, _: LabelId) -> Result<bool, EvalError> {
        self.refused()
    }
    fn property(&self, _: VertexId, _: KeyId) -> Result<Value, EvalError> {
        self.refused()
    }
    fn properties(&self, _: VertexId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        self.refused()
    }
    fn edge_property(&self, _: EdgeId, _: KeyId) -> Result<Value, EvalError> {
        self.refused()
    }
    fn edge_exists(&self, _: EdgeRef) -> Result<bool, EvalError> {
        self.refused()
    }
    fn edge_properties(&self, _: EdgeId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        self.refused()
    }
    fn read_property(
        &self,
        _: &mut dyn Iterator<Item = VertexId>,
        _: KeyId,
        _: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        self.refused()
    }
    fn read_edge_property(
        &self,
        _: &mut dyn Iterator<Item = Option<EdgeId>>,
        _: KeyId,
        _: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        self.refused()
    }
}
