//! Long work that has neither clock nor scheduler, such as planning a long text or building an index, counts itself here, so that a timeout or a kill
//! ends it, and so that other work gets its turn.
//!
//! Memory of such work is charged to its query, until the work is over, by an estimate for each item ([`build`]): the items are of many kinds, and a
//! test compares the estimate with the allocator's count.
//!
//! The crate that executes statements registers the counter once ([`counted_by`]); until then nothing is counted. Cost: one call for each token,
//! expression and rewrite of a text, and for each block of entries of an index.

use std::fmt;
use std::sync::OnceLock;

/// The work must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the work was stopped")
    }
}

impl std::error::Error for Stopped {}

/// Bytes of a token or an expression of a text until it is planned: itself, and its later forms.
pub const BUILT_BYTES: u64 = 128;

/// Counts `units` units, each an expression, a token or an entry, and charges `bytes` until the work is over; an error where the work must end.
pub type Count = fn(units: u64, bytes: u64) -> Result<(), Stopped>;

static COUNT: OnceLock<Count> = OnceLock::new();

/// Registers the counter for all threads; the first call wins.
pub fn counted_by(count: Count) {
    let _ = COUNT.set(count);
}

/// Counts `units` units of work.
///
/// # Errors
/// The work must end.
#[inline]
pub fn spend(units: u64) -> Result<(), Stopped> {
    COUNT.get().map_or(Ok(()), |count| count(units, 0))
}

/// Counts `units` units of work, each of which builds a token or an expression.
///
/// # Errors
/// The work must end: its time is over, or there is no room for its results.
#[inline]
pub fn build(units: u64) -> Result<(), Stopped> {
    COUNT.get().map_or(Ok(()), |count| count(units, units * BUILT_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static COUNTED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
        /// Units after which a thread of this test is stopped; others never are.
        static UNITS_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    fn count(units: u64, bytes: u64) -> Result<(), Stopped> {
        let (before, built) = COUNTED.get();
        COUNTED.set((before + units, built + bytes));
        if before + units > UNITS_MAX.get() { Err(Stopped) } else { Ok(()) }
    }

    #[test]
    fn the_first_who_says_so_counts_work_and_what_it_builds() {
        counted_by(count);
        counted_by(|_, _| Err(Stopped));
        UNITS_MAX.set(10);
        assert_eq!((spend(3), build(2)), (Ok(()), Ok(())));
        assert_eq!(COUNTED.get(), (5, 2 * BUILT_BYTES));
        assert_eq!((spend(5), spend(1), build(1)), (Ok(()), Err(Stopped), Err(Stopped)));
        assert_eq!(COUNTED.get(), (12, 3 * BUILT_BYTES));
    }
}
