//! A replica: beside a gate of a cluster, a database of its own with the whole graph, which takes over the cluster's commits in their one sequence.
//!
//! ```text
//!   gate ── CREATE STANDING QUERY: an entry of the catalogue, committed like any other ──> the cluster's log
//!   replica <── each commit, at its place ── the log;   gate ── SUBSCRIBE, AS OF, backup ──> replica, once it has what was acknowledged
//! ```
//!
//! Question: what needs all commits one by one, or the graph of an earlier moment, has no place at a gate, which fetches what a query touches. Where does it
//! run? Idea: in a database that commits nothing of its own. It is begun when something first needs it, and goes on where it was after a restart.
//! Invariants: a place means the same commit at every replica; what a statement asks of one has everything that was acknowledged before the statement.
//! Cost: the whole graph on the disk of that gate, and as much of its memory as a database may take; each commit is carried out there once more.

use crate::{Database, Error};
use std::time::Duration;

/// Whoever waits for a replica: why they must not wait any longer, if that is so.
pub type Interrupted<'a> = &'a dyn Fn() -> Option<&'static str>;

/// A replica is waited for so long where a statement has no limit of its own: a new one carries out the whole log.
pub const REPLICA_PATIENCE: Duration = Duration::from_secs(60);

/// The replica of a gate, which whoever runs the gate starts.
pub trait ReplicaHost: Send + Sync {
    /// It, with everything that was acknowledged before this call; begun where it does not run. Waits no longer than `patience`.
    ///
    /// # Errors
    /// It is not as far in time, whoever asks was interrupted, or it cannot be started; what stopped it is said.
    fn caught_up(&self, patience: Duration, interrupted: Interrupted<'_>) -> Result<Database, Error>;
    /// It as it is, if it runs.
    fn running(&self) -> Option<Database>;
}
