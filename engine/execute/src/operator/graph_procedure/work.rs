//! The work of the operator: a graph algorithm of `procedures`, or a node program of `programs`.

use crate::access::Environment;
use crate::adjacency::Walk;
use crate::node_program::ProgramCall;
use dataflow::Failure;
use model::{Column, EdgeTypeId, Value};
use procedures::Question;
use procedures::running as algorithm;
use procedures::settings::Settings;
use std::sync::Arc;
use store::Snapshot;

pub(super) use paths::Turn;

/// The procedure that is called.
#[derive(Clone)]
pub(crate) enum ProcedureKind {
    Graph(Question),
    /// The program of this name; is its result cached?
    Program {
        name: Arc<str>,
        is_cached: bool,
    },
}

pub(super) enum ProcedureRun {
    Graph(Box<algorithm::Running<Walk>>),
    Program(ProgramCall),
}

pub(super) enum ProcedureWorker {
    Graph(algorithm::Helper<Walk>),
    Program(Box<programs::ProgramWorker>),
}

pub(super) enum ProcedureRows {
    Graph(algorithm::Output),
    Program(programs::ProgramRows),
}

impl ProcedureRows {
    /// For an answer of which these columns are read.
    pub(super) fn new(kind: &ProcedureKind, keeps_nodes: bool, keeps_values: bool) -> ProcedureRows {
        match kind {
            ProcedureKind::Graph(question) => {
                ProcedureRows::Graph(algorithm::Output::new(*question, keeps_nodes, keeps_values))
            }
            ProcedureKind::Program { .. } => {
                ProcedureRows::Program(programs::ProgramRows::new(keeps_nodes, keeps_values))
            }
        }
    }
    pub(super) fn count(&self) -> usize {
        match self {
            ProcedureRows::Graph(output) => output.count(),
            ProcedureRows::Program(output) => output.count(),
        }
    }
    pub(super) fn take(&mut self) -> [Column; 2] {
        match self {
            ProcedureRows::Graph(output) => output.take(),
            ProcedureRows::Program(output) => output.take(),
        }
    }
}

impl ProcedureRun {
    /// Begins the call on this snapshot.
    pub(super) fn new(
        kind: &ProcedureKind,
        arguments: &[Value],
        snapshot: &Snapshot,
        environment: &Arc<Environment>,
    ) -> Result<ProcedureRun, Failure> {
        match kind {
            ProcedureKind::Graph(question) => {
                let settings = Settings::read(*question, arguments.first(), snapshot)?;
                let walk = |types: &Arc<Vec<EdgeTypeId>>, direction| {
                    Walk::new(snapshot, types, direction, None, environment)
                };
                let running = algorithm::Running::new(*question, settings, snapshot, walk);
                Ok(ProcedureRun::Graph(Box::new(running)))
            }
            ProcedureKind::Program { name, is_cached } => {
                let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Null);
                let cache = environment.cache.as_ref().filter(|_| *is_cached);
                let call = (&**name, argument(0), argument(1));
                let call = ProgramCall::begin(call, snapshot, environment.recording(), cache)?;
                Ok(ProcedureRun::Program(call))
            }
        }
    }
    /// The state of the worker of this number.
    pub(super) fn helper(&self, number: usize) -> ProcedureWorker {
        match self {
            ProcedureRun::Graph(_) => ProcedureWorker::Graph(algorithm::Helper::new(number)),
            ProcedureRun::Program(_) => ProcedureWorker::Program(Box::default()),
        }
    }
    /// A slice of work: up to `room` rows.
    pub(super) fn step(
        &self,
        helper: &mut ProcedureWorker,
        room: usize,
        output: &mut ProcedureRows,
    ) -> Result<Turn, Failure> {
        match (self, helper, output) {
            (ProcedureRun::Graph(running), ProcedureWorker::Graph(helper), ProcedureRows::Graph(output)) => {
                running.step(helper, room, output)
            }
            (
                ProcedureRun::Program(running),
                ProcedureWorker::Program(helper),
                ProcedureRows::Program(output),
            ) => Ok(match running.step(helper, room, output)? {
                programs::WorkerTurn::More => Turn::More,
                programs::WorkerTurn::Idle => Turn::Idle,
                programs::WorkerTurn::Done => Turn::Done,
            }),
            _ => {
                let message = "a helper of another procedure".to_string();
                Err(procedures::ProcedureError::Internal(message).into())
            }
        }
    }
    pub(super) fn bytes(&self) -> usize {
        match self {
            ProcedureRun::Graph(running) => running.bytes(),
            ProcedureRun::Program(running) => running.bytes(),
        }
    }
    pub(super) fn bytes_min(&self) -> usize {
        match self {
            ProcedureRun::Graph(running) => running.bytes_min(),
            ProcedureRun::Program(_) => 0,
        }
    }
    pub(super) fn edges_visited(&self) -> u64 {
        match self {
            ProcedureRun::Graph(running) => running.edges_visited(),
            ProcedureRun::Program(running) => running.edges_visited(),
        }
    }
    /// Its remark for PROFILE.
    pub(super) fn told(&self, workers: usize) -> String {
        match self {
            ProcedureRun::Program(call) if call.is_cached() => "from the cache".to_string(),
            _ => format!("workers {workers}, edges visited {}", self.edges_visited()),
        }
    }
}
