//! Temporal values as plain data, and the error of everything that makes them.

use std::fmt;
use std::sync::Arc;

/// A calendar date: days since 1970-01-01 in the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date {
    /// Days since 1970-01-01.
    pub days: i64,
}

/// A time of day: nanoseconds since midnight, below 86 400 000 000 000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalTime {
    /// Nanoseconds since midnight.
    pub nanos: u64,
}

/// A time of day with an offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZonedTime {
    /// Nanoseconds since local midnight.
    pub nanos: u64,
    /// Seconds east of UTC.
    pub offset_seconds: i32,
}

/// Date and time of day without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalDateTime {
    /// Seconds since 1970-01-01T00:00:00 as read on the local clock.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

/// An instant with the zone it is shown in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ZonedDateTime {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Seconds east of UTC at that instant.
    pub offset_seconds: i32,
    /// IANA name of the zone, where it was given by name.
    pub zone: Option<Arc<str>>,
}

/// An amount of time; months, days, seconds and nanoseconds are kept apart because they do not convert into each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Duration {
    /// Calendar months.
    pub months: i64,
    /// Calendar days.
    pub days: i64,
    /// Seconds; with `nanos` of the same instant form, so `nanos` is never negative.
    pub seconds: i64,
    /// Nanoseconds within the second, 0 to 999 999 999.
    pub nanos: u32,
}

/// An invalid temporal value: the fault of the text, the fields or the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporalError {
    message: String,
}

impl TemporalError {
    /// An error that says this.
    pub fn new(message: impl Into<String>) -> TemporalError {
        TemporalError { message: message.into() }
    }
    /// The result lies outside the years that are represented.
    pub fn out_of_range() -> TemporalError {
        TemporalError::new("the result lies outside the range of temporal values")
    }
}

impl fmt::Display for TemporalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemporalError {}
