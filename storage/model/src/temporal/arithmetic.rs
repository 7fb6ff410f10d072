//! Durations: their sums and multiples, and instants moved by them.
//!
//! Months, days and seconds do not convert into each other, except where a fraction must go somewhere: half a month is half an
//! average month (2 629 746 s, a 400-year cycle's average), half a day is 12 hours.

use super::calendar::month_days;
use super::instant::{DAY_NANOS, DAY_SECONDS, SECOND};
use super::types::{Date, Duration, LocalDateTime, LocalTime, TemporalError, ZonedDateTime, ZonedTime};
use crate::value::Value;

/// Seconds of an average month.
const MONTH_SECONDS: f64 = 2_629_746.0;

/// Amounts on their way to becoming a duration: whole parts exact, fractions apart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amounts {
    pub months: (i128, f64),
    pub days: (i128, f64),
    pub seconds: (i128, f64),
    pub nanos: (i128, f64),
}

impl Amounts {
    /// Whole parts stay; what is left of months goes to days, of days to seconds, of seconds to nanoseconds, of these nowhere.
    pub(super) fn normalised(self) -> Result<Duration, TemporalError> {
        let whole = |(exact, float): (i128, f64)| -> Result<(i128, f64), TemporalError> {
            if !float.is_finite() || float.abs() >= 9.3e18 {
                return Err(TemporalError::out_of_range());
            }
            Ok((exact + float.trunc() as i128, float - float.trunc()))
        };
        let (months, month_rest) = whole(self.months)?;
        let (days, day_rest) =
            whole((self.days.0, self.days.1 + month_rest * MONTH_SECONDS / DAY_SECONDS as f64))?;
        let (seconds, second_rest) = whole(self.seconds)?;
        let rest = day_rest * DAY_SECONDS as f64 * 1e9 + second_rest * 1e9 + self.nanos.1;
        // Sums of decimal fractions miss whole nanoseconds by far less than a thousandth.
        let (nanos, _) =
            whole((self.nanos.0, if (rest - rest.round()).abs() < 1e-3 { rest.round() } else { rest }))?;
        duration(months, days, seconds, nanos)
    }
}

/// A duration of these; nanoseconds carry into seconds.
pub(super) fn duration(
    months: i128,
    days: i128,
    seconds: i128,
    nanos: i128,
) -> Result<Duration, TemporalError> {
    let fits = |value: i128| i64::try_from(value).map_err(|_| TemporalError::out_of_range());
    Ok(Duration {
        months: fits(months)?,
        days: fits(days)?,
        seconds: fits(seconds + nanos.div_euclid(SECOND))?,
        nanos: nanos.rem_euclid(SECOND) as u32,
    })
}

impl Duration {
    /// All seconds and nanoseconds as nanoseconds.
    pub fn clock_nanos(&self) -> i128 {
        i128::from(self.seconds) * SECOND + i128::from(self.nanos)
    }
    /// The sum, each part by itself.
    ///
    /// # Errors
    /// Overflow.
    pub fn plus(&self, other: &Duration) -> Result<Duration, TemporalError> {
        let sum = |a: i64, b: i64| i128::from(a) + i128::from(b);
        let nanos = i128::from(self.nanos) + i128::from(other.nanos);
        duration(
            sum(self.months, other.months),
            sum(self.days, other.days),
            sum(self.seconds, other.seconds),
            nanos,
        )
    }
    /// The multiple; fractions go to the next smaller part.
    ///
    /// # Errors
    /// Overflow, or a factor that is no number.
    pub fn times(&self, factor: f64) -> Result<Duration, TemporalError> {
        if factor.fract() == 0.0 && factor.abs() < 9e15 {
            let factor = factor as i128;
            let nanos = self.clock_nanos().checked_mul(factor).ok_or_else(TemporalError::out_of_range)?;
            return duration(i128::from(self.months) * factor, i128::from(self.days) * factor, 0, nanos);
        }
        self.scaled(|part| part * factor)
    }
    /// The part; fractions go to the next smaller part.
    ///
    /// # Errors
    /// Overflow, or a division by zero.
    pub fn divided_by(&self, divisor: f64) -> Result<Duration, TemporalError> {
        if divisor == 0.0 {
            return Err(TemporalError::new("a duration cannot be divided by zero"));
        }
        self.scaled(|part| part / divisor)
    }
    fn scaled(&self, scale: impl Fn(f64) -> f64) -> Result<Duration, TemporalError> {
        Amounts {
            months: (0, scale(self.months as f64)),
            days: (0, scale(self.days as f64)),
            seconds: (0, scale(self.seconds as f64)),
            nanos: (0, scale(f64::from(self.nanos))),
        }
        .normalised()
    }
}

/// An instant moved by a duration: months first (a day that does not exist becomes the last of its month), then days, then
/// seconds. A date takes whole days only; a time of day goes round at midnight.
///
/// # Errors
/// A value that is no instant; a result beyond the range.
pub fn add(instant: &Value, duration: &Duration) -> Result<Value, TemporalError> {
    let nanos = duration.clock_nanos();
    Ok(match instant {
        Value::Date(date) => {
            let whole_days = i128::from(duration.seconds / DAY_SECONDS);
            Value::Date(date.plus(duration.months, i128::from(duration.days) + whole_days)?)
        }
        Value::LocalTime(time) => Value::LocalTime(LocalTime { nanos: turn(time.nanos, nanos) }),
        Value::Time(time) => Value::Time(ZonedTime { nanos: turn(time.nanos, nanos), ..*time }),
        Value::LocalDateTime(datetime) => {
            Value::LocalDateTime(moved(*datetime, duration)?.plus_nanos(nanos)?)
        }
        Value::DateTime(datetime) => {
            let zone = datetime.zone();
            let local = datetime.local();
            // Where the date does not change, the instant is moved from where it is, so that of two equal clock readings the
            // second stays the second.
            let start = match moved(local, duration)? {
                same if same == local => LocalDateTime { seconds: datetime.seconds, nanos: datetime.nanos },
                other => {
                    let there = ZonedDateTime::of_local(other, &zone);
                    LocalDateTime { seconds: there.seconds, nanos: there.nanos }
                }
            };
            let end = start.plus_nanos(nanos)?;
            Value::from(ZonedDateTime::of_instant(end.seconds, end.nanos, &zone))
        }
        other => {
            let name = other.value_type().name();
            return Err(TemporalError::new(format!("a duration cannot be added to a {name}")));
        }
    })
}

/// Moved by the duration's months and days.
fn moved(datetime: LocalDateTime, duration: &Duration) -> Result<LocalDateTime, TemporalError> {
    let date = datetime.date().plus(duration.months, i128::from(duration.days))?;
    Ok(LocalDateTime::new(date, datetime.time()))
}

fn turn(nanos_of_day: u64, nanos: i128) -> u64 {
    (i128::from(nanos_of_day) + nanos).rem_euclid(i128::from(DAY_NANOS)) as u64
}

impl Date {
    /// Months later (a day that does not exist becomes the last of its month), then days.
    ///
    /// # Errors
    /// Beyond the range of years.
    pub fn plus(self, months: i64, days: i128) -> Result<Date, TemporalError> {
        let (year, month, day) = self.parts();
        let total = i128::from(year) * 12 + i128::from(month - 1) + i128::from(months);
        let year = i64::try_from(total.div_euclid(12)).map_err(|_| TemporalError::out_of_range())?;
        let month = total.rem_euclid(12) as i64 + 1;
        let moved = Date::new(year, month, day.min(month_days(year, month)))?;
        Date::of_days(i128::from(moved.days) + days)
    }
}
