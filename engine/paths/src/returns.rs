//! When does a path come back to where it began, if no edge may be used twice? (Undirected only.)
//!
//! Idea: one breadth-first search from all sources together labels each vertex with its source and with the first edge
//! of its path. An edge that joins two labels closes a path: between two sources, or, with one source and two first
//! edges, a cycle through it, and the first such edge is the shortest. A self-loop or a parallel edge
//! closes as well; the edge by which a vertex was entered does not.
//! Invariant: an edge seen while level `d` is expanded closes no path shorter than `2d + 1` that was not seen before.
//! (A cycle through a source that touches another source's region is never shorter than the path from that other source.)
//! Cost: a hash entry per labelled vertex, until every source has an answer; in most graphs two levels.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::error::PathError;
use crate::work::{Progress, Work};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// No edge has this identity.
const NO_EDGE: u64 = u64::MAX;
const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Label {
    /// Position in `roots`.
    root: u32,
    depth: u32,
    /// The first edge of the path from the root; none at the root itself.
    first: u64,
    /// The last edge of the path from the root, and the vertex before it.
    entry: u64,
    before: u32,
}

pub(crate) struct Returns {
    hops_max: u32,
    /// Whether the shortest return is wanted, or just any within the bound.
    exact: bool,
    roots: Vec<u32>,
    /// Per root, the length of the shortest return so far.
    best: Vec<u64>,
    /// With one root, the edge that closes it, and its ends.
    closing: Option<(u32, u64, u32)>,
    labels: HashMap<u32, Label, FixedState>,
    frontier: Vec<u32>,
    next: Vec<u32>,
    depth: u32,
    cursor: usize,
    edge_cursor: usize,
    scratch: EdgeScratch,
}

impl Returns {
    /// `roots` are distinct and below the bound.
    pub(crate) fn new(roots: &[u32], hops_max: u32, exact: bool) -> Returns {
        let label = |root| Label { root, depth: 0, first: NO_EDGE, entry: NO_EDGE, before: 0 };
        Returns {
            hops_max,
            exact,
            roots: roots.to_vec(),
            best: vec![NEVER; roots.len()],
            closing: None,
            labels: roots.iter().enumerate().map(|(at, &root)| (root, label(at as u32))).collect(),
            frontier: roots.to_vec(),
            next: Vec::new(),
            depth: 0,
            cursor: 0,
            edge_cursor: 0,
            scratch: EdgeScratch::default(),
        }
    }

    /// The sources that are ends, with the length of their return.
    pub(crate) fn answers(&self, graph: &impl Adjacency) -> Vec<(u32, u32)> {
        let pairs = self.roots.iter().zip(&self.best);
        let within =
            pairs.filter(|(root, best)| **best <= self.hops_max as u64 && graph.admits_vertex(**root));
        within.map(|(&root, &best)| (root, best as u32)).collect()
    }

    /// A shortest path from the only root back to it, told backwards: its vertices but for the last, and its edges.
    pub(crate) fn path(&self) -> (Vec<u32>, Vec<u64>) {
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        let Some((near, edge, far)) = self.closing else { return (vertices, edges) };
        let up = |mut vertex: u32| {
            let mut line = Vec::new();
            while let Some(label) = self.labels.get(&vertex).filter(|label| label.depth > 0) {
                line.push((label.before, label.entry, vertex));
                vertex = label.before;
            }
            line
        };
        // Backwards: from the root out to `far`, over the closing edge, and from `near` home.
        for (_, entry, vertex) in up(far).into_iter().rev() {
            vertices.push(vertex);
            edges.push(entry);
        }
        vertices.push(near);
        edges.push(edge);
        for (before, entry, _) in up(near) {
            vertices.push(before);
            edges.push(entry);
        }
        (vertices, edges)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.labels.capacity() * (size_of::<(u32, Label)>() + 1)
            + (self.frontier.capacity() + self.next.capacity() + self.roots.capacity()) * 4
            + self.best.capacity() * 8
            + self.scratch.bytes()
    }

    pub(crate) fn step(
        &mut self,
        graph: &impl Adjacency,
        work: &mut Work<'_>,
    ) -> Result<Progress, PathError> {
        loop {
            if self.cursor == self.frontier.len() {
                std::mem::swap(&mut self.frontier, &mut self.next);
                self.next.clear();
                self.cursor = 0;
                self.depth += 1;
                if graph.failure() {
                    return Err(PathError::GraphFailed);
                }
            }
            if self.frontier.is_empty() || self.is_settled() {
                return Ok(Progress::Done);
            }
            self.expand(graph, work);
            if work.is_over() {
                return if graph.failure() { Err(PathError::GraphFailed) } else { Ok(Progress::More) };
            }
        }
    }

    /// Whether nothing found from here on can better an answer.
    fn is_settled(&self) -> bool {
        let soonest = 2 * self.depth as u64 + 1;
        let enough = if self.exact { soonest } else { self.hops_max as u64 };
        soonest > self.hops_max as u64 || self.best.iter().all(|&best| best <= enough)
    }

    fn expand(&mut self, graph: &impl Adjacency, work: &mut Work<'_>) {
        let vertex = self.frontier[self.cursor];
        let mut scratch = std::mem::take(&mut self.scratch);
        let (neighbours, edges) = graph.edges(vertex, &mut scratch);
        let end = self.edge_cursor + work.piece(neighbours.len() - self.edge_cursor);
        let own = self.labels[&vertex];
        for at in self.edge_cursor..end {
            let (far, edge) = (neighbours[at], edges[at]);
            let refused =
                edge == own.entry || (graph.has_edge_predicate() && !graph.admits_edge(edge, vertex, far));
            if !refused {
                self.follow(graph, (vertex, own), far, edge);
            }
        }
        work.charge(end - self.edge_cursor);
        let is_finished = end == neighbours.len();
        self.edge_cursor = if is_finished { 0 } else { end };
        self.cursor += is_finished as usize;
        self.scratch = scratch;
    }

    fn follow(&mut self, graph: &impl Adjacency, (vertex, own): (u32, Label), far: u32, edge: u64) {
        let Some(&other) = self.labels.get(&far) else {
            if graph.admits_vertex(far) {
                let first = if own.depth == 0 { edge } else { own.first };
                let (root, depth, entry, before) = (own.root, own.depth + 1, edge, vertex);
                self.labels.insert(far, Label { root, depth, first, entry, before });
                self.next.push(far);
            }
            return;
        };
        let is_loop_at_root = vertex == far && own.depth == 0;
        if own.root != other.root || own.first != other.first || is_loop_at_root {
            let length = own.depth as u64 + other.depth as u64 + 1;
            if self.best.first().is_some_and(|best| length < *best) {
                self.closing = Some((vertex, edge, far));
            }
            for root in [own.root, other.root] {
                let best = &mut self.best[root as usize];
                *best = length.min(*best);
            }
        }
    }
}
