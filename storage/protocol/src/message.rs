//! Messages between processes, and the inputs and outputs of their machines.

use crate::channel::Item;
use crate::record::{Bytes, CommitId, Record};
use crate::truth::{Call, Reply, Unknown};
use order::Stamp;
use std::sync::Arc;

/// A process by its role.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Node {
    /// A gate, by its number in the cluster; a seat in an epoch is another number.
    Gate(u16),
    /// A shard.
    Shard(u16),
    /// The oracle, however many replicas it has.
    Oracle,
    /// The scribe.
    Scribe,
    /// The keeper of the epoch.
    Keeper,
}

/// The members of an epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members {
    /// The epoch.
    pub epoch: u64,
    /// Its gates; the position of one is its seat.
    pub gates: Vec<u16>,
    /// How many shards there are.
    pub shards: u16,
    /// Everything up to this cluster version is of earlier epochs.
    pub first_version: u64,
}

impl Members {
    /// The seat of a gate in this epoch.
    pub fn seat(&self, gate: u16) -> Option<usize> {
        self.gates.iter().position(|other| *other == gate)
    }
}

/// A message. One of another epoch than the receiver's is passed over, except between processes and their keeper.
#[derive(Clone, Debug)]
pub struct Message {
    /// The sender's epoch.
    pub epoch: u64,
    /// Its content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, Debug)]
pub enum Body {
    /// Gate to gate: my clock.
    Announce(Box<[u64]>),
    /// Gate to gate: the number of your stamps that I know.
    Heard(u64),
    /// Gate to shard: the next item of the channel.
    Item(Item),
    /// Gate to shard: pin a snapshot for this stamp, and answer the query from it.
    Pin {
        /// The stamp of the read.
        read: Stamp,
        /// The gate's number for it.
        request: u64,
        /// For the store.
        query: Bytes,
    },
    /// Shard to gate: I have all items before this one.
    Received {
        /// The item that is wanted next.
        next: u64,
        /// Later items are here already.
        gap: bool,
        /// Questions to the oracle since the last one of these.
        questions: u64,
    },
    /// Shard to gate: send me something that is after this clock. Scribe to shard: see that your frontier is.
    Want(Box<[u64]>),
    /// Shard to gate: the answer to a pinned query.
    Pinned {
        /// The gate's number for the read.
        request: u64,
        /// The answer of the store.
        answer: Bytes,
    },
    /// To the oracle: which of each two comes first? The one that is named first is preferred.
    Ask {
        /// The asker's number for it.
        question: u64,
        /// The pairs.
        pairs: Vec<(Stamp, Stamp)>,
    },
    /// The oracle's answer: is the first of each pair before the second? Or the position of a pair that it has forgotten.
    Told {
        /// The asker's number.
        question: u64,
        /// One for each pair.
        answer: Result<Vec<bool>, usize>,
    },
    /// Keeper to oracle: the number of gates of this message's epoch.
    Order(usize),
    /// Oracle to keeper: it has begun.
    Ordering,
    /// Replica to replica of the oracle: a message of the log that they share.
    Replica(Bytes),
    /// Shard to scribe: executed records, and how far each chain is taken.
    Executed {
        /// The number of the first of these records, from 0 in each epoch.
        from: u64,
        /// Stamps and shards of records.
        records: Vec<(Stamp, Box<[u16]>)>,
        /// Of each chain the last item taken; only where these are all records.
        taken: Option<Vec<Option<Stamp>>>,
    },
    /// Scribe to shard: the number of your records that I have; all up to this commit version are written; no request needs these counters any more.
    Settled {
        /// Records had.
        next: u64,
        /// The last commit version written.
        commit_version: u64,
        /// The merged vector that all stamps know that may still be compared.
        frontier: Option<Box<[u64]>>,
    },
    /// Gate to scribe: all my reads and stamps from now on know this.
    Low(Box<[u64]>),
    /// Scribe to oracle: no request needs these counters any more.
    Forget(Box<[u64]>),
    /// Keeper to a process: my clock. It is sent back, so that the keeper knows which processes it reaches.
    Pulse(u64),
    /// To the keeper: I live, and hear you.
    Alive {
        /// Which life of this process.
        incarnation: u64,
        /// It is ready for the epoch of this message.
        ready: bool,
        /// The last pulse that it heard; 0 before the first.
        pulse: u64,
    },
    /// Keeper to a process: leave the epoch that you are in, and make ready for this one.
    Begin {
        /// The life that is meant.
        incarnation: u64,
        /// The members.
        members: Arc<Members>,
    },
    /// Keeper to a process: all are ready, the epoch of this message is open.
    Open {
        /// The life that is meant.
        incarnation: u64,
    },
}

/// Why a transaction or a read did not happen. It may be tried again at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its read set was written meanwhile.
    Conflict,
    /// A chunk that it touches was moved.
    Moved,
    /// The epoch has changed, or none is open.
    Epoch,
    /// Too much is waiting.
    Busy,
    /// It reads or writes more than one transaction may.
    TooLarge,
}

/// How a request to a gate ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// It is committed, durably.
    Committed(Stamp),
    /// Nothing of it happened, or ever will.
    Refused(Refusal),
}

/// A transaction that a client commits.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The read that gave its snapshot, still open.
    pub base: Option<u64>,
    /// Keys that it read.
    pub reads: Vec<u64>,
    /// Keys that it writes.
    pub writes: Vec<u64>,
    /// Chunks that it touches, with the versions of their routes.
    pub routes: Vec<(u32, u64)>,
    /// Chunks that it moves.
    pub moves: Vec<(u32, u16)>,
    /// Changes by shard, ascending.
    pub parts: Vec<(u16, Bytes)>,
}

/// An input of a process.
#[derive(Clone, Debug)]
pub enum Input {
    /// Some time has passed.
    Tick,
    /// A message came.
    Message {
        /// The sender.
        from: Node,
        /// The message.
        message: Message,
    },
    /// A call to truth is over.
    Answer {
        /// The call's.
        token: u64,
        /// The answer to the call.
        answer: Result<Reply, Unknown>,
    },
    /// To a gate: answer these queries of shards, all from one snapshot; from that of an open read with this number, if there is one.
    Read {
        /// The client's number; the read stays open until it is closed or committed.
        request: u64,
        /// Queries by shard, each shard once.
        queries: Vec<(u16, Bytes)>,
    },
    /// To a gate: the read is over.
    Close(u64),
    /// To a gate: commit this.
    Commit {
        /// The client's number.
        request: u64,
        /// The commit.
        commit: Commit,
    },
}

/// An output of a process.
#[derive(Clone, Debug)]
pub enum Output {
    /// A message; it may be lost, doubled and reordered.
    Send {
        /// The receiver.
        to: Node,
        /// The message.
        message: Message,
    },
    /// A call to truth, answered by [`Input::Answer`].
    Call {
        /// The caller's.
        token: u64,
        /// The call.
        call: Call,
    },
    /// Of a gate: a read's answers.
    Answered {
        /// The client's number.
        request: u64,
        /// By shard.
        answers: Vec<(u16, Bytes)>,
    },
    /// Of a gate: how a request ended.
    Ended {
        /// The client's number.
        request: u64,
        /// How.
        end: End,
    },
    /// Of a shard: forget all content; records of all shards follow from the first on.
    Reset,
    /// Of a shard: execute this at the next local version.
    Apply {
        /// The local version.
        commit_version: u64,
        /// The record.
        record: Arc<Record>,
    },
    /// Of a shard: answer the query as of this commit version, by [`Body::Pinned`] to the gate.
    Query {
        /// The gate.
        gate: u16,
        /// Its stamp.
        read: Stamp,
        /// Its number for the read.
        request: u64,
        /// The snapshot.
        commit_version: u64,
        /// For the store.
        query: Bytes,
    },
    /// Of the scribe: this commit is the next of the cluster's sequence.
    Publish {
        /// Its commit version.
        commit_version: u64,
        /// Which commit.
        commit: CommitId,
    },
}
