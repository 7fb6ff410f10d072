//! Instants rounded down to a unit, some of their smaller fields then set anew.

use super::build::{Fields, Kind, Parts, fields_of};
use super::types::{Date, TemporalError};
use super::zone::Zone;
use crate::value::{Map, Value};

/// `value` rounded down to `unit`, then overridden by `fields`, as an instant of this kind.
///
/// # Errors
/// A unit that this kind does not have, a value without the parts it needs, invalid fields.
pub fn truncate(kind: Kind, unit: &str, value: &Value, fields: &Map) -> Result<Value, TemporalError> {
    let found = value.value_type().name();
    let no_instant =
        || TemporalError::new(format!("{}.truncate() takes an instant, not a {found}", kind.name()));
    let parts = Parts::of(value).ok_or_else(no_instant)?;
    let wrong_unit = || TemporalError::new(format!("{}.truncate() has no unit '{unit}'", kind.name()));
    let given = fields_of(fields);
    let fields = Fields { given: &given, kind };
    if !given.is_empty() {
        fields.check_names()?;
    }
    let zone = match fields.zone()? {
        Some(_) if !kind.has_zone() => {
            return Err(TemporalError::new(format!("a {} has no time zone", kind.name())));
        }
        zone => zone.or(parts.zone),
    };
    let zone = match (zone, kind) {
        (Some(zone), Kind::Time) => Some(Zone::Offset(zone.offset_at(0))),
        (zone, _) => zone,
    };
    let (date, nanos) = match (clock_unit(unit), date_unit(unit, parts.date)?) {
        (Some(size), _) if kind.has_time() => {
            let nanos = parts.nanos.unwrap_or(0);
            (parts.date, nanos - nanos % size)
        }
        (_, Some(date)) if kind.has_date() => (Some(date), 0),
        _ if unit == "day" && !kind.has_date() && parts.nanos.is_some() => (None, 0),
        _ => return Err(wrong_unit()),
    };
    if kind.has_date() && date.is_none() || !kind.has_date() && parts.nanos.is_none() {
        return Err(no_instant());
    }
    let date = if kind.has_date() { fields.date(date)? } else { None };
    let nanos = if kind.has_time() { Some(fields.time(Some(nanos), true)?) } else { None };
    Parts { date, nanos, zone }.make(kind)
}

/// Nanoseconds of a unit of the clock.
fn clock_unit(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "hour" => 3_600_000_000_000,
        "minute" => 60_000_000_000,
        "second" => 1_000_000_000,
        "millisecond" => 1_000_000,
        "microsecond" => 1_000,
        _ => return None,
    })
}

/// The first day of the unit of the calendar that holds this date.
fn date_unit(unit: &str, date: Option<Date>) -> Result<Option<Date>, TemporalError> {
    let Some(date) = date else { return Ok(None) };
    let year = date.year();
    Ok(Some(match unit.to_ascii_lowercase().as_str() {
        "millennium" => Date::new(year - year.rem_euclid(1_000), 1, 1)?,
        "century" => Date::new(year - year.rem_euclid(100), 1, 1)?,
        "decade" => Date::new(year - year.rem_euclid(10), 1, 1)?,
        "year" => Date::new(year, 1, 1)?,
        "weekyear" => Date::of_week(date.week().0, 1, 1)?,
        "quarter" => Date::of_quarter(year, date.quarter(), 1)?,
        "month" => Date::new(year, date.month(), 1)?,
        "week" => Date { days: date.days - date.day_of_week() + 1 },
        "day" => date,
        _ => return Ok(None),
    }))
}
