//! The components of temporal values: `date.week`, `datetime.epochMillis`, `duration.minutesOfHour`.

use super::instant::{DAY_SECONDS, SECOND};
use super::types::{Date, Duration, LocalTime, TemporalError, ZonedDateTime};
use super::zone::ShownOffset;
use crate::value::Value;

/// The component `name` of a temporal value.
///
/// # Errors
/// A name that this type has no component of, or a value that is not temporal.
pub fn component(value: &Value, name: &str) -> Result<Value, TemporalError> {
    let found = match value {
        Value::Date(date) => of_date(*date, name),
        Value::LocalTime(time) => of_time(*time, name),
        Value::Time(time) => {
            of_time(LocalTime { nanos: time.nanos }, name).or_else(|| of_offset(time.offset_seconds, name))
        }
        Value::LocalDateTime(datetime) => {
            of_date(datetime.date(), name).or_else(|| of_time(datetime.time(), name))
        }
        Value::DateTime(datetime) => of_datetime(datetime, name),
        Value::Duration(duration) => of_duration(duration, name).map(Value::Int),
        _ => None,
    };
    let unknown =
        || TemporalError::new(format!("No such field: {name} (of a {})", value.value_type().name()));
    found.ok_or_else(unknown)
}

fn of_date(date: Date, name: &str) -> Option<Value> {
    Some(Value::Int(match name {
        "year" => date.year(),
        "quarter" => date.quarter(),
        "month" => date.month(),
        "week" => date.week().1,
        "weekYear" => date.week().0,
        "day" => date.day(),
        "ordinalDay" => date.ordinal_day(),
        "weekDay" | "dayOfWeek" => date.day_of_week(),
        "dayOfQuarter" => date.day_of_quarter(),
        _ => return None,
    }))
}

fn of_time(time: LocalTime, name: &str) -> Option<Value> {
    let (seconds, nanos) = time.seconds();
    let nanos = i64::from(nanos);
    Some(Value::Int(match name {
        "hour" => seconds / 3_600,
        "minute" => seconds / 60 % 60,
        "second" => seconds % 60,
        "millisecond" => nanos / 1_000_000,
        "microsecond" => nanos / 1_000,
        "nanosecond" => nanos,
        _ => return None,
    }))
}

fn of_offset(offset_seconds: i32, name: &str) -> Option<Value> {
    Some(match name {
        "timezone" | "offset" => Value::string(ShownOffset(offset_seconds).to_string()),
        "offsetMinutes" => Value::Int(i64::from(offset_seconds / 60)),
        "offsetSeconds" => Value::Int(i64::from(offset_seconds)),
        _ => return None,
    })
}

fn of_datetime(datetime: &ZonedDateTime, name: &str) -> Option<Value> {
    let local = datetime.local();
    match name {
        "timezone" => Some(Value::string(datetime.zone().to_string())),
        "epochSeconds" => Some(Value::Int(datetime.seconds)),
        "epochMillis" => {
            Some(Value::Int(datetime.seconds.saturating_mul(1_000) + i64::from(datetime.nanos / 1_000_000)))
        }
        _ => of_date(local.date(), name)
            .or_else(|| of_time(local.time(), name))
            .or_else(|| of_offset(datetime.offset_seconds, name)),
    }
}

/// Whole units in a part of the duration, and what remains of a larger unit; parts do not convert into each other.
fn of_duration(duration: &Duration, name: &str) -> Option<i64> {
    let Duration { months, days, seconds, nanos } = *duration;
    let all_nanos = i128::from(seconds) * SECOND + i128::from(nanos);
    let nanos = i64::from(nanos);
    Some(match name {
        "years" => months / 12,
        "quarters" => months / 3,
        "months" => months,
        "weeks" => days / 7,
        "days" => days,
        "hours" => seconds / 3_600,
        "minutes" => seconds / 60,
        "seconds" => seconds,
        "milliseconds" => all_nanos.div_euclid(1_000_000) as i64,
        "microseconds" => all_nanos.div_euclid(1_000) as i64,
        "nanoseconds" => all_nanos as i64,
        "quartersOfYear" => months / 3 % 4,
        "monthsOfQuarter" => months % 3,
        "monthsOfYear" => months % 12,
        "daysOfWeek" => days % 7,
        "hoursOfDay" => seconds % DAY_SECONDS / 3_600,
        "minutesOfHour" => seconds / 60 % 60,
        "secondsOfMinute" => seconds % 60,
        "millisecondsOfSecond" => nanos / 1_000_000,
        "microsecondsOfSecond" => nanos / 1_000,
        "nanosecondsOfSecond" => nanos,
        _ => return None,
    })
}
