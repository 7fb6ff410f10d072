//! The trait of programs, and their view of a vertex.
//!
//! Invariant: a program writes nothing but its state at the vertices of its batch, and its outbox. It may read the graph around them, and gets the
//! same batches whichever workers run; so its answer is the same every time.
//! Cost: a call has up to [`BATCH_VERTICES_MAX`](crate::limits::BATCH_VERTICES_MAX) vertices, so a call costs each of them little.

use crate::inbox::{MessageRange, Messages};
use crate::vertex_values::{MessagesHere, VertexValues};
use dataflow::{Failure, watch};
use model::{Direction, EdgeId, EdgeTypeId, KeyId, Value, VertexId};
use std::any::Any;
use std::sync::Arc;
use store::{AdjacencyView, LabelFilter, PropertyRef, Snapshot, StoreError};

/// How messages to one vertex in one round are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Each is delivered, in the order of the senders.
    Each,
    /// The least is delivered.
    Least,
}

/// Where a run begins if its start is null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Everywhere {
    /// At the vertices that pass.
    Passing(LabelFilter),
    /// Nowhere: the call must name start vertices.
    Nowhere,
}

/// The edges that a program follows.
#[derive(Clone, Copy, Debug)]
pub struct FollowedEdges<'a> {
    /// Their types.
    pub types: &'a [EdgeTypeId],
    /// Are these all types that the graph has edges of? Then an edge of any other may come to it.
    pub is_all: bool,
    /// Which way they are followed.
    pub direction: Direction,
}

/// A program with its parameters.
pub trait NodeProgram: Send + Sync {
    /// The edges that it follows.
    fn edges(&self) -> FollowedEdges<'_>;
    /// How messages to one vertex are combined.
    fn combine(&self) -> Combine {
        Combine::Each
    }
    /// Its default start.
    fn everywhere(&self) -> Everywhere {
        Everywhere::Nowhere
    }
    /// May it begin at these vertices only?
    fn begins_at_some(&self) -> bool {
        true
    }
    /// Called with vertices that have messages. Those where it begins have one, null, in round 0.
    ///
    /// # Errors
    /// Any error ends the query.
    fn visit(&self, batch: &mut Batch<'_>) -> Result<(), Failure>;
    /// Vertices that one worker visits one call after the other, with one scratch.
    fn slice_vertices(&self) -> usize {
        crate::limits::BATCH_VERTICES_MAX
    }
    /// May its answer depend on how vertices are cut into calls, and so on how many edges each has, since it remembers something between calls?
    fn remembers_calls(&self) -> bool {
        false
    }
    /// Is [`end`](NodeProgram::end) called?
    fn ends(&self) -> bool {
        false
    }
    /// Called behind the last round with all vertices that have a state.
    ///
    /// # Errors
    /// Any error ends the query.
    fn end(&self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        let _ = batch;
        Ok(())
    }
}

/// Records the reads of a program.
pub trait Reads: Send + Sync {
    /// All vertices that pass.
    fn scan(&self, filter: &LabelFilter);
    /// A list of edges; without types, of any type.
    fn adjacency(&self, vertex: VertexId, types: &[EdgeTypeId], direction: Direction);
    /// Whether there is such a vertex, and nothing else of it.
    fn existence(&self, vertex: VertexId);
    /// Labels or properties of a vertex.
    fn vertex(&self, vertex: VertexId);
    /// Properties of an edge.
    fn edge(&self, edge: EdgeId);
}

/// The graph at one snapshot, along the edges that a program follows.
pub struct ProgramGraph {
    view: AdjacencyView,
    /// Types of the lists that are read, for records; none for all types.
    told_types: Arc<[EdgeTypeId]>,
    direction: Direction,
    reads: Option<Arc<dyn Reads>>,
}

impl ProgramGraph {
    pub(crate) fn new(
        snapshot: &Snapshot,
        FollowedEdges { types, is_all, direction }: FollowedEdges<'_>,
        reads: Option<Arc<dyn Reads>>,
    ) -> ProgramGraph {
        let told_types = if is_all { [].into() } else { types.into() };
        ProgramGraph { view: snapshot.adjacency(types, direction), told_types, direction, reads }
    }
    /// All vertices that pass are listed.
    pub(crate) fn read_scan(&self, filter: &LabelFilter) {
        if let Some(reads) = &self.reads {
            reads.scan(filter);
        }
    }
    /// The snapshot. Reads of it past this type are not recorded.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        self.view.snapshot()
    }
    /// Dense numbers of vertices lie below this.
    pub fn vertex_bound(&self) -> u32 {
        self.view.vertex_bound()
    }
    fn read_list(&self, vertex: u32) {
        if let Some(reads) = &self.reads {
            reads.adjacency(VertexId::from_dense(vertex), &self.told_types, self.direction);
        }
    }
    fn read_vertex(&self, vertex: u32) -> VertexId {
        let vertex = VertexId::from_dense(vertex);
        if let Some(reads) = &self.reads {
            reads.vertex(vertex);
        }
        vertex
    }
    /// The number of a vertex's edges, for cutting vertices into calls: not recorded.
    pub(crate) fn weight(&self, vertex: u32) -> Result<u32, StoreError> {
        self.view.degree(vertex)
    }
    /// How many edges a vertex has.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn degree(&self, vertex: u32) -> Result<u32, StoreError> {
        self.read_list(vertex);
        self.view.degree(vertex)
    }
    /// The other ends of a vertex' edges, one for each edge.
    ///
    /// # Errors
    /// The graph cannot be read, or the query is over.
    pub fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Result<&'a [u32], Failure> {
        self.read_list(vertex);
        let neighbours = self.view.neighbours(vertex, scratch)?;
        watch::spend(1 + neighbours.len() as u64 / 8)?;
        Ok(neighbours)
    }
    /// The edges of a vertex: their other ends, and their ids in the same order.
    ///
    /// # Errors
    /// The graph cannot be read, or the query is over.
    pub fn edges<'a>(
        &'a self,
        vertex: u32,
        (neighbours, ids): (&'a mut Vec<u32>, &'a mut Vec<u64>),
    ) -> Result<(&'a [u32], &'a [u64]), Failure> {
        self.read_list(vertex);
        let found = self.view.edges_in(vertex, neighbours, ids)?;
        watch::spend(1 + found.0.len() as u64 / 8)?;
        Ok(found)
    }
    /// Calls `found` with each edge of a vertex in stored direction.
    ///
    /// # Errors
    /// The graph cannot be read, or the query is over.
    pub fn for_each_edge(&self, vertex: u32, found: impl FnMut(model::EdgeRef)) -> Result<(), Failure> {
        self.read_list(vertex);
        watch::spend(1 + u64::from(self.view.degree(vertex)?) / 8)?;
        Ok(self.view.for_each_edge(vertex, found)?)
    }
    /// Does a vertex pass?
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn passes(&self, vertex: u32, filter: &LabelFilter) -> Result<bool, StoreError> {
        match filter {
            LabelFilter::Any => Ok(true),
            filter => self.snapshot().passes(self.read_vertex(vertex), filter),
        }
    }
    /// The names of a vertex' labels.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn labels(&self, vertex: u32) -> Result<Vec<Arc<str>>, StoreError> {
        let vertex = self.read_vertex(vertex);
        let set = self.snapshot().labels(vertex)?;
        let catalog = self.snapshot().catalog();
        let labels = catalog.labels_of(set).iter();
        Ok(labels.filter_map(|label| catalog.label_name(*label).cloned()).collect())
    }
    /// A property of a vertex; null where there is none.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn property(&self, vertex: u32, key: KeyId) -> Result<Value, StoreError> {
        self.snapshot().property(self.read_vertex(vertex), key)
    }
    /// All properties of a vertex.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn properties(&self, vertex: u32) -> Result<Vec<(KeyId, Value)>, StoreError> {
        self.snapshot().properties(self.read_vertex(vertex))
    }
    /// Calls `read` with a property of an edge, borrowed.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn edge_property<R>(
        &self,
        edge: EdgeId,
        key: KeyId,
        read: impl FnOnce(PropertyRef<'_>) -> R,
    ) -> Result<R, StoreError> {
        if let Some(reads) = &self.reads {
            reads.edge(edge);
        }
        self.snapshot().with_edge_property(edge, key, read)
    }
    /// All properties of an edge.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>, StoreError> {
        if let Some(reads) = &self.reads {
            reads.edge(edge);
        }
        self.snapshot().edge_properties(edge)
    }
    /// Is there such a vertex?
    pub(crate) fn exists(&self, vertex: u32) -> Result<bool, StoreError> {
        let vertex = VertexId::from_dense(vertex);
        if let Some(reads) = &self.reads {
            reads.existence(vertex);
        }
        self.snapshot().exists(vertex)
    }
}

/// The outputs of a program in one call.
#[derive(Default)]
pub struct Outbox {
    pub(crate) messages: Messages,
    pub(crate) rows: VertexValues,
    /// Heap bytes of messages; those of one that is sent to many at once count once.
    pub(crate) bytes: usize,
    pub(crate) is_enough: bool,
    pub(crate) scratch: Scratch,
    pub(crate) scratch_bytes: usize,
}

/// State of a program from one call to the next within one slice of a round: empty at its beginning.
pub type Scratch = Option<Box<dyn Any + Send>>;

impl Outbox {
    /// Sends a message to a vertex, where it is there in the next round.
    #[inline]
    pub fn send(&mut self, to: u32, message: Value) {
        self.bytes += heap_bytes(&message);
        self.messages.push(to, message);
    }
    /// Sends the same message to all of these.
    #[inline]
    pub fn send_each(&mut self, to: &[u32], message: &Value) {
        if !to.is_empty() {
            self.bytes += heap_bytes(message);
            self.messages.push_copies(to, message);
        }
    }
    /// Bytes of the messages that are sent so far.
    pub(crate) fn message_bytes(&self) -> usize {
        self.bytes + self.messages.inline_bytes()
    }
    /// Hands out a row.
    pub fn emit(&mut self, vertex: u32, value: Value) {
        self.rows.push(vertex, value);
    }
    /// Keeps a scratch of `bytes` bytes for the next call of this slice; [`Outbox::scratch`] takes it out.
    pub fn keep(&mut self, scratch: Scratch, bytes: usize) {
        (self.scratch, self.scratch_bytes) = (scratch, bytes);
    }
    /// The scratch of the last call of this slice.
    pub fn scratch(&mut self) -> Scratch {
        self.scratch.take()
    }
    /// No round behind this one is needed.
    pub fn enough(&mut self) {
        self.is_enough = true;
    }
}

/// Bytes of a value beyond itself.
#[inline]
pub(crate) fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Vertex(_) => 0,
        value => value.heap_bytes(),
    }
}

/// Vertices that are visited together in one round.
pub struct Batch<'a> {
    /// Rounds before this one.
    pub round: u32,
    /// The graph.
    pub graph: &'a ProgramGraph,
    /// The outputs.
    pub out: &'a mut Outbox,
    pub(crate) vertices: &'a [u32],
    pub(crate) messages: MessageRange<'a>,
    pub(crate) states: &'a mut [Value],
}

impl<'a> Batch<'a> {
    /// Vertices.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }
    /// The vertex at this place of the batch.
    #[inline]
    pub fn vertex(&self, at: usize) -> u32 {
        self.vertices[at]
    }
    /// Its messages.
    #[inline]
    pub fn messages(&self, at: usize) -> MessagesHere<'a> {
        self.messages.of(at)
    }
    /// The program's state at it; null at the first visit.
    #[inline]
    pub fn state(&mut self, at: usize) -> &mut Value {
        &mut self.states[at]
    }
}
