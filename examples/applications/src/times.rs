//! Times of one thing done again and again.

use chart::{Axis, Chart, Series};
use std::time::Duration;

/// Times of one thing.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// One more.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }
    /// Those of another.
    pub fn extend(&mut self, other: Times) {
        self.0.extend(other.0);
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The time that this part of all does not pass.
    pub fn part(&self, part: f64) -> Duration {
        let mut times = self.0.clone();
        times.sort_unstable();
        let at = (times.len().saturating_sub(1) as f64 * part).round() as usize;
        times.get(at).copied().unwrap_or_default()
    }
    /// The mean and its standard error, in milliseconds; zero of nothing.
    pub fn mean_ms(&self) -> (f64, f64) {
        let count = self.0.len().max(1) as f64;
        let ms = || self.0.iter().map(|time| time.as_secs_f64() * 1e3);
        let mean = ms().sum::<f64>() / count;
        let variance = ms().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        (mean, (variance / count).sqrt())
    }
    /// As a curve: how many parts of all were done within so many microseconds.
    pub fn curve(&self, name: &str) -> Series {
        Chart::distribution(name, self.0.iter().map(|time| time.as_secs_f64() * 1e6).collect())
    }
}

/// A picture of times.
pub fn times_chart(title: &str, times: &[(&str, &Times)]) -> Chart {
    Chart {
        title: title.into(),
        x: Axis::log("microseconds"),
        y: Axis::linear("part that is done"),
        categories: Vec::new(),
        series: times
            .iter()
            .filter(|(_, times)| !times.is_empty())
            .map(|(name, times)| times.curve(name))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_up() {
        let mut times = Times::default();
        assert_eq!((times.part(0.5), times.mean_ms()), (Duration::ZERO, (0.0, 0.0)));
        (1..=100).for_each(|at| times.push(Duration::from_millis(at)));
        assert_eq!(
            (times.part(0.0), times.part(1.0)),
            (Duration::from_millis(1), Duration::from_millis(100))
        );
        let (mean, error) = times.mean_ms();
        // Of 1 to n the variance is n (n + 1) / 12.
        assert!(
            (mean - 50.5).abs() < 1e-9 && (error - (100.0 * 101.0 / 12.0 / 100.0_f64).sqrt()).abs() < 1e-9
        );
        assert!(times_chart("t", &[("a", &times)]).svg().is_ok());
    }
}
