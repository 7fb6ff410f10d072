//! A level of a breadth-first search from the other side: each vertex not yet seen looks for one parent in the frontier.
//!
//! Idea: when the frontier holds a good part of all edges, most of them lead to vertices already seen, while an unseen vertex meets a
//! parent after a few tries and looks no further; `direction` says when. Invariant: the frontier's bitmap is the level being expanded. Cost: a bit per vertex more.

use crate::adjacency::Adjacency;
use crate::direction::{Direction, SINGLE, Side};
use crate::frontier::{Bitmap, Found};
use crate::work::Work;

/// The way back, and where a level from below stands.
pub(crate) struct BottomUp<A> {
    against: A,
    frontier: Bitmap,
    direction: Direction,
    /// The level is taken from below, and is not over.
    sweeping: bool,
    vertex: u32,
    edge_cursor: usize,
    scratch: Vec<u32>,
}

impl<A: Adjacency> BottomUp<A> {
    /// None where the graph does not know how many edges it has.
    pub(crate) fn new(against: A) -> Option<BottomUp<A>> {
        let direction = Direction::new(SINGLE, against.vertex_bound(), against.edges_estimate()?);
        let frontier = Bitmap::default();
        let (sweeping, vertex, edge_cursor) = (false, 0, 0);
        Some(BottomUp { against, frontier, direction, sweeping, vertex, edge_cursor, scratch: Vec::new() })
    }

    /// For another search of the same graph.
    pub(crate) fn restart(&mut self) {
        self.direction.restart();
        (self.sweeping, self.vertex, self.edge_cursor) = (false, 0, 0);
    }

    /// Chooses the side for the level `frontier`; true for this one.
    pub(crate) fn begin_level(&mut self, frontier: &[u32], graph: &A) -> bool {
        let count = frontier.len() as u64;
        let edges = if self.direction.asks_edges(count) {
            frontier.iter().map(|vertex| u64::from(graph.degree(*vertex))).sum()
        } else {
            0
        };
        let below = self.direction.choose(count, edges) == Side::Below;
        if below {
            if self.frontier.bytes() == 0 {
                self.frontier = Bitmap::new(graph.vertex_bound());
            }
            self.frontier.clear();
            frontier.iter().for_each(|vertex| {
                self.frontier.insert(*vertex);
            });
            (self.sweeping, self.vertex, self.edge_cursor) = (true, 0, 0);
        }
        below
    }

    pub(crate) fn is_sweeping(&self) -> bool {
        self.sweeping
    }

    /// Goes on with the level until it or the work is over.
    pub(crate) fn sweep(&mut self, graph: &A, visited: &mut Bitmap, found: &mut Found, work: &mut Work<'_>) {
        while let Some(vertex) = visited.next_clear(self.vertex, self.against.vertex_bound()) {
            if work.is_over() {
                self.vertex = vertex;
                return;
            }
            if vertex != self.vertex {
                self.edge_cursor = 0;
            }
            self.vertex = vertex;
            let rest = &self.against.neighbours(vertex, &mut self.scratch)[self.edge_cursor..];
            let piece = work.piece(rest.len());
            let parent = rest[..piece].iter().position(|near| self.frontier.contains(*near));
            work.charge(parent.map_or(piece, |at| at + 1));
            if parent.is_some() {
                visited.insert(vertex);
                if graph.admits_vertex(vertex) {
                    found.push(vertex);
                }
            } else if piece < rest.len() {
                self.edge_cursor += piece;
                continue;
            }
            self.edge_cursor = 0;
            self.vertex += 1;
        }
        self.sweeping = false;
    }

    /// Whether reading the way back failed.
    pub(crate) fn failure(&self) -> bool {
        self.against.failure()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.frontier.bytes() + self.scratch.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;

    /// Too little beside what a search holds for the allocator to show it.
    #[test]
    fn it_holds_a_bit_a_vertex_and_the_list_it_reads() {
        let edges: Vec<(u32, u32)> = (0..400).map(|from| (from, 9_999)).collect();
        let (along, against) = (Csr::outgoing(10_000, &edges), Csr::incoming(10_000, &edges));
        let mut below = BottomUp::new(against).unwrap();
        assert_eq!(below.bytes(), 0);
        let frontier: Vec<u32> = (0..400).collect();
        assert!(below.begin_level(&frontier, &along));
        let bits = below.bytes();
        assert!((10_000 / 8..10_000 / 4).contains(&bits), "{bits}");
        below.scratch.reserve_exact(100);
        assert_eq!(below.bytes(), bits + 400);
    }
}
