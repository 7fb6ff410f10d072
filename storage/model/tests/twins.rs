//! Temporal arithmetic and hashes beside obvious twins.

mod random;

use random::Random;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use tanglewood_model::compare::{equivalent, hash_value};
use tanglewood_model::temporal::between::{between, in_days, in_months, in_seconds};
use tanglewood_model::temporal::build::{from_map, from_text};
use tanglewood_model::temporal::truncate::truncate;
use tanglewood_model::temporal::{Date, Duration, Kind, LocalDateTime, add};
use tanglewood_model::{LabelId, Map, Value, VertexId};

const KINDS: [Kind; 5] = [Kind::Date, Kind::LocalTime, Kind::Time, Kind::LocalDateTime, Kind::DateTime];
const OF_DATES: [&str; 9] =
    ["millennium", "century", "decade", "year", "weekyear", "quarter", "month", "week", "day"];
const OF_CLOCKS: [&str; 5] = ["hour", "minute", "second", "millisecond", "microsecond"];

fn days_of(value: &Value) -> i64 {
    match value {
        Value::Date(date) => date.days,
        other => panic!("{other:?} is no date"),
    }
}

/// The part of the calendar that holds a date: equal for dates of one unit, and never for those of two.
fn bucket(unit: &str, date: Date) -> (i64, i64) {
    // 1970-01-01 was a Thursday.
    let week = (date.days + 3).div_euclid(7);
    // A week belongs to the year of its Thursday.
    let thursday = Date { days: week * 7 };
    let year = date.year();
    match unit {
        "millennium" => (year.div_euclid(1_000), 0),
        "century" => (year.div_euclid(100), 0),
        "decade" => (year.div_euclid(10), 0),
        "year" => (year, 0),
        "weekyear" => (thursday.year(), 0),
        "quarter" => (year, (date.month() - 1) / 3),
        "month" => (year, date.month()),
        "week" => (week, 0),
        _ => (date.days, 0),
    }
}

#[test]
fn a_date_is_truncated_to_the_first_day_of_its_unit() {
    let mut random = Random(7);
    for _ in 0..3_000 {
        let date = Date { days: random.below(1_400_000) as i64 - 700_000 };
        for unit in OF_DATES {
            let first = truncate(Kind::Date, unit, &Value::Date(date), &Map::new()).unwrap();
            let first = Date { days: days_of(&first) };
            assert!(first.days <= date.days, "{unit} of {date:?} is {first:?}");
            assert_eq!(bucket(unit, first), bucket(unit, date), "{unit} of {date:?} is {first:?}");
            let before = Date { days: first.days - 1 };
            assert_ne!(
                bucket(unit, before),
                bucket(unit, date),
                "{unit} of {date:?}: {first:?} is not the first"
            );
        }
    }
}

#[test]
fn each_kind_takes_the_units_it_has() {
    let at = from_text(Kind::DateTime, "2021-03-04T05:06:07.123456789Z").unwrap();
    for kind in KINDS {
        let has_date = matches!(kind, Kind::Date | Kind::LocalDateTime | Kind::DateTime);
        for unit in OF_DATES.iter().chain(&OF_CLOCKS) {
            let fits = match (OF_CLOCKS.contains(unit), *unit) {
                (true, _) => kind != Kind::Date,
                (false, "day") => true,
                (false, _) => has_date,
            };
            let outcome = truncate(kind, unit, &at, &Map::new());
            assert_eq!(outcome.is_ok(), fits, "{unit} of a {}: {outcome:?}", kind.name());
            if let Err(error) = outcome {
                assert!(!error.to_string().is_empty(), "{unit} of a {}", kind.name());
            }
        }
    }
}

#[test]
fn a_time_needs_the_larger_fields_before_it() {
    let names = ["hour", "minute", "second", "nanosecond"];
    for given in 0..16_u32 {
        let map: Map =
            (0..4).filter(|at| given >> at & 1 == 1).map(|at| (names[at].into(), Value::Int(7))).collect();
        // Of a number without gaps the next one is a power of two.
        let fits = given > 0 && (given + 1).is_power_of_two();
        let outcome = from_map(Kind::LocalTime, &map, (0, 0));
        assert_eq!(outcome.is_ok(), fits, "{map:?}: {outcome:?}");
        if let Ok(Value::LocalTime(time)) = outcome {
            let sizes = [3_600_000_000_000, 60_000_000_000, 1_000_000_000, 1];
            let nanos: u64 = (0..4).filter(|at| given >> at & 1 == 1).map(|at| 7 * sizes[at]).sum();
            assert_eq!(time.nanos, nanos, "{map:?}");
        }
    }
}

#[test]
fn a_duration_times_a_whole_number_is_added_so_often() {
    let mut random = Random(11);
    for _ in 0..2_000 {
        let part = |random: &mut Random| random.below(2_000) as i64 - 1_000;
        let one = Duration {
            months: part(&mut random),
            days: part(&mut random),
            seconds: part(&mut random),
            nanos: random.below(1_000_000_000) as u32,
        };
        let times = random.below(9);
        let zero = Duration { months: 0, days: 0, seconds: 0, nanos: 0 };
        let sum = (0..times).try_fold(zero, |sum, _| sum.plus(&one)).unwrap();
        assert_eq!(one.times(times as f64).unwrap(), sum, "{times} times {one:?}");
        // Half of it twice is nearly all of it: months are spread over days of a mean length.
        let half = one.times(0.5).unwrap();
        let whole = half.plus(&half).unwrap();
        let apart = (whole.approximate_nanos() - one.approximate_nanos()).abs();
        assert!(apart < 2_000_000_000, "{whole:?} for {one:?}");
    }
}

#[test]
fn values_that_differ_are_told_apart_by_their_hashes() {
    let hasher = std::hash::BuildHasherDefault::<std::collections::hash_map::DefaultHasher>::default();
    let hash = |value: &Value| {
        let mut state = hasher.build_hasher();
        hash_value(value, &mut state);
        state.finish()
    };
    let number = |at: i64| {
        [
            Value::Int(at),
            Value::Float(at as f64 + 0.25),
            Value::string(format!("text {at}")),
            Value::Bool(at % 2 == 0),
            Value::Date(Date { days: at }),
            Value::list(vec![Value::Int(at), Value::Null]),
            Value::map([("k", Value::Int(at))]),
        ]
    };
    let values: Vec<Value> = (0..300).flat_map(number).collect();
    let distinct: HashSet<u64> = values.iter().map(hash).collect();
    // Two truth values, and the rest; a collision of 64 bits would be a wonder.
    assert_eq!(distinct.len(), 300 * 6 + 2);
    for (a, b) in values.iter().zip(values.iter().skip(1)) {
        assert_eq!(equivalent(a, b), hash(a) == hash(b), "{a:?} {b:?}");
    }
    assert!(equivalent(&Value::Int(3), &Value::Float(3.0)));
    assert_eq!(hash(&Value::Int(3)), hash(&Value::Float(3.0)));
}

#[test]
fn what_lies_between_two_moments_leads_from_one_to_the_other() {
    let mut random = Random(19);
    let mut moment = |near: i64| LocalDateTime {
        seconds: near + random.below(400_000_000) as i64 - 200_000_000,
        nanos: [0, 1, 999_999_999, 500_000_000][random.below(4) as usize],
    };
    for round in 0..3_000 {
        let mut from = moment(0);
        let to = moment(0);
        // Some on one day, or on two that follow each other.
        if round % 3 == 0 {
            from.seconds = to.seconds + from.seconds % 100_000;
        }
        let (a, b) = (Value::LocalDateTime(from), Value::LocalDateTime(to));
        let all = between(&a, &b).unwrap();
        // Months are at most as many as lead to it, and days are fewer than a month has.
        assert!(all.days.abs() <= 31 && all.seconds.abs() <= 86_400, "{from:?} {to:?} {all:?}");
        let there = add(&a, &all).unwrap();
        assert!(equivalent(&there, &b), "{from:?} and {all:?} is {there:?}, not {to:?}");
        let seconds = in_seconds(&a, &b).unwrap();
        assert_eq!((seconds.months, seconds.days), (0, 0));
        assert!(equivalent(&add(&a, &seconds).unwrap(), &b));
        // Whole days: what is left is less than one, to the same side.
        let days = in_days(&a, &b).unwrap();
        assert_eq!((days.months, days.seconds, days.nanos), (0, 0, 0));
        let nanos = |at: LocalDateTime| i128::from(at.seconds) * 1_000_000_000 + i128::from(at.nanos);
        let day = 86_400_000_000_000_i128;
        assert_eq!(i128::from(days.days), (nanos(to) - nanos(from)) / day, "{from:?} {to:?}");
        assert_eq!(in_months(&a, &b).unwrap().months, all.months);
    }
}

#[test]
fn a_vertex_stands_for_each_label_and_no_other_does() {
    for label in [0, 1, 7, u16::MAX - 1, u16::MAX].map(LabelId) {
        assert_eq!(VertexId::of_schema(label).schema_label(), Some(label));
    }
    let first = VertexId::of_schema(LabelId(0)).0;
    assert_eq!(VertexId(first - 1).schema_label(), None);
    assert_eq!(VertexId(first + u64::from(u16::MAX) + 1).schema_label(), None);
}
