//! What the commands share: arguments, times, pictures.

use chart::{Axis, Chart, Series};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use world::clock::monotonic_ns;
use world::files;

/// Arguments of a command: `[DATA] [--picture FILE.svg] [--postgres URL]`.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// A folder or a file of data; without one it is drawn.
    pub data: Option<PathBuf>,
    /// Where the picture goes.
    pub picture: Option<PathBuf>,
    /// A server of PostgreSQL that is measured beside, as a text of connection.
    pub postgres: Option<String>,
}

impl Arguments {
    /// Those of this process.
    ///
    /// # Errors
    /// One is not known, or has no value.
    pub fn read() -> Result<Arguments, String> {
        Arguments::of(std::env::args().skip(1))
    }
    fn of(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut read = Arguments::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} wants a value"));
            match word.as_str() {
                "--picture" => read.picture = Some(value()?.into()),
                "--postgres" => read.postgres = Some(value()?),
                other if other.starts_with('-') || read.data.is_some() => {
                    return Err(format!(
                        "`{other}` is not known; usage: [DATA] [--picture FILE.svg] [--postgres URL]"
                    ));
                }
                _ => read.data = Some(word.into()),
            }
        }
        Ok(read)
    }
    /// Writes the picture, if `--picture` is given.
    ///
    /// # Errors
    /// It cannot be drawn or written.
    pub fn draw(&self, chart: &Chart) -> Result<(), String> {
        let Some(to) = &self.picture else { return Ok(()) };
        files::write_bytes(to, chart.svg()?.as_bytes()).map_err(|error| error.to_string())?;
        println!("picture: {}", to.display());
        Ok(())
    }
}

/// Runs `work`, and tells its time.
///
/// # Errors
/// Those of `work`, as texts.
pub fn timed<T>(work: impl FnOnce() -> Result<T, database::Error>) -> Result<(T, Duration), String> {
    let begin_ns = monotonic_ns();
    let made = work().map_err(|error| told(&error))?;
    Ok((made, Duration::from_nanos(monotonic_ns() - begin_ns)))
}

/// An error with its hint.
pub fn told(error: &database::Error) -> String {
    match &error.hint {
        Some(hint) => format!("{} ({hint})", error.message),
        None => error.message.clone(),
    }
}

/// Times of one thing done again and again.
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
    /// In words.
    pub fn told(&self) -> String {
        let [median, late, last] = [0.5, 0.99, 1.0].map(|part| self.part(part));
        format!(
            "{} times: median {median:.1?}, 99 of 100 within {late:.1?}, the longest {last:.1?}",
            self.len()
        )
    }
    /// As a curve: the part of all calls that was done within each number of microseconds.
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

/// Sets the flag when it is dropped, also after an error or a panic, so that no thread waits for ever.
pub struct Over<'f>(pub &'f AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// A folder of data below the one that was given: the archives have one within them.
pub fn below(folder: &Path, name: &str) -> PathBuf {
    let inner = folder.join(name);
    if files::is_folder(&inner) { inner } else { folder.to_path_buf() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let read = |words: &[&str]| Arguments::of(words.iter().map(|word| (*word).to_string()));
        let full = read(&["d", "--picture", "p.svg", "--postgres", "host=/tmp"]).unwrap();
        assert_eq!((full.data, full.picture), (Some("d".into()), Some("p.svg".into())));
        assert_eq!(full.postgres.as_deref(), Some("host=/tmp"));
        for wrong in [&["a", "b"][..], &["--picture"], &["--what"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn times_are_told() {
        let mut times = Times::default();
        assert_eq!(times.part(0.5), Duration::ZERO);
        (1..=100).for_each(|at| times.push(Duration::from_micros(at)));
        assert_eq!(
            (times.part(0.0), times.part(1.0)),
            (Duration::from_micros(1), Duration::from_micros(100))
        );
        assert!(times_chart("t", &[("a", &times)]).svg().is_ok());
    }
}
