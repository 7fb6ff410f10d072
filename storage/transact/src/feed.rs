//! The change feed: every commit, in order, to subscribers.
//!
//! Idea: the committer hands each subscriber the same shared record through a bounded queue and never waits for it.
//! Invariant: a subscriber sees every commit after the version it subscribed at, in order, without gap; one that falls
//! [`FEED_COMMITS_MAX`] commits behind is cut off, and its next read says so. A slow listener never slows a commit.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::Change;

/// Commits a subscriber may lag behind before it is cut off.
pub const FEED_COMMITS_MAX: usize = 65_536;

/// One commit, as the log and the change feed carry it.
#[derive(Debug)]
pub struct CommitRecord {
    /// Its commit version.
    pub commit_version: u64,
    /// Wall clock at the commit, microseconds since 1970.
    pub time_micros: u64,
    /// Its changes, in the order of the statements.
    pub changes: Vec<Change>,
}

/// Why a feed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedEnd {
    /// The database was closed, or a bulk load replaced the graph: subscribe again for the new one.
    Closed,
    /// The subscriber fell more than [`FEED_COMMITS_MAX`] commits behind.
    Lagged,
}

#[derive(Default)]
struct Queue {
    records: VecDeque<Arc<CommitRecord>>,
    ended: Option<FeedEnd>,
}

/// Called after commits were handed to a subscriber; it must return at once.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
    waker: Option<Waker>,
}

impl Shared {
    fn wake(&self) {
        self.ready.notify_all();
        if let Some(waker) = &self.waker {
            waker();
        }
    }
}

/// A subscription; dropping it ends it.
pub struct Feed {
    shared: Arc<Shared>,
    /// Commits up to and including this commit version are in the snapshot taken with the subscription; the feed begins after it.
    pub from: u64,
}

impl Feed {
    /// The next commit; waits for it at most `timeout`. `Ok(None)` means that none came in time.
    pub fn next(&self, timeout: Duration) -> Result<Option<Arc<CommitRecord>>, FeedEnd> {
        let mut queue = self.shared.queue.lock();
        if queue.records.is_empty() && queue.ended.is_none() {
            self.shared.ready.wait_for(&mut queue, timeout);
        }
        match (queue.records.pop_front(), queue.ended) {
            (Some(record), _) => Ok(Some(record)),
            (None, Some(end)) => Err(end),
            (None, None) => Ok(None),
        }
    }
}

/// The sending side, held by the engine.
#[derive(Default)]
pub(crate) struct Feeds {
    subscribers: Vec<std::sync::Weak<Shared>>,
}

impl Feeds {
    pub fn subscribe(&mut self, from: u64, waker: Option<Waker>) -> Feed {
        let shared = Arc::new(Shared { waker, ..Shared::default() });
        self.subscribers.push(Arc::downgrade(&shared));
        Feed { shared, from }
    }
    pub fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }
    pub fn publish(&mut self, records: &[Arc<CommitRecord>]) {
        self.subscribers.retain(|subscriber| {
            let Some(shared) = subscriber.upgrade() else { return false };
            let mut queue = shared.queue.lock();
            if queue.records.len() + records.len() > FEED_COMMITS_MAX {
                queue.records.clear();
                queue.ended = Some(FeedEnd::Lagged);
            } else {
                queue.records.extend(records.iter().cloned());
            }
            let goes_on = queue.ended.is_none();
            drop(queue);
            shared.wake();
            goes_on
        });
    }
    pub fn close(&mut self) {
        for shared in self.subscribers.drain(..).filter_map(|subscriber| subscriber.upgrade()) {
            shared.queue.lock().ended = Some(FeedEnd::Closed);
            shared.wake();
        }
    }
}
