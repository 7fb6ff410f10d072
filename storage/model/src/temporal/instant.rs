//! From each type to the parts it is made of, and back.

use super::types::{Date, LocalDateTime, LocalTime, TemporalError, ZonedDateTime, ZonedTime};
use super::zone::Zone;

/// Nanoseconds of a second.
pub(super) const SECOND: i128 = 1_000_000_000;
/// Seconds of a day.
pub(super) const DAY_SECONDS: i64 = 86_400;
/// Nanoseconds of a day.
pub(super) const DAY_NANOS: u64 = 86_400_000_000_000;

impl LocalTime {
    /// Midnight.
    pub const MIDNIGHT: LocalTime = LocalTime { nanos: 0 };
    /// Whole seconds since midnight, and nanoseconds within the second.
    pub fn seconds(self) -> (i64, u32) {
        ((self.nanos / 1_000_000_000) as i64, (self.nanos % 1_000_000_000) as u32)
    }
}

impl LocalDateTime {
    /// A date and a time of day.
    pub fn new(date: Date, time: LocalTime) -> LocalDateTime {
        let (seconds, nanos) = time.seconds();
        LocalDateTime { seconds: date.days * DAY_SECONDS + seconds, nanos }
    }
    /// Its date.
    pub fn date(self) -> Date {
        Date { days: self.seconds.div_euclid(DAY_SECONDS) }
    }
    /// Its time of day.
    pub fn time(self) -> LocalTime {
        let seconds = self.seconds.rem_euclid(DAY_SECONDS) as u64;
        LocalTime { nanos: seconds * 1_000_000_000 + u64::from(self.nanos) }
    }
    /// This many nanoseconds later.
    pub(super) fn plus_nanos(self, nanos: i128) -> Result<LocalDateTime, TemporalError> {
        let total = i128::from(self.seconds) * SECOND + i128::from(self.nanos) + nanos;
        let date = Date::of_days(total.div_euclid(i128::from(DAY_NANOS)))?;
        Ok(LocalDateTime::new(date, LocalTime { nanos: total.rem_euclid(i128::from(DAY_NANOS)) as u64 }))
    }
}

impl ZonedTime {
    /// The same instant on a clock with another offset.
    pub fn with_offset(self, offset_seconds: i32) -> ZonedTime {
        let shift = i64::from(offset_seconds - self.offset_seconds) * 1_000_000_000;
        let nanos = (self.nanos as i64 + shift).rem_euclid(DAY_NANOS as i64) as u64;
        ZonedTime { nanos, offset_seconds }
    }
}

impl ZonedDateTime {
    /// The instant of a local date and time in this zone.
    pub fn of_local(local: LocalDateTime, zone: &Zone) -> ZonedDateTime {
        ZonedDateTime::of_instant(zone.instant_of_local(local.seconds), local.nanos, zone)
    }
    /// An instant, shown in this zone.
    pub fn of_instant(seconds: i64, nanos: u32, zone: &Zone) -> ZonedDateTime {
        ZonedDateTime { seconds, nanos, offset_seconds: zone.offset_at(seconds), zone: zone.name() }
    }
    /// Its local date and time.
    pub fn local(&self) -> LocalDateTime {
        LocalDateTime { seconds: self.seconds + i64::from(self.offset_seconds), nanos: self.nanos }
    }
    /// Its zone.
    pub fn zone(&self) -> Zone {
        match &self.zone {
            Some(name) => Zone::Named(name.clone()),
            None => Zone::Offset(self.offset_seconds),
        }
    }
}
