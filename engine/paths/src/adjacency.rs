//! The graph as a search reads it: the one trait between this crate and the storage of edges.
//!
//! Idea: an adjacency is already narrowed to the traversal's edge types and direction(s), at one snapshot.
//! Invariant: it does not change while a search runs, and a vertex keeps its list in the same order.
//! Cost: a plain slice per vertex where the store has one; assembling into the caller's scratch otherwise.

use std::sync::Arc;

/// Adjacency of one snapshot in one direction (or both), for one set of edge types.
///
/// Vertices are dense `u32` ids below [`vertex_bound`](Adjacency::vertex_bound); ids without a vertex have empty lists.
///
/// An *undirected* adjacency lists every edge at both of its ends, with the same edge identity, but
/// [`edges`](Adjacency::edges) must list a self-loop only **once** (see [`EdgeScratch::fill_both`]).
pub trait Adjacency: Send + Sync {
    /// All vertex ids are below this number.
    fn vertex_bound(&self) -> u32;

    /// Neighbours of `vertex`; the parts (edge types, directions) are concatenated. `scratch` may be used to assemble.
    /// A neighbour appears once per edge; order is free but stable.
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32];

    /// The same with edge identities, in two parallel slices (neighbour, edge): for trails and returned paths.
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]);

    /// Length of the list of `vertex`, or an upper estimate; used for choices, never for answers.
    fn degree(&self, vertex: u32) -> u32;

    /// Edges in all lists together, roughly; none where that is not known. Used for choices, never for answers.
    fn edges_estimate(&self) -> Option<u64> {
        None
    }

    /// Predicate on inner and end vertices. The start of a path is not tested, unless the path returns to it.
    #[inline(always)]
    fn admits_vertex(&self, _vertex: u32) -> bool {
        true
    }

    /// Predicate on edges as traversed `from` → `to`; only called if [`has_edge_predicate`](Adjacency::has_edge_predicate).
    /// In an undirected adjacency it must give the same answer both ways round.
    #[inline(always)]
    fn admits_edge(&self, _edge: u64, _from: u32, _to: u32) -> bool {
        true
    }

    /// Whether [`admits_edge`](Adjacency::admits_edge) can refuse; without it searches that need no edge identities read none.
    #[inline(always)]
    fn has_edge_predicate(&self) -> bool {
        false
    }

    /// Whether reading or evaluating failed. The search stops with [`PathError::GraphFailed`](crate::PathError::GraphFailed)
    /// within one step; the caller knows the reason and reports it.
    #[inline(always)]
    fn failure(&self) -> bool {
        false
    }
}

/// Room in which an adjacency may assemble a list with edge identities. The two columns have equal length.
#[derive(Debug, Default)]
pub struct EdgeScratch {
    /// Far ends.
    pub neighbours: Vec<u32>,
    /// Edge identities, parallel to `neighbours`.
    pub edges: Vec<u64>,
}

impl EdgeScratch {
    /// Empties both columns and keeps their memory.
    pub fn clear(&mut self) {
        self.neighbours.clear();
        self.edges.clear();
    }

    /// Appends one edge.
    pub fn push(&mut self, neighbour: u32, edge: u64) {
        self.neighbours.push(neighbour);
        self.edges.push(edge);
    }

    /// Appends a whole part. Both slices must have the same length.
    pub fn extend(&mut self, neighbours: &[u32], edges: &[u64]) {
        debug_assert_eq!(neighbours.len(), edges.len());
        self.neighbours.extend_from_slice(neighbours);
        self.edges.extend_from_slice(edges);
    }

    /// Appends the incoming part of an undirected list, whose outgoing part is already there: leaves out self-loops,
    /// which the outgoing part has listed.
    pub fn fill_both(&mut self, vertex: u32, incoming: (&[u32], &[u64])) {
        for (&neighbour, &edge) in incoming.0.iter().zip(incoming.1) {
            if neighbour != vertex {
                self.push(neighbour, edge);
            }
        }
    }

    /// The assembled list.
    pub fn as_slices(&self) -> (&[u32], &[u64]) {
        (&self.neighbours, &self.edges)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.neighbours.capacity() * 4 + self.edges.capacity() * 8
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<A: Adjacency + ?Sized> Adjacency for $pointer {
            #[inline(always)]
            fn vertex_bound(&self) -> u32 {
                (**self).vertex_bound()
            }
            #[inline(always)]
            fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
                (**self).neighbours(vertex, scratch)
            }
            #[inline(always)]
            fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
                (**self).edges(vertex, scratch)
            }
            #[inline(always)]
            fn degree(&self, vertex: u32) -> u32 {
                (**self).degree(vertex)
            }
            fn edges_estimate(&self) -> Option<u64> {
                (**self).edges_estimate()
            }
            #[inline(always)]
            fn admits_vertex(&self, vertex: u32) -> bool {
                (**self).admits_vertex(vertex)
            }
            #[inline(always)]
            fn admits_edge(&self, edge: u64, from: u32, to: u32) -> bool {
                (**self).admits_edge(edge, from, to)
            }
            #[inline(always)]
            fn has_edge_predicate(&self) -> bool {
                (**self).has_edge_predicate()
            }
            #[inline(always)]
            fn failure(&self) -> bool {
                (**self).failure()
            }
        }
    )*};
}

forward!(&A, Arc<A>, Box<A>);
