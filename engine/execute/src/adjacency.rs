//! How path searches walk the store: the trait of `paths` over an adjacency view, with the condition on edges, the read set of the
//! transaction, and the first failure kept until the search has stopped.

use crate::access::Environment;
use crate::reads::ReadView;
use dataflow::Failure;
use expression::{Compiled, Scope};
use model::{Batch, Column, Direction, EdgeId, EdgeRef, EdgeTypeId, Nulls, VertexId};
use parking_lot::Mutex;
use paths::EdgeScratch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{AdjacencyView, Snapshot, StoreError};

/// A condition on every edge of a path, for one input row.
pub(crate) struct EdgeCondition {
    pub(crate) predicate: Arc<Compiled>,
    /// The input row, without the edge, which becomes its last column.
    pub(crate) row: Batch,
}

/// One way of walking the graph.
pub(crate) struct Walk {
    view: AdjacencyView,
    types: Arc<Vec<EdgeTypeId>>,
    direction: Direction,
    /// With the graph as its expressions see it.
    condition: Option<(EdgeCondition, ReadView)>,
    environment: Arc<Environment>,
    recording: bool,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl Walk {
    pub(crate) fn new(
        snapshot: &Snapshot,
        types: &Arc<Vec<EdgeTypeId>>,
        direction: Direction,
        condition: Option<EdgeCondition>,
        environment: &Arc<Environment>,
    ) -> Walk {
        Walk {
            view: snapshot.adjacency(types, direction),
            types: types.clone(),
            direction,
            condition: condition
                .map(|condition| (condition, ReadView::new(Arc::new(snapshot.clone()), environment))),
            environment: environment.clone(),
            recording: environment.is_recording(),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }
    /// Why the search stopped, if it was because of this walk.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.failure.lock().take()
    }
    fn fail(&self, failure: impl Into<Failure>) {
        self.failed.store(true, Ordering::Release);
        self.failure.lock().get_or_insert(failure.into());
    }
    fn record(&self, vertex: u32) {
        if self.recording {
            let vertex = VertexId::from_dense(vertex);
            self.environment.record(|reads| reads.adjacency(vertex, &self.types, self.direction));
        }
    }
    /// The outcome, or a failure of this walk.
    pub(crate) fn or_fail<T: Default>(&self, outcome: Result<T, StoreError>) -> T {
        outcome.unwrap_or_else(|error| {
            self.fail(error);
            T::default()
        })
    }
    /// An edge met between two vertices, in stored direction.
    pub(crate) fn edge(&self, id: EdgeId, from: VertexId, to: VertexId) -> EdgeRef {
        let forward = EdgeRef { id, source: from, target: to };
        let backward = EdgeRef { id, source: to, target: from };
        match self.direction {
            Direction::Out => forward,
            Direction::In => backward,
            Direction::Both if from.chunk() != to.chunk() => {
                if id.chunk() == from.chunk() {
                    forward
                } else {
                    backward
                }
            }
            Direction::Both => self.or_fail(self.view.snapshot().edge(id)).unwrap_or(forward),
        }
    }
    fn holds(&self, condition: &EdgeCondition, view: &ReadView, edge: EdgeRef) -> bool {
        let mut row = condition.row.clone();
        row.push(Column::Edge(vec![edge], Nulls::none()));
        let scope = Scope::new(view.graph(), &self.environment.request);
        match condition.predicate.evaluate_row(&row, 0, &scope) {
            Ok(value) => value.as_bool().unwrap_or(false),
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }
}

impl paths::Adjacency for Walk {
    fn vertex_bound(&self) -> u32 {
        self.view.vertex_bound()
    }
    fn edges_estimate(&self) -> Option<u64> {
        // A transaction that writes notes the lists it reads, one way only.
        if self.recording {
            return None;
        }
        let statistics = self.view.snapshot().statistics();
        // No types stand for all.
        let edges: u64 = match self.types.is_empty() {
            true => statistics.edges(),
            false => self.types.iter().map(|edge_type| statistics.edges_of_type(*edge_type)).sum(),
        };
        Some(if self.direction == Direction::Both { 2 * edges } else { edges })
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.record(vertex);
        self.or_fail(self.view.neighbours(vertex, scratch))
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.record(vertex);
        let EdgeScratch { neighbours, edges } = scratch;
        self.or_fail(self.view.edges_in(vertex, neighbours, edges))
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.or_fail(self.view.degree(vertex))
    }
    fn admits_edge(&self, edge: u64, from: u32, to: u32) -> bool {
        let Some((condition, view)) = &self.condition else { return true };
        let edge = self.edge(EdgeId(edge), VertexId::from_dense(from), VertexId::from_dense(to));
        self.holds(condition, view, edge)
    }
    fn has_edge_predicate(&self) -> bool {
        self.condition.is_some()
    }
    fn failure(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}

impl procedures::GraphWalk for Walk {
    fn edge(&self, id: EdgeId, from: VertexId, to: VertexId) -> EdgeRef {
        Walk::edge(self, id, from, to)
    }
    fn or_fail<T: Default>(&self, outcome: Result<T, StoreError>) -> T {
        Walk::or_fail(self, outcome)
    }
    fn take_failure(&self) -> Option<Failure> {
        Walk::take_failure(self)
    }
}
