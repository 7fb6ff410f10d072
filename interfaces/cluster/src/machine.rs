//! The five machines behind one step, and the state they share with other threads.

use crate::content::Content;
use crate::oracle::{OracleReplica, Posted};
use parking_lot::Mutex;
use protocol::{CommitId, Gate, Input, Keeper, Output, Scribe, Shard};
use replicate::ReplicateError;
use std::sync::Arc;

/// Hears each commit with its version in the cluster's sequence.
pub(crate) type Publish = Box<dyn FnMut(u64, CommitId) + Send>;

/// The outputs of a step.
pub(crate) enum Outputs {
    /// Things of every kind.
    Each(Vec<Output>),
    /// Only to be sent.
    Posted(Vec<Posted>),
}

/// One machine and its state.
pub(crate) enum Machine {
    /// The handle looks at the gate, too.
    Gate(Arc<Mutex<Gate>>),
    Shard(Box<Shard>, Box<dyn Content>),
    Oracle(Box<OracleReplica>),
    Scribe(Box<Scribe>, Publish),
    Keeper(Box<Keeper>),
}

impl Machine {
    /// Steps the machine, and returns the outputs.
    ///
    /// # Errors
    /// The disk of an oracle failed: it must not be stepped again.
    pub(crate) fn step(&mut self, now_us: u64, inputs: Vec<Input>) -> Result<Outputs, ReplicateError> {
        Ok(Outputs::Each(match self {
            Machine::Oracle(oracle) => return Ok(Outputs::Posted(oracle.step(now_us, inputs)?)),
            Machine::Gate(gate) => gate.lock().step(now_us, inputs),
            Machine::Shard(shard, _) => shard.step(now_us, inputs),
            Machine::Scribe(scribe, _) => scribe.step(now_us, inputs),
            Machine::Keeper(keeper) => keeper.step(now_us, inputs),
        }))
    }
}
