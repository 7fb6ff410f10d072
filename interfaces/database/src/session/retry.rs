//! Retries of auto-commit writes that conflict.

use super::Session;
use crate::Error;
use std::sync::Arc;
use std::time::Duration;
use transact::Transaction;

/// First pause before a conflicting attempt is made again; doubled each time up to [`RETRY_PAUSE_MAX`].
const RETRY_PAUSE: Duration = Duration::from_micros(50);
/// Longest pause between attempts.
const RETRY_PAUSE_MAX: Duration = Duration::from_millis(10);

impl Session {
    /// Makes attempts until one succeeds, fails for good, or was the last one allowed. Each gets the transaction that was refused before it, which
    /// may have a write reservation to keep, and returns the one it used.
    pub(super) fn until_it_commits<T>(
        &self,
        mut attempt: impl FnMut(Option<Arc<Transaction>>) -> (Arc<Transaction>, Result<T, Error>),
    ) -> Result<T, Error> {
        let (mut pause, mut refused) = (RETRY_PAUSE, None);
        for number in 1.. {
            match attempt(refused.take()) {
                (transaction, Err(error))
                    if error.retryable && number < self.database.options().attempts_max =>
                {
                    refused = Some(transaction);
                    world::threads::sleep(pause);
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                }
                (_, outcome) => return outcome,
            }
        }
        unreachable!("the loop ends by returning")
    }
}
