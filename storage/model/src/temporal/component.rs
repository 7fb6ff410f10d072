//! The components of temporal values: `date.week`, `datetime.epochMillis`, `duration.minutesOfHour`.

use super::instant::{DAY_NANOS, DAY_SECONDS, SECOND};
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
    Component::of_name(name)?.of_date(date).map(Value::Int)
}

fn of_time(time: LocalTime, name: &str) -> Option<Value> {
    Component::of_name(name)?.of_time(time).map(Value::Int)
}

/// A component of a date or of a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what Cypher calls so")]
pub enum Component {
    Year,
    Quarter,
    Month,
    Week,
    WeekYear,
    Day,
    OrdinalDay,
    WeekDay,
    DayOfQuarter,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl Component {
    /// The component of this name.
    pub fn of_name(name: &str) -> Option<Component> {
        Some(match name {
            "year" => Component::Year,
            "quarter" => Component::Quarter,
            "month" => Component::Month,
            "week" => Component::Week,
            "weekYear" => Component::WeekYear,
            "day" => Component::Day,
            "ordinalDay" => Component::OrdinalDay,
            "weekDay" | "dayOfWeek" => Component::WeekDay,
            "dayOfQuarter" => Component::DayOfQuarter,
            "hour" => Component::Hour,
            "minute" => Component::Minute,
            "second" => Component::Second,
            "millisecond" => Component::Millisecond,
            "microsecond" => Component::Microsecond,
            "nanosecond" => Component::Nanosecond,
            _ => return None,
        })
    }
    /// Of a date, if it has it.
    #[inline]
    pub fn of_date(self, date: Date) -> Option<i64> {
        Some(match self {
            Component::Year => date.year(),
            Component::Quarter => date.quarter(),
            Component::Month => date.month(),
            Component::Week => date.week().1,
            Component::WeekYear => date.week().0,
            Component::Day => date.day(),
            Component::OrdinalDay => date.ordinal_day(),
            Component::WeekDay => date.day_of_week(),
            Component::DayOfQuarter => date.day_of_quarter(),
            _ => return None,
        })
    }
    /// Of a time of day, if it has it.
    #[inline]
    pub fn of_time(self, time: LocalTime) -> Option<i64> {
        let (seconds, nanos) = time.seconds();
        let nanos = i64::from(nanos);
        Some(match self {
            Component::Hour => seconds / 3_600,
            Component::Minute => seconds / 60 % 60,
            Component::Second => seconds % 60,
            Component::Millisecond => nanos / 1_000_000,
            Component::Microsecond => nanos / 1_000,
            Component::Nanosecond => nanos,
            _ => return None,
        })
    }
    /// Of the moment so many units after the beginning of 1970 in UTC, of which a day has `units_a_day`: seconds or milliseconds. None where no
    /// instant is that far away.
    #[inline]
    pub fn of_epoch(self, units: i64, units_a_day: i64) -> Option<i64> {
        let date = Date::of_days(i128::from(units.div_euclid(units_a_day))).ok()?;
        let nanos = units.rem_euclid(units_a_day) as u64 * (DAY_NANOS / units_a_day as u64);
        self.of_date(date).or_else(|| self.of_time(LocalTime { nanos }))
    }
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
