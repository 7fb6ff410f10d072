//! Instants from their parts and back: what a map of components makes is what they were taken from, for each kind and each calendar.

use tanglewood_model::temporal::build::{at_instant, convert, duration_from_map, from_map, from_text};
use tanglewood_model::temporal::truncate::truncate;
use tanglewood_model::temporal::{
    Date, Duration, Kind, LocalDateTime, LocalTime, Zone, ZonedDateTime, ZonedTime, component, is_instant,
    is_temporal, text,
};
use tanglewood_model::{Map, Value};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as i64
    }
}

const KINDS: [Kind; 5] = [Kind::Date, Kind::LocalTime, Kind::Time, Kind::LocalDateTime, Kind::DateTime];
const OF_DATES: [&str; 8] =
    ["year", "month", "day", "week", "dayOfWeek", "quarter", "dayOfQuarter", "ordinalDay"];
const OF_CLOCKS: [&str; 6] = ["hour", "minute", "second", "millisecond", "microsecond", "nanosecond"];

fn has_date(kind: Kind) -> bool {
    [Kind::Date, Kind::LocalDateTime, Kind::DateTime].contains(&kind)
}

fn has_zone(kind: Kind) -> bool {
    [Kind::Time, Kind::DateTime].contains(&kind)
}

/// What the tests know of an instant, from which each kind takes what it has.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Days since 1970-01-01, nanoseconds of the day, seconds east of UTC.
    days: i64,
    nanos: i64,
    offset: i64,
}

impl Known {
    fn random(random: &mut Random) -> Known {
        let fraction = [0, 1, 999_999_999, 120_000_000, 120_034_000, 120_034_056][random.below(6) as usize];
        let clock = [0, 86_399, random.below(86_400), random.below(86_400)][random.below(4) as usize];
        let offset = [0, 3_600, -5_400, 7_507, -64_800, 64_800][random.below(6) as usize];
        Known { days: random.below(80_000) - 40_000, nanos: clock * 1_000_000_000 + fraction, offset }
    }
    fn value(self, kind: Kind) -> Value {
        let (date, nanos) = (Date { days: self.days }, self.nanos as u64);
        let local = LocalDateTime::new(date, LocalTime { nanos });
        let zone = Zone::Offset(self.offset as i32);
        match kind {
            Kind::Date => date.into(),
            Kind::LocalTime => LocalTime { nanos }.into(),
            Kind::Time => ZonedTime { nanos, offset_seconds: self.offset as i32 }.into(),
            Kind::LocalDateTime => local.into(),
            Kind::DateTime => ZonedDateTime::of_local(local, &zone).into(),
        }
    }
    /// Each component by its definition, from the calendar's first days of years and months.
    fn component(self, name: &str) -> i64 {
        let date = Date { days: self.days };
        let (year, month, day) = date.parts();
        let first = |month: i64| Date::new(year, month, 1).unwrap().days;
        let monday = self.days - (self.days + 3).rem_euclid(7);
        let thursday = Date { days: monday + 3 };
        let (seconds, fraction) = (self.nanos / 1_000_000_000, self.nanos % 1_000_000_000);
        let epoch = self.days * 86_400 + seconds - self.offset;
        match name {
            "year" => year,
            "month" => month,
            "day" => day,
            "week" => (thursday.days - Date::new(thursday.year(), 1, 1).unwrap().days) / 7 + 1,
            "weekYear" => thursday.year(),
            "dayOfWeek" | "weekDay" => self.days - monday + 1,
            "quarter" => (month + 2) / 3,
            "dayOfQuarter" => self.days - first((month + 2) / 3 * 3 - 2) + 1,
            "ordinalDay" => self.days - first(1) + 1,
            "hour" => seconds / 3_600,
            "minute" => seconds % 3_600 / 60,
            "second" => seconds % 60,
            "millisecond" => fraction / 1_000_000,
            "microsecond" => fraction / 1_000,
            "nanosecond" => fraction,
            "offsetSeconds" => self.offset,
            "offsetMinutes" => self.offset / 60,
            "epochSeconds" => epoch,
            "epochMillis" => epoch * 1_000 + fraction / 1_000_000,
            other => panic!("{other} is no number"),
        }
    }
    /// The offset as it is written.
    fn zone(self) -> String {
        let size = self.offset.abs();
        let seconds = if size % 60 == 0 { String::new() } else { format!(":{:02}", size % 60) };
        match self.offset {
            0 => "Z".into(),
            offset => {
                let sign = if offset < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}{seconds}", size / 3_600, size / 60 % 60)
            }
        }
    }
}

fn same(a: &Value, b: &Value) -> bool {
    a.value_type() == b.value_type() && text(a) == text(b)
}

fn map(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Map {
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

#[test]
fn each_component_of_each_kind() {
    let mut random = Random(1);
    for _ in 0..2_000 {
        let known = Known::random(&mut random);
        for kind in KINDS {
            let value = known.value(kind);
            let table = [
                (has_date(kind), &OF_DATES[..]),
                (has_date(kind), &["weekYear", "weekDay"]),
                (kind != Kind::Date, &OF_CLOCKS),
                (has_zone(kind), &["offsetSeconds", "offsetMinutes"]),
                (kind == Kind::DateTime, &["epochSeconds", "epochMillis"]),
            ];
            for (there, names) in table {
                for name in names {
                    let found = component(&value, name).ok().and_then(|found| found.as_int());
                    assert_eq!(
                        found,
                        there.then(|| known.component(name)),
                        "{name} of {known:?} as {kind:?}"
                    );
                }
            }
            for name in ["timezone", "offset"] {
                let found = component(&value, name).ok();
                let found = found.as_ref().and_then(Value::as_str);
                assert_eq!(found, has_zone(kind).then(|| known.zone()).as_deref(), "{name} of {known:?}");
            }
        }
    }
    let named = from_text(Kind::DateTime, "2020-06-01T12:00[Europe/Stockholm]").unwrap();
    assert_eq!(component(&named, "timezone").unwrap().as_str(), Some("Europe/Stockholm"));
    assert_eq!(component(&named, "offset").unwrap().as_str(), Some("+02:00"));
}

/// The fields of one calendar and of the clock, in one of the ways to write a fraction.
fn fields(known: Known, kind: Kind, calendar: i64, fraction: i64) -> Map {
    let of = |name: &'static str| (name, Value::Int(known.component(name)));
    let mut pairs = match calendar {
        0 => vec![of("year"), of("month"), of("day")],
        1 => vec![("year", Value::Int(known.component("weekYear"))), of("week"), of("dayOfWeek")],
        2 => vec![of("year"), of("quarter"), of("dayOfQuarter")],
        _ => vec![of("year"), of("ordinalDay")],
    };
    if !has_date(kind) {
        pairs.clear();
    }
    if kind != Kind::Date {
        let (milli, micro, nano) =
            (known.component("millisecond"), known.component("microsecond"), known.component("nanosecond"));
        pairs.extend([of("hour"), of("minute"), of("second")]);
        pairs.extend(match fraction {
            0 => vec![of("nanosecond")],
            1 => vec![of("millisecond"), ("nanosecond", Value::Int(nano % 1_000_000))],
            2 => vec![of("microsecond"), ("nanosecond", Value::Int(nano % 1_000))],
            _ => vec![
                ("millisecond", Value::Int(milli)),
                ("microsecond", Value::Int(micro % 1_000)),
                ("nanosecond", Value::Int(nano % 1_000)),
            ],
        });
    }
    if has_zone(kind) {
        pairs.push(("timezone", known.zone().into()));
    }
    map(pairs)
}

#[test]
fn its_fields_make_an_instant_with_and_without_another_below() {
    let mut random = Random(2);
    for round in 0..2_000 {
        let (known, other) = (Known::random(&mut random), Known::random(&mut random));
        for kind in KINDS {
            let (calendar, fraction) = (random.below(4), random.below(4));
            let whole = fields(known, kind, calendar, fraction);
            let made = from_map(kind, &whole, (0, 0)).unwrap_or_else(|error| panic!("{whole:?}: {error}"));
            assert!(same(&made, &known.value(kind)), "{whole:?} makes {made:?}");
            // Fields stand over what is selected.
            let mut over = whole.clone();
            if has_date(kind) {
                over.insert("date".into(), other.value(Kind::Date));
            }
            if kind != Kind::Date && !has_zone(kind) {
                over.insert("time".into(), other.value(Kind::LocalTime));
            }
            let made = from_map(kind, &over, (0, 0)).unwrap();
            assert!(same(&made, &known.value(kind)), "round {round}: {over:?} makes {made:?}");
        }
        // A date takes from the other one what is not given.
        for (calendar, names) in
            [(0, ["month", "day"]), (1, ["week", "dayOfWeek"]), (2, ["quarter", "dayOfQuarter"])]
        {
            let year = if calendar == 1 { "weekYear" } else { "year" };
            for name in names {
                let date = map([("date", other.value(Kind::Date)), (name, Value::Int(1))]);
                let Ok(Value::Date(date)) = from_map(Kind::Date, &date, (0, 0)) else {
                    // The first quarter has fewer days than others.
                    assert!(name == "quarter" && other.component("dayOfQuarter") > 90, "{other:?}");
                    continue;
                };
                let made = Known { days: date.days, ..other };
                assert_eq!((made.component(name), made.component(year)), (1, other.component(year)));
                let rest = names.iter().find(|rest| **rest != name).unwrap();
                // A month may be too short for the day.
                let kept = made.component(rest) == other.component(rest);
                assert!(kept || *rest == "day" && other.component(rest) > 28, "{rest} of {made:?} {other:?}");
            }
        }
    }
}

#[test]
fn what_is_selected_is_what_it_has() {
    let mut random = Random(3);
    for _ in 0..1_500 {
        let (known, other) = (Known::random(&mut random), Known::random(&mut random));
        let zoned = known.value(Kind::DateTime);
        for kind in KINDS {
            let whole = if kind == Kind::DateTime || kind == Kind::LocalDateTime {
                vec![
                    map([("datetime", zoned.clone())]),
                    map([("date", zoned.clone()), ("time", zoned.clone())]),
                ]
            } else if kind == Kind::Date {
                vec![map([("date", zoned.clone())])]
            } else {
                vec![map([("time", zoned.clone())])]
            };
            for from in whole {
                let made = from_map(kind, &from, (0, 0)).unwrap();
                assert!(same(&made, &known.value(kind)), "{from:?} makes {made:?}");
            }
            // A zone that is given shows the same instant elsewhere.
            let there = other.zone();
            if kind == Kind::DateTime {
                let moved = map([("datetime", zoned.clone()), ("timezone", there.as_str().into())]);
                let made = from_map(kind, &moved, (0, 0)).unwrap();
                for name in ["epochSeconds", "nanosecond"] {
                    assert_eq!(component(&made, name).unwrap().as_int(), Some(known.component(name)));
                }
                assert_eq!(component(&made, "offset").unwrap().as_str(), Some(&*there));
            }
            if kind == Kind::Time {
                let moved = map([("time", known.value(kind)), ("timezone", there.as_str().into())]);
                let made = from_map(kind, &moved, (0, 0)).unwrap();
                let nanos = known.nanos + (other.offset - known.offset) * 1_000_000_000;
                let wanted = Known { nanos: nanos.rem_euclid(86_400_000_000_000), ..other };
                assert!(same(&made, &wanted.value(kind)), "{moved:?} makes {made:?}");
            }
        }
        let zone = || ("timezone", Value::from(known.zone()));
        let of = |name: &'static str| (name, Value::Int(known.component(name)));
        let fraction = known.component("nanosecond");
        for from in [
            map([of("epochSeconds"), of("nanosecond"), zone()]),
            map([of("epochMillis"), ("nanosecond", Value::Int(fraction % 1_000_000)), zone()]),
        ] {
            let made = from_map(Kind::DateTime, &from, (0, 0)).unwrap();
            assert!(same(&made, &zoned), "{from:?} makes {made:?}");
        }
        // Now, as a clock there shows it.
        let now = (known.component("epochSeconds"), fraction as u32);
        for kind in KINDS {
            let made = from_map(kind, &map([zone()]), now).unwrap();
            assert!(same(&made, &known.value(kind)), "{known:?} now is {made:?}");
            let offset = Zone::Offset(known.offset as i32);
            assert!(same(&at_instant(kind, now.0, now.1, &offset).unwrap(), &made));
        }
    }
}

#[test]
fn each_kind_becomes_another_where_nothing_is_missing() {
    let mut random = Random(4);
    for _ in 0..300 {
        let known = Known::random(&mut random);
        for from in KINDS {
            for to in KINDS {
                let possible = match to {
                    Kind::Date | Kind::LocalDateTime | Kind::DateTime => has_date(from),
                    Kind::LocalTime | Kind::Time => from != Kind::Date,
                };
                let nanos = if from == Kind::Date { 0 } else { known.nanos };
                let offset = if has_zone(from) { known.offset } else { 0 };
                let wanted = possible.then(|| Known { nanos, offset, ..known }.value(to));
                let made = convert(to, &known.value(from)).ok();
                assert_eq!(
                    made.as_ref().and_then(text),
                    wanted.as_ref().and_then(text),
                    "{from:?} to {to:?}"
                );
                assert_eq!(made.map(|made| made.value_type()), wanted.map(|wanted| wanted.value_type()));
            }
        }
    }
    for kind in KINDS {
        assert!(
            convert(kind, &Value::Int(1)).is_err() && convert(kind, &Duration::default().into()).is_err()
        );
    }
}

#[test]
fn each_kind_takes_the_fields_it_has() {
    let fits = |kind: Kind, name: &str| match name {
        "timezone" => true,
        "datetime" => kind == Kind::LocalDateTime || kind == Kind::DateTime,
        "epochSeconds" | "epochMillis" => kind == Kind::DateTime,
        "date" => has_date(kind),
        "time" => kind != Kind::Date,
        name if OF_DATES.contains(&name) => has_date(kind),
        name => OF_CLOCKS.contains(&name) && kind != Kind::Date,
    };
    let known = Known { days: 100, nanos: 0, offset: 0 };
    for kind in KINDS {
        let others =
            ["timezone", "datetime", "epochSeconds", "epochMillis", "date", "time", "colour", "Year"];
        for name in OF_DATES.iter().chain(&OF_CLOCKS).chain(&others) {
            let one = map([(*name, Value::Int(1))]);
            let unknown = from_map(kind, &one, (0, 0))
                .err()
                .is_some_and(|error| error.to_string().contains("no field"));
            assert_eq!(!unknown, fits(kind, name), "{name} of a {}", kind.name());
            if fits(kind, name) {
                let told = truncate(kind, "day", &known.value(Kind::DateTime), &one).err();
                assert!(!told.is_some_and(|told| told.to_string().contains("no field")), "{name}");
                let null = map([(*name, Value::Null), ("colour", Value::Int(99))]);
                assert!(from_map(kind, &null, (0, 0)).unwrap().is_null(), "{name}");
            }
        }
        let nothing = from_map(kind, &Map::new(), (0, 0)).unwrap_err().to_string();
        assert!(nothing.contains("at least one"), "{nothing}");
        assert_eq!(kind.name(), format!("{kind:?}").to_lowercase());
        let elsewhere =
            map([("year", Value::Int(2000)), ("hour", Value::Int(1)), ("timezone", "+01:00".into())]);
        assert_eq!(from_map(kind, &elsewhere, (0, 0)).is_ok(), kind == Kind::DateTime, "{kind:?}");
    }
    for kind in KINDS {
        let value = known.value(kind);
        assert!(is_instant(&value) && is_temporal(&value) && text(&value).is_some());
    }
    let duration = Value::from(Duration { months: 1, ..Duration::default() });
    assert!(!is_instant(&duration) && is_temporal(&duration));
    assert_eq!(text(&duration).as_deref(), Some("P1M"));
    for other in [Value::Null, Value::Int(1), "P1M".into()] {
        assert!(!is_instant(&other) && !is_temporal(&other) && text(&other).is_none());
        assert!(component(&other, "year").is_err());
    }
}

#[test]
fn fields_that_do_not_go_together_are_refused() {
    let int = |name: &'static str, value: i64| (name, Value::Int(value));
    let wrong = [
        (Kind::Date, map([int("month", 1)])),
        (Kind::Date, map([int("year", 2000), int("day", 1)])),
        (Kind::Date, map([int("year", 2000), int("dayOfWeek", 1)])),
        (Kind::Date, map([int("year", 2000), int("month", 1), int("week", 1)])),
        (Kind::Date, map([int("year", 2000), int("dayOfQuarter", 1), int("ordinalDay", 1)])),
        (Kind::Date, map([int("year", 2001), int("ordinalDay", 366)])),
        (Kind::Date, map([int("year", 2000), int("ordinalDay", 367)])),
        (Kind::Date, map([int("year", 2015), int("week", 54)])),
        (Kind::Date, map([int("year", 2016), int("week", 53)])),
        (Kind::Date, map([int("year", 2000), int("quarter", 5)])),
        (Kind::Date, map([("year", "2000".into())])),
        (Kind::Date, map([("date", Known { days: 0, nanos: 0, offset: 0 }.value(Kind::LocalTime))])),
        (Kind::Date, map([("date", Value::Int(3))])),
        (Kind::LocalTime, map([("time", Value::from(Date { days: 1 }))])),
        (Kind::LocalTime, map([int("hour", 24)])),
        (Kind::LocalTime, map([int("hour", -1)])),
        (Kind::LocalTime, map([int("hour", 1), ("timezone", "+01:00".into())])),
        (Kind::LocalTime, map([int("minute", 1)])),
        (Kind::Time, map([int("hour", 1), ("timezone", Value::Int(1))])),
        (Kind::Time, map([int("hour", 1), ("timezone", "Nowhere/City".into())])),
        (Kind::DateTime, map([int("epochSeconds", 1), int("epochMillis", 1)])),
        (Kind::DateTime, map([int("hour", 1)])),
        (Kind::DateTime, map([("time", Value::from(LocalTime { nanos: 1 })), ("timezone", "+01:00".into())])),
    ];
    for (kind, fields) in wrong {
        assert!(from_map(kind, &fields, (0, 0)).is_err(), "{kind:?} of {fields:?}");
    }
    // A unit of a second ends where the next larger one that is given begins.
    for (more, limit) in
        [(vec![], 1_000_000_000), (vec!["millisecond"], 1_000_000), (vec!["microsecond"], 1_000)]
    {
        for (nanos, fits) in [(limit - 1, true), (limit, false)] {
            let larger = ["hour", "minute", "second"].into_iter().chain(more.iter().copied());
            let fields = map(larger.map(|name| int(name, 7)).chain([int("nanosecond", nanos)]));
            assert_eq!(from_map(Kind::LocalTime, &fields, (0, 0)).is_ok(), fits, "{fields:?}");
        }
    }
    // Without a date, midnight is no default; with one, it is.
    let year = map([int("year", 2000)]);
    assert_eq!(
        text(&from_map(Kind::LocalDateTime, &year, (0, 0)).unwrap()).as_deref(),
        Some("2000-01-01T00:00")
    );
}

#[test]
fn durations_of_each_unit() {
    let units = [
        ("years", "P2Y", "P2Y6M"),
        ("quarters", "P6M", "P7M15DT5H14M33S"),
        ("months", "P2M", "P2M15DT5H14M33S"),
        ("weeks", "P14D", "P17DT12H"),
        ("days", "P2D", "P2DT12H"),
        ("hours", "PT2H", "PT2H30M"),
        ("minutes", "PT2M", "PT2M30S"),
        ("seconds", "PT2S", "PT2.5S"),
        ("milliseconds", "PT0.002S", "PT0.0025S"),
        ("microseconds", "PT0.000002S", "PT0.0000025S"),
        ("nanoseconds", "PT0.000000002S", "PT0.000000002S"),
    ];
    for (unit, two, more) in units {
        let of = |value: Value| text(&duration_from_map(&map([(unit, value)])).unwrap()).unwrap();
        assert_eq!((of(Value::Int(2)).as_str(), of(Value::Float(2.5)).as_str()), (two, more), "{unit}");
        assert!(duration_from_map(&map([(unit, Value::Null)])).unwrap().is_null());
        assert!(duration_from_map(&map([(unit, "2".into())])).is_err());
        assert!(duration_from_map(&map([(unit, Value::Float(f64::NAN))])).is_err());
        assert!(duration_from_map(&map([(unit, Value::Float(1e19))])).is_err());
    }
    assert!(duration_from_map(&Map::new()).is_err());
    assert!(duration_from_map(&map([("fortnights", Value::Int(1))])).is_err());
}

#[test]
fn offsets_as_text() {
    let right = [
        ("Z", 0),
        ("z", 0),
        ("+01", 3_600),
        ("+1", 3_600),
        ("-0130", -5_400),
        ("+01:30", 5_400),
        ("+1:30", 5_400),
        ("+1:5", 3_900),
        ("+010203", 3_723),
        ("-01:02:03", -3_723),
        ("+18:00", 64_800),
        ("-18", -64_800),
        ("+00:59:59", 3_599),
    ];
    for (text, seconds) in right {
        assert_eq!(Zone::parse(text).ok(), Some(Zone::Offset(seconds)), "{text}");
    }
    let wrong = [
        "",
        "+",
        "-",
        "01:00",
        "+:",
        "+01:",
        "+:30",
        "+001",
        "+01:60",
        "+01:00:60",
        "+18:00:01",
        "+19",
        "+01:00:00:00",
        "+01000000",
        "+0a",
        "+1a",
        "+é",
        "+日",
        "+ 1",
        "++1",
        "+1:100",
        "+x1:00",
    ];
    for wrong in wrong {
        assert!(Zone::parse(wrong).is_err(), "{wrong}");
    }
    for zone in [Zone::UTC, Zone::Offset(5_400), Zone::Offset(-60), Zone::parse("europe/stockholm").unwrap()]
    {
        assert_eq!(Zone::parse(&zone.to_string()).unwrap(), zone);
        assert_eq!(zone.name().is_some(), zone.to_string() == "Europe/Stockholm");
    }
    // Beyond the years whose rules are known, the nearest rule holds at both ends.
    let stockholm = Zone::parse("Europe/Stockholm").unwrap();
    for seconds in [i64::MIN / 4, i64::MAX / 4, -377_705_116_800, 253_402_300_800] {
        assert!((0..=7_200).contains(&stockholm.offset_at(seconds)), "{seconds}");
        assert!((seconds - stockholm.instant_of_local(seconds)).abs() <= 7_200, "{seconds}");
    }
}

#[test]
fn instants_that_are_written_wrongly() {
    let wrong = [
        (Kind::Date, "2015-07-2a"),
        (Kind::Date, "2015-W3"),
        (Kind::Date, "2015-W30-22"),
        (Kind::Date, "2015-W30-8"),
        (Kind::Date, "2015Q3-001"),
        (Kind::Date, "2015Q5"),
        (Kind::Date, "2015-1a1"),
        (Kind::Date, "2015-07-211"),
        (Kind::Date, "+12345678901234567890-01-01"),
        (Kind::Date, "2015-07-21T00:00"),
        (Kind::LocalTime, "24:00"),
        (Kind::LocalTime, "23:60"),
        (Kind::LocalTime, "23:59:60"),
        (Kind::LocalTime, "12:00.5"),
        (Kind::LocalTime, "12:00:00."),
        (Kind::LocalTime, "12:00:00.1a"),
        (Kind::LocalTime, "12:00:00:00"),
        (Kind::LocalTime, "12000000"),
        (Kind::LocalTime, "120"),
        (Kind::LocalTime, "1é"),
        (Kind::LocalTime, "12:00Z"),
        (Kind::LocalTime, ""),
        (Kind::LocalDateTime, "2015-07-21T12:00Z"),
        (Kind::LocalDateTime, "2015-07-21T"),
        (Kind::DateTime, "2015-07-21T12:00[Europe/Stockholm"),
        (Kind::DateTime, "2015-07-21T12:00+01[Nowhere/City]"),
    ];
    for (kind, wrong) in wrong {
        assert!(from_text(kind, wrong).is_err(), "{wrong}");
    }
    for (given, nanos) in
        [("12:00:00.1", 100_000_000), ("12:00:00,000000001", 1), ("12:00:00.1234567891", 123_456_789)]
    {
        let Value::LocalTime(time) = from_text(Kind::LocalTime, given).unwrap() else { unreachable!() };
        assert_eq!(time.nanos, 43_200_000_000_000 + nanos, "{given}");
        assert!(from_text(Kind::LocalTime, &time.to_string()).is_ok());
    }
    let mut random = Random(8);
    for _ in 0..2_000 {
        let known = Known::random(&mut random);
        for kind in KINDS {
            let value = known.value(kind);
            let shown = text(&value).unwrap();
            assert!(same(&from_text(kind, &shown).unwrap(), &value), "{shown}");
            // A fraction is written in groups of three digits.
            let fraction = shown
                .split_once('.')
                .map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
            assert!(fraction.is_multiple_of(3) && fraction <= 9, "{shown}");
            let nanos = known.component("nanosecond");
            let groups = if nanos == 0 {
                0
            } else if nanos % 1_000_000 == 0 {
                3
            } else if nanos % 1_000 == 0 {
                6
            } else {
                9
            };
            assert_eq!(fraction, if kind == Kind::Date { 0 } else { groups }, "{shown}");
        }
    }
}

#[test]
fn durations_there_and_back() {
    use tanglewood_model::temporal::build::duration_from_text;
    let mut random = Random(9);
    for _ in 0..5_000 {
        let mut part = |size: i64| [0, 0, 1, -1, random.below(2 * size) - size][random.below(5) as usize];
        let (months, days, seconds) = (part(50), part(50), part(200_000));
        let nanos = [0, 0, 1, 500_000_000, 999_999_999][random.below(5) as usize];
        let duration = Duration { months, days, seconds, nanos };
        let shown = duration.to_string();
        assert_eq!(duration_from_text(&shown).unwrap(), duration, "{shown}");
        let turned = shown.strip_prefix('P').unwrap();
        let negative = duration_from_text(&format!("-P{turned}")).unwrap();
        let zero = Duration::default();
        assert_eq!(negative.plus(&duration).unwrap(), zero, "{shown}");
    }
    let right = [
        ("P2012-01-02", "P2012Y1M2D"),
        ("P0001-02-03T04:05:06", "P1Y2M3DT4H5M6S"),
        ("+PT1H", "PT1H"),
        ("PT+1H", "PT1H"),
        ("P1Y-2M3D", "P10M3D"),
        ("PT1,5S", "PT1.5S"),
        ("P1W2D", "P9D"),
        ("-P2012-01-02T00:00:00.5", "P-2012Y-1M-2DT-0.5S"),
    ];
    for (given, wanted) in right {
        assert_eq!(duration_from_text(given).unwrap().to_string(), wanted, "{given}");
    }
    let wrong = [
        "P201-01-02",
        "P2012-1-02",
        "P2012-01-2",
        "P2012-01-02T04:05Z",
        "P2012-01-02T4",
        "PT1S1M",
        "PT1M1M",
        "P1M1Y",
        "P1X",
        "P1",
        "PT1.S",
        "PT.5S",
        "PT1.5.5S",
        "P1.5.5D",
        "P1.xD",
        "PT1.xS",
        "P12345678901234567890D",
        "P-",
        "P1YT",
        "p1d",
    ];
    for wrong in wrong {
        assert!(duration_from_text(wrong).is_err(), "{wrong}");
    }
    // Halves of each part go to the next smaller one, and a sum of decimal fractions misses none.
    for (given, by, wanted) in [
        ("PT0.3S", 3.0, "PT0.1S"),
        ("PT1S", 3.0, "PT0.333333333S"),
        ("P1D", 0.5, "P2D"),
        ("PT0.7S", 7.0, "PT0.1S"),
    ] {
        assert_eq!(duration_from_text(given).unwrap().divided_by(by).unwrap().to_string(), wanted, "{given}");
    }
    let large = Duration { months: 3, days: 4, seconds: 5, nanos: 6 };
    for factor in [f64::NAN, f64::INFINITY, 1e19, -1e19] {
        assert!(large.times(factor).is_err(), "{factor}");
    }
    assert_eq!(large.times(1e15).unwrap().months, 3_000_000_000_000_000);
}
