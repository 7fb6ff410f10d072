//! Merges sorted parts in executors' memory and spilled runs.
//!
//! A heap of the parts by their next rows (Knuth, The Art of Computer Programming 3, 5.4.1). A run has one piece in memory at a time. If there are
//! more runs than pieces fit memory, as many as fit are merged into one first.

use super::keys::NumberKind;
use super::sorting::Sorting;
use super::whole::{CommonPrefix, NumberedRow, Rows, batch_of, order};
use crate::spill::{PIECE_BYTES, PIECE_ROWS, SpillFile, SpilledRows};
use crate::turn::{Try, Turn};
use model::Batch;
use std::sync::Arc;

/// Runs that are merged at once at most.
const RUNS_MERGED_MAX: usize = 64;
/// Runs that are merged at once at least: with fewer, merging would not come to an end.
const RUNS_MERGED_MIN: usize = 2;

/// A sorted part that was put aside.
pub(super) struct SpilledRun {
    pub(super) file: Arc<SpillFile>,
    pub(super) rows: SpilledRows,
    pub(super) kind: NumberKind,
}

/// A part: rows in order, all in memory or the next piece of a run.
struct Part {
    rows: Rows,
    next: usize,
    run: Option<SpilledRun>,
    /// Charged for the piece in memory.
    charged: usize,
}

impl Part {
    fn next_row(&self) -> NumberedRow {
        self.rows.at(self.next)
    }
}

/// Sorted parts being merged.
pub(super) struct MergedParts {
    plan: Arc<Sorting>,
    common: CommonPrefix,
    /// The kind of the numbers of all parts.
    kind: NumberKind,
    /// Runs whose first piece is yet to be read.
    unread: Vec<SpilledRun>,
    parts: Vec<Part>,
    /// Parts that have rows; the one whose next row is first stands at the top.
    heap: Vec<usize>,
    is_heap: bool,
    /// The part at the top is at the end of its piece.
    at_end: bool,
}

impl MergedParts {
    /// Runs come before the parts in memory: their rows are the older ones.
    pub(super) fn new(
        plan: Arc<Sorting>,
        common: CommonPrefix,
        parts: Vec<Rows>,
        runs: Vec<SpilledRun>,
    ) -> MergedParts {
        let kinds = parts.iter().map(Rows::kind).chain(runs.iter().map(|run| run.kind));
        let kind = kinds.fold(NumberKind::default(), |kind, other| kind.with(other));
        let parts = parts.into_iter().filter(|part| part.len() > 0);
        let parts = parts.map(|rows| Part { rows, next: 0, run: None, charged: 0 }).collect();
        MergedParts {
            plan,
            common,
            kind,
            unread: runs,
            parts,
            heap: Vec::new(),
            is_heap: false,
            at_end: false,
        }
    }
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        let row = |part: usize| {
            let pair = self.parts[part].next_row();
            // Numbers of different kinds say nothing about each other.
            if self.kind.is_unknown() { (0, pair.1) } else { pair }
        };
        let (a_rows, b_rows) = (&self.parts[a].rows, &self.parts[b].rows);
        order(&self.plan, self.kind, (a_rows, row(a)), (b_rows, row(b))).then(a.cmp(&b)).is_lt()
    }
    fn sink(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut first = at;
            if left < self.heap.len() && self.is_before(left, first) {
                first = left;
            }
            if right < self.heap.len() && self.is_before(right, first) {
                first = right;
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }
    /// Reads the next piece of a run, in place of the part's last one.
    fn read(&mut self, mut run: SpilledRun, turn: &mut Turn<'_, '_>) -> Try<Option<Part>> {
        let Some(piece) = run.rows.next() else { return Ok(None) };
        // The bytes of the file are there beside the rows for a moment.
        turn.context.charge(2 * piece.bytes)?;
        let batch = run.file.get(piece, turn.context)?;
        let rows = Rows::of_run(&self.plan, &self.common, self.kind, batch);
        let charged = rows.bytes();
        turn.context.charge(charged)?;
        turn.context.release(2 * piece.bytes);
        Ok(Some(Part { rows, next: 0, run: Some(run), charged }))
    }
    /// Reads a piece of a run that must be in memory before rows can be handed on; true if none must.
    pub(super) fn is_ready(&mut self, turn: &mut Turn<'_, '_>) -> Try<bool> {
        if !self.unread.is_empty() {
            let run = self.unread.remove(0);
            if let Some(part) = self.read(run, turn)? {
                // In the order of their rows, before those in memory.
                let place = self.parts.iter().take_while(|part| part.run.is_some()).count();
                self.parts.insert(place, part);
            }
            return Ok(false);
        }
        if self.at_end
            && let Some(run) = self.parts[self.heap[0]].run.take()
        {
            let at = self.heap[0];
            self.parts[at].rows = Rows::new(self.plan.clone(), self.common.clone());
            turn.context.release(std::mem::take(&mut self.parts[at].charged));
            if let Some(part) = self.read(run, turn)? {
                self.parts[at] = part;
                self.at_end = false;
                self.sink(0);
            }
            return Ok(false);
        }
        Ok(true)
    }
    /// The next rows in order, in `width` columns; empty at the end. Everything must be [ready](MergedParts::is_ready).
    pub(super) fn next(&mut self, rows_max: usize, width: usize) -> Batch {
        if !self.is_heap {
            self.is_heap = true;
            self.heap = (0..self.parts.len()).collect();
            (0..self.heap.len() / 2).rev().for_each(|at| self.sink(at));
        }
        let mut taken: Vec<(usize, u32)> = Vec::with_capacity(rows_max);
        while taken.len() < rows_max
            && let Some(at) = self.heap.first().copied()
        {
            if std::mem::take(&mut self.at_end) {
                self.heap.swap_remove(0);
                self.sink(0);
                continue;
            }
            let part = &mut self.parts[at];
            taken.push((at, part.next_row().1));
            part.next += 1;
            self.at_end = part.next == part.rows.len();
            if self.at_end && part.run.is_some() {
                break;
            }
            if !self.at_end {
                self.sink(0);
            }
        }
        let picks: Vec<(&Rows, u32)> =
            taken.iter().map(|(part, row)| (&self.parts[*part].rows, *row)).collect();
        batch_of(&picks, width)
    }
}

/// Merges runs into fewer, until all pieces fit memory at once.
pub(super) struct FewerRuns {
    plan: Arc<Sorting>,
    common: CommonPrefix,
    runs: Vec<SpilledRun>,
    /// Where the run that is being made belongs.
    place: usize,
    merging: Option<(MergedParts, SpilledRun)>,
}

impl FewerRuns {
    pub(super) fn new(plan: Arc<Sorting>, common: CommonPrefix, runs: Vec<SpilledRun>) -> FewerRuns {
        FewerRuns { plan, common, runs, place: 0, merging: None }
    }
    /// A slice of work; the runs once there are few enough.
    pub(super) fn step(&mut self, turn: &mut Turn<'_, '_>) -> Try<Option<Vec<SpilledRun>>> {
        if let Some((merged, run)) = &mut self.merging {
            if !merged.is_ready(turn)? {
                return Ok(None);
            }
            let rows = merged.next(PIECE_ROWS, self.plan.width_with_keys());
            if rows.is_empty() {
                run.rows.write(&run.file, turn.context)?;
                if let Some((_, run)) = self.merging.take() {
                    self.runs.insert(self.place, run);
                    self.place += 1;
                }
            } else {
                run.rows.take(&rows, &run.file, turn.context)?;
            }
            return Ok(None);
        }
        let piece =
            self.runs.iter().map(|run| run.rows.piece_bytes_max()).max().unwrap_or(0).max(PIECE_BYTES);
        let room = usize::try_from(turn.context.room()).unwrap_or(usize::MAX) / 2;
        // A piece, what its numbers take, and what it is made of while it is read.
        let at_once = (room / (3 * piece)).clamp(RUNS_MERGED_MIN, RUNS_MERGED_MAX);
        if self.runs.len() <= at_once {
            return Ok(Some(std::mem::take(&mut self.runs)));
        }
        // As many as are too many, and the one that they become.
        let some = at_once.min(self.runs.len() - at_once + 1);
        // Neighbours, so that rows of equal keys stay in order; each run once before any a second time.
        if self.place + some > self.runs.len() {
            self.place = 0;
        }
        // Where no file is given any more, all are merged at once, if they find room.
        let Some(file) = SpillFile::create(turn.execution.environment.spill.as_ref(), turn.context)? else {
            return Ok(Some(std::mem::take(&mut self.runs)));
        };
        let neighbours: Vec<SpilledRun> = self.runs.drain(self.place..self.place + some).collect();
        let kind = neighbours.iter().fold(NumberKind::default(), |kind, run| kind.with(run.kind));
        let run =
            SpilledRun { rows: SpilledRows::new(self.plan.width_with_keys()), file: Arc::new(file), kind };
        self.merging =
            Some((MergedParts::new(self.plan.clone(), self.common.clone(), Vec::new(), neighbours), run));
        Ok(None)
    }
}
