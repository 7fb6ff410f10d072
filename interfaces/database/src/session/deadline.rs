//! Deadlines of statements, and other ends of a transaction.

use crate::Error;
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// How often a session that waits for a writing statement, or a commit, checks its client.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The error of a transaction that was terminated.
pub(super) fn terminated() -> Error {
    let code = "Neo.ClientError.Transaction.Terminated";
    Error::new(code, "the transaction was ended by TERMINATE TRANSACTION").hint("roll it back")
}

pub(super) fn deadline_after(timeout: Duration) -> u64 {
    after_ns(timeout)
}

/// Time left until the deadline, if there is one.
pub(super) fn remaining(deadline_ns: Option<u64>) -> Result<Option<Duration>, Error> {
    let Some(deadline_ns) = deadline_ns else { return Ok(None) };
    match deadline_ns.checked_sub(monotonic_ns()) {
        Some(left_ns) if left_ns > 0 => Ok(Some(Duration::from_nanos(left_ns))),
        _ => {
            let code = "Neo.ClientError.Transaction.TransactionTimedOut";
            Err(Error::new(code, "the transaction took longer than it was allowed to"))
        }
    }
}
