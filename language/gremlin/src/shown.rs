//! Vertices and edges as clients see them: inside the engine an object names one by its number.

use crate::{Object, VertexProperty};
use model::{EdgeRef, VertexId};
use std::fmt;
use std::sync::Arc;

/// A vertex as clients see it.
#[derive(Clone, Debug)]
pub struct ShownVertex {
    /// Its id.
    pub id: Object,
    /// Its labels, joined by `::`.
    pub label: Arc<str>,
    /// Its properties, in the order of their keys.
    pub properties: Vec<VertexProperty>,
}

/// An edge as clients see it.
#[derive(Clone, Debug)]
pub struct ShownEdge {
    /// Its id.
    pub id: Object,
    /// Its type.
    pub label: Arc<str>,
    /// Where it starts: id and label.
    pub out_vertex: (Object, Arc<str>),
    /// Where it ends: id and label.
    pub in_vertex: (Object, Arc<str>),
    /// Its properties.
    pub properties: Vec<(Arc<str>, Object)>,
}

/// A bag that a version must write element by element, and that has too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BagTooLarge {
    /// Elements, each as often as it is there.
    pub count: u64,
}

impl BagTooLarge {
    /// The advice.
    pub const HINT: &str = "ask in GraphSON 3 or GraphBinary, which write how often each element is there";
}

impl fmt::Display for BagTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a bag of {} elements is too large to be written one by one", self.count)
    }
}

impl std::error::Error for BagTooLarge {}

/// Resolves the numbers of vertices and edges, for writers.
pub trait Elements {
    /// Why it cannot be read, or not be written.
    type Error: From<BagTooLarge>;
    /// A vertex; one that is gone has no label and no properties.
    ///
    /// # Errors
    /// The graph cannot be read.
    fn vertex(&self, vertex: VertexId) -> Result<ShownVertex, Self::Error>;
    /// The id and label of a vertex.
    ///
    /// # Errors
    /// The graph cannot be read.
    fn vertex_name(&self, vertex: VertexId) -> Result<(Object, Arc<str>), Self::Error>;
    /// An edge; one that is gone has no properties.
    ///
    /// # Errors
    /// The graph cannot be read.
    fn edge(&self, edge: &EdgeRef) -> Result<ShownEdge, Self::Error>;
    /// The id of a vertex property.
    fn property_id(&self, property: &VertexProperty) -> Object;
}
