//! Times: medians of repetitions after warm-up, on the monotonic clock.

use std::path::Path;
use world::clock::monotonic_ns;

/// Runs `work` and returns its result and its time in milliseconds.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin_ns = monotonic_ns();
    let result = work();
    (result, (monotonic_ns() - begin_ns) as f64 / 1e6)
}

/// Clock ticks a second in `/proc`; the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time that a process has taken, where the system says it.
pub fn processor_seconds(pid: u32) -> Option<f64> {
    let text = world::files::read_text(Path::new(&format!("/proc/{pid}/stat"))).ok()?;
    // The name of the program, in parentheses, may hold blanks.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

/// Times of one thing done again and again.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    times_ms: Vec<f64>,
}

impl Samples {
    /// Adds a time.
    pub fn push(&mut self, time_ms: f64) {
        self.times_ms.push(time_ms);
    }
    /// Takes back the time added last.
    pub fn pop(&mut self) {
        self.times_ms.pop();
    }
    /// Adds the times of another.
    pub fn extend(&mut self, other: &Samples) {
        self.times_ms.extend_from_slice(&other.times_ms);
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.times_ms.len()
    }
    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.times_ms.is_empty()
    }
    /// The middle time; not a number if there is none.
    pub fn median_ms(&self) -> f64 {
        self.quantile_ms(0.5)
    }
    /// The time that this part of all samples does not exceed.
    pub fn quantile_ms(&self, part: f64) -> f64 {
        let mut sorted = self.times_ms.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = (sorted.len() as f64 * part) as usize;
        sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }
}

/// A time for people: microseconds below one millisecond.
pub fn shown_ms(time_ms: f64) -> String {
    match time_ms {
        time if time.is_nan() => "not measured".into(),
        time if time < 1.0 => format!("{:.0} us", time * 1e3),
        time if time < 100.0 => format!("{time:.2} ms"),
        time if time < 10_000.0 => format!("{time:.0} ms"),
        time => format!("{:.1} s", time / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_sample() {
        let mut samples = Samples::default();
        assert!(samples.median_ms().is_nan());
        [5.0, 1.0, 9.0].into_iter().for_each(|time| samples.push(time));
        assert_eq!((samples.median_ms(), samples.quantile_ms(1.0)), (5.0, 9.0));
    }

    #[test]
    fn times_are_shown_with_three_digits_or_so() {
        let shown: Vec<String> = [0.0123, 3.456, 321.9, 12_345.0].into_iter().map(shown_ms).collect();
        assert_eq!(shown, ["12 us", "3.46 ms", "322 ms", "12.3 s"]);
    }
}
