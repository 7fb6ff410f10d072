//! Temporal values of Cypher: the types (`types`, plain data), and computations with them.
//!
//! The calendar is the proleptic Gregorian one, over years -999 999 999 to 999 999 999. Rules of named zones come from the
//! database that the jiff library carries along, never from the machine, so that an answer is the same everywhere; they are known
//! for the years -9999 to 9999, and beyond them the nearest known rule holds.
//!
//! Reading order: [`calendar`] (days and dates), [`zone`] (offsets and names), `instant` (the types' inner conversions), `parse`
//! and `print` (text), [`component`] (`date.week`), [`build`] and [`truncate`] (from maps), [`arithmetic`] and [`between`]
//! (durations).

use crate::value::Value;

pub mod arithmetic;
pub mod between;
pub mod build;
pub mod calendar;
mod component;
mod instant;
mod parse;
mod print;
pub mod truncate;
pub(crate) mod types;
pub mod zone;

pub use arithmetic::add;
pub use build::Kind;
pub use component::{Component, component};
pub use types::{Date, Duration, LocalDateTime, LocalTime, TemporalError, ZonedDateTime, ZonedTime};
pub use zone::Zone;

#[cfg(test)]
mod tests;

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
