//! Work that takes a while and knows neither clock nor scheduler, such as planning a long text or building an index, counts itself here, so
//! that a timeout or a kill ends it, and so that it makes way for others.
//!
//! What such work builds is charged to whom it is done for, until the work is over, by an estimate for each thing ([`build`]): the things are of
//! many kinds, and a test holds the estimate against what the allocator gave.
//!
//! Who carries statements out says once what counts work ([`counted_by`]); until then nothing is counted. Cost: one call for each token,
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

/// Bytes that stay of a token or an expression of a text until it is planned: itself, and what it becomes on the way.
pub const BUILT_BYTES: u64 = 128;

/// Counts so many units, each an expression, a token or an entry, and charges so many bytes until the work is over; an error where the work
/// must end.
pub type Count = fn(units: u64, bytes: u64) -> Result<(), Stopped>;

static COUNT: OnceLock<Count> = OnceLock::new();

/// From now on `count` counts, in all threads; the first who says so stays.
pub fn counted_by(count: Count) {
    let _ = COUNT.set(count);
}

/// Counts work of so many units.
///
/// # Errors
/// The work must end.
#[inline]
pub fn spend(units: u64) -> Result<(), Stopped> {
    COUNT.get().map_or(Ok(()), |count| count(units, 0))
}

/// Counts work of so many units, each of which builds a token or an expression.
///
/// # Errors
/// The work must end: its time is over, or there is no room for what it builds.
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
