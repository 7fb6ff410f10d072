//! A node program outside of a plan: for a traversal that calls one for a traverser, on the executor that goes through its steps.

use crate::ExecuteError;
use crate::error::from_failure;
use model::{Direction, EdgeId, EdgeTypeId, Value, VertexId};
use programs::{ProgramRun, ProgramWorker, Reads, WorkerTurn};
use std::sync::Arc;
use store::Snapshot;
use transact::{Mode, Transaction};

/// A program at work, step by step.
pub struct ProgramWalk {
    run: ProgramRun,
    worker: ProgramWorker,
}

/// Tells a transaction whose reads are validated what a program reads.
struct Validated(Arc<Transaction>);

impl Reads for Validated {
    fn adjacency(&self, vertex: VertexId, types: &[EdgeTypeId], direction: Direction) {
        self.0.reads().adjacency(vertex, types, direction);
    }
    fn vertex(&self, vertex: VertexId) {
        self.0.reads().vertex(vertex);
    }
    fn edge(&self, edge: EdgeId) {
        self.0.reads().edge(edge);
    }
}

impl ProgramWalk {
    /// The program of this name, begun at `start`, a vertex or null.
    ///
    /// # Errors
    /// There is none, or it does not take its parameters.
    pub fn open(
        name: &str,
        (start, parameters): (&Value, &Value),
        snapshot: &Snapshot,
        transaction: Option<&Arc<Transaction>>,
    ) -> Result<ProgramWalk, ExecuteError> {
        let validated = transaction.filter(|transaction| transaction.mode() == Mode::Write);
        if let Some(transaction) = validated {
            transaction.reads().catalogue();
            if start.is_null() {
                transaction.reads().scan(None);
            }
        }
        let reads = validated.map(|transaction| Arc::new(Validated(transaction.clone())) as Arc<dyn Reads>);
        let program = programs::open(name, parameters, snapshot).map_err(from_failure)?;
        let run = ProgramRun::new(program, start, snapshot, reads).map_err(from_failure)?;
        Ok(ProgramWalk { run, worker: ProgramWorker::default() })
    }
    /// One piece of work, and its rows; false at the end.
    ///
    /// # Errors
    /// The program fails, or the graph cannot be read.
    pub fn step(&mut self, found: &mut Vec<(VertexId, Value)>) -> Result<bool, ExecuteError> {
        let turn = self.run.step_alone(&mut self.worker, found).map_err(from_failure)?;
        Ok(turn != WorkerTurn::Done)
    }
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.run.bytes()
    }
}
