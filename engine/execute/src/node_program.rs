//! A call of a node program: run, or answered from the cache.
//!
//! Idea: the operator of a plan and the step of a traversal make the same call. The reads of a program are recorded in the transaction whose reads
//! are validated, if there is one, and in the watch set of the result that will be stored, if the call says `CACHED`.
//! Invariant: an answer from the cache records in the transaction all reads of the program.

use crate::ExecuteError;
use crate::error::from_failure;
use crate::labels;
use crate::program_cache::{CacheAccess, Lookup, Storing};
use dataflow::Failure;
use model::{Direction, EdgeId, EdgeTypeId, Value, VertexId};
use programs::{ProgramRows, ProgramRun, ProgramWorker, Reads, VertexValues, WorkerTurn};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use store::{LabelFilter, Snapshot};
use transact::{Mode, ReadSet, Transaction};

/// Where the reads of a program are recorded.
struct ProgramReads {
    transaction: Option<Arc<Transaction>>,
    cached: Option<Arc<ReadSet>>,
}

impl ProgramReads {
    fn each(&self, tell: impl Fn(&ReadSet)) {
        self.transaction.iter().for_each(|transaction| tell(transaction.reads()));
        self.cached.iter().for_each(|reads| tell(reads));
    }
}

impl Reads for ProgramReads {
    fn scan(&self, filter: &LabelFilter) {
        self.each(|reads| labels::scanned(filter).into_iter().for_each(|label| reads.scan(label)));
    }
    fn adjacency(&self, vertex: VertexId, types: &[EdgeTypeId], direction: Direction) {
        self.each(|reads| reads.adjacency(vertex, types, direction));
    }
    fn existence(&self, vertex: VertexId) {
        self.each(|reads| reads.existence(vertex));
    }
    fn vertex(&self, vertex: VertexId) {
        self.each(|reads| reads.vertex(vertex));
    }
    fn edge(&self, edge: EdgeId) {
        self.each(|reads| reads.edge(edge));
    }
}

/// A call that was begun.
pub(crate) enum ProgramCall {
    /// Its rows were in the cache; their bytes, and the next one that is handed out.
    Cached { rows: VertexValues, bytes: usize, next: AtomicUsize },
    /// It runs, and its result is stored at the end if that was asked for.
    Runs(Box<ProgramRun>, Option<Box<Storing>>),
}

impl ProgramCall {
    /// A call of the program of this name with its start and its parameters; `recording` is the transaction whose reads are validated.
    ///
    /// # Errors
    /// There is none, or it does not take its arguments.
    pub(crate) fn begin(
        (name, start, parameters): (&str, &Value, &Value),
        snapshot: &Snapshot,
        recording: Option<&Arc<Transaction>>,
        cache: Option<&CacheAccess>,
    ) -> Result<ProgramCall, Failure> {
        if let Some(transaction) = recording {
            transaction.reads().catalogue();
            // Which program it is, if it was deployed.
            transaction.reads().entries();
        }
        let look_up =
            |access: &CacheAccess| access.cache.look_up((name, start, parameters), snapshot, access.tenant);
        let storing = match cache.map(look_up) {
            Some(Lookup::Hit(rows, watched)) => {
                recording.iter().for_each(|transaction| watched.record(transaction.reads()));
                let rows = rows.rows();
                let bytes = rows.all_bytes();
                return Ok(ProgramCall::Cached { rows, bytes, next: AtomicUsize::new(0) });
            }
            Some(Lookup::Miss(storing)) => Some(storing),
            Some(Lookup::Bypass) | None => None,
        };
        let program = programs::open(name, parameters, snapshot)?;
        let cached = storing.as_ref().map(|storing| storing.reads.clone());
        let is_told = recording.is_some() || cached.is_some();
        let reads = ProgramReads { transaction: recording.cloned(), cached };
        let reads = is_told.then(|| Arc::new(reads) as Arc<dyn Reads>);
        let run = ProgramRun::new(program, start, snapshot, reads)?;
        let run = run.logging(storing.as_ref().map(|storing| storing.log.clone()));
        Ok(ProgramCall::Runs(Box::new(run), storing))
    }
    /// One slice of work, or up to `room` rows.
    ///
    /// # Errors
    /// The program fails, or the graph cannot be read.
    pub(crate) fn step(
        &self,
        worker: &mut ProgramWorker,
        room: usize,
        output: &mut ProgramRows,
    ) -> Result<WorkerTurn, Failure> {
        match self {
            ProgramCall::Cached { rows, next, .. } => {
                let (drawn, turn) = drawn(rows, next, room.max(1));
                output.extend(rows, drawn);
                Ok(turn)
            }
            ProgramCall::Runs(run, storing) => {
                let turn = run.step(worker, room, output)?;
                finish(storing.as_deref(), turn);
                Ok(turn)
            }
        }
    }
    /// One piece of work, and all rows of it.
    fn step_alone(
        &self,
        worker: &mut ProgramWorker,
        found: &mut Vec<(VertexId, Value)>,
    ) -> Result<WorkerTurn, Failure> {
        match self {
            ProgramCall::Cached { rows, next, .. } => {
                let (drawn, turn) = drawn(rows, next, model::batch::BATCH_ROWS);
                found.extend(drawn.map(|at| rows.get(at)));
                Ok(turn)
            }
            ProgramCall::Runs(run, storing) => {
                let turn = run.step_alone(worker, found)?;
                finish(storing.as_deref(), turn);
                Ok(turn)
            }
        }
    }
    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            ProgramCall::Cached { bytes, .. } => *bytes,
            ProgramCall::Runs(run, storing) => {
                run.bytes() + storing.as_ref().map_or(0, |storing| storing.bytes())
            }
        }
    }
    /// Edges at the vertices that were visited.
    pub(crate) fn edges_visited(&self) -> u64 {
        match self {
            ProgramCall::Cached { .. } => 0,
            ProgramCall::Runs(run, _) => run.edges_visited(),
        }
    }
    /// Did its rows come from the cache?
    pub(crate) fn is_cached(&self) -> bool {
        matches!(self, ProgramCall::Cached { .. })
    }
}

/// The next rows of a cached result, and whether there are more.
fn drawn(rows: &VertexValues, next: &AtomicUsize, room: usize) -> (Range<usize>, WorkerTurn) {
    let from = next.fetch_add(room, Relaxed).min(rows.len());
    let to = (from + room).min(rows.len());
    let turn = if to < rows.len() { WorkerTurn::More } else { WorkerTurn::Done };
    (from..to, turn)
}

fn finish(storing: Option<&Storing>, turn: WorkerTurn) {
    if let (WorkerTurn::Done, Some(storing)) = (turn, storing) {
        storing.finish();
    }
}

/// A program outside of a plan: for a traversal that calls one for a traverser, on the executor that goes through its steps.
pub struct ProgramWalk {
    call: ProgramCall,
    worker: ProgramWorker,
}

impl ProgramWalk {
    /// The program of this name, begun at `start`, a vertex or null; with a cache if `CACHED` was said.
    ///
    /// # Errors
    /// There is none, or it does not take its parameters.
    pub fn open(
        (name, start, parameters): (&str, &Value, &Value),
        snapshot: &Snapshot,
        transaction: Option<&Arc<Transaction>>,
        cache: Option<&CacheAccess>,
    ) -> Result<ProgramWalk, ExecuteError> {
        let recording = transaction.filter(|transaction| transaction.mode() == Mode::Write);
        let call = ProgramCall::begin((name, start, parameters), snapshot, recording, cache);
        Ok(ProgramWalk { call: call.map_err(from_failure)?, worker: ProgramWorker::default() })
    }
    /// One piece of work, and its rows; false at the end.
    ///
    /// # Errors
    /// The program fails, or the graph cannot be read.
    pub fn step(&mut self, found: &mut Vec<(VertexId, Value)>) -> Result<bool, ExecuteError> {
        let turn = self.call.step_alone(&mut self.worker, found).map_err(from_failure)?;
        Ok(turn != WorkerTurn::Done)
    }
    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.call.bytes()
    }
}
