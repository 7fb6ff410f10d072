//! The calendar against counting day by day, text there and back, and tables of what Cypher defines.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use super::build::{self, Kind};
use super::calendar::{is_leap, month_days};
use super::{Date, Duration, Zone, between, component, text, truncate};
use crate::value::{Map, Value};

fn instant(text: &str) -> Value {
    let clock = text.split_once('T').map_or(text, |(_, clock)| clock);
    let zoned = clock.contains(['Z', '[', '+', '-']);
    let kind = match (text.contains('T'), text.contains(':')) {
        (true, _) if zoned => Kind::DateTime,
        (true, _) => Kind::LocalDateTime,
        (false, true) if zoned => Kind::Time,
        (false, true) => Kind::LocalTime,
        (false, false) => Kind::Date,
    };
    build::from_text(kind, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn duration(text: &str) -> Duration {
    build::duration_from_text(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shown(value: impl Into<Value>) -> String {
    text(&value.into()).unwrap()
}

/// Over three 400-year cycles around the year zero, day by day.
#[test]
fn the_calendar_agrees_with_counting() {
    let mut days = Date::new(-400, 1, 1).unwrap().days;
    let mut day_of_week = Date { days }.day_of_week();
    let (mut week_year, mut week) = Date { days }.week();
    for year in -400..800 {
        let mut ordinal = 0;
        for month in 1..=12 {
            for day in 1..=month_days(year, month) {
                ordinal += 1;
                let date = Date { days };
                assert_eq!(date.parts(), (year, month, day));
                assert_eq!(Date::new(year, month, day).unwrap(), date);
                assert_eq!((date.ordinal_day(), date.day_of_week()), (ordinal, day_of_week));
                if day_of_week == 1 {
                    // A week belongs to the year of its Thursday.
                    let thursday = Date { days: days + 3 };
                    (week_year, week) = (thursday.year(), (thursday.ordinal_day() + 6) / 7);
                }
                assert_eq!(date.week(), (week_year, week));
                assert_eq!(Date::of_week(week_year, week, day_of_week).unwrap(), date);
                assert_eq!(Date::of_quarter(year, date.quarter(), date.day_of_quarter()).unwrap(), date);
                days += 1;
                day_of_week = day_of_week % 7 + 1;
            }
        }
        assert_eq!(ordinal, 365 + i64::from(is_leap(year)));
    }
}

#[test]
fn text_there_and_back() {
    let same = "
        2015-07-21
        -0001-12-31
        +12345-01-01
        12:31:14.645876123
        12:00
        00:00:00.001
        21:40:32.142+01:00
        12:00Z
        21:40:32-02:05:07
        2015-07-21T21:40:32.142
        2015-07-21T21:40Z
        2015-06-24T12:50:35.556+02:00[Europe/Stockholm]
        2017-10-29T02:30+02:00[Europe/Stockholm]
        2017-10-29T02:30+01:00[Europe/Stockholm]
    ";
    for line in same.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert_eq!(shown(instant(line)), line);
    }
    let other = [
        (Kind::Date, "2015202", "2015-07-21"),
        (Kind::Date, "201507", "2015-07-01"),
        (Kind::Date, "2015-W30-2", "2015-07-21"),
        (Kind::Date, "2015W302", "2015-07-21"),
        (Kind::Date, "2015-W30", "2015-07-20"),
        (Kind::Date, "2015Q3", "2015-07-01"),
        (Kind::Date, "2015Q3-21", "2015-07-21"),
        (Kind::Date, "2015", "2015-01-01"),
        (Kind::LocalTime, "214032.142", "21:40:32.142"),
        (Kind::LocalTime, "21", "21:00"),
        (Kind::Time, "2140+00:30", "21:40+00:30"),
        (Kind::Time, "2140", "21:40Z"),
        (Kind::DateTime, "20150721T21:40-01:30", "2015-07-21T21:40-01:30"),
        (Kind::DateTime, "2015-07-21T21:40[europe/london]", "2015-07-21T21:40+01:00[Europe/London]"),
        (Kind::LocalDateTime, "2015T2140", "2015-01-01T21:40"),
    ];
    for (kind, given, expected) in other {
        assert_eq!(shown(build::from_text(kind, given).unwrap()), expected);
    }
    for wrong in ["", "2015-13-01", "2015-02-29", "15-01-01", "2015-1-1", "2015-07-21T", "x"] {
        assert!(build::from_text(Kind::Date, wrong).is_err(), "{wrong}");
    }
    for wrong in ["25:00", "12:60", "1:00", "12:00+19:00", "12:00[Nowhere/City]"] {
        assert!(build::from_text(Kind::Time, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn durations_as_text() {
    let table = [
        ("P14DT16H12M", "P14DT16H12M"),
        ("P5M1.5D", "P5M1DT12H"),
        ("P0.75M", "P22DT19H51M49.5S"),
        ("PT0.75M", "PT45S"),
        ("P2.5W", "P17DT12H"),
        ("P12Y5M14DT16H12M70S", "P12Y5M14DT16H13M10S"),
        ("P2012-02-02T14:37:21.545", "P2012Y2M2DT14H37M21.545S"),
        ("PT-59.9S", "PT-59.9S"),
        ("-P1DT1H", "P-1DT-1H"),
        ("PT-0.5S", "PT-0.5S"),
        ("P1Y-13M", "P-1M"),
        ("PT1M-61S", "PT-1S"),
        ("PT0S", "PT0S"),
        ("PT25H", "PT25H"),
    ];
    for (given, expected) in table {
        assert_eq!(duration(given).to_string(), expected, "{given}");
    }
    for wrong in ["", "P", "PT", "1D", "P1H", "PT1D", "P1D1Y", "P--1D", "P1.D"] {
        assert!(build::duration_from_text(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn moving_instants() {
    let table = [
        ("2020-01-31", "P1M", "2020-02-29"),
        ("2020-02-29", "P1Y", "2021-02-28"),
        ("1984-10-11", "PT47H", "1984-10-12"),
        ("12:00", "P5DT13H", "01:00"),
        ("2015-07-21T21:40", "P1DT3H", "2015-07-23T00:40"),
        ("2017-03-25T02:30[Europe/Stockholm]", "P1D", "2017-03-26T03:30+02:00[Europe/Stockholm]"),
        ("2017-03-25T02:30[Europe/Stockholm]", "PT24H", "2017-03-26T03:30+02:00[Europe/Stockholm]"),
        ("2017-10-29T02:30+02:00[Europe/Stockholm]", "PT1H", "2017-10-29T02:30+01:00[Europe/Stockholm]"),
        ("2017-10-29T02:30+01:00[Europe/Stockholm]", "PT0S", "2017-10-29T02:30+01:00[Europe/Stockholm]"),
        ("12:00+01:00", "PT-13H", "23:00+01:00"),
    ];
    for (from, by, expected) in table {
        assert_eq!(shown(super::add(&instant(from), &duration(by)).unwrap()), expected, "{from} + {by}");
    }
    let far = instant("+999999999-12-31");
    assert!(super::add(&far, &duration("P1D")).is_err());
}

#[test]
fn multiples_and_parts() {
    let day = duration("P1DT1H");
    assert_eq!(day.times(2.0).unwrap().to_string(), "P2DT2H");
    assert_eq!(day.times(-1.0).unwrap().to_string(), "P-1DT-1H");
    assert_eq!(day.divided_by(2.0).unwrap().to_string(), "PT12H30M");
    assert_eq!(duration("P1M").divided_by(2.0).unwrap().to_string(), "P15DT5H14M33S");
    assert!(day.divided_by(0.0).is_err());
    assert!(Duration { months: i64::MAX, ..Duration::default() }.plus(&duration("P1M")).is_err());
}

#[test]
fn the_time_between() {
    let table = [
        ("1984-10-11", "2015-06-24", "P30Y8M13D", "P30Y8M", "P11213D", "PT269112H"),
        (
            "2015-07-21T21:40:32.142",
            "2015-06-24",
            "P-27DT-21H-40M-32.142S",
            "PT0S",
            "P-27D",
            "PT-669H-40M-32.142S",
        ),
        ("14:30", "16:30", "PT2H", "PT0S", "PT0S", "PT2H"),
        ("1984-10-11", "16:30", "PT16H30M", "PT0S", "PT0S", "PT16H30M"),
        ("14:30+01:00", "14:30Z", "PT1H", "PT0S", "PT0S", "PT1H"),
        // Without a date of its own there are no days, however far the zones are apart.
        ("2020-01-01T00:00+18:00", "23:00-18:00", "PT59H", "PT0S", "PT0S", "PT59H"),
    ];
    for (from, to, all, months, days, seconds) in table {
        let (from, to) = (instant(from), instant(to));
        assert_eq!(between::between(&from, &to).unwrap().to_string(), all);
        assert_eq!(between::in_months(&from, &to).unwrap().to_string(), months);
        assert_eq!(between::in_days(&from, &to).unwrap().to_string(), days);
        assert_eq!(between::in_seconds(&from, &to).unwrap().to_string(), seconds);
    }
}

#[test]
fn components_and_truncation() {
    let datetime = instant("2017-10-11T12:31:14.645876123+01:00");
    let integers = [
        ("year", 2017),
        ("quarter", 4),
        ("week", 41),
        ("weekYear", 2017),
        ("ordinalDay", 284),
        ("dayOfQuarter", 11),
        ("millisecond", 645),
        ("offsetMinutes", 60),
        ("epochSeconds", 1_507_721_474),
        ("epochMillis", 1_507_721_474_645),
    ];
    for (name, expected) in integers {
        assert_eq!(component(&datetime, name).unwrap().as_int(), Some(expected), "{name}");
    }
    assert!(component(&datetime, "Year").is_err());
    let fields = |pairs: &[(&str, Value)]| -> Map {
        pairs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
    };
    let table = [
        ("millennium", fields(&[("day", 2.into())]), "2000-01-02T00:00+01:00"),
        ("weekYear", Map::new(), "2017-01-02T00:00+01:00"),
        (
            "hour",
            fields(&[("timezone", "Europe/Stockholm".into())]),
            "2017-10-11T12:00+02:00[Europe/Stockholm]",
        ),
        ("millisecond", fields(&[("nanosecond", 2.into())]), "2017-10-11T12:31:14.645000002+01:00"),
    ];
    for (unit, fields, expected) in table {
        assert_eq!(shown(truncate::truncate(Kind::DateTime, unit, &datetime, &fields).unwrap()), expected);
    }
    assert!(truncate::truncate(Kind::Date, "hour", &datetime, &Map::new()).is_err());
    assert!(truncate::truncate(Kind::DateTime, "day", &Value::Int(1), &Map::new()).is_err());
}

/// An instant is made of one that has what it needs: a date where it has one, a time of day where it has no date; and of units that it has.
#[test]
fn truncating_takes_instants_with_the_parts_that_it_needs() {
    let kinds = [Kind::Date, Kind::Time, Kind::LocalTime, Kind::DateTime, Kind::LocalDateTime];
    let values =
        ["2017-11-11", "12:31:14.645+01:00", "12:31:14.645", "2017-11-11T12:31Z", "2017-11-11T12:31"];
    let days = ["millennium", "century", "decade", "year", "weekyear", "quarter", "month", "week", "day"];
    let clocks = ["hour", "minute", "second", "millisecond", "microsecond"];
    for kind in kinds {
        for text in values {
            let (has_date, has_time) = (text.contains("2017"), text.contains(':'));
            let has_what_it_needs = if kind.has_date() { has_date } else { has_time };
            for unit in days.into_iter().chain(clocks).chain(["eon"]) {
                let has_unit = match unit {
                    "day" => true,
                    "eon" => false,
                    _ => {
                        if days.contains(&unit) {
                            kind.has_date()
                        } else {
                            kind.has_time()
                        }
                    }
                };
                let truncated = truncate::truncate(kind, unit, &instant(text), &Map::new());
                let expected = has_what_it_needs && has_unit;
                assert_eq!(truncated.is_ok(), expected, "{} of {text} by {unit}: {truncated:?}", kind.name());
            }
        }
    }
}

#[test]
fn zones_know_their_summers() {
    let stockholm = Zone::parse("Europe/Stockholm").unwrap();
    let offset = |text: &str| {
        let Value::DateTime(datetime) = instant(text) else { panic!() };
        stockholm.offset_at(datetime.seconds)
    };
    assert_eq!((offset("2017-01-01T00:00Z"), offset("2017-07-01T00:00Z")), (3_600, 7_200));
    // Beyond the years whose rules are known, the nearest rule holds; nothing panics.
    let far = build::from_text(Kind::DateTime, "+999999999-12-31T00:00[Europe/Stockholm]").unwrap();
    assert!(shown(far).starts_with("+999999999-12-31T00:00+0"));
    assert!(Zone::parse("+18:01").is_err() && Zone::parse("").is_err());
}
