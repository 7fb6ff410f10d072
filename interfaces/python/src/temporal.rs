//! Dates, times and durations: Python's own objects where they hold the value exactly, else `tanglewood.Temporal` and `tanglewood.Duration`.
//!
//! Python knows the years 1 to 9999 and microseconds; the database knows many more years, and nanoseconds.

use crate::imported::Imported;
use database::Error;
use model::Value;
use model::temporal::build::from_text;
use model::temporal::{Date, Duration, Kind, LocalDateTime, LocalTime, Zone, ZonedDateTime, ZonedTime, text};
use pyo3::prelude::*;
use pyo3::types::{
    PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyTime, PyTimeAccess, PyTzInfo, PyTzInfoAccess,
};

static TEMPORAL: Imported = Imported::new("tanglewood.values", "Temporal");
static DURATION: Imported = Imported::new("tanglewood.values", "Duration");
static ZONE: Imported = Imported::new("tanglewood.values", "zone");
static ZONE_NAME: Imported = Imported::new("tanglewood.values", "zone_name");

const DAY_SECONDS: i64 = 86_400;
/// Days of a `datetime.timedelta`, at most and at least.
const DELTA_DAYS_MAX: i64 = 999_999_999;
/// Years of `datetime.date`.
const YEARS: std::ops::RangeInclusive<i64> = 1..=9_999;

/// The object for an instant or a duration.
pub fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let exact = match value {
        Value::Date(date) => of_date(py, *date)?,
        Value::LocalTime(time) => of_time(py, *time, None)?,
        Value::Time(time) => of_time(py, LocalTime { nanos: time.nanos }, Some(time.offset_seconds))?,
        Value::LocalDateTime(local) => of_local(py, *local, None, false)?,
        Value::DateTime(instant) => of_zoned(py, instant)?,
        Value::Duration(duration) => return of_duration(py, duration),
        _ => None,
    };
    match exact {
        Some(exact) => Ok(exact),
        None => TEMPORAL.get(py)?.call1((kind_name(value), text(value).unwrap_or_default())),
    }
}

fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Date(_) => Kind::Date.name(),
        Value::LocalTime(_) => Kind::LocalTime.name(),
        Value::Time(_) => Kind::Time.name(),
        Value::LocalDateTime(_) => Kind::LocalDateTime.name(),
        _ => Kind::DateTime.name(),
    }
}

fn of_date<'py>(py: Python<'py>, date: Date) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (year, month, day) = date.parts();
    if !YEARS.contains(&year) {
        return Ok(None);
    }
    Ok(Some(PyDate::new(py, year as i32, month as u8, day as u8)?.into_any()))
}

/// Hour, minute, second and microsecond, if it has no more digits.
fn clock(time: LocalTime) -> Option<(u8, u8, u8, u32)> {
    let (seconds, nanos) = time.seconds();
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    (nanos % 1_000 == 0).then_some((hour as u8, minute as u8, second as u8, nanos / 1_000))
}

/// A zone of a fixed offset; Python's are less than a day.
fn offset(py: Python<'_>, seconds: i32) -> PyResult<Bound<'_, PyTzInfo>> {
    if seconds == 0 {
        return Ok(PyTzInfo::utc(py)?.to_owned());
    }
    PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, seconds, 0, true)?)
}

fn of_time(py: Python<'_>, time: LocalTime, east: Option<i32>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let Some((hour, minute, second, micros)) = clock(time) else { return Ok(None) };
    let zone = east.map(|seconds| offset(py, seconds)).transpose()?;
    Ok(Some(PyTime::new(py, hour, minute, second, micros, zone.as_ref())?.into_any()))
}

fn of_local<'py>(
    py: Python<'py>,
    local: LocalDateTime,
    zone: Option<&Bound<'py, PyTzInfo>>,
    fold: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (year, month, day) = local.date().parts();
    let (true, Some((hour, minute, second, micros))) = (YEARS.contains(&year), clock(local.time())) else {
        return Ok(None);
    };
    let (year, month, day) = (year as i32, month as u8, day as u8);
    let made = PyDateTime::new_with_fold(py, year, month, day, hour, minute, second, micros, zone, fold)?;
    Ok(Some(made.into_any()))
}

fn of_zoned<'py>(py: Python<'py>, instant: &ZonedDateTime) -> PyResult<Option<Bound<'py, PyAny>>> {
    let local = instant.local();
    let Some(name) = &instant.zone else {
        return of_local(py, local, Some(&offset(py, instant.offset_seconds)?), false);
    };
    let zone = ZONE.get(py)?.call1((&**name,))?;
    let Ok(zone) = zone.cast_into::<PyTzInfo>() else { return Ok(None) };
    // Of two times that a clock shows twice, the one that has this offset.
    for fold in [false, true] {
        let Some(made) = of_local(py, local, Some(&zone), fold)? else { return Ok(None) };
        if east_of(&made)?.is_some_and(|(seconds, micros)| (seconds, micros) == (instant.offset_seconds, 0)) {
            return Ok(Some(made));
        }
    }
    Ok(None)
}

fn of_duration<'py>(py: Python<'py>, duration: &Duration) -> PyResult<Bound<'py, PyAny>> {
    let Duration { months, days, seconds, nanos } = *duration;
    let is_exact = months == 0
        && (0..DAY_SECONDS).contains(&seconds)
        && nanos % 1_000 == 0
        && (-DELTA_DAYS_MAX..=DELTA_DAYS_MAX).contains(&days);
    if is_exact {
        let micros = (nanos / 1_000) as i32;
        return Ok(PyDelta::new(py, days as i32, seconds as i32, micros, true)?.into_any());
    }
    DURATION.get(py)?.call1((months, days, seconds, nanos))
}

/// Seconds and microseconds east of UTC, if it has a zone.
fn east_of(object: &Bound<'_, PyAny>) -> PyResult<Option<(i32, i32)>> {
    let found = object.call_method0("utcoffset")?;
    let Ok(delta) = found.cast::<PyDelta>() else { return Ok(None) };
    Ok(Some((delta.get_days() * DAY_SECONDS as i32 + delta.get_seconds(), delta.get_microseconds())))
}

fn whole_seconds((seconds, micros): (i32, i32)) -> Result<i32, Error> {
    if micros == 0 {
        return Ok(seconds);
    }
    let hint = "zones of the database are whole seconds".to_string();
    Err(crate::errors::unfit("its offset from UTC has a part of a second".into(), Some(hint)))
}

fn local_time(time: &impl PyTimeAccess) -> LocalTime {
    let seconds =
        (u64::from(time.get_hour()) * 60 + u64::from(time.get_minute())) * 60 + u64::from(time.get_second());
    LocalTime { nanos: (seconds * 1_000_000 + u64::from(time.get_microsecond())) * 1_000 }
}

fn date(date: &impl PyDateAccess) -> Date {
    let (year, month, day) = (date.get_year(), date.get_month(), date.get_day());
    Date { days: model::temporal::calendar::days_of(i64::from(year), i64::from(month), i64::from(day)) }
}

/// The value of one of Python's own objects; none if it is another.
pub fn value(object: &Bound<'_, PyAny>) -> PyResult<Option<Result<Value, Error>>> {
    if let Ok(instant) = object.cast::<PyDateTime>() {
        let local = LocalDateTime::new(date(instant), local_time(instant));
        return Ok(Some(match east_of(object)? {
            None => Ok(Value::LocalDateTime(local)),
            Some(east) => match whole_seconds(east) {
                Ok(seconds) => Ok(zoned(instant, local, seconds)?.into()),
                Err(error) => Err(error),
            },
        }));
    }
    if let Ok(found) = object.cast::<PyDate>() {
        return Ok(Some(Ok(Value::Date(date(found)))));
    }
    if let Ok(time) = object.cast::<PyTime>() {
        let LocalTime { nanos } = local_time(time);
        return Ok(Some(match east_of(object)? {
            None if time.get_tzinfo().is_some() => {
                let hint = "give it a fixed offset, as in datetime.timezone.utc".to_string();
                Err(crate::errors::unfit("the zone of a time alone has no offset".into(), Some(hint)))
            }
            None => Ok(Value::LocalTime(LocalTime { nanos })),
            Some(east) => {
                whole_seconds(east).map(|offset_seconds| Value::Time(ZonedTime { nanos, offset_seconds }))
            }
        }));
    }
    if let Ok(delta) = object.cast::<PyDelta>() {
        let duration = Duration {
            months: 0,
            days: i64::from(delta.get_days()),
            seconds: i64::from(delta.get_seconds()),
            nanos: delta.get_microseconds() as u32 * 1_000,
        };
        return Ok(Some(Ok(duration.into())));
    }
    Ok(None)
}

fn zoned(instant: &Bound<'_, PyDateTime>, local: LocalDateTime, east: i32) -> PyResult<ZonedDateTime> {
    let seconds = local.seconds - i64::from(east);
    let fixed = Zone::Offset(east);
    let name: Option<String> = ZONE_NAME.get(instant.py())?.call1((instant.get_tzinfo(),))?.extract()?;
    // A name that the database knows otherwise would show another time.
    let named = name.and_then(|name| Zone::parse(&name).ok()).filter(|zone| zone.offset_at(seconds) == east);
    Ok(ZonedDateTime::of_instant(seconds, local.nanos, &named.unwrap_or(fixed)))
}

/// The value of a `tanglewood.Temporal` or `tanglewood.Duration`, if it is one.
pub fn own_value(object: &Bound<'_, PyAny>) -> PyResult<Option<Result<Value, Error>>> {
    let py = object.py();
    if object.is_instance(DURATION.get(py)?)? {
        let duration = Duration {
            months: object.getattr("months")?.extract()?,
            days: object.getattr("days")?.extract()?,
            seconds: object.getattr("seconds")?.extract()?,
            nanos: object.getattr("nanoseconds")?.extract()?,
        };
        return Ok(Some(Ok(duration.into())));
    }
    if !object.is_instance(TEMPORAL.get(py)?)? {
        return Ok(None);
    }
    let (kind, text): (String, String) = (object.getattr("kind")?.extract()?, object.str()?.extract()?);
    let kinds = [Kind::Date, Kind::LocalTime, Kind::Time, Kind::LocalDateTime, Kind::DateTime];
    let Some(kind) = kinds.into_iter().find(|known| known.name() == kind) else {
        return Ok(Some(Err(crate::errors::unfit(format!("`{kind}` is no kind of time"), None))));
    };
    Ok(Some(from_text(kind, &text).map_err(|error| crate::errors::unfit(error.to_string(), None))))
}
