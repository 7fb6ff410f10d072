//! The past: how much of it is kept, moments of it, and their text forms.

use model::temporal::build::at_instant;
use model::temporal::{Kind, Zone, text};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How much of its past a database keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// Only the present is kept.
    #[default]
    None,
    /// At least this long.
    Span(Duration),
    /// From when this was set, or from the first commit if it was set before that.
    Forever,
}

/// Units of a span in its text form, in seconds.
const UNITS: [(&str, u64); 5] = [("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

impl History {
    /// The number that `CURRENT` holds: microseconds, 0 for none, all ones for ever.
    pub(crate) fn number(self) -> u64 {
        match self {
            History::None => 0,
            History::Span(span) => {
                u64::try_from(span.as_micros()).unwrap_or(u64::MAX - 1).clamp(1, u64::MAX - 1)
            }
            History::Forever => u64::MAX,
        }
    }
    /// Inverse of [`History::number`].
    pub(crate) fn of_number(number: u64) -> History {
        match number {
            0 => History::None,
            u64::MAX => History::Forever,
            micros => History::Span(Duration::from_micros(micros)),
        }
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            History::None => write!(f, "none"),
            History::Forever => write!(f, "forever"),
            History::Span(span) => {
                let seconds = span.as_secs();
                // Days read better than weeks.
                let unit = UNITS.iter().skip(1).find(|(_, unit)| seconds > 0 && seconds % unit == 0);
                match unit.filter(|_| span.subsec_nanos() == 0) {
                    Some((name, unit)) => write!(f, "{}{name}", seconds / unit),
                    None => write!(f, "{}s", span.as_secs_f64()),
                }
            }
        }
    }
}

impl FromStr for History {
    type Err = String;
    /// `none`, `forever`, or a span such as `90s`, `30m`, `12h`, `7d`, `4w`.
    fn from_str(text: &str) -> Result<History, String> {
        let usage = || format!("`{text}` is not none, forever, or a time such as 12h or 7d");
        match text.trim().to_ascii_lowercase().as_str() {
            "none" => Ok(History::None),
            "forever" => Ok(History::Forever),
            span => {
                let (number, unit) = UNITS
                    .iter()
                    .find_map(|(name, unit)| Some((span.strip_suffix(name)?, unit)))
                    .ok_or_else(usage)?;
                let number: f64 = number.trim().parse().map_err(|_| usage())?;
                let span = Duration::try_from_secs_f64(number * *unit as f64).map_err(|_| usage())?;
                if span.is_zero() { Err(usage()) } else { Ok(History::Span(span)) }
            }
        }
    }
}

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Just after the commit at this version.
    CommitVersion(u64),
    /// Just after the last commit not later than this, in microseconds since 1970.
    Time(u64),
}

impl Moment {
    /// Does the answer include a commit at this point?
    pub(crate) fn includes(self, point: Point) -> bool {
        match self {
            Moment::CommitVersion(commit_version) => point.commit_version <= commit_version,
            Moment::Time(micros) => point.time_micros <= micros,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::CommitVersion(commit_version) => write!(f, "version {commit_version}"),
            Moment::Time(micros) => write!(f, "{}", time_text(*micros)),
        }
    }
}

/// A commit: its version, and the wall clock then in microseconds since 1970. Both rise together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Its commit version; 0 is the empty graph.
    pub commit_version: u64,
    /// When it was; 0 where that is not known.
    pub time_micros: u64,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.commit_version, self.time_micros) {
            (0, _) => write!(f, "the beginning (version 0)"),
            (commit_version, 0) => write!(f, "version {commit_version}"),
            (commit_version, micros) => write!(f, "version {commit_version} ({})", time_text(micros)),
        }
    }
}

fn time_text(micros: u64) -> String {
    let (seconds, nanos) = ((micros / 1_000_000) as i64, (micros % 1_000_000) as u32 * 1_000);
    let value = at_instant(Kind::DateTime, seconds, nanos, &Zone::UTC).ok();
    value.and_then(|value| text(&value)).unwrap_or_else(|| format!("{micros} us since 1970"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written_alike() {
        for text in ["none", "forever", "90s", "30m", "12h", "7d", "28d", "1.5s"] {
            let history: History = text.parse().unwrap();
            assert_eq!(history.to_string(), text);
            assert_eq!(History::of_number(history.number()), history);
        }
        for (text, wanted) in [
            ("4w", "28d"),
            (" 2 H ", "2h"),
            ("1.5m", "90s"),
            ("60s", "1m"),
            ("24h", "1d"),
            ("FOREVER", "forever"),
        ] {
            assert_eq!(text.parse::<History>().unwrap().to_string(), wanted, "{text}");
        }
        assert_eq!(History::Span(Duration::ZERO).to_string(), "0s");
        for wrong in ["", "d", "-1d", "7", "0s", "7 years", "nan d", "1e300w", "12hh", "1dd", "x5m", "infh"] {
            assert!(wrong.parse::<History>().is_err(), "{wrong}");
        }
    }

    /// No span is so short or so long that it says none or for ever.
    #[test]
    fn every_span_has_a_number_of_its_own_kind() {
        let number = |span| History::Span(span).number();
        let micros = |micros| Duration::from_micros(micros);
        assert_eq!([number(Duration::ZERO), number(Duration::from_nanos(999)), number(micros(1))], [1, 1, 1]);
        assert_eq!([number(micros(2)), number(micros(u64::MAX - 1))], [2, u64::MAX - 1]);
        assert_eq!([number(micros(u64::MAX)), number(Duration::MAX)], [u64::MAX - 1; 2]);
    }

    #[test]
    fn moments_are_shown_in_words() {
        let point = Point { commit_version: 7, time_micros: 1_500_000 };
        assert_eq!(point.to_string(), "version 7 (1970-01-01T00:00:01.500Z)");
        assert_eq!(Point::default().to_string(), "the beginning (version 0)");
        assert_eq!(Point { commit_version: 7, time_micros: 0 }.to_string(), "version 7");
        assert_eq!(Moment::CommitVersion(7).to_string(), "version 7");
        assert_eq!(Moment::Time(86_400_000_001).to_string(), "1970-01-02T00:00:00.000001Z");
        assert!(!Moment::CommitVersion(6).includes(point) && Moment::Time(1_500_000).includes(point));
        assert!(Moment::CommitVersion(7).includes(point) && !Moment::Time(1_499_999).includes(point));
    }
}
