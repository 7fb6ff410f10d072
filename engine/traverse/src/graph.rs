//! The graph as a traversal sees it: the one trait of this crate, implemented by its caller.

use crate::error::{Outcome, TraverseError};
use gremlin::Object;
use model::{Direction, EdgeRef, VertexId};
use std::sync::Arc;

/// One value of a vertex's property.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The value.
    pub value: Object,
    /// Properties of the property.
    pub meta: Vec<(Arc<str>, Object)>,
}

impl Kept {
    /// A value without properties of its own.
    pub fn plain(value: Object) -> Kept {
        Kept { value, meta: Vec::new() }
    }
}

/// Conditions on vertices, for which a graph may use an index; the traversal tests them again where it must.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// One of these labels; all, where there is none.
    pub labels: Vec<Arc<str>>,
    /// Keys that equal a value.
    pub equal: Vec<(Arc<str>, Object)>,
}

/// A graph as traversals see it. Reads see the traversal's own writes.
pub trait Graph: Send {
    /// Adds some vertices, among them in the end all that satisfy `wanted`. Begins at `cursor` 0; gives the cursor to go on with, none
    /// at the end.
    fn vertices(&self, wanted: &Wanted, cursor: u64, found: &mut Vec<VertexId>) -> Outcome<Option<u64>>;
    /// Adds some edges; cursors as for vertices.
    fn edges(&self, cursor: u64, found: &mut Vec<EdgeRef>) -> Outcome<Option<u64>>;
    /// The vertex that a client calls by this id.
    fn vertex_by_id(&self, id: &Object) -> Outcome<Option<VertexId>>;
    /// The edge that a client calls by this id.
    fn edge_by_id(&self, id: &Object) -> Outcome<Option<EdgeRef>>;
    /// Is it there?
    fn vertex_exists(&self, vertex: VertexId) -> Outcome<bool>;
    /// Is it there?
    fn edge_exists(&self, edge: &EdgeRef) -> Outcome<bool>;
    /// Adds the edges of a vertex; a self-loop is met once in each direction. No types admit all.
    fn adjacent(
        &self,
        vertex: VertexId,
        direction: Direction,
        types: &[Arc<str>],
        found: &mut Vec<EdgeRef>,
    ) -> Outcome<()>;
    /// The id by which clients call it.
    fn vertex_id(&self, vertex: VertexId) -> Outcome<Object>;
    /// The id by which clients call it.
    fn edge_id(&self, edge: &EdgeRef) -> Outcome<Object>;
    /// Its labels, in the order of their names.
    fn labels(&self, vertex: VertexId) -> Outcome<Vec<Arc<str>>>;
    /// Its type.
    fn edge_type(&self, edge: &EdgeRef) -> Outcome<Arc<str>>;
    /// The values of one key.
    fn property(&self, vertex: VertexId, key: &str) -> Outcome<Vec<Kept>>;
    /// All keys with their values.
    fn properties(&self, vertex: VertexId) -> Outcome<Vec<(Arc<str>, Vec<Kept>)>>;
    /// The value of one key.
    fn edge_property(&self, edge: &EdgeRef, key: &str) -> Outcome<Option<Object>>;
    /// All keys with their values.
    fn edge_properties(&self, edge: &EdgeRef) -> Outcome<Vec<(Arc<str>, Object)>>;
    /// Creates a vertex; `id` is the client's id for it.
    fn add_vertex(&self, labels: &[Arc<str>], id: Option<&Object>) -> Outcome<VertexId>;
    /// Makes an edge.
    fn add_edge(
        &self,
        kind: &str,
        source: VertexId,
        target: VertexId,
        id: Option<&Object>,
    ) -> Outcome<EdgeRef>;
    /// Replaces all values of a key; none removes the key.
    fn set_property(&self, vertex: VertexId, key: &str, values: &[Kept]) -> Outcome<()>;
    /// Sets the value of a key; none removes it.
    fn set_edge_property(&self, edge: &EdgeRef, key: &str, value: Option<&Object>) -> Outcome<()>;
    /// Removes a vertex and its edges.
    fn remove_vertex(&self, vertex: VertexId) -> Outcome<()>;
    /// Removes an edge.
    fn remove_edge(&self, edge: &EdgeRef) -> Outcome<()>;
    /// Runs a node program from this vertex, or from where it begins by itself, and hands over its rows.
    fn run_program(
        &self,
        name: &str,
        start: Option<VertexId>,
        parameters: &[(Object, Object)],
        each: &mut dyn FnMut(VertexId, Object) -> Outcome<()>,
    ) -> Outcome<()> {
        let _ = (start, parameters, each);
        Err(TraverseError::step("call", format!("this graph has no program {name}")))
    }
    /// Called between turns, with the number of waiting traversers: an error ends the traversal (its client is gone, its time or memory is up).
    fn pause(&self, waiting: usize) -> Outcome<()>;
    /// A random number.
    fn chance(&self) -> u64;
    /// A monotonic clock, in nanoseconds: for measurements.
    fn elapsed_ns(&self) -> u64;
    /// Seconds and nanoseconds since 1970, the same for the whole traversal.
    fn now(&self) -> (i64, u32);
}
