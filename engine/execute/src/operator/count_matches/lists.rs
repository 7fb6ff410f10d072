//! Lists of neighbours as the count reads them: recorded in the transaction, and, where a list is probed again and again, as a table of
//! multiplicities.

use super::table::Table;
use crate::access::Environment;
use crate::operator::expand::edge_types;
use crate::turn::Try;
use model::{Direction, EdgeId, EdgeTypeId, VertexId};
use plan::expr::Name;
use std::sync::Arc;
use store::{AdjacencyView, Snapshot};

/// The edges of some types in one direction.
pub(crate) struct Lists {
    /// None where no such type is known: all lists are empty.
    view: Option<AdjacencyView>,
    types: Vec<EdgeTypeId>,
    direction: Direction,
    /// Records the reads.
    recorder: Option<Arc<Environment>>,
}

impl Lists {
    pub fn new(
        types: &[Name],
        direction: Direction,
        snapshot: &Snapshot,
        environment: &Arc<Environment>,
    ) -> Lists {
        let types = edge_types(types, snapshot);
        let view = types.as_ref().map(|types| snapshot.adjacency(types, direction));
        let recorder = environment.is_recording().then(|| environment.clone());
        Lists { view, types: types.unwrap_or_default(), direction, recorder }
    }
    fn record(&self, vertex: u32) {
        if let Some(environment) = &self.recorder {
            environment
                .record(|reads| reads.adjacency(VertexId::from_dense(vertex), &self.types, self.direction));
        }
    }
    /// Neighbours, one for each edge.
    #[inline]
    pub fn of<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> Try<&'a [u32]> {
        self.record(vertex);
        Ok(match &self.view {
            Some(view) => view.neighbours(vertex, scratch)?,
            None => &[],
        })
    }
    pub fn degree(&self, vertex: u32) -> Try<u64> {
        self.record(vertex);
        Ok(self.view.as_ref().map_or(Ok(0), |view| view.degree(vertex))?.into())
    }
    /// Edges from one vertex to another, by search in the list.
    pub fn between(&self, from: u32, to: u32, found: &mut Vec<EdgeId>) -> Try<u64> {
        self.record(from);
        found.clear();
        if let Some(view) = &self.view {
            view.find(from, to, found)?;
        }
        Ok(found.len() as u64)
    }
    /// Do all edges met this way lead to vertices with this label?
    pub fn all_lead_to(&self, label: model::LabelId, snapshot: &Snapshot) -> bool {
        let (statistics, back) = (snapshot.statistics(), self.direction.reversed());
        !self.types.is_empty() && statistics.all_edges_near(&self.types, back, label)
    }
}

/// One list as a table, until the list of another vertex is needed.
#[derive(Default)]
pub(super) struct Marks {
    table: Table,
    /// Vertices in the list, each once.
    pub distinct: Vec<u32>,
    owner: Option<u32>,
}

impl Marks {
    /// Makes this the list of `vertex`; returns how much that looked at.
    pub fn hold(&mut self, vertex: u32, lists: &Lists, scratch: &mut Vec<u32>) -> Try<usize> {
        if self.owner == Some(vertex) {
            return Ok(0);
        }
        self.owner = None;
        for old in self.distinct.drain(..) {
            *self.table.cell(old) = 0;
        }
        let list = lists.of(vertex, scratch)?;
        for far in list {
            let cell = self.table.cell(*far);
            if *cell == 0 {
                self.distinct.push(*far);
            }
            *cell += 1;
        }
        self.owner = Some(vertex);
        Ok(list.len())
    }
    /// How often the vertex stands in the list.
    #[inline]
    pub fn times(&self, vertex: u32) -> u64 {
        self.table.get(vertex)
    }
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.distinct.capacity() * size_of::<u32>()
    }
}
