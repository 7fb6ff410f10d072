//! Functions of temporal values; what they mean stands in [`model::temporal`]. Without a zone of their own, clocks show UTC.

use crate::error::{EvalError, takes};
use crate::scope::Scope;
use model::temporal::{Kind, Zone, between, build, truncate};
use model::{Map, Value};
use plan::Function;

/// Which reading of the clock a function means.
#[derive(Clone, Copy)]
enum Reading {
    Transaction,
    Statement,
    Realtime,
}

pub(super) fn call(function: Function, arguments: &[Value], scope: &Scope<'_>) -> Result<Value, EvalError> {
    use Function as F;
    let known = |value: &Value| !value.is_null();
    match function {
        F::Timestamp => Ok(Value::Int(scope.request.statement_us / 1_000)),
        F::Duration => duration(&arguments[0]),
        F::DateTimeFromEpoch | F::DateTimeFromEpochMillis => from_epoch(function, arguments),
        F::DurationBetween | F::DurationInMonths | F::DurationInDays | F::DurationInSeconds => {
            if !arguments.iter().all(known) {
                return Ok(Value::Null);
            }
            let measure = match function {
                F::DurationBetween => between::between,
                F::DurationInMonths => between::in_months,
                F::DurationInDays => between::in_days,
                _ => between::in_seconds,
            };
            Ok(Value::from(measure(&arguments[0], &arguments[1])?))
        }
        _ => match (truncation(function), reading(function), constructor(function)) {
            (Some(kind), ..) => truncated(function, kind, arguments, scope),
            (_, Some((kind, reading)), _) => now(function, kind, reading, arguments.first(), scope),
            (.., Some(kind)) => construct(function, kind, arguments.first(), scope),
            _ => Err(EvalError::internal(format!("{} has no implementation", function.name()))),
        },
    }
}

/// What it makes, if it makes an instant of a text, of fields, or of another instant.
pub(crate) fn constructor(function: Function) -> Option<Kind> {
    Some(match function {
        Function::Date => Kind::Date,
        Function::LocalTime => Kind::LocalTime,
        Function::Time => Kind::Time,
        Function::LocalDateTime => Kind::LocalDateTime,
        Function::DateTime => Kind::DateTime,
        _ => return None,
    })
}

fn truncation(function: Function) -> Option<Kind> {
    Some(match function {
        Function::DateTruncate => Kind::Date,
        Function::LocalTimeTruncate => Kind::LocalTime,
        Function::TimeTruncate => Kind::Time,
        Function::LocalDateTimeTruncate => Kind::LocalDateTime,
        Function::DateTimeTruncate => Kind::DateTime,
        _ => return None,
    })
}

fn reading(function: Function) -> Option<(Kind, Reading)> {
    use Function as F;
    Some(match function {
        F::DateTransaction => (Kind::Date, Reading::Transaction),
        F::DateStatement => (Kind::Date, Reading::Statement),
        F::DateRealtime => (Kind::Date, Reading::Realtime),
        F::LocalTimeTransaction => (Kind::LocalTime, Reading::Transaction),
        F::LocalTimeStatement => (Kind::LocalTime, Reading::Statement),
        F::LocalTimeRealtime => (Kind::LocalTime, Reading::Realtime),
        F::TimeTransaction => (Kind::Time, Reading::Transaction),
        F::TimeStatement => (Kind::Time, Reading::Statement),
        F::TimeRealtime => (Kind::Time, Reading::Realtime),
        F::LocalDateTimeTransaction => (Kind::LocalDateTime, Reading::Transaction),
        F::LocalDateTimeStatement => (Kind::LocalDateTime, Reading::Statement),
        F::LocalDateTimeRealtime => (Kind::LocalDateTime, Reading::Realtime),
        F::DateTimeTransaction => (Kind::DateTime, Reading::Transaction),
        F::DateTimeStatement => (Kind::DateTime, Reading::Statement),
        F::DateTimeRealtime => (Kind::DateTime, Reading::Realtime),
        _ => return None,
    })
}

/// A reading of the clock in seconds and nanoseconds since 1970 UTC.
fn clock(reading: Reading, scope: &Scope<'_>) -> (i64, u32) {
    let wall_us = match reading {
        Reading::Transaction => scope.request.transaction_us,
        Reading::Statement => scope.request.statement_us,
        Reading::Realtime => i64::try_from(world::clock::wall_us()).unwrap_or(i64::MAX),
    };
    (wall_us.div_euclid(1_000_000), wall_us.rem_euclid(1_000_000) as u32 * 1_000)
}

/// The clock's reading, in the zone given as text or in a map.
fn now(
    function: Function,
    kind: Kind,
    reading: Reading,
    zone: Option<&Value>,
    scope: &Scope<'_>,
) -> Result<Value, EvalError> {
    let named = match zone {
        Some(Value::Map(map)) => map.get("timezone"),
        other => other,
    };
    let zone = match named {
        None => Zone::UTC,
        Some(Value::Null) => return Ok(Value::Null),
        Some(Value::String(name)) => Zone::parse(name)?,
        Some(other) => return Err(takes(function, "the name of a time zone", other)),
    };
    let (seconds, nanos) = clock(reading, scope);
    Ok(build::at_instant(kind, seconds, nanos, &zone)?)
}

fn construct(
    function: Function,
    kind: Kind,
    argument: Option<&Value>,
    scope: &Scope<'_>,
) -> Result<Value, EvalError> {
    match argument {
        None => now(function, kind, Reading::Statement, None, scope),
        Some(Value::Null) => Ok(Value::Null),
        Some(Value::String(text)) => Ok(build::from_text(kind, text)?),
        Some(Value::Map(map)) => Ok(build::from_map(kind, map, clock(Reading::Statement, scope))?),
        Some(other) if model::temporal::is_instant(other) => Ok(build::convert(kind, other)?),
        Some(other) => Err(takes(function, "a String, a Map or another instant", other)),
    }
}

/// An instant from its fields.
pub(crate) fn of_fields(kind: Kind, given: &[(&str, &Value)], scope: &Scope<'_>) -> Result<Value, EvalError> {
    Ok(build::from_fields(kind, given, clock(Reading::Statement, scope))?)
}

fn truncated(
    function: Function,
    kind: Kind,
    arguments: &[Value],
    scope: &Scope<'_>,
) -> Result<Value, EvalError> {
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let Value::String(unit) = &arguments[0] else {
        return Err(takes(function, "the name of a unit", &arguments[0]));
    };
    let instant = match arguments.get(1) {
        Some(instant) => instant.clone(),
        None => now(function, kind, Reading::Statement, None, scope)?,
    };
    match arguments.get(2) {
        None => Ok(truncate::truncate(kind, unit, &instant, &Map::new())?),
        Some(Value::Map(fields)) => Ok(truncate::truncate(kind, unit, &instant, fields)?),
        Some(other) => Err(takes(function, "a Map of fields", other)),
    }
}

fn duration(argument: &Value) -> Result<Value, EvalError> {
    match argument {
        Value::Null => Ok(Value::Null),
        Value::String(text) => Ok(Value::from(build::duration_from_text(text)?)),
        Value::Map(map) => Ok(build::duration_from_map(map)?),
        Value::Duration(_) => Ok(argument.clone()),
        other => Err(takes(Function::Duration, "a String or a Map", other)),
    }
}

/// `datetime.fromepoch(seconds, nanoseconds)` and `datetime.fromepochmillis(milliseconds)`.
fn from_epoch(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let names: &[&str] = match function {
        Function::DateTimeFromEpoch => &["epochSeconds", "nanosecond"],
        _ => &["epochMillis"],
    };
    let fields: Vec<(&str, &Value)> = names.iter().copied().zip(arguments).collect();
    Ok(build::from_fields(Kind::DateTime, &fields, (0, 0))?)
}
