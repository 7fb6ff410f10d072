//! The bounds of an installation: the first answer of a query may take much time and memory, and can be ended.
//!
//! Idea: while a query is installed, the view that it reads carries these bounds; joins check them once a block, steps once each, rules once some
//! thousand facts. Rows between steps, and the facts of rules, are charged to the creator's account, until the query itself counts its state. Cost:
//! one load a block.

use crate::StandingError;
use crate::error::too_large;
use crate::limits::ANSWER_ROW_BYTES;
use dataflow::AccountedBytes;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// Rows after which memory is charged again: not for each block.
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
    /// Bytes that are no rows.
    other_bytes: u64,
    held: Option<AccountedBytes>,
}

impl Rows {
    /// Counts all of it on the account.
    fn charge(&mut self) -> Result<(), StandingError> {
        let bytes = self.count * ANSWER_ROW_BYTES as u64 + self.other_bytes;
        self.held.as_mut().map_or(Ok(()), |held| held.set(bytes)).map_err(too_large)
    }
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
    pub(crate) fn charge(&self, held: Option<AccountedBytes>) {
        self.rows.lock().held = held;
    }
    /// May it go on?
    ///
    /// # Errors
    /// Its time is over, or it was ended.
    pub fn check(&self) -> Result<(), StandingError> {
        if self.has_ended.load(Ordering::Acquire) {
            return Err(StandingError::Failed(format!("its installation was ended: {}", self.why.lock())));
        }
        match self.until_ns {
            Some(until_ns) if monotonic_ns() >= until_ns => Err(StandingError::TooSlow),
            _ => Ok(()),
        }
    }
    /// `rows` more rows are in memory.
    pub(crate) fn count(&self, rows: usize) -> Result<(), StandingError> {
        self.check()?;
        let mut counted = self.rows.lock();
        counted.count += rows as u64;
        if counted.count - counted.asked < ROWS_ASKED_AT {
            return Ok(());
        }
        counted.asked = counted.count;
        counted.charge()
    }
    /// Sets the bytes in memory beside rows.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), StandingError> {
        self.check()?;
        let mut counted = self.rows.lock();
        counted.other_bytes = bytes as u64;
        counted.charge()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataflow::AccountOptions;

    /// Rows are charged in steps, to the creator, until there is no room.
    #[test]
    fn rows_of_a_first_answer_are_charged_until_there_is_no_room() {
        const STEP_BYTES: u64 = ROWS_ASKED_AT * ANSWER_ROW_BYTES as u64;
        const LIMIT: u64 = 4 * STEP_BYTES;
        let runtime = execute::runtime(Some(1)).unwrap();
        runtime.set_tenant(7, &AccountOptions { bytes_max: Some(LIMIT), ..AccountOptions::default() });
        let is_free = |bytes: u64| runtime.ledger()(7).set(bytes).is_ok();
        let installing = Installing::default();
        installing.charge(Some(runtime.ledger()(7)));
        let step = ROWS_ASKED_AT as usize;
        installing.count(step - 1).unwrap();
        assert!(is_free(LIMIT), "few rows are not charged");
        installing.count(1).unwrap();
        assert!(is_free(LIMIT - STEP_BYTES) && !is_free(LIMIT - STEP_BYTES + 1));
        installing.count(2 * step).unwrap();
        installing.count(step - 1).unwrap();
        assert!(is_free(STEP_BYTES) && !is_free(STEP_BYTES + 1));
        installing.count(1).unwrap();
        let byte = usize::try_from(STEP_BYTES).unwrap();
        assert!(
            installing.hold(byte + 1).is_err() && installing.hold(byte).is_ok(),
            "facts beside three steps of rows"
        );
        installing.hold(0).unwrap();
        let error = installing.count(step).unwrap_err();
        assert!(matches!(error, StandingError::TooLarge { limit, .. } if limit as u64 == LIMIT), "{error}");
        installing.charge(None);
        assert!(is_free(LIMIT), "the query counts itself from now on");
    }

    #[test]
    fn an_installation_ends_in_time_or_when_it_is_told() {
        assert_eq!(Installing::default().check(), Ok(()));
        assert_eq!(Installing::within(Duration::from_secs(3_600)).check(), Ok(()));
        let late = Installing::within(Duration::ZERO);
        assert_eq!((late.check(), late.count(1)), (Err(StandingError::TooSlow), Err(StandingError::TooSlow)));
        late.end("by the test");
        assert!(late.check().unwrap_err().to_string().ends_with("ended: by the test"));
    }
}
