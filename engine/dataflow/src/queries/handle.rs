//! The client's handle: the stream of batches, and its end.

use crate::accounting::watch::Watch;
use crate::queries::links::Shared;
use crate::queries::output::Look;
use crate::terms::fault::Fault;
use crate::terms::ids::QueryId;
use crate::terms::limits::CLIENT_SPIN_NS;
use crate::{Message, QueryProgress, VertexProfile};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// A submitted query. Dropping it cancels the query if it still runs.
pub struct QueryHandle<M: Message> {
    shared: Shared<M>,
}

impl<M: Message> QueryHandle<M> {
    pub(crate) fn new(shared: Shared<M>) -> QueryHandle<M> {
        QueryHandle { shared }
    }

    /// The query's number.
    pub fn id(&self) -> QueryId {
        QueryId(self.shared.id)
    }

    /// Waits for the next batch. `None` after the last; a fault comes once, then `None`.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Result<M, Fault>> {
        self.spin(u64::MAX);
        let look = self.shared.output.wait(None);
        self.found(look).expect("a wait without a limit finds something")
    }

    /// The next batch if there is one now: `None` means nothing yet, `Some(None)` the end.
    pub fn try_next(&mut self) -> Option<Option<Result<M, Fault>>> {
        let look = self.shared.output.look();
        self.found(look)
    }

    /// As [`try_next`](Self::try_next), after waiting at most this long.
    pub fn next_timeout(&mut self, timeout: Duration) -> Option<Option<Result<M, Fault>>> {
        let until_ns = after_ns(timeout);
        self.spin(until_ns);
        let look = self.shared.output.wait(Some(until_ns));
        self.found(look)
    }

    /// Calls `waker` (on an executor's thread; it must be quick) whenever a batch or the end became available, from now on. Called at
    /// once if one is available already.
    pub fn set_waker(&mut self, waker: Arc<dyn Fn() + Send + Sync>) {
        self.shared.output.set_waker(waker);
    }

    /// Cancels the query: it ends with `Fault::Cancelled` unless it ended before.
    pub fn cancel(&self, reason: &str) {
        self.shared.stop(Some(Fault::Cancelled { reason: reason.to_string() }));
    }

    /// Charges further bytes to the query, outside of its graph; false where that exceeds a limit and ends it.
    pub fn hold(&self, bytes: u64) -> bool {
        self.shared.hold(bytes)
    }

    /// Releases bytes that were held outside of its graph.
    pub fn release(&self, bytes: u64) {
        Watch::release(&*self.shared, bytes);
    }

    /// Counters of each vertex so far, in the order of their creation.
    pub fn profile(&self) -> Vec<VertexProfile> {
        self.shared.profile()
    }

    /// Its ledger so far, by vertex and by scope.
    pub fn progress(&self) -> QueryProgress {
        self.shared.progress()
    }

    /// Polls a short while before sleeping: a short query answers sooner than a sleep and a wake take. Not where all executors are busy: then the
    /// query waits for its turn, and a polling thread gives its core away for longer than a sleeping one.
    fn spin(&self, until_ns: u64) {
        let until_ns = until_ns.min(monotonic_ns() + CLIENT_SPIN_NS);
        let idle = &self.shared.links.idle;
        while !self.shared.output.has_news() && idle.load(Ordering::Relaxed) > 0 && monotonic_ns() < until_ns
        {
            world::workers::breathe();
        }
    }

    fn found(&self, look: Look<M>) -> Option<Option<Result<M, Fault>>> {
        match look {
            Look::Nothing => None,
            Look::End => Some(None),
            Look::Fault(fault) => Some(Some(Err(fault))),
            Look::Batch(message, was_full) => {
                if was_full {
                    self.shared.unblock();
                }
                Some(Some(Ok(message)))
            }
        }
    }
}

impl<M: Message> Drop for QueryHandle<M> {
    fn drop(&mut self) {
        self.cancel("the client went away");
    }
}
