//! What the client holds: the stream of batches, and the one end it comes to.

use crate::limits::CLIENT_SPIN_NS;
use crate::links::Shared;
use crate::output::Look;
use crate::watch::Watch;
use crate::{Failure, Level, Message, QueryProgress, TenantNo, UserNo, VertexProfile};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// A query's number, unique in its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId(pub u64);

/// Why a query ended before its results did.
#[derive(Debug)]
pub enum Fault {
    /// Someone cancelled it, or its client went away.
    Cancelled {
        /// Who or why.
        reason: String,
    },
    /// Its deadline passed.
    TimedOut {
        /// How long it ran, in milliseconds.
        after_ms: u64,
    },
    /// It was not let in: too many queries wait already.
    Refused {
        /// How many wait.
        waiting: usize,
    },
    /// It held more bytes than it may, or than its user, tenant or the machine have left.
    OverBudget {
        /// Whose budget.
        level: Level,
        /// The budget in bytes.
        limit: u64,
        /// Who held how many bytes, most first.
        held: Vec<(String, u64)>,
    },
    /// An operator returned an error.
    Operator(Failure),
    /// An operator panicked; only its query ends.
    Panicked {
        /// The vertex.
        operator: String,
        /// The panic's message.
        message: String,
    },
}

impl Fault {
    /// Why a part ends whose whole is over.
    pub(crate) fn whole_ended() -> Fault {
        Fault::Cancelled { reason: "the statement that it is a part of has ended".into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Cancelled { reason } => write!(f, "query cancelled: {reason}"),
            Fault::TimedOut { after_ms } => write!(f, "query timed out after {after_ms} ms"),
            Fault::Refused { waiting } => {
                write!(f, "query refused: {waiting} queries wait for room in their accounts already")
            }
            Fault::OverBudget { level, limit, held } => {
                write!(f, "query exceeded the {level}'s memory budget of {limit} bytes; held:")?;
                held.iter().take(5).try_for_each(|(name, bytes)| write!(f, " {name} {bytes}"))
            }
            Fault::Operator(failure) => write!(f, "{failure}"),
            Fault::Panicked { operator, message } => write!(f, "operator `{operator}` panicked: {message}"),
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Fault::Operator(failure) => Some(&**failure),
            _ => None,
        }
    }
}

/// A running query, in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryInfo {
    /// Its number.
    pub id: QueryId,
    /// Who pays: the tenant, which a rule may have changed, and the user.
    pub tenant: TenantNo,
    /// The user within the tenant.
    pub user: UserNo,
    /// False while it waits to be let in.
    pub running: bool,
    /// What the submitter called it.
    pub label: String,
    /// Time since it was submitted, in nanoseconds.
    pub age_ns: u64,
    /// CPU time used so far, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes charged now.
    pub bytes: u64,
    /// Rows its operators sent so far.
    pub rows: u64,
}

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

    /// Holds so many bytes more on the query's account, outside of its graph; false where that ends it, since they are too many.
    pub fn hold(&self, bytes: u64) -> bool {
        self.shared.hold(bytes)
    }

    /// Gives bytes back that were held outside of its graph.
    pub fn release(&self, bytes: u64) {
        Watch::release(&*self.shared, bytes);
    }

    /// Tells from any thread whether the query has ended, for an operator whose one call may take long.
    pub fn ended(&self) -> Arc<dyn Fn() -> bool + Send + Sync> {
        let shared = self.shared.clone();
        Arc::new(move || shared.is_stopped())
    }

    /// What each vertex did so far, in the order of their creation.
    pub fn profile(&self) -> Vec<VertexProfile> {
        self.shared.profile()
    }

    /// How far it is: its ledger, by vertex and by scope.
    pub fn progress(&self) -> QueryProgress {
        self.shared.progress()
    }

    /// Looks for news a short while before sleeping: a short query answers sooner than a sleep and a wake take. Not where all executors
    /// are busy: then the query waits its turn, and who looks and yields gives its core away for longer than who sleeps and is woken.
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
