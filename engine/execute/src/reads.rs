//! Records a statement's reads of vertices and edges, for the read set of a transaction whose reads are validated.
//!
//! Idea: expressions see the graph through a [`ReadView`], which records every vertex and edge that they read before it passes the read on to the
//! snapshot. It does not matter how an expression comes to an entity: out of a list, by `startNode()`, by a column that an earlier expression of the
//! same operator made. Of a list of a million nodes of which it takes one, only that one is recorded.
//! Invariant: an entity is recorded before it is read. Outside such transactions, expressions see the snapshot itself.
//! Cost: one key of the read set for each entity and kind of read, recorded together where a column is read.

use crate::access::Environment;
use expression::EvalError;
use expression::graph::{Graph, Names, Visit, VisitRuns};
use foldhash::HashSet;
use model::batch::Carried;
use model::{
    Batch, Column, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, LabelSetId, NO_VERTEX, Value, VertexId,
};
use std::sync::Arc;
use store::Snapshot;
use transact::{ReadSet, Transaction};

/// A snapshot as the expressions of a statement see it.
pub(crate) enum ReadView {
    Plain(Arc<Snapshot>),
    Recorded(RecordedView),
}

impl ReadView {
    pub(crate) fn new(snapshot: Arc<Snapshot>, environment: &Environment) -> ReadView {
        match environment.recording() {
            Some(transaction) => {
                ReadView::Recorded(RecordedView { snapshot, transaction: transaction.clone() })
            }
            None => ReadView::Plain(snapshot),
        }
    }
    /// For expressions.
    pub(crate) fn graph(&self) -> &dyn Graph {
        match self {
            ReadView::Plain(snapshot) => &**snapshot,
            ReadView::Recorded(view) => view,
        }
    }
    /// For operators that record their reads themselves.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        match self {
            ReadView::Plain(snapshot) | ReadView::Recorded(RecordedView { snapshot, .. }) => snapshot,
        }
    }
}

/// A snapshot that records each entity that is read in the transaction.
pub(crate) struct RecordedView {
    snapshot: Arc<Snapshot>,
    transaction: Arc<Transaction>,
}

impl RecordedView {
    fn of_vertex(&self, vertex: VertexId) -> &Snapshot {
        self.transaction.reads().vertex(vertex);
        &self.snapshot
    }
    fn of_vertices(&self, vertices: &[VertexId]) -> &Snapshot {
        self.transaction.reads().vertices(vertices.iter().copied().filter(|vertex| *vertex != NO_VERTEX));
        &self.snapshot
    }
    fn of_edge(&self, edge: EdgeId) -> &Snapshot {
        self.transaction.reads().edge(edge);
        &self.snapshot
    }
}

impl Names for RecordedView {
    fn label(&self, name: &str) -> Option<LabelId> {
        Names::label(&*self.snapshot, name)
    }
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        Names::edge_type(&*self.snapshot, name)
    }
    /// A property of a key that the graph does not know is answered without a read of the entity: the read is that there is no such key.
    fn key(&self, name: &str) -> Option<KeyId> {
        let key = Names::key(&*self.snapshot, name);
        if key.is_none() {
            self.transaction.reads().catalogue();
        }
        key
    }
}

impl Graph for RecordedView {
    fn label_name(&self, label: LabelId) -> Arc<str> {
        self.snapshot.label_name(label)
    }
    fn edge_type_name(&self, edge_type: EdgeTypeId) -> Arc<str> {
        self.snapshot.edge_type_name(edge_type)
    }
    fn key_name(&self, key: KeyId) -> Arc<str> {
        self.snapshot.key_name(key)
    }
    fn labels(&self, vertex: VertexId) -> Result<Vec<LabelId>, EvalError> {
        Graph::labels(self.of_vertex(vertex), vertex)
    }
    fn label_set(&self, vertex: VertexId) -> Result<Option<LabelSetId>, EvalError> {
        Graph::label_set(self.of_vertex(vertex), vertex)
    }
    fn label_sets(
        &self,
        vertices: &[VertexId],
        found: &mut Vec<Option<LabelSetId>>,
    ) -> Result<(), EvalError> {
        Graph::label_sets(self.of_vertices(vertices), vertices, found)
    }
    fn has_label(&self, vertex: VertexId, label: LabelId) -> Result<bool, EvalError> {
        Graph::has_label(self.of_vertex(vertex), vertex, label)
    }
    fn property(&self, vertex: VertexId, key: KeyId) -> Result<Value, EvalError> {
        Graph::property(self.of_vertex(vertex), vertex, key)
    }
    fn properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        Graph::properties(self.of_vertex(vertex), vertex)
    }
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Value, EvalError> {
        Graph::edge_property(self.of_edge(edge), edge, key)
    }
    /// Called for edges that a row holds: the operator that found them has recorded the reads that led to them.
    fn edge_exists(&self, edge: EdgeRef) -> Result<bool, EvalError> {
        Graph::edge_exists(&*self.snapshot, edge)
    }
    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        Graph::edge_properties(self.of_edge(edge), edge)
    }
    fn read_property(
        &self,
        vertices: &mut dyn Iterator<Item = VertexId>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        let vertices: Vec<VertexId> = vertices.collect();
        self.of_vertices(&vertices).read_property(&mut vertices.iter().copied(), key, visit)
    }
    fn read_edge_property(
        &self,
        edges: &mut dyn Iterator<Item = Option<EdgeId>>,
        key: KeyId,
        visit: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        let edges: Vec<Option<EdgeId>> = edges.collect();
        self.transaction.reads().edges(edges.iter().copied().flatten());
        self.snapshot.read_edge_property(&mut edges.iter().copied(), key, visit)
    }
    fn read_property_runs(
        &self,
        vertices: &[VertexId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        self.of_vertices(vertices).read_property_runs(vertices, key, visit)
    }
    fn read_edge_property_runs(
        &self,
        edges: &[EdgeId],
        key: KeyId,
        visit: &mut VisitRuns<'_>,
    ) -> Result<(), EvalError> {
        self.transaction.reads().edges(edges.iter().copied());
        self.snapshot.read_edge_property_runs(edges, key, visit)
    }
}

/// A client that is shown an entity has read its labels and properties: a transaction that may write has to record that.
pub fn record_shown(batch: &Batch, reads: &ReadSet) {
    let mut found = Entities::default();
    (0..batch.width()).for_each(|at| found.column(batch.column(at), batch.len()));
    found.record(reads);
}

/// Entities in values, however deep. A list or map that is shared by many rows, or by many places of a value, is visited once; all values must live
/// until the last of them was visited.
#[derive(Default)]
struct Entities {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeId>,
    /// Where the lists and maps are that were gone into.
    seen: HashSet<*const ()>,
}

impl Entities {
    fn record(&self, reads: &ReadSet) {
        reads.vertices(self.vertices.iter().copied());
        reads.edges(self.edges.iter().copied());
    }
    fn column(&mut self, carried: &Carried, len: usize) {
        match carried.column() {
            Column::Bool(..) | Column::Int(..) | Column::Float(..) | Column::Text(..) => {}
            Column::Vertex(..) => self.vertices.extend((0..len).filter_map(|row| carried.vertex(row))),
            Column::Edge(..) => {
                self.edges.extend((0..len).filter_map(|row| carried.edge(row)).map(|edge| edge.id))
            }
            Column::Constant(value, _) => self.value(value),
            Column::Any(values) => (0..len).for_each(|row| self.value(&values[carried.at(row)])),
        }
    }
    fn value(&mut self, value: &Value) {
        match value {
            Value::Vertex(vertex) => self.vertices.push(*vertex),
            Value::Edge(edge) => self.edges.push(edge.id),
            Value::Path(path) => {
                self.vertices.extend(&path.vertices);
                self.edges.extend(path.edges.iter().map(|edge| edge.id));
            }
            Value::List(list) if !list.is_empty() && self.seen.insert(list.as_slice().as_ptr().cast()) => {
                list.iter().for_each(|value| self.value(value));
            }
            Value::Map(map) if self.seen.insert(std::ptr::from_ref(&**map).cast()) => {
                map.values().for_each(|value| self.value(value));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row carried the whole list: a visit for each row and element, and twice as many with each step of a value that doubles.
    #[test]
    fn what_stands_in_many_places_is_gone_into_once() {
        let list = Value::list((0..1_000).map(|number| Value::Vertex(VertexId(number))).collect());
        let rows = Column::Any(vec![list.clone(); 1_000]);
        let mut found = Entities::default();
        let batch = Batch::new(vec![rows], 1_000);
        found.column(batch.column(0), 1_000);
        assert_eq!(found.vertices.len(), 1_000);
        let doubled =
            (0..20).fold(Value::Vertex(VertexId(7)), |part, _| Value::list(vec![part.clone(), part]));
        let map = Value::map([("a", list.clone()), ("b", doubled.clone()), ("c", Value::list(Vec::new()))]);
        let all = Value::list(vec![map.clone(), map, list, doubled]);
        let mut found = Entities::default();
        found.value(&all);
        assert_eq!(found.vertices.len(), 1_002);
    }
}
