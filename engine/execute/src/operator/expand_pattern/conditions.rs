//! The inputs of a pattern search: adjacencies, labels, and expressions over rounds and paths.

use super::{Bound, Expansion};
use crate::access::Environment;
use crate::adjacency::Walk;
use crate::labels::LabelCheck;
use crate::reads::ReadView;
use dataflow::Failure;
use expression::{Compiled, Scope};
use model::{Batch, Column, Direction, EdgeId, EdgeRef, EdgeTypeId, Nulls, VertexId};
use parking_lot::Mutex;
use paths::{EdgeScratch, PatternPath};
use plan::expr::Name;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::Snapshot;

/// One edge of the pattern, walked one way; none where the graph has no such edges.
#[derive(Clone)]
pub(super) struct Leg {
    walk: Option<Arc<Walk>>,
    vertex_bound: u32,
}

impl Leg {
    /// An edge met between two vertices, in stored direction.
    pub(super) fn edge(&self, id: EdgeId, from: VertexId, to: VertexId) -> Option<EdgeRef> {
        self.walk.as_ref().map(|walk| walk.edge(id, from, to))
    }
}

impl paths::Adjacency for Leg {
    fn vertex_bound(&self) -> u32 {
        self.vertex_bound
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.walk.as_ref().map_or(&[], |walk| walk.neighbours(vertex, scratch))
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.walk.as_ref().map_or((&[], &[]), |walk| walk.edges(vertex, scratch))
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.walk.as_ref().map_or(0, |walk| walk.degree(vertex))
    }
    fn failure(&self) -> bool {
        self.walk.as_ref().is_some_and(|walk| walk.failure())
    }
}

/// All edges of the pattern, both ways.
#[derive(Clone)]
pub(super) struct Legs {
    pub along: Vec<Leg>,
    pub against: Vec<Leg>,
}

impl Legs {
    pub(super) fn new(
        legs: &[(Vec<Name>, Direction)],
        types: &[Option<Arc<Vec<EdgeTypeId>>>],
        snapshot: &Snapshot,
        environment: &Arc<Environment>,
    ) -> Legs {
        let leg = |types: &Option<Arc<Vec<EdgeTypeId>>>, direction| Leg {
            walk: types
                .as_ref()
                .map(|types| Arc::new(Walk::new(snapshot, types, direction, None, environment))),
            vertex_bound: snapshot.vertex_bound(),
        };
        let both = || legs.iter().zip(types);
        Legs {
            along: both().map(|((_, direction), types)| leg(types, *direction)).collect(),
            against: both().map(|((_, direction), types)| leg(types, direction.reversed())).collect(),
        }
    }
}

/// The conditions of one row's search.
pub(super) struct Tests {
    plan: Arc<Expansion>,
    legs: Legs,
    row: Batch,
    view: ReadView,
    labels: Arc<Mutex<Vec<LabelCheck>>>,
    environment: Arc<Environment>,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl Tests {
    pub(super) fn new(
        plan: &Arc<Expansion>,
        legs: &Legs,
        row: Batch,
        bound: &Bound,
        environment: &Arc<Environment>,
    ) -> Tests {
        Tests {
            plan: plan.clone(),
            legs: legs.clone(),
            row,
            view: ReadView::new(bound.snapshot.clone(), environment),
            labels: bound.labels.clone(),
            environment: environment.clone(),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }
    pub(super) fn legs(&self) -> &Legs {
        &self.legs
    }
    /// Why the search stopped, if it was because of a condition or an adjacency.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        let walks = || self.legs.along.iter().chain(&self.legs.against).filter_map(|leg| leg.walk.as_ref());
        self.failure.lock().take().or_else(|| walks().find_map(|walk| walk.take_failure()))
    }
    fn fail(&self, failure: impl Into<Failure>) {
        self.failed.store(true, Ordering::Release);
        self.failure.lock().get_or_insert(failure.into());
    }
    fn holds(&self, test: &Compiled, columns: impl Iterator<Item = Column>) -> bool {
        let mut row = self.row.clone();
        columns.for_each(|column| {
            row.push(column);
        });
        let scope = Scope::new(self.view.graph(), &self.environment.request);
        match test.evaluate_row(&row, 0, &scope) {
            Ok(value) => value.as_bool().unwrap_or(false),
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }
}

impl paths::Conditions for Tests {
    fn admits_vertex(&self, place: usize, vertex: u32) -> bool {
        let admits = self.labels.lock()[place].admits(VertexId::from_dense(vertex), self.view.snapshot());
        admits.unwrap_or_else(|failure| {
            self.fail(failure);
            false
        })
    }
    fn admits_round(&self, part: usize, vertices: &[u32], edges: &[u64]) -> bool {
        let Some(test) = &self.plan.rounds[part] else { return true };
        let first: usize = self.plan.edges[..part].iter().sum();
        let vertex = |at: usize| VertexId::from_dense(vertices[at]);
        let edge =
            |at: usize| self.legs.along[first + at].edge(EdgeId(edges[at]), vertex(at), vertex(at + 1));
        let nodes = (0..vertices.len()).map(|at| Column::Vertex(vec![vertex(at)], Nulls::none()));
        let relationships =
            (0..edges.len()).filter_map(edge).map(|edge| Column::Edge(vec![edge], Nulls::none()));
        self.holds(test, nodes.chain(relationships))
    }
    fn admits_path(&self, path: &PatternPath) -> bool {
        let Some(test) = &self.plan.whole else { return true };
        let lists = self.plan.lists(path, &self.legs).map(|list| Column::Any(vec![list]));
        let end = Column::Vertex(vec![VertexId::from_dense(path.end())], Nulls::none());
        self.holds(test, lists.into_iter().chain(self.plan.to.is_none().then_some(end)))
    }
    fn failure(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}
