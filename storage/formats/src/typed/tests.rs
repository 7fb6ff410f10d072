//! What is written is read as the same value, at any depth; what is not one of the forms is refused.

use super::*;
use world::chance::Chance;

const TIMES: [(Instant, &str); 12] = [
    (Instant::Date, "2024-02-29"),
    (Instant::Date, "-0044-03-15"),
    (Instant::Date, "+999999999-12-31"),
    (Instant::LocalTime, "12:31:14.645876123"),
    (Instant::LocalTime, "00:00"),
    (Instant::Time, "12:31:14.645+01:00"),
    (Instant::Time, "23:59:59-11:30"),
    (Instant::LocalDateTime, "1969-12-31T23:59:59.999999999"),
    (Instant::LocalDateTime, "2017-10-11T12:31"),
    (Instant::DateTime, "2017-10-11T12:31:14.000000001Z"),
    (Instant::DateTime, "2017-10-11T12:31:14+05:45"),
    (Instant::DateTime, "2017-07-11T12:31[Europe/Stockholm]"),
];
const DURATIONS: [&str; 4] = ["P1Y2M3DT4H5M6.789S", "PT-0.000000001S", "P-14M", "PT0S"];
const FLOATS: [f64; 11] = [
    0.0,
    -0.0,
    1.0,
    0.1,
    1e300,
    5e-324,
    f64::MAX,
    18_446_744_073_709_551_616.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

fn float(chance: &mut Chance) -> f64 {
    FLOATS[chance.index(FLOATS.len())]
}

fn point(chance: &mut Chance, srid: u32) -> Value {
    let z = matches!(srid, 9157 | 4979).then(|| float(chance));
    Value::Point(Arc::new(Point { srid, x: float(chance), y: float(chance), z }))
}

fn random(chance: &mut Chance, depth: usize) -> Value {
    let whole = [0, 1, -1, i64::MAX, i64::MIN, 1 << 53, 255, 256];
    match chance.below(if depth == 0 { 9 } else { 11 }) {
        0 => Value::Null,
        1 => Value::Bool(chance.happens(0.5)),
        2 => Value::Int(whole[chance.index(whole.len())]),
        3 => Value::Float(float(chance)),
        4 => ["", "NaN", "2024-02-29", "{\"$map\": {}}", "ß\u{1F332}\n\""][chance.index(5)].into(),
        5 => Value::Bytes((0..chance.below(5)).map(|_| chance.below(256) as u8).collect()),
        6 => {
            let srid = [7203, 4326, 9157, 4979][chance.index(4)];
            point(chance, srid)
        }
        7 => Value::from(duration_from_text(DURATIONS[chance.index(DURATIONS.len())]).unwrap()),
        8 => {
            let (kind, text) = TIMES[chance.index(TIMES.len())];
            from_text(kind, text).unwrap()
        }
        9 => Value::list((0..chance.below(4)).map(|_| random(chance, depth - 1)).collect()),
        _ => {
            let keys = ["$date", "$map", "a", ""];
            Value::map((0..chance.index(4)).map(|at| (keys[at], random(chance, depth - 1))))
        }
    }
}

fn shown(value: &Value) -> String {
    format!("{value:?}")
}

#[test]
fn what_is_written_is_read_as_the_same_value() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..5_000 {
        let value = random(&mut chance, 3);
        let text = to_json(&value, 0).unwrap().to_string();
        assert_eq!(read(&text).map(|read| shown(&read)), Ok(shown(&value)), "{text}");
    }
}

/// Wrapped in as many lists as may be, each kind of value is read again; in one more, it is not written.
#[test]
fn values_are_nested_as_deep_as_they_are_read() {
    let mut chance = Chance::seeded(3);
    let nowhere = Value::Point(Arc::new(Point { srid: 7203, x: f64::NAN, y: 1.0, z: None }));
    let kinds = [
        (Value::Null, 0),
        (Value::Int(1), 0),
        (Value::Float(1.5), 0),
        ("text".into(), 0),
        (Value::Bool(true), 0),
        (Value::Float(f64::NAN), 1),
        (Value::Bytes([1, 2].into()), 1),
        (from_text(Instant::Date, "2024-02-29").unwrap(), 1),
        (Value::from(duration_from_text("P1D").unwrap()), 1),
        (Value::list(Vec::new()), 1),
        (Value::map([("a", Value::Int(1))]), 2),
        (nowhere, 4),
        (point(&mut chance, 4979), 4),
    ];
    for (value, opened) in kinds {
        let deepest = JSON_DEPTH_MAX - opened;
        let nested = |lists: usize| (0..lists).fold(value.clone(), |inner, _| Value::list(vec![inner]));
        for lists in [0, 1, deepest - 1, deepest] {
            let text = to_json(&nested(lists), 0).unwrap().to_string();
            assert_eq!(read(&text).map(|read| shown(&read)), Ok(shown(&nested(lists))));
            assert!(to_json(&nested(lists), deepest - lists).is_ok(), "{value:?} in {lists} lists");
            let refused = to_json(&nested(lists), deepest - lists + 1).unwrap_err();
            assert!(refused.contains("nested deeper"), "{refused}");
        }
        assert!(to_json(&nested(deepest + 1), 0).is_err(), "{value:?}");
        let maps = |count: usize| (0..count).fold(value.clone(), |inner, _| Value::map([("m", inner)]));
        let text = to_json(&maps(deepest / 2), 0).unwrap().to_string();
        assert_eq!(read(&text).map(|read| shown(&read)), Ok(shown(&maps(deepest / 2))));
        assert!(to_json(&maps(deepest / 2 + 1), 0).is_err(), "{value:?}");
    }
    let too_deep = "[".repeat(JSON_DEPTH_MAX + 1) + &"]".repeat(JSON_DEPTH_MAX + 1);
    assert!(read(&too_deep).is_err());
    assert!(read(&too_deep[1..too_deep.len() - 1]).is_ok());
}

#[test]
fn what_is_none_of_the_forms_is_refused_in_words() {
    let srid = |srid: &str, coordinates: &str| {
        format!(r#"{{"$point": {{"srid": {srid}, "coordinates": {coordinates}}}}}"#)
    };
    let cases = [
        ("{}".to_string(), "an object is no property"),
        (r#"{"$date": "2024-02-29", "$time": "12:00Z"}"#.into(), "an object is no property"),
        (r#"{"date": "2024-02-29"}"#.into(), "the name `date`"),
        (r#"{"$date": "2024-02-30"}"#.into(), "is no $date"),
        (r#"{"$date": 5}"#.into(), "`5` is no $date"),
        (r#"{"$duration": "1 day"}"#.into(), "is no $duration"),
        (r#"{"$duration": 1}"#.into(), "the name `$duration`"),
        (r#"{"$float": "one"}"#.into(), "is no $float"),
        (r#"{"$bytes": "0"}"#.into(), "is no $bytes"),
        (r#"{"$bytes": "0g"}"#.into(), "is no $bytes"),
        (r#"{"$map": [1]}"#.into(), "a $map is an object"),
        (r#"{"$map": "a"}"#.into(), "the name `$map`"),
        (r#"{"$map": {"a": {"b": 1}}}"#.into(), "the name `b`"),
        (srid("7203", "[1, 2, 3]"), "is no $point"),
        (srid("9157", "[1, 2]"), "is no $point"),
        (srid("4979", "[1, 2]"), "is no $point"),
        (srid("4326", "[1]"), "is no $point"),
        (srid("1", "[1, 2]"), "is no $point"),
        (srid("-1", "[1, 2]"), "is no $point"),
        (srid("4294974499", "[1, 2]"), "is no $point"),
        (srid("7203", "[1, \"2\"]"), "is no $point"),
        (srid("7203", "1"), "is no $point"),
        ("18446744073709551615".into(), "64 bits"),
        ("[9223372036854775808]".into(), "64 bits"),
        (r#"{"$date""#.into(), "EOF"),
    ];
    for (text, part) in cases {
        let refused = read(&text).unwrap_err();
        assert!(refused.contains(part), "{text}: {refused}");
    }
    // A whole number is a coordinate, too; and digits may be large.
    let point = Value::Point(Arc::new(Point { srid: 7203, x: 1.0, y: -2.0, z: None }));
    assert_eq!(read(&srid("7203", "[1, -2]")).map(|read| shown(&read)), Ok(shown(&point)));
    let bytes = Value::Bytes([0xab, 0x0f].into());
    assert_eq!(read(r#"{"$bytes": "AB0f"}"#).map(|read| shown(&read)), Ok(shown(&bytes)));
    let vertex = Value::Vertex(model::VertexId(1));
    assert!(to_json(&vertex, 0).unwrap_err().contains("part of the graph"));
    assert!(temporal_text(&Value::Int(1)).is_err() && instant_of(&Value::Int(1)).is_none());
}
