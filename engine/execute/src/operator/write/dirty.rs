//! Decides when a writing operator refreshes its view: when an expression reads an entity that was changed since the view was taken.
//!
//! Idea: the expression is evaluated over a [`WatchedView`], which passes every read on to the view, unless a changed entity is read: then the
//! evaluation fails, the view is refreshed, and the expression is evaluated once more. So it does not matter how an expression comes to its entities:
//! of a list of a million nodes of which it takes one, only that one counts; and nothing is ever computed from the state before a change.
//! Cost: a hash for each entity read, while anything is changed.

use crate::turn::{ExecutionContext, Try};
use dataflow::watch::Stopped;
use expression::graph::{Graph, Names, Visit, VisitRuns};
use expression::{EvalError, Scope};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use model::{EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, LabelSetId, Value, VertexId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use transact::Transaction;

/// Entities that were changed since the view was taken.
#[derive(Default)]
pub(crate) struct Dirty {
    vertices: HashSet<VertexId, FixedState>,
    edges: HashSet<EdgeId, FixedState>,
}

impl Dirty {
    pub(crate) fn vertex(&mut self, vertex: VertexId) {
        self.vertices.insert(vertex);
    }
    pub(crate) fn edge(&mut self, edge: EdgeId) {
        self.edges.insert(edge);
    }
    fn is_empty(&self) -> bool {
        self.vertices.is_empty() && self.edges.is_empty()
    }
    fn refresh(&mut self, execution: &mut ExecutionContext) -> Try<()> {
        execution.refresh()?;
        self.vertices.clear();
        self.edges.clear();
        Ok(())
    }
    /// Evaluates over a graph in which all changes that are read can be seen. `work` may be called twice, and must do nothing but evaluate.
    pub(crate) fn evaluate<T>(
        &mut self,
        execution: &mut ExecutionContext,
        work: impl Fn(&Scope<'_>) -> Result<T, EvalError>,
    ) -> Try<T> {
        if !self.is_empty() {
            let environment = execution.environment.clone();
            let scope = execution.scope();
            let watch = WatchedView {
                view: scope.graph,
                dirty: self,
                transaction: environment.transaction()?,
                is_stale: AtomicBool::new(false),
            };
            let outcome = work(&Scope::new(&watch, scope.request));
            if !watch.is_stale.load(Ordering::Relaxed) {
                return Ok(outcome?);
            }
            self.refresh(execution)?;
        }
        Ok(work(&execution.scope())?)
    }
    /// A vertex is about to be read.
    pub(crate) fn before_vertex(&mut self, vertex: VertexId, execution: &mut ExecutionContext) -> Try<()> {
        if self.vertices.contains(&vertex) { self.refresh(execution) } else { Ok(()) }
    }
    /// An edge is about to be read.
    pub(crate) fn before_edge(&mut self, edge: EdgeId, execution: &mut ExecutionContext) -> Try<()> {
        if self.edges.contains(&edge) { self.refresh(execution) } else { Ok(()) }
    }
}

/// The view, which notes whether an entity was read that has changed since. Names that the transaction has made are known.
struct WatchedView<'a> {
    view: &'a dyn Graph,
    dirty: &'a Dirty,
    transaction: &'a Transaction,
    is_stale: AtomicBool,
}

impl<'a> WatchedView<'a> {
    fn of_vertex(&self, vertex: VertexId) -> Result<&'a dyn Graph, EvalError> {
        self.of(!self.dirty.vertices.contains(&vertex))
    }
    fn of_edge(&self, edge: EdgeId) -> Result<&'a dyn Graph, EvalError> {
        self.of(!self.dirty.edges.contains(&edge))
    }
    /// The view for unchanged entities; for others the evaluation ends, by an internal error.
    fn of(&self, is_fresh: bool) -> Result<&'a dyn Graph, EvalError> {
        if !is_fresh {
            self.is_stale.store(true, Ordering::Relaxed);
        }
        match self.is_stale.load(Ordering::Relaxed) {
            true => Err(Stopped::Time.into()),
            false => Ok(self.view),
        }
    }
}

impl Names for WatchedView<'_> {
    fn label(&self, name: &str) -> Option<LabelId> {
        self.view.label(name).or_else(|| self.transaction.known_label(name))
    }
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.view.edge_type(name).or_else(|| self.transaction.known_edge_type(name))
    }
    fn key(&self, name: &str) -> Option<KeyId> {
        self.view.key(name).or_else(|| self.transaction.known_key(name))
    }
}

impl Graph for WatchedView<'_> {
    fn label_name(&self, label: LabelId) -> Arc<str> {
        self.view.label_name(label)
    }
    fn edge_type_name(&self, edge_type: EdgeTypeId) -> Arc<str> {
        self.view.edge_type_name(edge_type)
    }
    fn key_name(&self, key: KeyId) -> Arc<str> {
        self.view.key_name(key)
    }
    fn labels(&self, vertex: VertexId) -> Result<Vec<LabelId>, EvalError> {
        self.of_vertex(vertex)?.labels(vertex)
    }
    fn label_set(&self, vertex: VertexId) -> Result<Option<LabelSetId>, EvalError> {
        self.of_vertex(vertex)?.label_set(vertex)
    }
    fn has_label(&self, vertex: VertexId, label: LabelId) -> Result<bool, EvalError> {
        self.of_vertex(vertex)?.has_label(vertex, label)
    }
    fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, EvalError> {
        self.of_vertex(vertex)?.property(vertex, key)
    }
    fn properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        self.of_vertex(vertex)?.properties(vertex)
    }
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, EvalError> {
        self.of_edge(edge)?.edge_property(edge, key)
    }
    fn edge_exists(&self, edge: EdgeRef) -> Result<bool, EvalError> {
        self.of_edge(edge.id)?.edge_exists(edge)
    }
    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        self.of_edge(edge)?.edge_properties(edge)
    }
    fn read_property(
        &self,
        vertices: &mut dyn Iterator<Item = VertexId>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        let mut fresh = vertices.take_while(|vertex| self.of_vertex(*vertex).is_ok());
        self.view.read_property(&mut fresh, key, visit)?;
        self.of(true).map(drop)
    }
    fn read_edge_property(
        &self,
        edges: &mut dyn Iterator<Item = Option<EdgeId>>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        let mut fresh = edges.take_while(|edge| edge.is_none_or(|edge| self.of_edge(edge).is_ok()));
        self.view.read_edge_property(&mut fresh, key, visit)?;
        self.of(true).map(drop)
    }
    fn read_property_runs(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        vertices.iter().try_for_each(|vertex| self.of_vertex(*vertex).map(drop))?;
        self.view.read_property_runs(vertices, key, visit)
    }
    fn read_edge_property_runs(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        edges.iter().try_for_each(|edge| self.of_edge(*edge).map(drop))?;
        self.view.read_edge_property_runs(edges, key, visit)
    }
}
