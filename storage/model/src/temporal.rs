//! Temporal values of Cypher: what they hold (here, as plain data), and what is computed with them (in the sub-modules).
//!
//! The calendar is the proleptic Gregorian one, over years -999 999 999 to 999 999 999. Rules of named zones come from the
//! database that the jiff library carries along, never from the machine, so that an answer is the same everywhere; they are known
//! for the years -9999 to 9999, and beyond them the nearest known rule holds.
//!
//! Reading order: [`calendar`] (days and dates), [`zone`] (offsets and names), `instant` (the types' inner conversions), `parse`
//! and `print` (text), [`component`] (`date.week`), [`build`] and [`truncate`] (from maps), [`arithmetic`] and [`between`]
//! (durations).

use crate::value::Value;
use std::fmt;
use std::sync::Arc;

pub mod arithmetic;
pub mod between;
pub mod build;
pub mod calendar;
mod component;
mod instant;
mod parse;
mod print;
pub mod truncate;
pub mod zone;

pub use arithmetic::add;
pub use build::Kind;
pub use component::component;
pub use zone::Zone;

#[cfg(test)]
mod tests;

/// A temporal value that cannot be made: what is wrong with the text, the fields or the result.
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

/// Is it a date, a time or both?
pub fn is_instant(value: &Value) -> bool {
    use Value::{Date, DateTime, LocalDateTime, LocalTime, Time};
    matches!(value, Date(_) | LocalTime(_) | Time(_) | LocalDateTime(_) | DateTime(_))
}

/// Is it an instant or a duration?
pub fn is_temporal(value: &Value) -> bool {
    is_instant(value) || matches!(value, Value::Duration(_))
}

/// The text of a temporal value, in ISO 8601 as Cypher writes it; none for other values.
pub fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Date(date) => date.to_string(),
        Value::LocalTime(time) => time.to_string(),
        Value::Time(time) => time.to_string(),
        Value::LocalDateTime(datetime) => datetime.to_string(),
        Value::DateTime(datetime) => datetime.to_string(),
        Value::Duration(duration) => duration.to_string(),
        _ => return None,
    })
}

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
