//! The clocks of the machine, real or manual: the only interface to them.
//!
//! Two kinds of time, never mixed: *monotonic* nanoseconds since the first reading in this process (for quotas, deadlines and
//! measuring), and *wall* microseconds since 1970 (for people and for `datetime()`). Code that must also run in a simulation takes a
//! [`Clock`]; code on a hot path calls [`monotonic_ns`] directly, which costs one read of the processor's counter (some 20 to 50 ns).
//!
//! Invariant: monotonic time never goes back; a [`ManualClock`] moves only on request.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the first reading in this process; never goes back.
pub fn monotonic_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    joined_ns(elapsed.as_secs(), u64::from(elapsed.subsec_nanos()))
}

/// Whole seconds, and the nanoseconds behind them.
const fn joined_ns(seconds: u64, nanos: u64) -> u64 {
    seconds * 1_000_000_000 + nanos
}

/// A span of time in nanoseconds; one of more than 64 bits, some 584 years, is as long as 64 bits can tell.
pub const fn span_ns(span: Duration) -> u64 {
    let whole = span.as_nanos();
    if whole > u64::MAX as u128 { u64::MAX } else { whole as u64 }
}

/// The value of [`monotonic_ns`] a span from now; the largest value where that is beyond 64 bits.
pub fn after_ns(span: Duration) -> u64 {
    monotonic_ns().saturating_add(span_ns(span))
}

/// Nanoseconds of the machine's monotonic clock, as other processes read it.
pub fn machine_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    joined_ns(time.tv_sec as u64, time.tv_nsec as u64)
}

/// Nanoseconds of processor time of the calling thread, without the time that other threads had its core. A system call, some 200 to 500 ns; for the
/// hot path there is [`monotonic_ns`].
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    joined_ns(time.tv_sec as u64, time.tv_nsec as u64)
}

/// Likewise, of all threads of this process together.
pub fn process_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    joined_ns(time.tv_sec as u64, time.tv_nsec as u64)
}

/// Microseconds since 1970-01-01 UTC by the machine's wall clock; may jump when someone sets it.
pub fn wall_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// A source of time that a simulation can replace.
pub trait Clock: Send + Sync {
    /// Monotonic nanoseconds, from an origin of the clock's own.
    fn now_ns(&self) -> u64;
    /// Wall time in microseconds since 1970-01-01 UTC.
    fn wall_us(&self) -> u64;
}

/// The machine's own clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
    fn wall_us(&self) -> u64 {
        wall_us()
    }
}

/// A clock that stands still until it is advanced: for tests and the simulator.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ns: AtomicU64,
    wall_start_us: u64,
}

impl ManualClock {
    /// A clock at monotonic zero whose wall reading starts at `wall_start_us`.
    pub fn new(wall_start_us: u64) -> ManualClock {
        ManualClock { now_ns: AtomicU64::new(0), wall_start_us }
    }

    /// Moves both readings forward.
    pub fn advance_ns(&self, by_ns: u64) {
        self.now_ns.fetch_add(by_ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::SeqCst)
    }
    fn wall_us(&self) -> u64 {
        self.wall_start_us + self.now_ns() / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_uses_no_processor_time() {
        let (wall_ns, cpu_ns) = (monotonic_ns(), thread_cpu_ns());
        crate::threads::sleep(std::time::Duration::from_millis(20));
        let slept_ns = monotonic_ns() - wall_ns;
        assert!(slept_ns >= 20_000_000 && thread_cpu_ns() - cpu_ns < slept_ns / 2);
        let cpu_ns = thread_cpu_ns();
        let all_ns = process_cpu_ns();
        while thread_cpu_ns() - cpu_ns < 1_000_000 {}
        assert!(process_cpu_ns() - all_ns >= 900_000, "the process had what its thread had");
    }

    /// Readings of a process that is young do not tell.
    #[test]
    fn seconds_and_nanoseconds_are_one_number() {
        assert_eq!([joined_ns(0, 7), joined_ns(1, 0), joined_ns(3, 5)], [7, 1_000_000_000, 3_000_000_005]);
        let span = Duration::new(4_000_000, 999_999_999);
        assert_eq!(joined_ns(span.as_secs(), u64::from(span.subsec_nanos())), span_ns(span));
    }

    #[test]
    fn a_span_beyond_64_bits_is_as_long_as_they_can_tell() {
        assert_eq!(span_ns(Duration::ZERO), 0);
        assert_eq!(span_ns(Duration::from_nanos(u64::MAX - 1)), u64::MAX - 1);
        assert_eq!(span_ns(Duration::from_nanos(u64::MAX)), u64::MAX);
        assert_eq!(span_ns(Duration::from_nanos(u64::MAX) + Duration::from_nanos(1)), u64::MAX);
        assert_eq!(span_ns(Duration::MAX), u64::MAX);
        assert_eq!(after_ns(Duration::MAX), u64::MAX);
        assert!(after_ns(Duration::from_secs(60)) > monotonic_ns() + 50_000_000_000);
    }

    #[test]
    fn monotonic_never_goes_back() {
        let mut last = monotonic_ns();
        for _ in 0..10_000 {
            let now = monotonic_ns();
            assert!(now >= last);
            last = now;
        }
        assert!(wall_us() > 1_700_000_000_000_000, "the wall clock should be past 2023");
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new(5_000_000);
        assert_eq!((clock.now_ns(), clock.wall_us()), (0, 5_000_000));
        clock.advance_ns(3_000);
        assert_eq!((clock.now_ns(), clock.wall_us()), (3_000, 5_000_003));
    }
}
