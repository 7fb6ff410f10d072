//! Days and dates of the proleptic Gregorian calendar, and ISO weeks.
//!
//! A date is a count of days from 1970-01-01; year, month and day are computed by Hinnant's algorithms ("chrono-compatible low-level
//! date algorithms"), in constant time for any year.

use super::types::{Date, TemporalError};

/// Years run from minus this to this.
pub const YEAR_MAX: i64 = 999_999_999;

/// Days from 1970-01-01 to this date; month 1 to 12, day 1 to 31.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a count of days.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Has the year a 29th of February?
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month.
pub fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Weeks of an ISO week year: 52 or 53.
pub fn year_weeks(week_year: i64) -> i64 {
    let next = week_one(week_year + 1);
    (next - week_one(week_year)) / 7
}

/// Days of the Monday of week 1: the week that holds the 4th of January.
fn week_one(week_year: i64) -> i64 {
    let fourth = days_of(week_year, 1, 4);
    fourth - (weekday(fourth) - 1)
}

/// 1 for Monday to 7 for Sunday.
fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

fn between(name: &str, value: i64, low: i64, high: i64) -> Result<i64, TemporalError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(TemporalError::new(format!("Invalid value for {name}: {value} is not in {low} to {high}")))
}

fn in_range(year: i64) -> Result<i64, TemporalError> {
    between("year", year, -YEAR_MAX, YEAR_MAX)
}

impl Date {
    /// From year, month and day.
    ///
    /// # Errors
    /// A field out of its range.
    pub fn new(year: i64, month: i64, day: i64) -> Result<Date, TemporalError> {
        let (year, month) = (in_range(year)?, between("month", month, 1, 12)?);
        let day = between("day", day, 1, 31)?;
        if day > month_days(year, month) {
            return Err(TemporalError::new(format!("Invalid date: {year}-{month:02} has no day {day}")));
        }
        Ok(Date { days: days_of(year, month, day) })
    }
    /// From an ISO week date; the day of the week is 1 for Monday to 7.
    ///
    /// # Errors
    /// A field out of its range.
    pub fn of_week(week_year: i64, week: i64, day_of_week: i64) -> Result<Date, TemporalError> {
        let week = between("week", week, 1, year_weeks(in_range(week_year)?))?;
        let day = between("dayOfWeek", day_of_week, 1, 7)?;
        Ok(Date { days: week_one(week_year) + (week - 1) * 7 + day - 1 })
    }
    /// From a quarter and a day of it, counted from 1.
    ///
    /// # Errors
    /// A field out of its range.
    pub fn of_quarter(year: i64, quarter: i64, day_of_quarter: i64) -> Result<Date, TemporalError> {
        let month = between("quarter", quarter, 1, 4)? * 3 - 2;
        let first = days_of(in_range(year)?, month, 1);
        let length = (month..month + 3).map(|month| month_days(year, month)).sum();
        Ok(Date { days: first + between("dayOfQuarter", day_of_quarter, 1, length)? - 1 })
    }
    /// From a day of the year, counted from 1.
    ///
    /// # Errors
    /// A field out of its range.
    pub fn of_ordinal(year: i64, ordinal_day: i64) -> Result<Date, TemporalError> {
        let length = 365 + i64::from(is_leap(in_range(year)?));
        Ok(Date { days: days_of(year, 1, 1) + between("ordinalDay", ordinal_day, 1, length)? - 1 })
    }
    /// This many days after 1970-01-01, if that is a date.
    ///
    /// # Errors
    /// Beyond the range of years.
    pub fn of_days(days: i128) -> Result<Date, TemporalError> {
        let low = i128::from(days_of(-YEAR_MAX, 1, 1));
        let high = i128::from(days_of(YEAR_MAX, 12, 31));
        let inside = (low..=high).contains(&days);
        inside.then_some(Date { days: days as i64 }).ok_or_else(TemporalError::out_of_range)
    }
    /// Year, month, day.
    pub fn parts(self) -> (i64, i64, i64) {
        date_of(self.days)
    }
    /// Year.
    pub fn year(self) -> i64 {
        self.parts().0
    }
    /// 1 to 12.
    pub fn month(self) -> i64 {
        self.parts().1
    }
    /// 1 to 31.
    pub fn day(self) -> i64 {
        self.parts().2
    }
    /// 1 to 4.
    pub fn quarter(self) -> i64 {
        (self.month() + 2) / 3
    }
    /// 1 to 92.
    pub fn day_of_quarter(self) -> i64 {
        self.days - days_of(self.year(), self.quarter() * 3 - 2, 1) + 1
    }
    /// 1 to 366.
    pub fn ordinal_day(self) -> i64 {
        self.days - days_of(self.year(), 1, 1) + 1
    }
    /// 1 for Monday to 7 for Sunday.
    pub fn day_of_week(self) -> i64 {
        weekday(self.days)
    }
    /// The ISO week year, and the week in it.
    pub fn week(self) -> (i64, i64) {
        let thursday = self.days - self.day_of_week() + 4;
        let week_year = date_of(thursday).0;
        (week_year, (thursday - week_one(week_year)) / 7 + 1)
    }
}
