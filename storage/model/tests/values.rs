//! Values by tables: what an expression says on the left is what stands on the right.

use std::cmp::Ordering;
use std::sync::Arc;
use tanglewood_model::compare::{compare, equals, equivalent, total_order};
use tanglewood_model::id::{CHUNK_COUNT_MAX, EDGE_SLOT_COUNT_MAX, EDGE_TYPE_COUNT_MAX};
use tanglewood_model::point::{component as of_point, crs_name, distance, from_map, within_box};
use tanglewood_model::temporal::{Duration, component};
use tanglewood_model::value::{Map, Point};
use tanglewood_model::{EdgeId, EdgeTypeId, Nulls, Value, VertexId};

fn duration(months: i64, days: i64, seconds: i64, nanos: u32) -> Value {
    Duration { months, days, seconds, nanos }.into()
}

#[test]
fn every_component_of_a_duration() {
    let value = duration(35, 17, 93_784, 123_456_789);
    let table: [(&str, i64); 22] = [
        ("years", 2),
        ("quarters", 11),
        ("months", 35),
        ("weeks", 2),
        ("days", 17),
        ("hours", 26),
        ("minutes", 1_563),
        ("seconds", 93_784),
        ("milliseconds", 93_784_123),
        ("microseconds", 93_784_123_456),
        ("nanoseconds", 93_784_123_456_789),
        ("quartersOfYear", 3),
        ("monthsOfQuarter", 2),
        ("monthsOfYear", 11),
        ("daysOfWeek", 3),
        ("hoursOfDay", 2),
        ("minutesOfHour", 3),
        ("secondsOfMinute", 4),
        ("millisecondsOfSecond", 123),
        ("microsecondsOfSecond", 123_456),
        ("nanosecondsOfSecond", 123_456_789),
        ("years", 2),
    ];
    for (name, right) in table {
        assert_eq!(component(&value, name).unwrap().as_int(), Some(right), "{name}");
    }
    assert!(component(&value, "fortnights").is_err());
    // Parts below zero: milliseconds and microseconds are rounded down, as the whole is.
    let below = duration(0, 0, -1, 999_999_999);
    for (name, right) in [("milliseconds", -1), ("microseconds", -1), ("nanoseconds", -1)] {
        assert_eq!(component(&below, name).unwrap().as_int(), Some(right), "{name}");
    }
}

#[test]
fn durations_are_ordered_by_their_average_length() {
    let ordered = [
        duration(0, 0, 0, 0),
        duration(0, 0, 0, 1),
        duration(0, 0, 86_399, 999_999_999),
        duration(0, 1, 0, 0),
        duration(0, 30, 0, 0),
        // A month is 30 days and something less than half a day.
        duration(0, 30, 37_745, 0),
        duration(1, 0, 0, 0),
        duration(0, 30, 37_747, 0),
        duration(0, 31, 0, 0),
        duration(12, 0, 0, 0),
    ];
    for pair in ordered.windows(2) {
        assert_eq!(total_order(&pair[0], &pair[1]), Ordering::Less, "{pair:?}");
        assert_eq!(total_order(&pair[1], &pair[0]), Ordering::Greater, "{pair:?}");
    }
}

#[test]
fn what_has_no_order_compares_as_null() {
    let point = Value::Point(Arc::new(Point { srid: 7203, x: 1.0, y: 2.0, z: None }));
    let unordered = [duration(0, 1, 0, 0), Value::map([("a", Value::from(1i64))]), point, Value::Null];
    for value in &unordered {
        assert_eq!(compare(value, value), None, "{value:?}");
        assert_eq!(compare(value, &Value::from(1i64)), None, "{value:?}");
        assert_eq!(compare(&Value::from(1i64), value), None, "{value:?}");
    }
    let texts = (Value::from("a"), Value::from("b"));
    assert_eq!(compare(&texts.0, &texts.1), Some(Ordering::Less));
    assert_eq!(compare(&texts.0, &Value::from(1i64)), None);
    assert_eq!(compare(&true.into(), &false.into()), Some(Ordering::Greater));
    let list = |items: &[i64]| Value::list(items.iter().map(|item| Value::from(*item)).collect());
    for (a, b, order) in [
        (list(&[1, 2]), list(&[1, 3]), Ordering::Less),
        (list(&[1, 2]), list(&[1]), Ordering::Greater),
        (list(&[1]), list(&[1]), Ordering::Equal),
        (list(&[]), list(&[0]), Ordering::Less),
    ] {
        assert_eq!(compare(&a, &b), Some(order), "{a:?} {b:?}");
    }
}

#[test]
fn numbers_are_equal_across_their_types_and_nothing_equals_null() {
    let (one, whole) = (Value::from(1i64), Value::from(1.0));
    assert_eq!(equals(&one, &whole), Some(true));
    assert!(equivalent(&one, &whole) && equivalent(&Value::Null, &Value::Null));
    assert_eq!(equals(&Value::Null, &Value::Null), None);
    assert_eq!(equals(&Value::from(f64::NAN), &Value::from(f64::NAN)), Some(false));
    assert!(equivalent(&Value::from(f64::NAN), &Value::from(f64::NAN)));
    // 2^53 + 1 is no float: the nearest one is not equal to it.
    let large = (1i64 << 53) + 1;
    assert_eq!(equals(&Value::from(large), &Value::from(large as f64)), Some(false));
    assert_eq!(compare(&Value::from(large), &Value::from(large as f64)), Some(Ordering::Greater));
}

fn map(pairs: &[(&str, Value)]) -> Map {
    pairs.iter().map(|(key, value)| (Arc::from(*key), value.clone())).collect()
}

fn point(pairs: &[(&str, Value)]) -> Point {
    from_map(&map(pairs)).unwrap().unwrap()
}

fn plane(x: f64, y: f64) -> Point {
    point(&[("x", x.into()), ("y", y.into())])
}

fn globe(longitude: f64, latitude: f64) -> Point {
    point(&[("longitude", longitude.into()), ("latitude", latitude.into())])
}

#[test]
fn points_from_maps() {
    assert_eq!(plane(1.5, -2.0), Point { srid: 7203, x: 1.5, y: -2.0, z: None });
    let in_space = point(&[("x", 1i64.into()), ("y", 2i64.into()), ("z", 3i64.into())]);
    assert_eq!(in_space, Point { srid: 9157, x: 1.0, y: 2.0, z: Some(3.0) });
    assert_eq!(globe(12.5, 55.7), Point { srid: 4326, x: 12.5, y: 55.7, z: None });
    let high = point(&[("longitude", 1i64.into()), ("latitude", 2i64.into()), ("height", 9i64.into())]);
    assert_eq!(high, Point { srid: 4979, x: 1.0, y: 2.0, z: Some(9.0) });
    let named = point(&[("x", 1i64.into()), ("y", 2i64.into()), ("crs", "WGS-84".into())]);
    assert_eq!(named.srid, 4326);
    for (srid, name) in [(7203i64, "cartesian"), (4326, "WGS-84")] {
        let xy = [("x", 1i64.into()), ("y", 2i64.into())];
        assert_eq!(point(&[xy.clone().as_slice(), &[("srid", srid.into())]].concat()).srid, srid as u32);
        assert_eq!(point(&[xy.as_slice(), &[("crs", name.into())]].concat()).srid, srid as u32);
    }
    // A longitude beyond half the globe is one on the other side.
    for (given, right) in [(190.0, -170.0), (-190.0, 170.0), (180.0, 180.0), (540.0, -180.0)] {
        assert_eq!(globe(given, 0.0).x, right, "{given}");
    }
    assert_eq!(plane(190.0, 0.0).x, 190.0, "the plane has no other side");
    assert_eq!(from_map(&map(&[("x", 1i64.into()), ("y", Value::Null)])).unwrap(), None);
    for wrong in [
        map(&[("x", 1i64.into())]),
        map(&[("x", 1i64.into()), ("y", "2".into())]),
        map(&[("x", 1i64.into()), ("y", 2i64.into()), ("colour", 3i64.into())]),
        map(&[("longitude", 1i64.into()), ("latitude", 91i64.into())]),
        map(&[("longitude", 1i64.into()), ("latitude", (-90.5).into())]),
        map(&[("x", 1i64.into()), ("y", 2i64.into()), ("crs", "moon".into())]),
        map(&[("x", 1i64.into()), ("y", 2i64.into()), ("srid", 1i64.into())]),
        map(&[("x", 1i64.into()), ("y", 2i64.into()), ("srid", "7203".into()), ("crs", "cartesian".into())]),
        map(&[("x", 1i64.into()), ("y", 2i64.into()), ("srid", 9157i64.into())]),
        map(&[("x", 1i64.into()), ("y", 2i64.into()), ("crs", 7203i64.into())]),
        map(&[("x", 1i64.into()), ("y", 2i64.into()), ("z", 3i64.into()), ("crs", "wgs-84".into())]),
        map(&[("longitude", 1i64.into()), ("latitude", 2i64.into()), ("crs", "cartesian".into())]),
    ] {
        assert!(from_map(&wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn components_of_points() {
    let place = globe(12.5, 55.7);
    for (name, right) in [("x", 12.5), ("y", 55.7), ("longitude", 12.5), ("latitude", 55.7)] {
        assert!(matches!(of_point(&place, name).unwrap(), Value::Float(found) if found == right), "{name}");
    }
    assert!(of_point(&place, "z").unwrap().is_null() && of_point(&place, "height").unwrap().is_null());
    assert_eq!(of_point(&place, "crs").unwrap().as_str(), Some("wgs-84"));
    assert_eq!(of_point(&place, "srid").unwrap().as_int(), Some(4326));
    assert!(of_point(&plane(1.0, 2.0), "longitude").is_err() && of_point(&place, "colour").is_err());
    let names = [7203, 9157, 4326, 4979, 1].map(crs_name);
    assert_eq!(names, ["cartesian", "cartesian-3d", "wgs-84", "wgs-84-3d", "unknown"]);
    assert_eq!(plane(1.0, 2.0).to_string(), "point({x: 1.0, y: 2.0, crs: 'cartesian'})");
    for name in ["longitude", "latitude", "height"] {
        assert!(of_point(&plane(1.0, 2.0), name).is_err() && of_point(&place, name).is_ok(), "{name}");
    }
}

#[test]
fn distances() {
    assert_eq!(distance(&plane(1.0, 2.0), &plane(4.0, 6.0)), Some(5.0));
    let (low, high) = (
        point(&[("x", 0i64.into()), ("y", 0i64.into()), ("z", 1i64.into())]),
        point(&[("x", 3i64.into()), ("y", 4i64.into()), ("z", 13i64.into())]),
    );
    assert_eq!(distance(&low, &high), Some(13.0));
    assert_eq!(distance(&plane(0.0, 0.0), &globe(0.0, 0.0)), None);
    // A quarter, and a half, of the circumference of a globe with this radius.
    let quarter = 6_378_140.0 * std::f64::consts::FRAC_PI_2;
    let near = |found: Option<f64>, right: f64| (found.unwrap() - right).abs() < 1e-3 * right;
    assert!(near(distance(&globe(0.0, 0.0), &globe(90.0, 0.0)), quarter));
    assert!(near(distance(&globe(0.0, 0.0), &globe(0.0, 90.0)), quarter));
    assert!(near(distance(&globe(0.0, 0.0), &globe(180.0, 0.0)), 2.0 * quarter));
    assert!(near(distance(&globe(10.0, 60.0), &globe(20.0, 60.0)), 556_068.0));
    let above = |height: f64| {
        point(&[("longitude", 0i64.into()), ("latitude", 0i64.into()), ("height", height.into())])
    };
    assert_eq!(distance(&above(5.0), &above(12.0)), Some(7.0));
    // On a way so high, the globe is so much larger: as high as the mean of both ends.
    let at = |longitude: f64, height: f64| {
        point(&[("longitude", longitude.into()), ("latitude", 0i64.into()), ("height", height.into())])
    };
    let (low, high) = (1_000_000.0, 3_000_000.0);
    let ground = (6_378_140.0 + 2_000_000.0) * std::f64::consts::FRAC_PI_2;
    assert!(near(distance(&at(0.0, low), &at(90.0, high)), ground.hypot(high - low)));
}

#[test]
fn boxes() {
    let (low, high) = (plane(0.0, 0.0), plane(2.0, 3.0));
    for (x, y, right) in [
        (1.0, 1.0, true),
        (0.0, 3.0, true),
        (2.1, 1.0, false),
        (-0.1, 1.0, false),
        (1.0, 3.1, false),
        (1.0, -0.1, false),
    ] {
        assert_eq!(within_box(&plane(x, y), &low, &high), Some(right), "{x} {y}");
    }
    assert_eq!(within_box(&globe(1.0, 1.0), &low, &high), None);
    assert_eq!(within_box(&plane(1.0, 1.0), &low, &globe(2.0, 3.0)), None);
    assert_eq!(within_box(&plane(1.0, 1.0), &globe(0.0, 0.0), &high), None);
    // The plane has no other side: a box the wrong way round is empty, and one without a width is a line.
    assert_eq!(within_box(&plane(3.0, 1.0), &plane(2.0, 0.0), &plane(0.0, 3.0)), Some(false));
    assert_eq!(within_box(&globe(1.0, 0.0), &globe(0.0, -1.0), &globe(0.0, 1.0)), Some(false));
    let high_up = |z: f64| point(&[("x", 1i64.into()), ("y", 1i64.into()), ("z", z.into())]);
    for (z, right) in [(0.9, false), (1.0, true), (2.0, true), (2.1, false)] {
        assert_eq!(within_box(&high_up(z), &high_up(1.0), &high_up(2.0)), Some(right), "{z}");
    }
    // A box over the 180th meridian.
    let (west, east) = (globe(170.0, -10.0), globe(-170.0, 10.0));
    for (longitude, right) in [(175.0, true), (-175.0, true), (0.0, false), (169.0, false), (-169.0, false)] {
        assert_eq!(within_box(&globe(longitude, 0.0), &west, &east), Some(right), "{longitude}");
    }
}

#[test]
fn ids_hold_the_parts_they_are_made_of() {
    let chunks = [0, 1, 7, 0xA_5A5A, (1 << 20) - 1];
    for (chunk, slot) in chunks.into_iter().flat_map(|chunk| [0, 1, 0x5A5, 4_095].map(|slot| (chunk, slot))) {
        let vertex = VertexId::new(chunk, slot);
        assert_eq!((vertex.chunk(), vertex.slot()), (chunk, slot));
        assert_eq!(VertexId::from_dense(vertex.dense()), vertex);
        for edge_type in [0, 1, 0x15A5, (1 << 14) - 1] {
            let edge = EdgeId::new(chunk, EdgeTypeId(edge_type), u32::from(slot) << 14 | 5);
            let parts = (edge.chunk(), edge.edge_type().0, edge.slot());
            assert_eq!(parts, (chunk, edge_type, u32::from(slot) << 14 | 5));
        }
    }
    assert_eq!((CHUNK_COUNT_MAX, EDGE_TYPE_COUNT_MAX, EDGE_SLOT_COUNT_MAX), (1 << 20, 1 << 14, 1 << 26));
}

#[test]
fn nulls_are_rows_beyond_a_word_as_well() {
    let rows = [0usize, 1, 63, 64, 65, 127, 128, 200, 4_095];
    let mut nulls = Nulls::none();
    assert!(nulls.is_empty());
    for row in rows {
        assert!(!nulls.contains(row));
        nulls.set(row);
    }
    // What is null stays so, however often it is said.
    nulls.set(rows[3]);
    assert!(!nulls.is_empty());
    for row in 0..5_000 {
        assert_eq!(nulls.contains(row), rows.contains(&row), "{row}");
    }
}
