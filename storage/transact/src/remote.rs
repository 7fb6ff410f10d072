//! A graph that lies elsewhere: transactions of a cluster's gate. They run here as always, over a snapshot of the shards, and commit there.
//!
//! Idea: a transaction collects changes and read keys as on one machine; its commit proposes them by keys instead of validating them here.
//! Invariants: names that a transaction hands out are its own until it commits, and who defines one reads and writes the key of the catalogue, which
//! every transaction that writes reads: so no number is given twice, and nobody has looked in vain for a name that was there.
//! A footprint is made of the transaction's own snapshot, so what decides it (labels of a vertex that goes) is read, too.

use crate::footprint::footprint;
use crate::reads::{Inner as Reads, Key};
use model::VertexId;
use std::sync::Arc;
use store::{Allocator, Change, Snapshot, StoreError};

/// What a transaction asks of the shards and of those who order it.
#[derive(Debug)]
pub struct Proposal {
    /// Definitions of new names first, then the changes.
    pub changes: Vec<Change>,
    /// Keys that it read.
    pub reads: Vec<u64>,
    /// Keys that it writes.
    pub writes: Vec<u64>,
}

/// Why the cluster did not do something.
#[derive(Clone, Debug)]
pub enum RemoteError {
    /// What was read has been written meanwhile, or the members have changed. Nothing happened.
    Conflict(&'static str),
    /// No answer came in time. Nothing happened.
    Unavailable(String),
    /// A commit was proposed, and no answer came: it may have happened, or happen yet.
    Unanswered,
    /// The transaction reads or writes more than one may.
    TooLarge,
    /// It is not possible in a cluster yet.
    NotInCluster(&'static str),
    /// The snapshot's own error.
    Store(StoreError),
}

impl From<StoreError> for RemoteError {
    fn from(error: StoreError) -> RemoteError {
        RemoteError::Store(error)
    }
}

/// The shards of a cluster, as the engine of a gate meets them.
pub trait Remote: Send + Sync {
    /// The graph with everything that was acknowledged before this call. It can be read as long as it, or a snapshot made from it, is there;
    /// its names are its own. Waits while the cluster has no open epoch, up to a limit.
    fn begin(&self) -> Result<Snapshot, RemoteError>;
    /// Commits what was made over a snapshot that [`Remote::begin`] gave; returns when it is on disk and visible to all.
    fn commit(&self, base: &Snapshot, proposal: Proposal) -> Result<(), RemoteError>;
}

/// A gate's part of an engine.
pub struct GateParts {
    /// The shards.
    pub remote: Arc<dyn Remote>,
    /// Ids that no other gate gives.
    pub allocator: Allocator,
    /// A snapshot of nothing, which reads chunks where those of the shards are read.
    pub empty: Snapshot,
}

/// What the changes of a transaction ask for, which led from `base` to `view` and read these keys.
pub(crate) fn proposal(
    mut changes: Vec<Change>,
    reads: Reads,
    base: &Snapshot,
    view: &Snapshot,
) -> Result<Proposal, RemoteError> {
    if reads.everything || !reads.ranges.is_empty() {
        let what =
            "a transaction that writes, and reads counts of the whole graph or more than it can remember";
        return Err(RemoteError::NotInCluster(what));
    }
    let footprint = footprint(&changes, base, view)?;
    let mut writes: Vec<u64> = footprint.keys.into_iter().map(Key::bits).collect();
    let mut reads: Vec<u64> = reads.keys.into_iter().map(Key::bits).collect();
    reads.push(Key::catalogue().bits());
    reads.extend(changes.iter().filter_map(whose_labels_decide).map(|vertex| Key::vertex(vertex).bits()));
    let (names, _) = base.names().undurable();
    if !names.is_empty() {
        writes.push(Key::catalogue().bits());
        changes.splice(0..0, names.into_iter().map(Change::DefineName));
    }
    for keys in [&mut reads, &mut writes] {
        keys.sort_unstable();
        keys.dedup();
    }
    Ok(Proposal { changes, reads, writes })
}

/// The vertex whose labels decide which keys a change writes.
fn whose_labels_decide(change: &Change) -> Option<VertexId> {
    match change {
        Change::DeleteVertex { id } | Change::SetLabels { id, .. } => Some(*id),
        _ => None,
    }
}
