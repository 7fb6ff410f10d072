//! Many rows at once: their breadth-first searches as lanes of one, where each row asks for all its ends by distance.
//!
//! Which rows share a search is chosen here: as many as there are lanes, at least [`LANE_ROWS_MIN`], and only for walks long enough that
//! searches meet. Rows come out by distance, not by row, so a stream that someone ordered is searched row by row.

use super::search::orientation;
use super::{Bound, Expansion, Walks};
use crate::adjacency::Walk;
use crate::turn::{Progress, Try};
use model::{Batch, NO_VERTEX, VertexId};
use paths::{LANES_MAX, LaneEnds, LanesReach, Work};
use plan::pattern::{PathMode, Selector};
use std::sync::Arc;

/// Fewer rows are searched one by one: lanes cost a word a vertex and direction, a search of its own two bits.
const LANE_ROWS_MIN: usize = 4;

/// Walks that end sooner seldom meet.
const LANE_HOPS_MIN: u32 = 3;

/// Edges one slice visits; an edge of a shared search costs a little more than one of a single search.
const EDGES_PER_SLICE: u64 = 8_192;

type Along = Arc<Walk>;

/// A shared search in progress.
pub(super) struct Lanes {
    search: LanesReach<Along>,
    walks: Walks,
    /// Input row of each lane.
    rows: Vec<u32>,
    found: LaneEnds,
    /// Answers taken so far.
    taken: usize,
    /// The row behind the last lane's.
    pub(super) row_after: usize,
    is_done: bool,
}

/// Is a shared search right for what is asked, whatever the rows?
pub(super) fn fits(plan: &Expansion) -> bool {
    let by_distance = plan.hops.min <= 1 && plan.hops.max >= LANE_HOPS_MIN;
    let each_end_once = plan.distinct_ends || plan.selector == Selector::AnyShortest;
    let source_counts = plan.mode != PathMode::Acyclic || plan.hops.min == 0;
    plan.to.is_none()
        && plan.predicate.is_none()
        && !plan.keep_edges
        && by_distance
        && each_end_once
        && source_counts
}

impl Lanes {
    /// A search for the next rows from `row` on; none if they are too few.
    pub(super) fn begin(
        plan: &Expansion,
        bound: &Bound,
        batch: &Batch,
        row: usize,
        walks: impl FnOnce() -> Walks,
    ) -> Try<Option<Lanes>> {
        if batch.len() - row < LANE_ROWS_MIN {
            return Ok(None);
        }
        let (mut rows, mut sources, mut row_after) = (Vec::new(), Vec::new(), row);
        while row_after < batch.len() && sources.len() < LANES_MAX {
            let vertex: Option<VertexId> = batch.column(plan.from).vertex(row_after);
            if let Some(vertex) = vertex.filter(|vertex| *vertex != NO_VERTEX)
                && vertex.dense() < bound.snapshot.vertex_bound()
            {
                rows.push(row_after as u32);
                sources.push(vertex.dense());
            }
            row_after += 1;
        }
        if sources.len() < LANE_ROWS_MIN {
            return Ok(None);
        }
        let walks = walks();
        let search = LanesReach::new(walks.along.clone(), &sources, plan.hops, orientation(plan))?;
        let search = search.both_ways(walks.against.clone());
        let found = LaneEnds::default();
        Ok(Some(Lanes { search, walks, rows, found, taken: 0, row_after, is_done: false }))
    }

    /// A slice of work; `take` gets input row, end and distance of up to `rows_max` answers.
    pub(super) fn step(
        &mut self,
        rows_max: usize,
        mut take: impl FnMut(u32, VertexId, u32) -> Try<()>,
    ) -> Try<Progress> {
        if self.taken == self.found.len() && !self.is_done {
            self.found.clear();
            self.taken = 0;
            let outcome = self.search.step(&mut Work::new(EDGES_PER_SLICE), &mut self.found, rows_max);
            let failures = [&self.walks.along, &self.walks.against];
            if let Some(failure) = failures.iter().find_map(|walk| walk.take_failure()) {
                return Err(failure);
            }
            self.is_done = outcome? == paths::Progress::Done;
        }
        let until = self.found.len().min(self.taken + rows_max);
        for at in std::mem::replace(&mut self.taken, until)..until {
            let row = self.rows[usize::from(self.found.lanes[at])];
            take(row, VertexId::from_dense(self.found.ends[at]), self.found.distances[at])?;
        }
        let done = self.is_done && self.taken == self.found.len();
        Ok(if done { Progress::Done } else { Progress::More })
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.search.bytes() + self.found.ends.capacity() * 9
    }
}
