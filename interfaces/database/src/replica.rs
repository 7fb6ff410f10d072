//! A replica: beside a gate of a cluster, a database of its own with the whole graph, which takes over the cluster's commits in their one sequence.
//!
//! ```text
//!   gate ── CREATE STANDING QUERY: an entry of the catalogue, committed like any other ──> the cluster's log
//!   replica <── each commit, at its place ── the log;   gate ── SUBSCRIBE, AS OF, backup ──> replica, once it has what was acknowledged
//! ```
//!
//! Problem: features that need all commits one by one, or the graph of an earlier moment, cannot run at a gate, which fetches only what a query
//! touches. Idea: they run in a database that makes no commits of its own. It is started when first needed, and goes on from its last commit after a
//! restart. Invariants: a commit version means the same commit at every replica; a statement that uses a replica sees everything that was
//! acknowledged before the statement. Cost: the whole graph on the disk of that gate, and as much of its memory as a database may take; each commit
//! is applied there once more.

use crate::{Database, Error};
use std::time::Duration;

/// Polled while a caller waits for a replica: returns the reason to stop waiting, if there is one.
pub type Interrupted<'a> = &'a dyn Fn() -> Option<&'static str>;

/// A replica is waited for so long where a statement has no limit of its own: a new one carries out the whole log.
pub const REPLICA_PATIENCE: Duration = Duration::from_secs(60);

/// The replica of a gate, started by the gate's process.
pub trait ReplicaHost: Send + Sync {
    /// The replica, with everything that was acknowledged before this call; started if it does not run. Waits at most `patience`.
    ///
    /// # Errors
    /// It has not caught up in time, the caller was interrupted, or it cannot be started; the error says why it stopped.
    fn caught_up(&self, patience: Duration, interrupted: Interrupted<'_>) -> Result<Database, Error>;
    /// The replica in its present state, if it runs.
    fn running(&self) -> Option<Database>;
}
