//! Many rows at once inside a sub-query, where an operator works alone: their searches as lanes of one, where each row needs all its ends by
//! distance. Rows come out by distance, not by row, so an ordered stream is searched row by row.

use super::expansion::{Bound, Expansion, Walks};
use super::search::orientation;
use crate::adjacency::Walk;
use crate::turn::{Progress, Try};
use model::{Batch, NO_VERTEX, VertexId};
use paths::{Answers, DispatchPolicy, Dispatcher, Keep, LANE_SOURCES_MIN, LANES_MAX, Turn, Work, Worker};
use std::sync::Arc;

/// Edges one slice visits; an edge of a shared search costs a little more than one of a single search.
const EDGES_PER_SLICE: u64 = 8_192;

type Along = Arc<Walk>;

/// A shared search in progress.
pub(super) struct Lanes {
    dispatcher: Dispatcher<Along>,
    worker: Worker,
    walks: Walks,
    /// Input row of each lane.
    rows: Vec<u32>,
    answers: Answers,
    /// The run that is taken, and how much of it and of all ends was.
    taken: (usize, u64, usize),
    /// The row behind the last lane's.
    pub(super) row_after: usize,
    is_done: bool,
}

impl Lanes {
    /// A search for the next rows from `row` on; none if there are too few.
    pub(super) fn begin(
        plan: &Expansion,
        bound: &Bound,
        batch: &Batch,
        row: usize,
        walks: impl FnOnce() -> Walks,
    ) -> Try<Option<Lanes>> {
        if batch.len() - row < LANE_SOURCES_MIN {
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
        if sources.len() < LANE_SOURCES_MIN {
            return Ok(None);
        }
        let walks = walks();
        let along = walks.along.clone();
        let policy = DispatchPolicy::all_threads_lanes(1);
        let dispatcher =
            Dispatcher::new(along, &sources, plan.hops, orientation(plan), Keep::Levels, policy)?;
        let dispatcher = dispatcher.both_ways(walks.against.clone());
        let (worker, answers, taken) = (Worker::new(0), Answers::default(), (0, 0, 0));
        Ok(Some(Lanes { dispatcher, worker, walks, rows, answers, taken, row_after, is_done: false }))
    }

    /// A slice of work; `take` gets input row, end and distance of up to `rows_max` answers.
    pub(super) fn step(
        &mut self,
        rows_max: usize,
        mut take: impl FnMut(u32, VertexId, u32) -> Try<()>,
    ) -> Try<Progress> {
        if self.taken.0 == self.answers.runs.len() && !self.is_done {
            self.answers.clear();
            self.taken = (0, 0, 0);
            let mut work = Work::new(EDGES_PER_SLICE);
            let outcome =
                self.dispatcher.work_on(&mut self.worker, &mut work, &mut self.answers, rows_max as u64);
            let failures = [&self.walks.along, &self.walks.against];
            if let Some(failure) = failures.iter().find_map(|walk| walk.take_failure()) {
                return Err(failure);
            }
            self.is_done = outcome? == Turn::Done;
        }
        let mut left = rows_max;
        while let Some(run) = self.answers.runs.get(self.taken.0).copied()
            && left > 0
        {
            let (at, given, ends) = self.taken;
            let count = (run.count - given).min(left as u64) as usize;
            for end in &self.answers.ends[ends..ends + count] {
                take(self.rows[run.source as usize], VertexId::from_dense(*end), run.distance)?;
            }
            let is_over = given + count as u64 == run.count;
            self.taken =
                if is_over { (at + 1, 0, ends + count) } else { (at, given + count as u64, ends + count) };
            left -= count;
        }
        let done = self.is_done && self.taken.0 == self.answers.runs.len();
        Ok(if done { Progress::Done } else { Progress::More })
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.dispatcher.bytes() + self.answers.bytes()
    }
}
