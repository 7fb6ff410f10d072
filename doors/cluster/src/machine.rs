//! The five machines behind one step, and what they share with other threads.

use crate::content::Content;
use parking_lot::Mutex;
use protocol::{CommitId, Gate, Input, Keeper, Oracle, Output, Scribe, Shard};
use std::sync::Arc;

/// Hears each commit with its place in the cluster's sequence.
pub(crate) type Publish = Box<dyn FnMut(u64, CommitId) + Send>;

/// One machine and what belongs to it.
pub(crate) enum Machine {
    /// The handle looks at the gate, too.
    Gate(Arc<Mutex<Gate>>),
    Shard(Box<Shard>, Box<dyn Content>),
    Oracle(Box<Oracle>),
    Scribe(Box<Scribe>, Publish),
    Keeper(Box<Keeper>),
}

impl Machine {
    pub(crate) fn step(&mut self, now_us: u64, inputs: Vec<Input>) -> Vec<Output> {
        match self {
            Machine::Gate(gate) => gate.lock().step(now_us, inputs),
            Machine::Shard(shard, _) => shard.step(now_us, inputs),
            Machine::Oracle(oracle) => inputs.into_iter().filter_map(|input| oracle.step(input)).collect(),
            Machine::Scribe(scribe, _) => scribe.step(now_us, inputs),
            Machine::Keeper(keeper) => keeper.step(now_us, inputs),
        }
    }
}
