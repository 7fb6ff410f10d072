//! Zones: an offset from UTC, or a name whose rules give the offset at each instant.

use super::types::TemporalError;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use std::fmt;
use std::sync::{Arc, LazyLock};

/// Offsets lie between minus this and this: 18 hours, as ISO 8601 and Cypher have it.
pub const OFFSET_SECONDS_MAX: i32 = 18 * 3_600;

/// The database that is compiled in: answers must not depend on the machine's files.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Where an instant is shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// Seconds east of UTC.
    Offset(i32),
    /// An IANA name.
    Named(Arc<str>),
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Zone = Zone::Offset(0);

    /// `Z`, `+01`, `+0100`, `+01:00`, `+01:00:30`, or a name such as `Europe/Stockholm` (in any case).
    ///
    /// # Errors
    /// Neither an offset nor a known name.
    pub fn parse(text: &str) -> Result<Zone, TemporalError> {
        if let Some(offset) = parse_offset(text) {
            return Ok(Zone::Offset(offset));
        }
        let unknown = |_| TemporalError::new(format!("Unknown time zone '{text}'"));
        let zone = DATABASE.get(&text.replace(' ', "_")).map_err(unknown)?;
        Ok(Zone::Named(zone.iana_name().unwrap_or(text).into()))
    }

    /// Seconds east of UTC at an instant.
    pub fn offset_at(&self, seconds: i64) -> i32 {
        match self {
            Zone::Offset(offset) => *offset,
            Zone::Named(name) => {
                rules(name).map_or(0, |zone| zone.to_offset(known_instant(seconds)).seconds())
            }
        }
    }

    /// The instant at which a clock in this zone shows these local seconds. Of two, the earlier; a time that is skipped is moved
    /// on by as much as is skipped.
    pub fn instant_of_local(&self, local_seconds: i64) -> i64 {
        let offset = match self {
            Zone::Offset(offset) => i64::from(*offset),
            Zone::Named(name) => rules(name).map_or(0, |zone| {
                let known = known_instant(local_seconds);
                let shown = Offset::UTC.to_datetime(known);
                let instant = zone.to_ambiguous_timestamp(shown).compatible();
                instant.map_or_else(
                    |_| i64::from(zone.to_offset(known).seconds()),
                    |instant| known.as_second() - instant.as_second(),
                )
            }),
        };
        local_seconds - offset
    }

    /// The name, where it has one.
    pub fn name(&self) -> Option<Arc<str>> {
        match self {
            Zone::Offset(_) => None,
            Zone::Named(name) => Some(name.clone()),
        }
    }
}

fn rules(name: &str) -> Option<TimeZone> {
    DATABASE.get(name).ok()
}

/// The nearest instant for which the rules of zones are known.
fn known_instant(seconds: i64) -> Timestamp {
    let seconds = seconds.clamp(Timestamp::MIN.as_second() + 86_400, Timestamp::MAX.as_second() - 86_400);
    Timestamp::from_second(seconds).expect("clamped into the range of timestamps")
}

/// An offset in one of its spellings.
pub(super) fn parse_offset(text: &str) -> Option<i32> {
    if text == "Z" || text == "z" {
        return Some(0);
    }
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let parts: Vec<&str> = if digits.contains(':') {
        digits.split(':').collect()
    } else if digits.len() % 2 == 0 && digits.is_ascii() {
        (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]).collect()
    } else {
        vec![digits]
    };
    if parts.is_empty() || parts.len() > 3 {
        return None;
    }
    let mut seconds = 0;
    for (part, unit) in parts.iter().zip([3_600, 60, 1]) {
        let plain = !part.is_empty() && part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let number: i32 = plain.then(|| part.parse().ok())??;
        (unit == 3_600 || number < 60).then_some(())?;
        seconds += number * unit;
    }
    (seconds <= OFFSET_SECONDS_MAX).then_some(sign * seconds)
}

/// An offset as text: `Z`, `+01:00`, `-02:05:07`.
pub(super) struct ShownOffset(pub i32);

impl fmt::Display for ShownOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("Z");
        }
        let (sign, size) = (if self.0 < 0 { '-' } else { '+' }, self.0.abs());
        write!(f, "{sign}{:02}:{:02}", size / 3_600, size / 60 % 60)?;
        if size % 60 != 0 { write!(f, ":{:02}", size % 60) } else { Ok(()) }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Offset(offset) => ShownOffset(*offset).fmt(f),
            Zone::Named(name) => f.write_str(name),
        }
    }
}
