//! Counters of traces, for the metrics: also in builds without telemetry, where all are zero.
//!
//! Invariant: a trace waits, or it is counted once as sent, dropped or refused. Those that still wait when the server ends are dropped.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of traced queries.
#[derive(Debug, Default)]
pub struct TraceCounts {
    /// The collector took them.
    pub sent: AtomicU64,
    /// They found no room in the queue, or still waited when the server ended.
    pub dropped: AtomicU64,
    /// The collector could not be reached, or did not take them.
    pub refused: AtomicU64,
    waiting: Mutex<TracesInQueue>,
}

#[derive(Debug, Default)]
struct TracesInQueue {
    queries: u64,
    is_over: bool,
}

impl TraceCounts {
    /// A trace is about to wait; false after the end, and then it is counted as dropped.
    pub fn enter(&self) -> bool {
        let mut waiting = self.waiting.lock();
        match waiting.is_over {
            true => _ = self.dropped.fetch_add(1, Ordering::Relaxed),
            false => waiting.queries += 1,
        }
        !waiting.is_over
    }
    /// Queries that waited are counted, unless the end did so before.
    pub fn leave(&self, queries: u64, counter: &AtomicU64) {
        let mut waiting = self.waiting.lock();
        let counted = queries.min(waiting.queries);
        waiting.queries -= counted;
        counter.fetch_add(counted, Ordering::Relaxed);
    }
    /// Waiting traces are dropped, and so are all later ones.
    pub fn end(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_over = true;
        self.dropped.fetch_add(std::mem::take(&mut waiting.queries), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each is counted once, whichever comes first: the answer of the collector or the end.
    #[test]
    fn what_waits_at_the_end_is_dropped_once() {
        let counts = TraceCounts::default();
        let read = || [&counts.sent, &counts.dropped, &counts.refused].map(|one| one.load(Ordering::Relaxed));
        assert!((0..10).all(|_| counts.enter()));
        counts.leave(4, &counts.sent);
        counts.leave(1, &counts.dropped);
        assert_eq!(read(), [4, 1, 0]);
        counts.end();
        assert_eq!(read(), [4, 6, 0], "five waited");
        counts.leave(5, &counts.sent);
        assert_eq!(read(), [4, 6, 0], "they are counted already");
        assert!(!counts.enter());
        counts.end();
        assert_eq!(read(), [4, 7, 0]);
    }
}
