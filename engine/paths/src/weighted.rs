//! The cheapest paths by weight from one source, to one target or to all.
//!
//! Idea: Dijkstra's algorithm with a binary heap; outdated heap entries are passed over. Weights are zero or more, so a
//! cheapest path is simple and thus a trail. Invariant: a settled vertex has its final cost, and was settled in order
//! of (cost, vertex); among equal costs the smallest (predecessor, edge) is kept, so the answer does not depend on the
//! order of lists. The source costs nothing and is never entered again.
//! Cost: O(edges · log) time, a hash entry per touched vertex, a heap entry per improvement.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::algorithms::{ReadWeight, Weights};
use crate::error::PathError;
use crate::frontier::checked_sources;
use crate::path::Path;
use crate::work::{Progress, Work};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

#[derive(Clone, Copy)]
struct TouchedVertex {
    cost: f64,
    predecessor: u32,
    edge: u64,
    is_settled: bool,
}

/// Orders the heap: cheapest first, then smallest vertex.
#[derive(Clone, Copy)]
struct Candidate {
    cost: f64,
    vertex: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.vertex.cmp(&self.vertex))
    }
}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Candidate {}

/// See the module's head.
pub struct WeightedShortest<A, W> {
    graph: A,
    weights: Arc<W>,
    source: u32,
    target: Option<u32>,
    touched: HashMap<u32, TouchedVertex, FixedState>,
    heap: BinaryHeap<Candidate>,
    /// In the order of cost.
    settled: Vec<u32>,
    drained: usize,
    /// The vertex whose list is being followed.
    current: Option<Candidate>,
    edge_cursor: usize,
    is_done: bool,
    scratch: EdgeScratch,
}

impl<A: Adjacency, W: Weights> WeightedShortest<A, W> {
    /// From `source` to `target`, or to every vertex.
    pub fn new(graph: A, source: u32, target: Option<u32>, weights: W) -> Result<Self, PathError> {
        let bound = graph.vertex_bound();
        checked_sources(&[source, target.unwrap_or(source)], bound)?;
        let start = TouchedVertex { cost: 0.0, predecessor: source, edge: 0, is_settled: false };
        Ok(WeightedShortest {
            graph,
            weights: Arc::new(weights),
            source,
            target,
            touched: [(source, start)].into_iter().collect(),
            heap: BinaryHeap::from([Candidate { cost: 0.0, vertex: source }]),
            settled: Vec::new(),
            drained: 0,
            current: None,
            edge_cursor: 0,
            is_done: false,
            scratch: EdgeScratch::default(),
        })
    }

    /// Goes on until the work is over or the search has ended.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        let weights = self.weights.clone();
        let mut reader = weights.reader();
        while !self.is_done {
            if work.is_over() {
                return if self.graph.failure() { Err(PathError::GraphFailed) } else { Ok(Progress::More) };
            }
            match self.current {
                Some(near) => self.expand(near, &mut reader, work)?,
                None => self.settle_next(work),
            }
        }
        if self.graph.failure() { Err(PathError::GraphFailed) } else { Ok(Progress::Done) }
    }

    fn settle_next(&mut self, work: &mut Work<'_>) {
        work.charge(0);
        let Some(candidate) = self.heap.pop() else {
            self.is_done = true;
            return;
        };
        let last = self.settled.last().and_then(|last| self.touched.get(last));
        debug_assert!(
            last.is_none_or(|last| last.cost <= candidate.cost),
            "vertices are settled in order of their costs"
        );
        let Some(entry) = self.touched.get_mut(&candidate.vertex) else { return };
        if entry.is_settled {
            return;
        }
        entry.is_settled = true;
        self.settled.push(candidate.vertex);
        self.is_done = self.target == Some(candidate.vertex) || self.graph.failure();
        self.current = Some(candidate);
    }

    fn expand(
        &mut self,
        near: Candidate,
        reader: &mut impl ReadWeight,
        work: &mut Work<'_>,
    ) -> Result<(), PathError> {
        let WeightedShortest { graph, touched, heap, scratch, edge_cursor, source, .. } = self;
        let (neighbours, edges) = graph.edges(near.vertex, scratch);
        let end = *edge_cursor + work.piece(neighbours.len() - *edge_cursor);
        for at in *edge_cursor..end {
            let (far, edge) = (neighbours[at], edges[at]);
            let known = touched.get(&far).copied();
            if known.is_some_and(|entry| entry.is_settled) || far == *source {
                continue;
            }
            if graph.has_edge_predicate() && !graph.admits_edge(edge, near.vertex, far) {
                continue;
            }
            let added = reader.weight(edge);
            if added.is_nan() || added < 0.0 {
                let failed = graph.failure();
                return Err(if failed {
                    PathError::GraphFailed
                } else {
                    PathError::BadWeight { edge, weight: added }
                });
            }
            let cost = near.cost + added;
            let is_better = known.is_none_or(|entry| {
                let by_cost = cost.total_cmp(&entry.cost);
                by_cost.then((near.vertex, edge).cmp(&(entry.predecessor, entry.edge))) == Ordering::Less
            });
            if is_better && (known.is_some() || graph.admits_vertex(far)) {
                touched
                    .insert(far, TouchedVertex { cost, predecessor: near.vertex, edge, is_settled: false });
                if known.is_none_or(|entry| cost < entry.cost) {
                    heap.push(Candidate { cost, vertex: far });
                }
            }
        }
        work.charge(end - *edge_cursor);
        let is_finished = end == neighbours.len();
        *edge_cursor = if is_finished { 0 } else { end };
        if is_finished {
            self.current = None;
        }
        Ok(())
    }

    /// The least cost of reaching `vertex`, if it is settled.
    pub fn cost(&self, vertex: u32) -> Option<f64> {
        self.touched.get(&vertex).filter(|entry| entry.is_settled).map(|entry| entry.cost)
    }

    /// A cheapest path to `vertex`, if it is settled.
    pub fn path(&self, vertex: u32) -> Option<Path> {
        self.cost(vertex)?;
        let (mut path, mut at) = (Path { vertices: vec![vertex], edges: Vec::new() }, vertex);
        while at != self.source {
            let entry = self.touched.get(&at)?;
            path.edges.push(entry.edge);
            path.vertices.push(entry.predecessor);
            at = entry.predecessor;
        }
        path.vertices.reverse();
        path.edges.reverse();
        Some(path)
    }

    /// Moves up to `count_max` settled vertices not yet drained (the source first), with their costs in rising order, to
    /// the back of the columns; how many. May be called between steps.
    pub fn drain_ends(&mut self, ends: &mut Vec<u32>, costs: &mut Vec<f64>, count_max: usize) -> usize {
        let stop = self.settled.len().min(self.drained + count_max);
        let fresh = &self.settled[self.drained..stop];
        ends.extend_from_slice(fresh);
        costs.extend(fresh.iter().filter_map(|&vertex| self.cost(vertex)));
        let count = stop - self.drained;
        self.drained = stop;
        count
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.touched.capacity() * (size_of::<(u32, TouchedVertex)>() + 1)
            + self.heap.capacity() * size_of::<Candidate>()
            + self.settled.capacity() * 4
            + self.scratch.bytes()
    }
}
