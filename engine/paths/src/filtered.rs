//! An adjacency narrowed by closures: predicates on vertices and edges.

use crate::adjacency::{Adjacency, EdgeScratch};

/// `graph` with a predicate on inner and end vertices and one on edges `(edge, from, to)`.
pub struct Filtered<A, V, E> {
    /// What is narrowed.
    pub graph: A,
    /// Whether a vertex may be on a path.
    pub vertex: V,
    /// Whether an edge may be on a path.
    pub edge: E,
}

impl<A, V, E> Adjacency for Filtered<A, V, E>
where
    A: Adjacency,
    V: Fn(u32) -> bool + Send + Sync,
    E: Fn(u64, u32, u32) -> bool + Send + Sync,
{
    fn vertex_bound(&self) -> u32 {
        self.graph.vertex_bound()
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.graph.neighbours(vertex, scratch)
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.graph.edges(vertex, scratch)
    }
    fn edges_estimate(&self) -> Option<u64> {
        self.graph.edges_estimate()
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.graph.degree(vertex)
    }
    fn admits_vertex(&self, vertex: u32) -> bool {
        self.graph.admits_vertex(vertex) && (self.vertex)(vertex)
    }
    fn admits_edge(&self, edge: u64, from: u32, to: u32) -> bool {
        self.graph.admits_edge(edge, from, to) && (self.edge)(edge, from, to)
    }
    fn has_edge_predicate(&self) -> bool {
        true
    }
    fn failure(&self) -> bool {
        self.graph.failure()
    }
}
