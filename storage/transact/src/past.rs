//! The past: the graph as it was at any retained moment.
//!
//! ```text
//!   log        |--------------------------------------------------------> commits, each with its time
//!   anchors    A0          A1          A2                      latest     checkpoints that are kept, blobs shared
//!   asked for                    ^ = A1 + the log from A1 to here
//! ```
//! Idea: the past needs only data that exists anyway: some checkpoints are kept, and so is the log behind the oldest of them. A moment is rebuilt
//! from the nearest anchor before it and the commits between; rebuilt moments and the last commits are cached, and serve as starting points too.
//! Invariants: anchors lie at most [`ANCHOR_LOG_BYTES`] of log apart (and a checkpoint's worth more), so one read costs a bounded replay; a
//! checkpoint with data that was never in the log stays as long as anything before it, since replay cannot pass it. Cost: the present pays nothing,
//! not even a lock.

mod rebuild;

use crate::history::{History, Moment, Point};
use durable::Anchor;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Snapshot, Store};

/// Rebuilt moments that stay in memory; the least recently used goes first.
pub const PAST_SNAPSHOTS_MAX: usize = 4;
/// Groups of commits whose snapshots stay in memory where history is kept: reading these costs nothing.
pub const RECENT_GROUPS_MAX: usize = 16;

/// The past of an engine.
pub(crate) struct Past {
    history: AtomicU64,
    newest: Mutex<Newest>,
    rebuilt: Mutex<Vec<Known>>,
    /// Held while a moment is rebuilt: one at a time, which bounds the load on the present.
    rebuilding: Mutex<()>,
    /// Locked for reading while anchors and log are in use, for writing while they are removed.
    pub giving_up: RwLock<()>,
    /// Bytes of records that were ever logged, and how many of them the last checkpoint covers.
    logged_bytes: AtomicU64,
    covered_bytes: AtomicU64,
}

#[derive(Default)]
struct Newest {
    point: Point,
    recent: VecDeque<Known>,
}

/// A snapshot, from which commit it holds, and before which one it ends.
#[derive(Clone)]
struct Known {
    snapshot: Snapshot,
    at: Point,
    until: Option<Point>,
}

impl Known {
    /// Is it the very answer?
    fn answers(&self, moment: Moment) -> bool {
        let exact = moment == Moment::CommitVersion(self.at.commit_version);
        exact || (moment.includes(self.at) && self.until.is_some_and(|until| !moment.includes(until)))
    }
}

impl Past {
    /// The past of an engine that goes on at `newest`.
    pub fn new(history: u64, newest: Point, covered_bytes: u64, replayed_bytes: u64) -> Past {
        Past {
            history: AtomicU64::new(history),
            newest: Mutex::new(Newest { point: newest, recent: VecDeque::new() }),
            rebuilt: Mutex::default(),
            rebuilding: Mutex::default(),
            giving_up: RwLock::default(),
            logged_bytes: AtomicU64::new(covered_bytes + replayed_bytes),
            covered_bytes: AtomicU64::new(covered_bytes),
        }
    }
    pub fn history(&self) -> History {
        History::of_number(self.history.load(Ordering::Acquire))
    }
    /// The current snapshot and the commit it ends with.
    pub fn newest(&self, store: &Store) -> (Snapshot, Point) {
        let newest = self.newest.lock();
        (store.current(), newest.point)
    }
    /// Makes a snapshot the current one. `first` and `last` are the first and last commit it has beyond the one before it.
    pub fn publish(&self, store: &Store, snapshot: Snapshot, first: Point, last: Point) {
        let mut newest = self.newest.lock();
        store.publish(snapshot.clone());
        newest.point = last;
        if self.history.load(Ordering::Acquire) != 0 {
            if let Some(before) = newest.recent.back_mut() {
                before.until = Some(first);
            }
            if newest.recent.len() == RECENT_GROUPS_MAX {
                newest.recent.pop_front();
            }
            newest.recent.push_back(Known { snapshot, at: last, until: None });
        }
    }
    /// Replaces the current snapshot by the same graph in another shape. No commit may be published meanwhile.
    pub fn reshape(&self, store: &Store, graph: Snapshot) {
        let _newest = self.newest.lock();
        store.publish(graph);
    }
    /// `bytes` of records were appended to the log.
    pub fn logged(&self, bytes: u64) {
        self.logged_bytes.fetch_add(bytes, Ordering::AcqRel);
    }
    /// Bytes of records ever logged.
    pub fn logged_bytes(&self) -> u64 {
        self.logged_bytes.load(Ordering::Acquire)
    }
    /// A checkpoint covers the first `bytes` bytes of records.
    pub fn covered(&self, bytes: u64) {
        self.covered_bytes.store(bytes, Ordering::Release);
    }
    /// Bytes of records behind the last checkpoint.
    pub fn uncovered_bytes(&self) -> u64 {
        self.logged_bytes().saturating_sub(self.covered_bytes.load(Ordering::Acquire))
    }
    /// Versions before this one can no longer be rebuilt.
    pub fn forget_before(&self, commit_version: u64) {
        self.newest.lock().recent.retain(|known| known.at.commit_version >= commit_version);
        self.rebuilt.lock().retain(|known| known.at.commit_version >= commit_version);
    }

    /// The snapshot, if it is cached.
    fn remembered(&self, moment: Moment) -> Option<Known> {
        let newest = self.newest.lock();
        if let Some(known) = newest.recent.iter().find(|known| known.answers(moment)) {
            return Some(known.clone());
        }
        drop(newest);
        let mut rebuilt = self.rebuilt.lock();
        let at = rebuilt.iter().position(|known| known.answers(moment))?;
        let known = rebuilt.remove(at);
        rebuilt.push(known.clone());
        Some(known)
    }
    fn remember(&self, known: Known) {
        let mut rebuilt = self.rebuilt.lock();
        if rebuilt.len() == PAST_SNAPSHOTS_MAX {
            rebuilt.remove(0);
        }
        rebuilt.push(known);
    }
    /// The nearest snapshot in memory that a replay to `moment` can begin with.
    fn nearest(&self, moment: Moment) -> Option<(Snapshot, Point)> {
        let newest = self.newest.lock();
        let rebuilt = self.rebuilt.lock();
        let fitting = newest.recent.iter().chain(rebuilt.iter()).filter(|known| moment.includes(known.at));
        fitting.max_by_key(|known| known.at.commit_version).map(|known| (known.snapshot.clone(), known.at))
    }
}

/// The commit an anchor ends with.
pub(crate) fn point_of(anchor: &Anchor) -> Point {
    Point { commit_version: anchor.commit_version, time_micros: anchor.time_micros }
}
