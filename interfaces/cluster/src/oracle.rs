//! One replica of the oracle: requests go into a log that all replicas apply, and are answered when a majority has them on disk.
//!
//! ```text
//!   Ask, Order, Forget ──> leader ── entries ──> followers        every replica gets every request; only the leader answers
//!                            │ on disk at a majority
//!                            └──> Oracle::step ──> Told, Ordering
//! ```
//!
//! Idea: an entry is the message itself, as received, so that there is one form of it. Applying it gives the answer. Invariants: no answer leaves
//! before its decision is on disk at a majority; so a published decision is never made another way, whichever replica is killed. A request that is
//! repeated while it is on its way into the log is not logged twice. Cost: one sync of the log for all requests that came while the last one ran.

use protocol::message::{Body, Message};
use protocol::{Input, Node, Oracle, Output, Rules, wire};
use replicate::{Members, Replica, ReplicaOptions, ReplicateError, StateMachine};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use world::chance::Chance;
use world::disk::Disk;

/// Time between ticks of the log: an election begins after 10 to 19 of them.
const TICK_US: u64 = 30_000;
/// How often unneeded decisions are forgotten: an entry of the log each time.
const FORGET_EVERY_US: u64 = 1_000_000;
/// Requests on their way into the log; further ones are ignored, and will be repeated.
const PENDING_MAX: usize = 4_096;
/// Bytes of the log that are read again at a start, at most, before a snapshot replaces them.
const SNAPSHOT_BYTES: u64 = 4 << 20;
/// Entries that are kept behind a snapshot for replicas that are a little late; one may hold thousands of pairs.
const ENTRIES_KEPT: u64 = 64;

/// The oracle as the log drives it.
struct Decisions(Oracle);

impl StateMachine for Decisions {
    fn apply(&mut self, entry: &[u8]) -> Result<Vec<u8>, String> {
        let (from, message) =
            wire::decode_entry(entry).ok_or("this version cannot read an entry of the log")?;
        Ok(match self.0.step(Input::Message { from, message }) {
            Some(Output::Send { message, .. }) => wire::encode(Node::Oracle, &message),
            _ => Vec::new(),
        })
    }
    fn snapshot(&self) -> Vec<u8> {
        self.0.snapshot()
    }
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        self.0 = Oracle::restore(snapshot, Rules::default()).ok_or("it is no snapshot of an oracle")?;
        Ok(())
    }
}

/// Identifies a request: the asker, its epoch, and its number for the question or none.
type RequestName = (Node, u64, Option<u64>);

/// See the head of this file.
pub(crate) struct OracleReplica {
    replica: Replica<Decisions>,
    /// Proposals that have no outcome yet, by token.
    waiting: BTreeMap<u64, OnItsWay>,
    names: BTreeSet<RequestName>,
    next_token: u64,
    next_tick_us: u64,
    /// A request to forget that is not in the log yet.
    forget: Option<Message>,
    next_forget_us: u64,
}

/// A message on its way into the log.
enum OnItsWay {
    /// A process waits for the answer.
    Request(RequestName),
    /// Something to be forgotten.
    Forget(Message),
}

/// A message to a process.
pub(crate) enum Posted {
    /// For a process of the cluster.
    To(Node, Message),
    /// For another replica, by its address.
    Beside(String, Message),
}

impl OracleReplica {
    /// Opens the one that is reached at this address, among these, or makes it.
    ///
    /// # Errors
    /// Its folder cannot be read or written, or belongs to another.
    pub(crate) fn open(
        address: &str,
        all: &[String],
        disk: Arc<dyn Disk>,
        folder: &Path,
    ) -> Result<OracleReplica, ReplicateError> {
        let members = Members::of(all.iter().map(String::as_str));
        let options = ReplicaOptions {
            snapshot_bytes: SNAPSHOT_BYTES,
            entries_kept: ENTRIES_KEPT,
            ..ReplicaOptions::new(address, members)
        };
        let machine = Decisions(Oracle::new(Rules::default()));
        let replica = Replica::open(disk, folder, options, machine, Chance::from_system())?;
        Ok(OracleReplica {
            replica,
            waiting: BTreeMap::new(),
            names: BTreeSet::new(),
            next_token: 0,
            next_tick_us: 0,
            forget: None,
            next_forget_us: 0,
        })
    }

    /// Takes inputs, and returns messages to send. After an error it must not be used again.
    pub(crate) fn step(
        &mut self,
        now_us: u64,
        inputs: impl IntoIterator<Item = Input>,
    ) -> Result<Vec<Posted>, ReplicateError> {
        let mut proposed = Vec::new();
        for input in inputs {
            match input {
                Input::Message { message: Message { body: Body::Replica(bytes), .. }, .. } => {
                    proposed.push(replicate::Input::Message(bytes.to_vec()));
                }
                Input::Message { from, message } => proposed.extend(self.request(from, message)),
                _ => {}
            }
        }
        if now_us >= self.next_tick_us {
            self.next_tick_us = now_us + TICK_US;
            proposed.push(replicate::Input::Tick);
        }
        if now_us >= self.next_forget_us
            && self.replica.leads()
            && let Some(message) = self.forget.take()
        {
            self.next_forget_us = now_us + FORGET_EVERY_US;
            let entry = wire::encode_entry(Node::Scribe, &message);
            proposed.push(self.propose(OnItsWay::Forget(message), entry));
        }
        let mut posted = Vec::new();
        while !proposed.is_empty() {
            let outputs = self.replica.step(std::mem::take(&mut proposed))?;
            for output in outputs {
                self.carry_out(output, &mut posted, &mut proposed);
            }
        }
        Ok(posted)
    }

    /// Only the one that leads takes requests.
    fn request(&mut self, from: Node, message: Message) -> Option<replicate::Input> {
        if matches!(message.body, Body::Forget(_)) {
            // Also where another leads: this one may lead when it is due.
            self.forget = Some(message);
            return None;
        }
        if !self.replica.leads() {
            return None;
        }
        let question = match &message.body {
            Body::Ask { question, .. } => Some(*question),
            Body::Order(_) => None,
            _ => return None,
        };
        let name = (from, message.epoch, question);
        if self.names.len() >= PENDING_MAX || !self.names.insert(name) {
            return None;
        }
        Some(self.propose(OnItsWay::Request(name), wire::encode_entry(from, &message)))
    }

    fn propose(&mut self, what: OnItsWay, entry: Vec<u8>) -> replicate::Input {
        self.next_token += 1;
        self.waiting.insert(self.next_token, what);
        replicate::Input::Propose { token: self.next_token, entry }
    }

    fn carry_out(
        &mut self,
        output: replicate::Output,
        posted: &mut Vec<Posted>,
        again: &mut Vec<replicate::Input>,
    ) {
        match output {
            replicate::Output::Send { to, bytes, snapshot } => {
                if let Some(address) = self.replica.address(to) {
                    let body = Body::Replica(bytes.into());
                    posted.push(Posted::Beside(address.to_string(), Message { epoch: 0, body }));
                }
                if snapshot {
                    // The network tells nobody what became of a frame. If it is lost, the log finds the other one where it was, and sends it again.
                    again.push(replicate::Input::SnapshotSent { to, arrived: true });
                }
            }
            replicate::Output::TakeSnapshot => {
                again.push(replicate::Input::Snapshot(self.replica.machine().snapshot()));
            }
            replicate::Output::Proposed { token, outcome } => {
                match self.waiting.remove(&token) {
                    Some(OnItsWay::Request(name)) => {
                        self.names.remove(&name);
                        // Whoever has no answer asks again.
                        if let Some((_, message)) = outcome.ok().and_then(|answer| wire::decode(&answer)) {
                            posted.push(Posted::To(name.0, message));
                        }
                    }
                    // A later one, if it came meanwhile, says more.
                    Some(OnItsWay::Forget(message)) if outcome.is_err() => {
                        self.forget.get_or_insert(message);
                    }
                    Some(OnItsWay::Forget(_)) | None => {}
                }
            }
            replicate::Output::Read { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
