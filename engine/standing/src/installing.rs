//! The bounds of an installation: the first answer of a query may take long and hold much, and can be told to end.
//!
//! Idea: while a query is installed, the view that it reads carries these bounds; joins ask them once a block, steps once each. Rows that
//! steps hand on are counted on the account of who pays, until the query itself counts what it keeps. Cost: one load a block.

use crate::StandingError;
use crate::error::too_large;
use crate::limits::ANSWER_ROW_BYTES;
use dataflow::Held;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// Rows after which memory is asked for again: not for each block.
const ROWS_ASKED_AT: u64 = 8_192;

/// An installation that is under way.
#[derive(Default)]
pub struct Installing {
    until_ns: Option<u64>,
    has_ended: AtomicBool,
    why: Mutex<String>,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    count: u64,
    asked: u64,
    held: Option<Held>,
}

impl Installing {
    /// One that may take so long.
    pub fn within(time: Duration) -> Installing {
        let until_ns = after_ns(time);
        Installing { until_ns: Some(until_ns), ..Installing::default() }
    }
    /// Ends it, for this reason.
    pub fn end(&self, why: &str) {
        *self.why.lock() = why.to_string();
        self.has_ended.store(true, Ordering::Release);
    }
    /// Where rows are counted until the query is there.
    pub(crate) fn charge(&self, held: Option<Held>) {
        self.rows.lock().held = held;
    }
    /// May it go on?
    pub(crate) fn check(&self) -> Result<(), StandingError> {
        if self.has_ended.load(Ordering::Acquire) {
            return Err(StandingError::Failed(format!("its installation was ended: {}", self.why.lock())));
        }
        match self.until_ns {
            Some(until_ns) if monotonic_ns() >= until_ns => Err(StandingError::TooSlow),
            _ => Ok(()),
        }
    }
    /// So many rows more are in memory.
    pub(crate) fn count(&self, rows: usize) -> Result<(), StandingError> {
        self.check()?;
        let mut counted = self.rows.lock();
        counted.count += rows as u64;
        if counted.count - counted.asked < ROWS_ASKED_AT {
            return Ok(());
        }
        counted.asked = counted.count;
        let bytes = counted.count * ANSWER_ROW_BYTES as u64;
        counted.held.as_mut().map_or(Ok(()), |held| held.set(bytes)).map_err(too_large)
    }
}
