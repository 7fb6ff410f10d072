//! One line of all values: every pair of it beside its places, for each of the relations that values have.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tanglewood_model::compare::{GroupKey, OrderKey, compare, equals, equivalent, hash_value, total_order};
use tanglewood_model::temporal::build::from_text;
use tanglewood_model::temporal::{Duration, Kind};
use tanglewood_model::value::{Path, Point};
use tanglewood_model::{EdgeId, EdgeRef, Value, ValueType, VertexId};

fn edge(number: u64) -> EdgeRef {
    EdgeRef { id: EdgeId(number), source: VertexId(number + 7), target: VertexId(3) }
}

fn path(vertices: &[u64]) -> Value {
    let edges = (1..vertices.len() as u64).map(edge).collect();
    Value::Path(Arc::new(Path { vertices: vertices.iter().map(|at| VertexId(*at)).collect(), edges }))
}

fn point(srid: u32, x: f64, y: f64, z: Option<f64>) -> Value {
    Value::Point(Arc::new(Point { srid, x, y, z }))
}

fn instants(kind: Kind, texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| from_text(kind, text).unwrap()).collect()
}

fn duration(months: i64, days: i64, seconds: i64, nanos: u32) -> Value {
    Duration { months, days, seconds, nanos }.into()
}

fn list(items: &[Value]) -> Value {
    Value::list(items.to_vec())
}

fn map(pairs: &[(&str, Value)]) -> Value {
    Value::map(pairs.iter().map(|(key, value)| (*key, value.clone())))
}

/// All values of the tests in ascending order; those of one place are equivalent.
fn line() -> Vec<Vec<Value>> {
    let one = |values: Vec<Value>| values.into_iter().map(|value| vec![value]).collect::<Vec<_>>();
    let least = -9_223_372_036_854_775_808.0;
    let int = |value: i64| Value::Int(value);
    let zoned = [
        "2020-01-01T12:00:00Z",
        "2020-01-01T13:00:00+01:00",
        "2020-01-01T12:00:00.000000001Z",
        "2020-06-01T12:00:00+02:00",
        "2020-06-01T12:00:00+02:00[Europe/Berlin]",
        "2020-06-01T12:00:00+02:00[Europe/Stockholm]",
    ];
    let numbers = vec![
        vec![Value::Float(f64::NEG_INFINITY)],
        vec![Value::Float(-1e300)],
        vec![Value::Float(least * 2.0)],
        vec![int(i64::MIN), Value::Float(least)],
        vec![int(i64::MIN + 1)],
        vec![int(-1), Value::Float(-1.0)],
        vec![Value::Float(-0.5)],
        vec![int(0), Value::Float(0.0), Value::Float(-0.0)],
        vec![Value::Float(0.5)],
        vec![int(1), Value::Float(1.0)],
        vec![int(1 << 53), Value::Float(9_007_199_254_740_992.0)],
        vec![int((1 << 53) + 1)],
        vec![int(i64::MAX)],
        vec![Value::Float(-least)],
        vec![Value::Float(1e300)],
        vec![Value::Float(f64::INFINITY)],
        vec![Value::Float(f64::NAN), Value::Float(-f64::NAN)],
    ];
    [
        one(vec![
            map(&[]),
            map(&[("a", int(1))]),
            map(&[("a", int(2))]),
            map(&[("a", int(2)), ("b", int(0))]),
            map(&[("a", int(2)), ("b", Value::Null)]),
            map(&[("b", int(0))]),
        ]),
        one(vec![Value::Vertex(VertexId(1)), Value::Vertex(VertexId(2))]),
        one(vec![edge(1).into(), edge(2).into()]),
        one(vec![
            list(&[]),
            list(&[list(&[])]),
            list(&[int(1)]),
            list(&[int(1), int(0)]),
            list(&[int(2)]),
            list(&[int(2), Value::Null]),
            list(&[Value::Null]),
        ]),
        vec![vec![
            list(&[Value::Null, Value::Float(f64::NAN)]),
            list(&[Value::Null, Value::Float(f64::NAN)]),
        ]],
        one(vec![path(&[1]), path(&[1, 2]), path(&[2])]),
        one(vec![
            point(4326, 1.0, 2.0, None),
            point(7203, 1.0, 2.0, None),
            point(7203, 1.0, 3.0, None),
            point(7203, 2.0, 0.0, None),
            point(7203, f64::NAN, 0.0, None),
            point(9157, 0.0, 0.0, Some(-1.0)),
        ]),
        vec![vec![point(9157, 0.0, 0.0, Some(0.0)), point(9157, -0.0, 0.0, Some(-0.0))]],
        one(vec![point(9157, 0.0, 0.0, Some(2.0))]),
        one(instants(Kind::DateTime, &zoned)),
        one(instants(
            Kind::LocalDateTime,
            &["1969-12-31T23:59:59", "2020-01-01T00:00", "2020-01-01T00:00:01"],
        )),
        one(instants(Kind::Date, &["-0001-01-01", "1969-12-31", "2020-02-29"])),
        one(instants(
            Kind::Time,
            &["12:00+02:00", "10:30Z", "11:00Z", "12:00+01:00", "11:00:00.5Z", "00:00-12:00"],
        )),
        one(instants(Kind::LocalTime, &["00:00", "00:00:00.000000001", "23:59"])),
        one(vec![
            duration(0, 0, -1, 999_999_999),
            duration(0, 0, 0, 0),
            duration(0, 0, 86_400, 0),
            duration(0, 1, 0, 0),
            duration(0, 30, 37_746, 0),
            duration(1, 0, 0, 0),
            duration(1, 0, 0, 1),
        ]),
        one(["", "A", "a", "aa", "é", "日"].map(Value::from).to_vec()),
        one(vec![false.into(), true.into()]),
        numbers,
        one([&[][..], &[0], &[0, 1], &[1]].map(|bytes| Value::Bytes(bytes.into())).to_vec()),
        one(vec![Value::Null]),
    ]
    .concat()
}

fn hash_of(work: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut state = DefaultHasher::new();
    work(&mut state);
    state.finish()
}

#[test]
fn all_values_stand_in_one_line() {
    let line = line();
    for (at, here) in line.iter().enumerate() {
        for (other, there) in line.iter().enumerate() {
            for (a, b) in here.iter().flat_map(|a| there.iter().map(move |b| (a, b))) {
                let order = at.cmp(&other);
                assert_eq!(total_order(a, b), order, "{a:?} {b:?}");
                assert_eq!(equivalent(a, b), at == other, "{a:?} {b:?}");
                let (x, y) = (OrderKey(a.clone()), OrderKey(b.clone()));
                assert_eq!((x.cmp(&y), x.partial_cmp(&y), x == y), (order, Some(order), at == other));
                let (x, y) = (GroupKey(a.clone()), GroupKey(b.clone()));
                assert_eq!(x == y, at == other, "{a:?} {b:?}");
                let of_keys = hash_of(|state| x.hash(state)) == hash_of(|state| y.hash(state));
                let of_values =
                    hash_of(|state| hash_value(a, state)) == hash_of(|state| hash_value(b, state));
                // Points are told apart by two coordinates, edges by their ids.
                let heights =
                    matches!((a, b), (Value::Point(a), Value::Point(b)) if a.srid == b.srid && a.z.is_some());
                assert!(of_values == (at == other) || heights, "{a:?} {b:?}");
                assert_eq!(of_keys, of_values);
            }
        }
    }
}

/// Is something in it that equals nothing, not even itself?
fn holds_nan(value: &Value) -> bool {
    match value {
        Value::Float(float) => float.is_nan(),
        Value::Point(point) => point.x.is_nan(),
        _ => false,
    }
}

/// What `=` answers, by the definition of openCypher.
fn equality(a: &Value, b: &Value, same_place: bool) -> Option<bool> {
    let all = |pairs: Vec<(&Value, &Value)>| {
        let each: Vec<_> = pairs.into_iter().map(|(a, b)| equality(a, b, equivalent(a, b))).collect();
        if each.contains(&Some(false)) { Some(false) } else { (!each.contains(&None)).then_some(true) }
    };
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::List(x), Value::List(y)) if x.len() == y.len() => all(x.iter().zip(y.iter()).collect()),
        (Value::Map(x), Value::Map(y)) if x.keys().eq(y.keys()) => all(x.values().zip(y.values()).collect()),
        _ => Some(same_place && !holds_nan(a)),
    }
}

/// What `<` and its kin compare: values of one type that has an order, numbers with numbers, and nothing with NaN.
fn comparison(a: &Value, b: &Value) -> Option<Ordering> {
    use ValueType::{Duration, Edge, Float, Int, Map, Null, Path, Point, Vertex};
    let number = |value: &Value| matches!(value.value_type(), Int | Float);
    match (a, b) {
        (Value::List(x), Value::List(y)) => {
            for (a, b) in x.iter().zip(y.iter()) {
                match comparison(a, b)? {
                    Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(x.len().cmp(&y.len()))
        }
        _ if holds_nan(a) || holds_nan(b) => None,
        _ if number(a) && number(b) => Some(total_order(a, b)),
        _ if a.value_type() != b.value_type() => None,
        _ => match a.value_type() {
            Duration | Map | Point | Null | Vertex | Edge | Path => None,
            _ => Some(total_order(a, b)),
        },
    }
}

#[test]
fn equality_and_comparison_know_what_is_unknown() {
    let line = line();
    for (at, here) in line.iter().enumerate() {
        for (other, there) in line.iter().enumerate() {
            for (a, b) in here.iter().flat_map(|a| there.iter().map(move |b| (a, b))) {
                assert_eq!(equals(a, b), equality(a, b, at == other), "{a:?} = {b:?}");
                assert_eq!(compare(a, b), comparison(a, b), "{a:?} < {b:?}");
            }
        }
    }
}

/// Every type has a name of its own, and each stands in the line.
#[test]
fn each_type_has_a_name() {
    let line = line();
    let mut types: Vec<ValueType> = line.iter().flatten().map(Value::value_type).collect();
    types.sort();
    types.dedup();
    assert_eq!(types.len(), 18);
    let mut names: Vec<&str> = types.iter().map(|value_type| value_type.name()).collect();
    assert!(names.iter().all(|name| name.starts_with(char::is_uppercase)));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), types.len());
    for value in line.iter().flatten() {
        assert_eq!(value.as_bool(), if let Value::Bool(truth) = value { Some(*truth) } else { None });
        assert_eq!(value.as_int(), if let Value::Int(int) = value { Some(*int) } else { None });
        assert_eq!(value.as_str(), if let Value::String(text) = value { Some(&**text) } else { None });
        assert_eq!(value.is_null(), matches!(value, Value::Null));
    }
    assert_eq!(Value::from(Some(7i64)).as_int(), Some(7));
    assert!(Value::from(None::<i64>).is_null());
}
