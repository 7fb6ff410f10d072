//! A commit on its way: its proposal to truth, the verdict, and the record that shards execute.

use order::Stamp;
use std::sync::Arc;

/// Bytes that the protocol carries and does not read.
pub type Bytes = Arc<[u8]>;

/// A committed transaction, as its shards get it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its position in the order.
    pub stamp: Stamp,
    /// Its changes, by shard; ascending, each shard once.
    pub parts: Vec<(u16, Bytes)>,
}

/// Names a commit for good: epoch, seat of its gate in that epoch, counter of that gate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommitId {
    /// The epoch of its stamp.
    pub epoch: u64,
    /// The seat of its gate.
    pub seat: usize,
    /// Which of that gate's stamps.
    pub counter: u64,
}

/// A transaction proposed to truth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposed {
    /// The stamp that its reads had; none where it read nothing.
    pub base: Option<Stamp>,
    /// Keys that it read, 64-bit hashes.
    pub reads: Vec<u64>,
    /// Keys that it writes.
    pub writes: Vec<u64>,
    /// The chunks that it touches, and the version of the placement that routed it.
    pub routes: Vec<(u32, u64)>,
    /// Chunks that it moves, and to which shard.
    pub moves: Vec<(u32, u16)>,
    /// The record for the shards.
    pub record: Record,
}

/// The verdict of truth on one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is in the log.
    Committed,
    /// A key that it read was written after its base, or its base is of another epoch.
    Conflict,
    /// It must come after commits that its stamp does not know: hear this clock, and stamp anew.
    Late(Box<[u64]>),
    /// A chunk that it touches was moved.
    Moved,
    /// A new epoch has begun: nothing of its own epoch commits any more.
    Fenced,
    /// It is not in the log, and its group is over: propose it again in a new group.
    Again,
    /// It may have been committed and cut off from the log: its outcome is lost.
    Forgotten,
}

impl CommitId {
    /// The commit with this stamp.
    pub fn of(stamp: &Stamp) -> CommitId {
        CommitId { epoch: stamp.epoch(), seat: stamp.gatekeeper(), counter: stamp.counter() }
    }
}

impl Record {
    /// Bytes of its changes.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.len()).sum()
    }
    /// Does a shard take part?
    pub fn touches(&self, shard: u16) -> bool {
        self.parts.iter().any(|(other, _)| *other == shard)
    }
}
