//! The clock, read seldom where little time passes between two looks.
//!
//! Operators inside small scope instances are called for less time than a reading takes. So a look that follows others closely gets the
//! last reading again, for at most [`LOOKS_SKIPPED_MAX`] looks or about [`LOOKS_APART_NS`]; where looks are further apart each one reads.
//! The time between two readings is split evenly among the operators called in between.

use crate::terms::limits::{LOOKS_APART_NS, LOOKS_SKIPPED_MAX};
use std::cell::Cell;
use world::clock::monotonic_ns;

pub(crate) struct Pace {
    now_ns: Cell<u64>,
    /// Looks that may pass before the next reading, and those that have passed since the last.
    skip: Cell<u32>,
    skipped: Cell<u32>,
}

impl Pace {
    pub(crate) fn new() -> Pace {
        Pace { now_ns: Cell::new(0), skip: Cell::new(0), skipped: Cell::new(0) }
    }

    /// Takes over a reading of the clock made elsewhere.
    #[inline]
    pub(crate) fn set(&self, now_ns: u64) {
        self.now_ns.set(now_ns);
        self.skip.set(0);
        self.skipped.set(0);
    }

    /// The next look reads the clock.
    pub(crate) fn read_anew(&self) {
        self.skip.set(0);
    }

    /// The time, or a reading from shortly before.
    #[inline]
    pub(crate) fn look(&self) -> u64 {
        let left = self.skip.get();
        if left > 0 {
            self.skip.set(left - 1);
            self.skipped.set(self.skipped.get() + 1);
            return self.now_ns.get();
        }
        let now_ns = monotonic_ns();
        let apart_ns = (now_ns - self.now_ns.get()) / u64::from(self.skipped.get() + 1);
        self.set(now_ns);
        self.skip.set((LOOKS_APART_NS / apart_ns.max(1)).min(u64::from(LOOKS_SKIPPED_MAX)) as u32);
        now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_looks_share_a_reading_and_distant_ones_do_not() {
        let pace = Pace::new();
        pace.set(monotonic_ns());
        let mut readings = 0;
        let mut last = pace.now_ns.get();
        for _ in 0..1_000 {
            let now_ns = pace.look();
            assert!(now_ns >= last);
            readings += u32::from(now_ns != last);
            last = now_ns;
        }
        assert!(readings >= 1_000 / (LOOKS_SKIPPED_MAX + 1), "{readings}");
        assert!(readings <= 900, "{readings} readings in a thousand looks at once");
        for _ in 0..3 {
            let until_ns = monotonic_ns() + 20 * LOOKS_APART_NS;
            while monotonic_ns() < until_ns {}
            (0..=LOOKS_SKIPPED_MAX).for_each(|_| last = pace.look());
        }
        let until_ns = monotonic_ns() + 20 * LOOKS_APART_NS;
        pace.set(until_ns - 20 * LOOKS_APART_NS);
        while monotonic_ns() < until_ns {}
        assert!(pace.look() >= until_ns, "after a long time the first look reads");
    }
}
