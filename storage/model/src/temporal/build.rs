//! Temporal values from maps, from text and from each other.
//!
//! A map may select (`date`, `time`, `datetime`: parts of another value), then override single fields, in one of four calendars:
//! month and day, week and day of the week, quarter and day of the quarter, day of the year. Without a selection, a field needs
//! the larger ones before it.

use super::arithmetic::Amounts;
use super::calendar::month_days;
use super::instant::{DAY_NANOS, SECOND};
use super::parse;
use super::types::{Date, Duration, LocalDateTime, LocalTime, TemporalError, ZonedDateTime, ZonedTime};
use super::zone::Zone;
use crate::value::{Map, Value};

/// The five types of instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each names the type")]
pub enum Kind {
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
}

impl Kind {
    pub(super) fn has_date(self) -> bool {
        matches!(self, Kind::Date | Kind::LocalDateTime | Kind::DateTime)
    }
    pub(super) fn has_time(self) -> bool {
        self != Kind::Date
    }
    pub(super) fn has_zone(self) -> bool {
        matches!(self, Kind::Time | Kind::DateTime)
    }
    /// Name as Cypher users know it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Date => "date",
            Kind::LocalTime => "localtime",
            Kind::Time => "time",
            Kind::LocalDateTime => "localdatetime",
            Kind::DateTime => "datetime",
        }
    }
}

/// The parts of an instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub date: Option<Date>,
    pub nanos: Option<u64>,
    pub zone: Option<Zone>,
}

impl Parts {
    /// The parts of an instant; none for other values.
    pub(super) fn of(value: &Value) -> Option<Parts> {
        let of_local = |local: LocalDateTime, zone| Parts {
            date: Some(local.date()),
            nanos: Some(local.time().nanos),
            zone,
        };
        Some(match value {
            Value::Date(date) => Parts { date: Some(*date), ..Parts::default() },
            Value::LocalTime(time) => Parts { nanos: Some(time.nanos), ..Parts::default() },
            Value::Time(time) => Parts {
                nanos: Some(time.nanos),
                zone: Some(Zone::Offset(time.offset_seconds)),
                ..Parts::default()
            },
            Value::LocalDateTime(datetime) => of_local(*datetime, None),
            Value::DateTime(datetime) => of_local(datetime.local(), Some(datetime.zone())),
            _ => return None,
        })
    }

    /// As an instant of this kind: a missing time is midnight where there is a date, a missing zone is UTC.
    ///
    /// # Errors
    /// A missing date, or a missing time of day where only that counts.
    pub(super) fn make(self, kind: Kind) -> Result<Value, TemporalError> {
        let missing = |what| TemporalError::new(format!("a {} needs {what}", kind.name()));
        if kind == Kind::LocalTime || kind == Kind::Time {
            let nanos = self.nanos.ok_or_else(|| missing("a time of day"))?;
            let zone = self.zone.unwrap_or(Zone::UTC);
            return Ok(match kind {
                Kind::LocalTime => Value::LocalTime(LocalTime { nanos }),
                _ => Value::Time(ZonedTime { nanos, offset_seconds: zone.offset_at(0) }),
            });
        }
        let date = self.date.ok_or_else(|| missing("a date"))?;
        let local = LocalDateTime::new(date, LocalTime { nanos: self.nanos.unwrap_or(0) });
        Ok(match kind {
            Kind::Date => Value::Date(date),
            Kind::LocalDateTime => Value::LocalDateTime(local),
            _ => Value::from(ZonedDateTime::of_local(local, &self.zone.unwrap_or(Zone::UTC))),
        })
    }
}

/// The instant `now` as a value of this kind, as a clock in `zone` shows it.
///
/// # Errors
/// None for instants of this age of the world.
pub fn at_instant(kind: Kind, seconds: i64, nanos: u32, zone: &Zone) -> Result<Value, TemporalError> {
    let now = ZonedDateTime::of_instant(seconds, nanos, zone);
    if kind == Kind::Time {
        let nanos = now.local().time().nanos;
        return Ok(Value::Time(ZonedTime { nanos, offset_seconds: now.offset_seconds }));
    }
    convert(kind, &Value::from(now))
}

/// An instant of another type as one of this kind: missing parts are midnight or UTC, others are dropped.
///
/// # Errors
/// A value that is no instant, or lacks a date or a time of day that cannot be supplied.
pub fn convert(kind: Kind, value: &Value) -> Result<Value, TemporalError> {
    let name = value.value_type().name();
    let parts =
        Parts::of(value).ok_or_else(|| TemporalError::new(format!("no {} from a {name}", kind.name())))?;
    let missing = (kind.has_date() && parts.date.is_none()) || (!kind.has_date() && parts.nanos.is_none());
    if missing {
        return Err(TemporalError::new(format!("no {} from a {name}", kind.name())));
    }
    parts.make(kind)
}

/// An instant from text; a missing zone is UTC.
///
/// # Errors
/// Text that does not parse as this kind.
pub fn from_text(kind: Kind, text: &str) -> Result<Value, TemporalError> {
    parse::instant(kind, text)
}

/// An instant from a map; one that holds only `timezone` stands for `now` (seconds and nanoseconds since 1970 UTC) there.
/// A field that is null makes the whole null.
///
/// # Errors
/// Unknown, missing, contradicting or invalid fields.
pub fn from_map(kind: Kind, map: &Map, now: (i64, u32)) -> Result<Value, TemporalError> {
    if map.values().any(Value::is_null) {
        return Ok(Value::Null);
    }
    from_fields(kind, &fields_of(map), now)
}

/// The entries of a map. Of one with more than there are fields, as many as hold an unknown one.
pub(super) fn fields_of(map: &Map) -> Vec<(&str, &Value)> {
    let fields_max = DATE_FIELDS.len() + TIME_FIELDS.len() + OTHER_FIELDS.len();
    map.iter().take(fields_max + 1).map(|(name, value)| (&**name, value)).collect()
}

/// As [`from_map`], of the entries of a map: each name once.
///
/// # Errors
/// Those of [`from_map`].
pub fn from_fields(kind: Kind, given: &[(&str, &Value)], now: (i64, u32)) -> Result<Value, TemporalError> {
    let fields = Fields { given, kind };
    if fields.has_null() {
        return Ok(Value::Null);
    }
    fields.check_names()?;
    let wanted = fields.zone()?;
    if given.len() == 1 && wanted.is_some() {
        return at_instant(kind, now.0, now.1, &wanted.unwrap_or(Zone::UTC));
    }
    if wanted.is_some() && !kind.has_zone() {
        return Err(TemporalError::new(format!("a {} has no time zone", kind.name())));
    }
    if let Some(instant) = fields.epoch(wanted.as_ref())? {
        return Ok(instant);
    }
    let base = fields.selected()?;
    let date = if kind.has_date() { fields.date(base.date)? } else { None };
    let parts = match (&base.zone, &wanted, base.nanos) {
        (Some(from), Some(to), Some(nanos)) => shown_elsewhere(kind, date, nanos, from, to, now.0)?,
        _ => Parts { date, nanos: base.nanos, zone: wanted.or(base.zone) },
    };
    let zone = match (parts.zone, kind) {
        (Some(zone), Kind::Time) => Some(Zone::Offset(zone.offset_at(now.0))),
        (zone, _) => zone,
    };
    let nanos = if kind.has_time() { Some(fields.time(parts.nanos, false)?) } else { None };
    Parts { date: parts.date, nanos, zone }.make(kind)
}

/// The date and time in zone `to` when they are these in zone `from`; a time of day alone uses the offsets of now.
fn shown_elsewhere(
    kind: Kind,
    date: Option<Date>,
    nanos: u64,
    from: &Zone,
    to: &Zone,
    now_seconds: i64,
) -> Result<Parts, TemporalError> {
    if kind == Kind::DateTime {
        let date = date.ok_or_else(|| TemporalError::new("year must be specified"))?;
        let there = ZonedDateTime::of_local(LocalDateTime::new(date, LocalTime { nanos }), from);
        let here = ZonedDateTime::of_instant(there.seconds, there.nanos, to);
        return Ok(Parts::of(&Value::from(here)).unwrap_or_default());
    }
    let there = ZonedTime { nanos, offset_seconds: from.offset_at(now_seconds) };
    let here = there.with_offset(to.offset_at(now_seconds));
    Ok(Parts { date, nanos: Some(here.nanos), zone: Some(to.clone()) })
}

/// The fields of a map that describes an instant.
pub(super) struct Fields<'a> {
    /// Names, each once, and values. Of a large map the first unknown name ends the search.
    pub given: &'a [(&'a str, &'a Value)],
    pub kind: Kind,
}

const DATE_FIELDS: [&str; 9] =
    ["year", "month", "day", "week", "dayOfWeek", "quarter", "dayOfQuarter", "ordinalDay", "date"];
const TIME_FIELDS: [&str; 7] =
    ["hour", "minute", "second", "millisecond", "microsecond", "nanosecond", "time"];
const OTHER_FIELDS: [&str; 4] = ["timezone", "datetime", "epochSeconds", "epochMillis"];

impl Fields<'_> {
    fn has_null(&self) -> bool {
        self.given.iter().any(|(_, value)| value.is_null())
    }
    fn get(&self, name: &str) -> Option<&Value> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| *value)
    }

    /// # Errors
    /// A name that no field has.
    pub(super) fn check_names(&self) -> Result<(), TemporalError> {
        let known = |name: &str| match name {
            "timezone" => true,
            "datetime" => self.kind.has_date() && self.kind.has_time(),
            "epochSeconds" | "epochMillis" => self.kind == Kind::DateTime,
            _ => {
                (self.kind.has_date() && DATE_FIELDS.contains(&name))
                    || (self.kind.has_time() && TIME_FIELDS.contains(&name))
            }
        };
        match self.given.iter().find(|(name, _)| !known(name)) {
            Some((name, _)) => {
                Err(TemporalError::new(format!("a {} has no field '{name}'", self.kind.name())))
            }
            None if self.given.is_empty() => {
                Err(TemporalError::new("at least one temporal unit must be specified"))
            }
            None => Ok(()),
        }
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, TemporalError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Int(int)) => Ok(Some(*int)),
            Some(other) => {
                let found = other.value_type().name();
                Err(TemporalError::new(format!("{name} must be an Integer, but was a {found}")))
            }
        }
    }

    pub(super) fn zone(&self) -> Result<Option<Zone>, TemporalError> {
        match self.get("timezone") {
            None => Ok(None),
            Some(Value::String(text)) => Zone::parse(text).map(Some),
            Some(_) => Err(TemporalError::new("timezone must be a String")),
        }
    }

    /// From `epochSeconds` or `epochMillis`, where one is given.
    fn epoch(&self, zone: Option<&Zone>) -> Result<Option<Value>, TemporalError> {
        let more = i128::from(self.integer("nanosecond")?.unwrap_or(0));
        let nanos = match (self.integer("epochSeconds")?, self.integer("epochMillis")?) {
            (Some(seconds), None) => i128::from(seconds) * SECOND + more,
            (None, Some(millis)) => i128::from(millis) * 1_000_000 + more,
            (None, None) => return Ok(None),
            _ => return Err(TemporalError::new("epochSeconds and epochMillis exclude each other")),
        };
        let start = LocalDateTime { seconds: 0, nanos: 0 }.plus_nanos(nanos)?;
        let zone = zone.unwrap_or(&Zone::UTC);
        Ok(Some(Value::from(ZonedDateTime::of_instant(start.seconds, start.nanos, zone))))
    }

    /// The parts selected by `date`, `time` and `datetime`. A zone comes with the time of day.
    fn selected(&self) -> Result<Parts, TemporalError> {
        let select = |name: &str| match self.get(name) {
            None => Ok(None),
            Some(value) => {
                let found = value.value_type().name();
                let wrong = || TemporalError::new(format!("{name} cannot be selected from a {found}"));
                Parts::of(value).map(Some).ok_or_else(wrong)
            }
        };
        let missing = |name: &str| TemporalError::new(format!("the value given as {name} has none"));
        let mut parts = select("datetime")?.unwrap_or_default();
        if let Some(date) = select("date")? {
            parts.date = Some(date.date.ok_or_else(|| missing("date"))?);
        }
        if let Some(time) = select("time")? {
            parts.nanos = Some(time.nanos.ok_or_else(|| missing("time"))?);
            parts.zone = time.zone;
        }
        Ok(parts)
    }

    /// The date of the fields, over that of `base`; `None` if there is neither.
    pub(super) fn date(&self, base: Option<Date>) -> Result<Option<Date>, TemporalError> {
        let year = self.integer("year")?;
        let (month, day) = (self.integer("month")?, self.integer("day")?);
        let (week, day_of_week) = (self.integer("week")?, self.integer("dayOfWeek")?);
        let (quarter, day_of_quarter) = (self.integer("quarter")?, self.integer("dayOfQuarter")?);
        let ordinal = self.integer("ordinalDay")?;
        let groups = [(month, day), (week, day_of_week), (quarter, day_of_quarter), (ordinal, None)];
        let mut used =
            groups.iter().enumerate().filter(|(_, (large, small))| large.is_some() || small.is_some());
        let calendar = used.next().map_or(0, |(group, _)| group);
        if used.next().is_some() {
            return Err(TemporalError::new("fields of different calendars cannot be mixed"));
        }
        let Some(base) = base else {
            let Some(year) = year else { return Err(TemporalError::new("year must be specified")) };
            return without_base(year, calendar, groups[calendar]).map(Some);
        };
        let (large, small) = groups[calendar];
        Ok(Some(match calendar {
            1 => Date::of_week(
                year.unwrap_or(base.week().0),
                large.unwrap_or(base.week().1),
                small.unwrap_or(base.day_of_week()),
            )?,
            2 => Date::of_quarter(
                year.unwrap_or(base.year()),
                large.unwrap_or(base.quarter()),
                small.unwrap_or(base.day_of_quarter()),
            )?,
            3 => Date::of_ordinal(year.unwrap_or(base.year()), large.unwrap_or(1))?,
            _ => {
                let (year, month) = (year.unwrap_or(base.year()), large.unwrap_or(base.month()));
                let kept =
                    if (1..=12).contains(&month) { base.day().min(month_days(year, month)) } else { 1 };
                Date::new(year, month, small.unwrap_or(kept))?
            }
        }))
    }

    /// The time of day of the fields, over that of `base`; with `below`, a smaller unit adds to the base's fraction.
    pub(super) fn time(&self, base: Option<u64>, below: bool) -> Result<u64, TemporalError> {
        let limited = |name: &str, limit: i64| match self.integer(name)? {
            Some(value) if !(0..limit).contains(&value) => Err(TemporalError::new(format!(
                "Invalid value for {name}: {value} is not in 0 to {}",
                limit - 1
            ))),
            value => Ok(value.map(|value| value as u64)),
        };
        let (hour, minute, second) = (limited("hour", 24)?, limited("minute", 60)?, limited("second", 60)?);
        let millis = limited("millisecond", 1_000)?;
        let micros = limited("microsecond", if millis.is_some() { 1_000 } else { 1_000_000 })?;
        let nanos_limit = match (millis, micros) {
            (_, Some(_)) => 1_000,
            (Some(_), None) => 1_000_000,
            (None, None) => 1_000_000_000,
        };
        let nanos = limited("nanosecond", nanos_limit)?;
        let fraction = [millis, micros, nanos].iter().any(Option::is_some);
        if base.is_none() {
            let given = [hour.is_some(), minute.is_some(), second.is_some(), fraction];
            if let Some(at) = given.windows(2).position(|pair| !pair[0] && pair[1]) {
                let name = ["hour", "minute", "second"][at];
                return Err(TemporalError::new(format!("{name} must be specified")));
            }
            if !given[0] && !self.kind.has_date() {
                return Err(TemporalError::new("hour must be specified"));
            }
        }
        let base = base.unwrap_or(0);
        debug_assert!(base < DAY_NANOS);
        let seconds = hour.unwrap_or(base / 3_600_000_000_000) * 3_600
            + minute.unwrap_or(base / 60_000_000_000 % 60) * 60
            + second.unwrap_or(base / 1_000_000_000 % 60);
        let kept = base % 1_000_000_000;
        let fraction = match fraction {
            false => kept,
            true => {
                let given =
                    millis.unwrap_or(0) * 1_000_000 + micros.unwrap_or(0) * 1_000 + nanos.unwrap_or(0);
                if below && millis.is_none() { kept + given } else { given }
            }
        };
        Ok(seconds * 1_000_000_000 + fraction.min(999_999_999))
    }
}

fn without_base(
    year: i64,
    calendar: usize,
    (large, small): (Option<i64>, Option<i64>),
) -> Result<Date, TemporalError> {
    let name = ["month", "week", "quarter", "ordinalDay"][calendar];
    if large.is_none() && small.is_some() {
        return Err(TemporalError::new(format!("{name} must be specified")));
    }
    let (large, small) = (large.unwrap_or(1), small.unwrap_or(1));
    match calendar {
        1 => Date::of_week(year, large, small),
        2 => Date::of_quarter(year, large, small),
        3 => Date::of_ordinal(year, large),
        _ => Date::new(year, large, small),
    }
}

/// A duration from a map of amounts, whole or not. An amount that is null makes the whole null.
///
/// # Errors
/// Unknown names, amounts that are no numbers, overflow.
pub fn duration_from_map(map: &Map) -> Result<Value, TemporalError> {
    if map.is_empty() {
        return Err(TemporalError::new("at least one temporal unit must be specified"));
    }
    let mut amounts = Amounts::default();
    for (name, value) in map {
        match value {
            Value::Null => return Ok(Value::Null),
            Value::Int(int) => amounts.add(name, i128::from(*int), 0.0)?,
            Value::Float(float) => amounts.add(name, 0, *float)?,
            other => {
                let found = other.value_type().name();
                return Err(TemporalError::new(format!("{name} must be a number, but was a {found}")));
            }
        }
    }
    Ok(Value::from(amounts.normalised()?))
}

/// A duration from text: `P1Y2M3W4DT5H6M7.8S`, any amount signed or with a fraction, or `P2012-02-02T14:37:21.545`.
///
/// # Errors
/// Text that is neither.
pub fn duration_from_text(text: &str) -> Result<Duration, TemporalError> {
    parse::duration(text)
}

impl Amounts {
    /// Adds an amount of a unit: a whole number, or one with a fraction.
    pub(super) fn add(&mut self, unit: &str, whole: i128, float: f64) -> Result<(), TemporalError> {
        let (part, factor) = match unit {
            "years" => (&mut self.months, 12),
            "quarters" => (&mut self.months, 3),
            "months" => (&mut self.months, 1),
            "weeks" => (&mut self.days, 7),
            "days" => (&mut self.days, 1),
            "hours" => (&mut self.seconds, 3_600),
            "minutes" => (&mut self.seconds, 60),
            "seconds" => (&mut self.seconds, 1),
            "milliseconds" => (&mut self.nanos, 1_000_000),
            "microseconds" => (&mut self.nanos, 1_000),
            "nanoseconds" => (&mut self.nanos, 1),
            other => return Err(TemporalError::new(format!("a duration has no field '{other}'"))),
        };
        part.0 += whole * factor;
        part.1 += float * factor as f64;
        Ok(())
    }
}
