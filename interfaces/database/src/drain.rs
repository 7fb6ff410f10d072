//! Orderly shutdown of a server: nothing new begins, open transactions may end, and the rest is ended with a reason.

use crate::Error;
use std::sync::atomic::{AtomicU8, Ordering};

/// Nothing ends.
const OPEN: u8 = 0;
/// Nothing new begins.
const DRAINING: u8 = 1;
/// Running queries are ended.
const ENDING: u8 = 2;

const UNAVAILABLE: &str = "Neo.TransientError.General.DatabaseUnavailable";
/// The reason with which running queries are ended.
pub(crate) const REASON: &str = "the server is shutting down";

/// How far the end of a server has come. It never goes back.
#[derive(Debug, Default)]
pub(crate) struct Drain(AtomicU8);

impl Drain {
    fn reached(&self) -> u8 {
        self.0.load(Ordering::Acquire)
    }
    /// Nothing new begins from now on.
    pub fn begin(&self) {
        self.0.fetch_max(DRAINING, Ordering::AcqRel);
    }
    /// Ends running queries from now on.
    pub fn end(&self) {
        self.0.fetch_max(ENDING, Ordering::AcqRel);
    }
    /// Does nothing new begin any more?
    pub fn has_begun(&self) -> bool {
        self.reached() != OPEN
    }
    /// The error for clients: a query that the shutdown ended may be tried again.
    pub fn told(&self, error: Error) -> Error {
        let is_own = error.code.ends_with("Transaction.Terminated") && error.message.contains(REASON);
        if is_own && self.reached() == ENDING { unavailable() } else { error }
    }
    /// May an open transaction go on?
    pub fn check_open(&self) -> Result<(), Error> {
        if self.reached() == ENDING { Err(unavailable()) } else { Ok(()) }
    }
    /// May something new begin?
    pub fn check(&self) -> Result<(), Error> {
        if self.reached() == OPEN { Ok(()) } else { Err(unavailable()) }
    }
}

/// The error that drivers take as a reason to try again, here or at another server.
#[must_use]
pub fn unavailable() -> Error {
    let error = Error::new(UNAVAILABLE, REASON).hint("try again in a moment, or at another server");
    Error { retryable: true, ..error }
}
