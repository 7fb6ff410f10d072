//! Temporal values as text: ISO 8601, in the spelling of Cypher. Seconds are left out where they are zero, fractions are written in groups of three
//! digits; a duration writes only its parts that are not zero.

use super::types::{Date, Duration, LocalDateTime, LocalTime, ZonedDateTime, ZonedTime};
use super::zone::ShownOffset;
use std::fmt;

type Printed = fmt::Result;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> Printed {
        let (year, month, day) = self.parts();
        match year {
            0..=9_999 => write!(f, "{year:04}-{month:02}-{day:02}"),
            10_000.. => write!(f, "+{year}-{month:02}-{day:02}"),
            _ => write!(f, "-{:04}-{month:02}-{day:02}", -year),
        }
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> Printed {
        let (seconds, nanos) = self.seconds();
        write!(f, "{:02}:{:02}", seconds / 3_600, seconds / 60 % 60)?;
        if seconds % 60 == 0 && nanos == 0 {
            return Ok(());
        }
        write!(f, ":{:02}", seconds % 60)?;
        match nanos {
            0 => Ok(()),
            _ if nanos % 1_000_000 == 0 => write!(f, ".{:03}", nanos / 1_000_000),
            _ if nanos % 1_000 == 0 => write!(f, ".{:06}", nanos / 1_000),
            _ => write!(f, ".{nanos:09}"),
        }
    }
}

impl fmt::Display for ZonedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> Printed {
        write!(f, "{}{}", LocalTime { nanos: self.nanos }, ShownOffset(self.offset_seconds))
    }
}

impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> Printed {
        write!(f, "{}T{}", self.date(), self.time())
    }
}

impl fmt::Display for ZonedDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> Printed {
        write!(f, "{}{}", self.local(), ShownOffset(self.offset_seconds))?;
        self.zone.as_ref().map_or(Ok(()), |name| write!(f, "[{name}]"))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> Printed {
        if *self == Duration::default() {
            return f.write_str("PT0S");
        }
        f.write_str("P")?;
        amount(f, self.months / 12, 'Y')?;
        amount(f, self.months % 12, 'M')?;
        amount(f, self.days, 'D')?;
        if self.seconds == 0 && self.nanos == 0 {
            return Ok(());
        }
        // Inside, nanoseconds are never negative; on paper, the sign of the seconds holds for their fraction too.
        let negative = self.seconds < 0;
        let (seconds, nanos) = match (negative, self.nanos) {
            (true, nanos) if nanos > 0 => (self.seconds + 1, 1_000_000_000 - nanos),
            (_, nanos) => (self.seconds, nanos),
        };
        f.write_str("T")?;
        amount(f, seconds / 3_600, 'H')?;
        amount(f, seconds / 60 % 60, 'M')?;
        match (seconds % 60, nanos) {
            (0, 0) => Ok(()),
            (rest, 0) => write!(f, "{rest}S"),
            (rest, nanos) => {
                let sign = if rest == 0 && negative { "-" } else { "" };
                let digits = format!("{nanos:09}");
                write!(f, "{sign}{rest}.{}S", digits.trim_end_matches('0'))
            }
        }
    }
}

fn amount(f: &mut fmt::Formatter<'_>, amount: i64, unit: char) -> Printed {
    if amount == 0 { Ok(()) } else { write!(f, "{amount}{unit}") }
}
