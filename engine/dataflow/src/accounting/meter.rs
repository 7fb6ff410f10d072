//! Measures the processor time of a turn.
//!
//! The clock is read around every turn anyway, and where a thread has its core to itself that is the time it used. But the kernel may give the core
//! to another thread in the middle of a turn, for milliseconds on a busy machine; the query of that turn would pay for it, and since credit is small
//! and debt is not, chance would favour those who always have work. So turns that took longer than they should are measured in processor time. Cost:
//! a system call for each such turn, and at most one a quota, as the base of the next measurement.

use crate::terms::limits::METER_EVERY_NS;
use world::clock::thread_cpu_ns;

/// A reading of both clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    at_ns: u64,
    cpu_ns: u64,
}

impl Meter {
    /// A turn may begin.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        if now_ns - self.at_ns >= METER_EVERY_NS {
            *self = Meter { at_ns: now_ns, cpu_ns: thread_cpu_ns() };
        }
    }

    /// Processor time at the last reading.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// The time a turn between these readings of the clock used.
    pub(crate) fn used(&mut self, begin_ns: u64, end_ns: u64, quota_ns: u64) -> u64 {
        let wall_ns = end_ns - begin_ns;
        if wall_ns <= quota_ns.saturating_mul(2) {
            return wall_ns;
        }
        let cpu_ns = thread_cpu_ns();
        let used_ns = self.since(begin_ns, cpu_ns, quota_ns).min(wall_ns);
        *self = Meter { at_ns: end_ns, cpu_ns };
        used_ns
    }

    /// Time used since `begin_ns`: all since the last reading, without the part that may have been used before.
    fn since(&self, begin_ns: u64, cpu_ns: u64, quota_ns: u64) -> u64 {
        let all_ns = cpu_ns - self.cpu_ns;
        all_ns.saturating_sub(begin_ns - self.at_ns).max(all_ns.min(quota_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::clock::monotonic_ns;

    const QUOTA_NS: u64 = 500_000;

    #[test]
    fn a_turn_in_which_the_core_was_taken_away_costs_what_it_used() {
        let mut meter = Meter::default();
        let begin_ns = monotonic_ns();
        meter.begin(begin_ns);
        world::threads::sleep(std::time::Duration::from_millis(30));
        let used_ns = meter.used(begin_ns, monotonic_ns(), QUOTA_NS);
        assert!(used_ns <= 10_000_000, "{used_ns} ns of a turn that slept");
    }

    #[test]
    fn a_turn_that_overruns_costs_what_it_used() {
        let mut meter = Meter::default();
        let begin_ns = monotonic_ns();
        meter.begin(begin_ns);
        let from_ns = thread_cpu_ns();
        while thread_cpu_ns() - from_ns < 5_000_000 {}
        let used_ns = meter.used(begin_ns, monotonic_ns(), QUOTA_NS);
        assert!(used_ns >= 5_000_000 - METER_EVERY_NS, "{used_ns} ns of a turn that worked for 5 ms");
    }

    #[test]
    fn a_turn_within_its_quota_costs_its_time() {
        assert_eq!(Meter::default().used(7_000, 507_000, QUOTA_NS), 500_000);
    }
}
