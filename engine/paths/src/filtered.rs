//! An adjacency narrowed by closures: predicates on vertices and edges.

use crate::adjacency::{Adjacency, EdgeScratch};

/// `graph` with a predicate on inner and end vertices and one on edges `(edge, from, to)`.
pub struct Filtered<A, V, E> {
    /// The underlying graph.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Says something of its own to every question.
    struct Stub {
        fails: bool,
        refuses: u32,
    }

    impl Adjacency for Stub {
        fn vertex_bound(&self) -> u32 {
            17
        }
        fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
            scratch.clear();
            scratch.extend([vertex + 1, vertex + 2]);
            scratch
        }
        fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
            scratch.clear();
            scratch.push(vertex + 1, 70);
            scratch.as_slices()
        }
        fn degree(&self, vertex: u32) -> u32 {
            vertex + 5
        }
        fn edges_estimate(&self) -> Option<u64> {
            Some(99)
        }
        fn admits_vertex(&self, vertex: u32) -> bool {
            vertex != self.refuses
        }
        fn admits_edge(&self, edge: u64, from: u32, to: u32) -> bool {
            (edge, from, to) != (1, 2, 3)
        }
        fn failure(&self) -> bool {
            self.fails
        }
    }

    #[test]
    fn what_is_narrowed_is_asked_and_both_must_admit() {
        let narrowed = |fails| Filtered {
            graph: Stub { fails, refuses: 4 },
            vertex: |vertex: u32| vertex != 6,
            edge: |edge: u64, from: u32, to: u32| (edge, from, to) != (7, 8, 9),
        };
        let graph = narrowed(false);
        assert_eq!((graph.vertex_bound(), graph.edges_estimate(), graph.degree(3)), (17, Some(99), 8));
        assert_eq!(graph.neighbours(3, &mut Vec::new()), [4, 5]);
        let mut scratch = EdgeScratch::default();
        assert_eq!(graph.edges(3, &mut scratch), ([4].as_slice(), [70].as_slice()));
        let admitted: Vec<u32> = (0..8).filter(|vertex| graph.admits_vertex(*vertex)).collect();
        assert_eq!(admitted, [0, 1, 2, 3, 5, 7]);
        assert!(graph.admits_edge(1, 2, 4) && graph.admits_edge(7, 8, 8) && graph.admits_edge(7, 9, 8));
        assert!(!graph.admits_edge(1, 2, 3) && !graph.admits_edge(7, 8, 9));
        assert!(graph.has_edge_predicate() && !graph.failure() && narrowed(true).failure());
    }
}
