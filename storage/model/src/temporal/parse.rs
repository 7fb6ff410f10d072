//! Temporal values from text: ISO 8601 in its extended and basic forms, with what Cypher adds (quarters, zone names in brackets).

use super::arithmetic::Amounts;
use super::build::{Kind, Parts};
use super::types::{Date, Duration, LocalDateTime, LocalTime, TemporalError, ZonedDateTime};
use super::zone::Zone;
use crate::value::Value;

/// Digits a number in a duration may have: more do not fit 64 bits.
const DIGITS_MAX: usize = 19;

/// An instant of this kind; a missing time is midnight, a missing zone UTC.
pub(super) fn instant(kind: Kind, text: &str) -> Result<Value, TemporalError> {
    let wrong = || TemporalError::new(format!("Text cannot be parsed to a {}: '{text}'", kind.name()));
    let (date_text, clock_text) = match (kind.has_date(), text.find('T')) {
        (false, _) => (None, Some(text)),
        (true, Some(at)) if kind.has_time() => (Some(&text[..at]), Some(&text[at + 1..])),
        (true, None) => (Some(text), None),
        (true, Some(_)) => return Err(wrong()),
    };
    let date = date_text.map(|text| date(text).ok_or_else(wrong)?.map_err(|_| wrong())).transpose()?;
    let (nanos, zone) = match clock_text {
        Some(text) => {
            let (nanos, zone) = clock(text).ok_or_else(wrong)?;
            (Some(nanos), zone.map(parse_zone).transpose()?)
        }
        None => (None, None),
    };
    if zone.is_some() && !kind.has_zone() {
        return Err(wrong());
    }
    let (zone, offset) = zone.unzip();
    if let (Some(date), Some(nanos), Some(zone), Some(Some(offset))) = (date, nanos, &zone, offset) {
        let local = LocalDateTime::new(date, LocalTime { nanos });
        let seconds = offset.instant_of_local(local.seconds);
        if zone.offset_at(seconds) == offset.offset_at(seconds) {
            return Ok(Value::from(ZonedDateTime::of_instant(seconds, local.nanos, zone)));
        }
    }
    Parts { date, nanos, zone }.make(kind)
}

/// A zone as text: an offset, a name in brackets, or both; with both, the offset tells which of two equal clock readings is meant.
fn parse_zone(text: &str) -> Result<(Zone, Option<Zone>), TemporalError> {
    match text.split_once('[') {
        None => Ok((Zone::parse(text)?, None)),
        Some((offset, name)) => {
            let name = name
                .strip_suffix(']')
                .ok_or_else(|| TemporalError::new(format!("Unknown time zone '{text}'")))?;
            let zone = Zone::parse(name)?;
            let offset = if offset.is_empty() { None } else { Some(Zone::parse(offset)?) };
            Ok((zone, offset))
        }
    }
}

fn digits(text: &str) -> Option<i64> {
    let plain =
        !text.is_empty() && text.len() <= DIGITS_MAX && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// `2015-07-21`, `20150721`, `2015-W30-2`, `2015Q3-01`, `2015-202`, `2015`, with a sign for years of other lengths.
fn date(text: &str) -> Option<Result<Date, TemporalError>> {
    let signed = text.starts_with(['+', '-']);
    let body = if signed { &text[1..] } else { text };
    let year_length = if signed { body.find(['-', 'W', 'Q']).unwrap_or(body.len()) } else { 4 };
    let year = digits(body.get(..year_length)?)?;
    let year = if text.starts_with('-') { -year } else { year };
    let rest = &body[year_length..];
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    Some(match rest.as_bytes().first() {
        None => Date::new(year, 1, 1),
        Some(b'W') => match split(2, &rest[1..])? {
            (week, None) => Date::of_week(year, week, 1),
            (week, Some(day)) if day.len() == 1 => Date::of_week(year, week, digits(day)?),
            _ => return None,
        },
        Some(b'Q') => match split(1, &rest[1..])? {
            (quarter, None) => Date::of_quarter(year, quarter, 1),
            (quarter, Some(day)) if day.len() <= 2 => Date::of_quarter(year, quarter, digits(day)?),
            _ => return None,
        },
        Some(_) if rest.len() == 3 && digits(rest).is_some() => Date::of_ordinal(year, digits(rest)?),
        Some(_) => match split(2, rest)? {
            (month, None) => Date::new(year, month, 1),
            (month, Some(day)) if day.len() == 2 => Date::new(year, month, digits(day)?),
            _ => return None,
        },
    })
}

/// A number of `at` digits, and the rest, if any, after an optional dash.
fn split(at: usize, text: &str) -> Option<(i64, Option<&str>)> {
    let large = digits(text.get(..at)?)?;
    let rest = text.get(at..)?;
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    Some((large, Some(rest).filter(|rest| !rest.is_empty())))
}

/// A time of day in nanoseconds, and the rest, if any: `21:40:32.142+0100`, `2140`, `21`.
fn clock(text: &str) -> Option<(u64, Option<&str>)> {
    let end = text.find(['Z', 'z', '+', '-', '[']).unwrap_or(text.len());
    let (clock, zone) = text.split_at(end);
    let (whole, fraction) = match clock.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (clock, None),
    };
    let parts: Vec<&str> = if whole.contains(':') {
        whole.split(':').collect()
    } else if whole.is_ascii() && whole.len() % 2 == 0 {
        (0..whole.len()).step_by(2).map(|at| &whole[at..at + 2]).collect()
    } else {
        return None;
    };
    if parts.is_empty() || parts.len() > 3 || (fraction.is_some() && parts.len() < 3) {
        return None;
    }
    let mut seconds = 0;
    for (part, (unit, limit)) in parts.iter().zip([(3_600, 24), (60, 60), (1, 60)]) {
        let number = digits(part).filter(|number| part.len() == 2 && *number < limit)?;
        seconds += number * unit;
    }
    let nanos = fraction.map_or(Some(0), nanos_of)?;
    Some((seconds as u64 * 1_000_000_000 + nanos as u64, Some(zone).filter(|zone| !zone.is_empty())))
}

/// Digits behind the point as nanoseconds; at most nine are read.
fn nanos_of(fraction: &str) -> Option<i64> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{:0<9}", &fraction[..fraction.len().min(9)]).parse().ok()
}

/// `P1Y2M3DT4H5M6.789S` or `P2012-02-02T14:37:21.545`, the whole with a sign or each amount.
pub(super) fn duration(text: &str) -> Result<Duration, TemporalError> {
    let wrong = || TemporalError::new(format!("Text cannot be parsed to a duration: '{text}'"));
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => (-1, body),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let body = body.strip_prefix('P').filter(|body| !body.is_empty()).ok_or_else(wrong)?;
    let mut amounts = Amounts::default();
    match by_calendar(body, sign, &mut amounts) {
        Some(()) => {}
        None => {
            amounts = Amounts::default();
            by_units(body, sign, &mut amounts).ok_or_else(wrong)?
        }
    }
    amounts.normalised()
}

/// `2012-02-02T14:37:21.545`: as many years, months, days and so on as the calendar shows.
fn by_calendar(body: &str, sign: i128, amounts: &mut Amounts) -> Option<()> {
    let (date, time) = body.split_once('T').map_or((body, None), |(date, time)| (date, Some(time)));
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    if year.len() != 4 || month.len() != 2 || day.len() != 2 {
        return None;
    }
    for (unit, text) in [("years", year), ("months", month), ("days", day)] {
        amounts.add(unit, sign * i128::from(digits(text)?), 0.0).ok()?;
    }
    if let Some(time) = time {
        let (nanos, zone) = clock(time)?;
        amounts.add("nanoseconds", sign * i128::from(nanos), 0.0).ok()?;
        if zone.is_some() {
            return None;
        }
    }
    Some(())
}

fn by_units(body: &str, sign: i128, amounts: &mut Amounts) -> Option<()> {
    let (dates, times) = body.split_once('T').map_or((body, None), |(dates, times)| (dates, Some(times)));
    let date_units = [('Y', "years"), ('M', "months"), ('W', "weeks"), ('D', "days")];
    units(dates, sign, &date_units, amounts)?;
    match times {
        None => Some(()),
        Some("") => None,
        Some(times) => units(times, sign, &[('H', "hours"), ('M', "minutes"), ('S', "seconds")], amounts),
    }
}

/// Amounts with their letters, each letter at most once and in this order.
fn units(text: &str, sign: i128, mut letters: &[(char, &str)], amounts: &mut Amounts) -> Option<()> {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
        let letter = rest[end..].chars().next()?;
        let at = letters.iter().position(|(known, _)| *known == letter)?;
        amount(&rest[..end], sign, letters[at].1, amounts)?;
        letters = &letters[at + 1..];
        rest = &rest[end + 1..];
    }
    Some(())
}

fn amount(text: &str, sign: i128, unit: &str, amounts: &mut Amounts) -> Option<()> {
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => (-sign, number),
        None => (sign, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = match number.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    amounts.add(unit, sign * i128::from(digits(whole)?), 0.0).ok()?;
    match fraction {
        None => Some(()),
        Some(fraction) if unit == "seconds" => {
            amounts.add("nanoseconds", sign * i128::from(nanos_of(fraction)?), 0.0).ok()
        }
        Some(fraction) => {
            digits(fraction)?;
            let part: f64 = format!("0.{fraction}").parse().ok()?;
            amounts.add(unit, 0, sign as f64 * part).ok()
        }
    }
}
