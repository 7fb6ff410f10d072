//! One breadth-first wave with distances: the part that searches from one side or from two have in common.
//!
//! Invariant: vertices of `frontier` have distance `depth`, those of `next` have `depth + 1`.
//! Cost: each edge once, one look at its far end's distance.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::distances::Distances;
use crate::work::Work;

pub(crate) struct Wave {
    pub(crate) distances: Distances,
    pub(crate) frontier: Vec<u32>,
    pub(crate) next: Vec<u32>,
    pub(crate) depth: u32,
    start: u32,
    /// The length of the first closed walk met.
    pub(crate) returned: Option<u32>,
    cursor: usize,
    edge_cursor: usize,
    scratch: Vec<u32>,
    edge_scratch: EdgeScratch,
}

/// Which vertices and edges a wave may use. `edge` gets (edge, near end, far end) as the wave runs.
pub(crate) struct Gate<V, E> {
    pub(crate) vertex: V,
    pub(crate) edge: E,
    pub(crate) asks_edges: bool,
}

impl Wave {
    pub(crate) fn new(vertex_bound: u32, start: u32) -> Wave {
        let mut distances = Distances::new(vertex_bound);
        distances.insert(start, 0);
        Wave {
            distances,
            frontier: vec![start],
            next: Vec::new(),
            depth: 0,
            start,
            returned: None,
            cursor: 0,
            edge_cursor: 0,
            scratch: Vec::new(),
            edge_scratch: EdgeScratch::default(),
        }
    }

    pub(crate) fn level_is_done(&self) -> bool {
        self.cursor == self.frontier.len()
    }

    /// Turns to the next level.
    pub(crate) fn turn(&mut self) {
        debug_assert!(self.level_is_done());
        std::mem::swap(&mut self.frontier, &mut self.next);
        self.next.clear();
        self.cursor = 0;
        self.depth += 1;
    }

    /// One piece of one vertex's list; found vertices are behind the old end of `next`.
    pub(crate) fn expand<V, E>(&mut self, graph: &impl Adjacency, gate: &Gate<V, E>, work: &mut Work<'_>)
    where
        V: Fn(u32) -> bool,
        E: Fn(u64, u32, u32) -> bool,
    {
        let vertex = self.frontier[self.cursor];
        let (mut scratch, mut edge_scratch) =
            (std::mem::take(&mut self.scratch), std::mem::take(&mut self.edge_scratch));
        let (neighbours, edges) = if gate.asks_edges {
            graph.edges(vertex, &mut edge_scratch)
        } else {
            (graph.neighbours(vertex, &mut scratch), &[][..])
        };
        let end = self.edge_cursor + work.piece(neighbours.len() - self.edge_cursor);
        for at in self.edge_cursor..end {
            let far = neighbours[at];
            let is_known = self.distances.get(far).is_some();
            if is_known && (far != self.start || self.returned.is_some()) {
                continue;
            }
            if gate.asks_edges && !(gate.edge)(edges[at], vertex, far) {
                continue;
            }
            if is_known {
                self.returned = (gate.vertex)(far).then_some(self.depth + 1);
            } else if (gate.vertex)(far) {
                self.distances.insert(far, self.depth + 1);
                self.next.push(far);
            }
        }
        work.charge(end - self.edge_cursor);
        let is_finished = end == neighbours.len();
        self.edge_cursor = if is_finished { 0 } else { end };
        self.cursor += is_finished as usize;
        (self.scratch, self.edge_scratch) = (scratch, edge_scratch);
    }

    pub(crate) fn bytes(&self) -> usize {
        let lists = self.frontier.capacity() + self.next.capacity() + self.scratch.capacity();
        self.distances.bytes() + lists * 4 + self.edge_scratch.bytes()
    }
}
