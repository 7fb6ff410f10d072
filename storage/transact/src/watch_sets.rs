//! Watch sets: the dependencies of a cached result, and the first commit that changes one of them.
//!
//! Idea: a watch set has the keys of a read set. Each commit looks up the keys that it writes, and marks the watch sets that have one of them with
//! its commit version. So a watch set holds from its snapshot up to the first commit that would have made a transaction with these reads fail: both
//! are judged by the same keys.
//! Invariant: a commit marks watch sets before any snapshot shows it. A watch set is registered before its reads are judged against the commits since
//! its snapshot, so no commit falls between.
//! Cost: nothing without watch sets; else one look-up for each key that a commit writes, under a short lock.

use crate::committer::Basis;
use crate::engine::Shared;
use crate::limits::{WATCH_BYTES, WATCH_JUDGED_AFTER, WATCH_KEYS_MAX, WATCHED_KEY_BYTES};
use crate::reads::{Inner, Key};
use crate::watch_table::WatchSets;
use crate::{Engine, ReadSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use store::Snapshot;

/// The validity of a watch set in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The same reads would give the same now.
    Holds,
    /// The snapshot is older than the one that was read.
    Earlier,
    /// Something that was read may have changed.
    Over,
}

/// A read set of a snapshot, watched until it is dropped.
pub struct WatchSet {
    from: Basis,
    end: Arc<AtomicU64>,
    keys: Box<[Key]>,
    /// Keys that no other set had when it was entered.
    new_keys: usize,
    number: u32,
    sets: Arc<WatchSets>,
}

impl WatchSet {
    /// Are the reads the same in this snapshot? It must have no uncommitted changes, and no restriction.
    pub fn holding(&self, snapshot: &Snapshot) -> Holding {
        debug_assert!(snapshot.is_committed() && !snapshot.is_restricted());
        let now = Basis::of(snapshot);
        if now.commit_version < self.from.commit_version {
            return Holding::Earlier;
        }
        if now.commit_version >= self.end.load(Ordering::Acquire) || self.is_over() {
            return Holding::Over;
        }
        // Of a name that was not there nothing else could be read.
        let knows = (self.from.labels, self.from.edge_types, self.from.keys);
        if knows == (now.labels, now.edge_types, now.keys) { Holding::Holds } else { Holding::Over }
    }
    /// Has a commit changed something of it? Snapshots from before may still be answered by it.
    pub fn has_changed(&self) -> bool {
        self.end.load(Ordering::Acquire) != u64::MAX || self.is_over()
    }
    fn is_over(&self) -> bool {
        self.sets.is_over(self.from.commit_version)
    }
    /// Keys that are watched.
    pub fn len(&self) -> usize {
        self.keys.len()
    }
    /// Bytes of it: its keys, and their commit versions in the table where no other set had them before.
    pub fn bytes(&self) -> usize {
        self.keys.len() * WATCH_BYTES + self.new_keys * WATCHED_KEY_BYTES
    }
    /// Is nothing watched? Then it holds for good.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
    /// Records all its reads in a transaction's read set.
    pub fn record(&self, reads: &ReadSet) {
        reads.extend(self.keys.iter().copied());
    }
}

impl Drop for WatchSet {
    fn drop(&mut self) {
        self.sets.leave(self.number, &self.keys);
    }
}

/// Makes watch sets; does not keep the engine.
#[derive(Clone)]
pub struct Watcher(Weak<Shared>);

impl Watcher {
    /// Watches a read set of a snapshot. None where it has changed already, where it is too large, where it contains searches of indexes, where the
    /// committer is busy for long, at a cluster's gate, and where the engine is gone.
    pub fn watch(&self, reads: &ReadSet, snapshot: &Snapshot) -> Option<WatchSet> {
        let shared = self.0.upgrade().filter(|shared| shared.remote.is_none())?;
        let reads = reads.take();
        if reads.everything || !reads.ranges.is_empty() || reads.keys.len() > WATCH_KEYS_MAX {
            return None;
        }
        let keys: Box<[Key]> = reads.keys.iter().copied().collect();
        let (number, end, new_keys) = shared.watch_sets.enter(&keys)?;
        let (from, sets) = (Basis::of(snapshot), shared.watch_sets.clone());
        let watched = WatchSet { from, end, keys, new_keys, number, sets };
        shared.was_valid(&reads, from).then_some(watched)
    }
    /// Have all watch sets together so many keys that no set of `keys` more is accepted?
    pub fn is_full(&self, keys: usize) -> bool {
        self.0.upgrade().is_some_and(|shared| shared.watch_sets.is_full(keys))
    }
}

impl Shared {
    /// Was none of this written since?
    fn was_valid(&self, reads: &Inner, base: Basis) -> bool {
        let committer = self.committer.try_lock_for(WATCH_JUDGED_AFTER);
        committer.is_some_and(|mut committer| committer.judge(reads, base).is_ok())
    }
}

impl Engine {
    /// Makes watch sets over this engine's commits.
    pub fn watcher(&self) -> Watcher {
        Watcher(Arc::downgrade(&self.shared))
    }
}
