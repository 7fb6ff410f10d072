//! The time from one instant to another, in months, days and seconds, or in one of them.
//!
//! The two are first brought to common ground: of two zones, the second is shown in that of the first; a zone or a date that only
//! one has is lent to the other; a missing time of day is midnight.

use super::arithmetic::duration;
use super::build::Parts;
use super::instant::{DAY_NANOS, SECOND};
use super::types::{Date, Duration, LocalDateTime, LocalTime, TemporalError, ZonedDateTime};
use super::zone::Zone;
use crate::value::Value;

/// Two instants on common ground.
struct Pair {
    from: LocalDateTime,
    to: LocalDateTime,
    /// Where both clocks stand, if anywhere.
    zone: Option<Zone>,
    /// Do both have a date of their own?
    dated: bool,
}

impl Pair {
    fn new(from: &Value, to: &Value) -> Result<Pair, TemporalError> {
        let parts = |value: &Value| {
            let found = value.value_type().name();
            Parts::of(value).ok_or_else(|| TemporalError::new(format!("no duration from or to a {found}")))
        };
        let (a, b) = (parts(from)?, parts(to)?);
        let dated = a.date.is_some() && b.date.is_some();
        let epoch = Date { days: 0 };
        let local = |own: &Parts, other: &Parts| {
            let date = own.date.or(other.date).unwrap_or(epoch);
            LocalDateTime::new(date, LocalTime { nanos: own.nanos.unwrap_or(0) })
        };
        let (from, mut to) = (local(&a, &b), local(&b, &a));
        if let (Some(here), Some(there)) = (&a.zone, &b.zone)
            && here != there
        {
            let instant = ZonedDateTime::of_local(to, there);
            to = ZonedDateTime::of_instant(instant.seconds, instant.nanos, here).local();
        }
        Ok(Pair { from, to, zone: a.zone.or(b.zone), dated })
    }

    /// Whole months from the first to the second, and the first moved by them.
    fn take_months(&mut self) -> Result<i128, TemporalError> {
        let end = self.last_day();
        let packed = |date: Date| {
            let (year, month, day) = date.parts();
            (year * 12 + month - 1) * 32 + day
        };
        let months = (packed(end) - packed(self.from.date())) / 32;
        self.from = LocalDateTime::new(self.from.date().plus(months, 0)?, self.from.time());
        Ok(i128::from(months))
    }

    /// Whole days from the first to the second, and the first moved by them.
    fn take_days(&mut self) -> Result<i128, TemporalError> {
        let days = i128::from(self.last_day().days) - i128::from(self.from.date().days);
        self.from = LocalDateTime::new(self.from.date().plus(0, days)?, self.from.time());
        Ok(days)
    }

    /// The second's date, or the day before (behind) it, if the last day is not a whole one.
    fn last_day(&self) -> Date {
        let (from, to) = (self.from, self.to);
        let mut date = to.date();
        if date > from.date() && to.time() < from.time() {
            date.days -= 1;
        } else if date < from.date() && to.time() > from.time() {
            date.days += 1;
        }
        date
    }

    /// Nanoseconds from the first to the second, on the instants where there is a zone.
    fn nanos(&self) -> i128 {
        let instant = |local: LocalDateTime| {
            let seconds = match &self.zone {
                Some(zone) => zone.instant_of_local(local.seconds),
                None => local.seconds,
            };
            i128::from(seconds) * SECOND + i128::from(local.nanos)
        };
        instant(self.to) - instant(self.from)
    }
}

/// In months, then days, then seconds.
///
/// # Errors
/// Values that are no instants.
pub fn between(from: &Value, to: &Value) -> Result<Duration, TemporalError> {
    let mut pair = Pair::new(from, to)?;
    let (months, days) = if pair.dated { (pair.take_months()?, pair.take_days()?) } else { (0, 0) };
    duration(months, days, 0, pair.nanos())
}

/// In whole months.
///
/// # Errors
/// Values that are no instants.
pub fn in_months(from: &Value, to: &Value) -> Result<Duration, TemporalError> {
    let mut pair = Pair::new(from, to)?;
    let months = if pair.dated { pair.take_months()? } else { 0 };
    duration(months, 0, 0, 0)
}

/// In whole days.
///
/// # Errors
/// Values that are no instants.
pub fn in_days(from: &Value, to: &Value) -> Result<Duration, TemporalError> {
    let mut pair = Pair::new(from, to)?;
    let days = if pair.dated { pair.take_days()? } else { 0 };
    duration(0, days, 0, 0)
}

/// In seconds and nanoseconds.
///
/// # Errors
/// Values that are no instants.
pub fn in_seconds(from: &Value, to: &Value) -> Result<Duration, TemporalError> {
    let nanos = Pair::new(from, to)?.nanos();
    debug_assert!(nanos.abs() < i128::from(DAY_NANOS) * 366 * 2_100_000_000);
    duration(0, 0, 0, nanos)
}
