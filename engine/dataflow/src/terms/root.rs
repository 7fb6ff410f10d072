//! Any other work that lives on the executors: it is given quotas like a tenant, so it neither starves queries nor is starved.

use crate::TenantNo;
use std::sync::Arc;

/// The status of a root after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootStatus {
    /// Has more work now.
    Busy,
    /// Has none until [`RootHandle::wake`].
    Idle,
    /// Has none until this reading of [`world::clock::monotonic_ns`], or a wake.
    WakeAt(u64),
}

/// A piece of work that is scheduled beside the queries, one twin on each executor. A twin is made on its executor's thread and never
/// leaves it, so it need not be `Send` (a timely worker is not).
pub trait Root {
    /// Works for at most about `quota_ns` nanoseconds and returns. Longer turns are counted as overruns and paid for in later ones.
    fn run(&mut self, quota_ns: u64) -> RootStatus;
    /// Tenants that the last turn worked for, and the nanoseconds charged to each; the rest is the root's own.
    fn charges(&mut self) -> Vec<(TenantNo, u64)> {
        Vec::new()
    }
}

/// Wakes a root's twins. Cheap to clone.
#[derive(Clone)]
pub struct RootHandle {
    pub(crate) wake: Arc<dyn Fn(usize) + Send + Sync>,
    pub(crate) executors: usize,
}

impl RootHandle {
    /// Makes the twin on `executor` runnable.
    pub fn wake(&self, executor: usize) {
        (self.wake)(executor);
    }
    /// Makes all twins runnable.
    pub fn wake_all(&self) {
        (0..self.executors).for_each(|executor| self.wake(executor));
    }
}
