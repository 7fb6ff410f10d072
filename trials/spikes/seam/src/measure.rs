//! Times, sorted.

pub use world::clock::monotonic_ns;

/// CPU time of this thread: what a call used itself, whatever else runs on the machine.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of another thread of this process, by its number.
pub fn other_cpu_ns(thread: i32) -> u64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the clock number is Linux's own for a thread's CPU clock (see clock_getcpuclockid), the layout that of 64-bit Linux.
    let failed = unsafe { clock_gettime((!thread << 3) | 6, &mut time) };
    assert_eq!(failed, 0, "the thread lives");
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Nanoseconds, kept to be asked for percentiles.
#[derive(Default)]
pub struct Times(pub Vec<u64>);

impl Times {
    pub fn add(&mut self, ns: u64) {
        self.0.push(ns);
    }
    /// In microseconds.
    pub fn percentile(&mut self, percent: f64) -> f64 {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * percent / 100.0) as usize).map_or(f64::NAN, |ns| *ns as f64 / 1e3)
    }
    pub fn max(&mut self) -> f64 {
        self.percentile(100.0)
    }
    pub fn over(&self, ns: u64) -> usize {
        self.0.iter().filter(|time| **time > ns).count()
    }
    pub fn total_ms(&self) -> f64 {
        self.0.iter().sum::<u64>() as f64 / 1e6
    }
}
