//! Equality, order and grouping of values, as openCypher defines them (chapter "Comparability, equality, orderability and
//! equivalence").
//!
//! Three relations that must not be confused: [`equals`] is ternary (null in, null out; used by `=`), [`total_order`] puts all
//! values in one line (used by ORDER BY, min, max and indexes), [`equivalent`] and [`hash_value`] group (used by DISTINCT and
//! aggregation: null groups with null, NaN with NaN, 1 with 1.0).
//!
//! Walks over lists and maps count their work ([`crate::walk`]), so that the end of a query ends them. A walk that was ended gives any answer; its
//! caller must not use it.

use crate::value::{Map, Value, ValueType};
use crate::walk::{self, PIECE};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// `a = b` in Cypher: `None` where the answer is null.
pub fn equals(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::List(x), Value::List(y)) if x.is_same(y) && x.extent().equals_itself => Some(true),
        (Value::Map(x), Value::Map(y)) if x.is_same(y) && x.extent().equals_itself => Some(true),
        (Value::List(x), Value::List(y)) => equals_all(x.len() == y.len(), x.iter().zip(y.iter())),
        (Value::Map(x), Value::Map(y)) => {
            equals_all(x.len() == y.len() && order_keys(x, y).is_eq(), x.values().zip(y.values()))
        }
        (Value::Float(x), Value::Float(y)) => Some(x == y),
        (Value::Point(x), Value::Point(y)) => Some(x == y),
        _ => Some(total_order(a, b) == Ordering::Equal),
    }
}

fn equals_all<'a>(same_shape: bool, pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    if !same_shape {
        return Some(false);
    }
    let (mut answer, mut steps) = (Some(true), walk::Steps::default());
    for (x, y) in pairs {
        if steps.must_end() {
            return Some(false);
        }
        match equals(x, y) {
            Some(false) => return Some(false),
            None => answer = None,
            Some(true) => {}
        }
    }
    answer
}

/// `a < b` and its kin in Cypher: `None` where the two are not comparable (different types, null, NaN).
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => compare_numbers(a, b),
        (Value::List(x), Value::List(y)) => compare_lists(x, y),
        (Value::Duration(_), _) | (Value::Map(_), _) | (Value::Point(_), _) | (Value::Null, _) => None,
        (Value::Vertex(_) | Value::Edge(_) | Value::Path(_), _) => None,
        _ if a.value_type() == b.value_type() => Some(total_order(a, b)),
        _ => None,
    }
}

fn compare_lists(x: &[Value], y: &[Value]) -> Option<Ordering> {
    let mut steps = walk::Steps::default();
    for (a, b) in x.iter().zip(y.iter()) {
        if steps.must_end() {
            return None;
        }
        match compare(a, b)? {
            Ordering::Equal => {}
            other => return Some(other),
        }
    }
    Some(x.len().cmp(&y.len()))
}

fn compare_numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Float(x), _) if x.is_nan() => None,
        (_, Value::Float(y)) if y.is_nan() => None,
        _ => Some(total_order(a, b)),
    }
}

/// The place of a type in the total order: map, node, relationship, list, path, temporal types, string, boolean, number; null last.
fn type_rank(value_type: ValueType) -> u8 {
    match value_type {
        ValueType::Map => 0,
        ValueType::Vertex => 1,
        ValueType::Edge => 2,
        ValueType::List => 3,
        ValueType::Path => 4,
        ValueType::Point => 5,
        ValueType::DateTime => 6,
        ValueType::LocalDateTime => 7,
        ValueType::Date => 8,
        ValueType::Time => 9,
        ValueType::LocalTime => 10,
        ValueType::Duration => 11,
        ValueType::String => 12,
        ValueType::Bool => 13,
        ValueType::Int | ValueType::Float => 14,
        ValueType::Bytes => 15,
        ValueType::Null => 16,
    }
}

/// One line for all values: ascending ORDER BY. Null is last; NaN is the largest number; 1 and 1.0 are equal.
pub fn total_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::Float(x), Value::Float(y)) => order_floats(*x, *y),
        (Value::Int(x), Value::Float(y)) => order_int_float(*x, *y),
        (Value::Float(x), Value::Int(y)) => order_int_float(*y, *x).reverse(),
        (Value::String(x), Value::String(y)) => x.as_bytes().cmp(y.as_bytes()),
        (Value::Bytes(x), Value::Bytes(y)) => x.cmp(y),
        (Value::Date(x), Value::Date(y)) => x.cmp(y),
        (Value::LocalTime(x), Value::LocalTime(y)) => x.cmp(y),
        (Value::Time(x), Value::Time(y)) => {
            let utc =
                |t: &crate::temporal::ZonedTime| t.nanos as i128 - t.offset_seconds as i128 * 1_000_000_000;
            utc(x).cmp(&utc(y)).then(x.offset_seconds.cmp(&y.offset_seconds))
        }
        (Value::LocalDateTime(x), Value::LocalDateTime(y)) => x.cmp(y),
        (Value::DateTime(x), Value::DateTime(y)) => (x.seconds, x.nanos, x.offset_seconds, &x.zone).cmp(&(
            y.seconds,
            y.nanos,
            y.offset_seconds,
            &y.zone,
        )),
        (Value::Duration(x), Value::Duration(y)) => x
            .approximate_nanos()
            .cmp(&y.approximate_nanos())
            .then((x.months, x.days, x.seconds).cmp(&(y.months, y.days, y.seconds))),
        (Value::Point(x), Value::Point(y)) => x
            .srid
            .cmp(&y.srid)
            .then(order_floats(x.x, y.x))
            .then(order_floats(x.y, y.y))
            .then(order_floats(x.z.unwrap_or(0.0), y.z.unwrap_or(0.0))),
        (Value::List(x), Value::List(y)) if x.is_same(y) => Ordering::Equal,
        (Value::Map(x), Value::Map(y)) if x.is_same(y) => Ordering::Equal,
        (Value::List(x), Value::List(y)) => order_lists(x, y),
        (Value::Map(x), Value::Map(y)) => order_maps(x, y),
        (Value::Vertex(x), Value::Vertex(y)) => x.cmp(y),
        (Value::Edge(x), Value::Edge(y)) => x.id.cmp(&y.id),
        (Value::Path(x), Value::Path(y)) => x.cmp(y),
        _ => type_rank(a.value_type()).cmp(&type_rank(b.value_type())),
    }
}

fn order_lists(x: &[Value], y: &[Value]) -> Ordering {
    order_all(x.iter().zip(y.iter())).unwrap_or_else(|| x.len().cmp(&y.len()))
}

fn order_maps(x: &Map, y: &Map) -> Ordering {
    order_keys(x, y).then_with(|| order_all(x.values().zip(y.values())).unwrap_or(Ordering::Equal))
}

fn order_keys(x: &Map, y: &Map) -> Ordering {
    let mut steps = walk::Steps::default();
    let mut orders = x.keys().zip(y.keys()).map_while(|(a, b)| (!steps.must_end()).then(|| a.cmp(b)));
    orders.find(|order| order.is_ne()).unwrap_or_else(|| x.len().cmp(&y.len()))
}

/// The order of the first two that differ.
fn order_all<'v>(pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> Option<Ordering> {
    let mut steps = walk::Steps::default();
    for (a, b) in pairs {
        if steps.must_end() {
            return Some(Ordering::Equal);
        }
        let order = total_order(a, b);
        if order.is_ne() {
            return Some(order);
        }
    }
    None
}

fn order_floats(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}

/// Exact: an integer beyond 2^53 is not rounded before it is compared.
pub fn order_int_float(x: i64, y: f64) -> Ordering {
    if y.is_nan() || y >= 9_223_372_036_854_775_808.0 {
        Ordering::Less
    } else if y < -9_223_372_036_854_775_808.0 {
        Ordering::Greater
    } else {
        let whole = y.trunc();
        x.cmp(&(whole as i64)).then_with(|| order_floats(0.0, y - whole))
    }
}

/// Do two values fall into one group (DISTINCT, grouping keys)?
pub fn equivalent(a: &Value, b: &Value) -> bool {
    total_order(a, b) == Ordering::Equal
}

/// A hash that agrees with [`equivalent`].
pub fn hash_value<H: Hasher>(value: &Value, state: &mut H) {
    type_rank(value.value_type()).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(x) => x.hash(state),
        Value::Int(x) => x.hash(state),
        Value::Float(x) => hash_float(*x, state),
        Value::String(x) => x.as_bytes().hash(state),
        Value::Bytes(x) => x.hash(state),
        Value::Date(x) => x.hash(state),
        Value::LocalTime(x) => x.hash(state),
        Value::Time(x) => x.hash(state),
        Value::LocalDateTime(x) => x.hash(state),
        Value::DateTime(x) => x.hash(state),
        Value::Duration(x) => x.hash(state),
        Value::Point(x) => {
            x.srid.hash(state);
            hash_float(x.x, state);
            hash_float(x.y, state);
        }
        Value::List(list) => {
            list.len().hash(state);
            for piece in list.chunks(PIECE) {
                if walk::must_end(piece.len()) {
                    return;
                }
                piece.iter().for_each(|value| hash_value(value, state));
            }
        }
        Value::Map(map) => {
            let mut steps = walk::Steps::default();
            for (key, value) in map.iter() {
                if steps.must_end() {
                    return;
                }
                key.hash(state);
                hash_value(value, state);
            }
        }
        Value::Vertex(x) => x.hash(state),
        Value::Edge(x) => x.id.hash(state),
        Value::Path(x) => x.hash(state),
    }
}

fn hash_float<H: Hasher>(x: f64, state: &mut H) {
    let whole = x as i64;
    if x.is_nan() {
        f64::NAN.to_bits().hash(state)
    } else if order_int_float(whole, x).is_eq() {
        whole.hash(state)
    } else {
        x.to_bits().hash(state)
    }
}

impl crate::temporal::Duration {
    /// Nanoseconds with the average month of 2 629 746 seconds and days of 86 400: the order of durations, not their equality.
    pub fn approximate_nanos(&self) -> i128 {
        let seconds = self.months as i128 * 2_629_746 + self.days as i128 * 86_400 + self.seconds as i128;
        seconds * 1_000_000_000 + self.nanos as i128
    }
}

/// A value as a key of a hash map: grouping equality.
#[derive(Clone, Debug)]
pub struct GroupKey(pub Value);

impl PartialEq for GroupKey {
    fn eq(&self, other: &GroupKey) -> bool {
        equivalent(&self.0, &other.0)
    }
}
impl Eq for GroupKey {}
impl Hash for GroupKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_value(&self.0, state)
    }
}

/// A value as a key of an ordered map: the total order.
#[derive(Clone, Debug)]
pub struct OrderKey(pub Value);

impl PartialEq for OrderKey {
    fn eq(&self, other: &OrderKey) -> bool {
        total_order(&self.0, &other.0).is_eq()
    }
}
impl Eq for OrderKey {}
impl PartialOrd for OrderKey {
    fn partial_cmp(&self, other: &OrderKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for OrderKey {
    fn cmp(&self, other: &OrderKey) -> Ordering {
        total_order(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_exactly_across_types() {
        let big = (1i64 << 53) + 1;
        assert_eq!(total_order(&Value::Int(big), &Value::Float(big as f64)), Ordering::Greater);
        assert_eq!(equals(&Value::Int(1), &Value::Float(1.0)), Some(true));
        assert_eq!(equals(&Value::Float(f64::NAN), &Value::Float(f64::NAN)), Some(false));
        assert!(equivalent(&Value::Float(f64::NAN), &Value::Float(f64::NAN)));
        assert_eq!(compare(&Value::Int(1), &Value::Float(f64::NAN)), None);
        assert_eq!(total_order(&Value::Int(0), &Value::Float(-0.5)), Ordering::Greater);
    }

    #[test]
    fn null_is_unknown_in_equality_and_last_in_order() {
        let with_null = Value::list(vec![1.into(), Value::Null]);
        assert_eq!(equals(&with_null, &Value::list(vec![1.into(), 2.into()])), None);
        assert_eq!(equals(&with_null, &Value::list(vec![2.into(), 2.into()])), Some(false));
        assert_eq!(total_order(&Value::Null, &Value::Int(5)), Ordering::Greater);
    }

    /// A tree of two to the `height` leaves, in the memory of one for each level.
    fn tree(height: usize, leaf: i64) -> Value {
        (0..height).fold(Value::list(vec![leaf.into()]), |tree, _| Value::list(vec![tree.clone(), tree]))
    }

    #[test]
    fn walks_end_when_they_are_told_to() {
        use std::cell::Cell;
        thread_local! {
            static CALLS: Cell<Option<u64>> = const { Cell::new(None) };
        }
        // Told to end at the third call, where this test asks; others are not counted.
        walk::ended_by(|| {
            CALLS.with(|calls| {
                let count = calls.get().map(|count| count + 1);
                calls.set(count);
                count.is_some_and(|count| count >= 3)
            })
        });
        let wide = |last: i64| Value::list((0..2_000_000).map(|at| Value::Int(at.min(last))).collect());
        let map = || Value::map((0..300_000).map(|at| (format!("{at}"), Value::Int(at))));
        for (a, b) in [(tree(20, 1), tree(20, 1)), (wide(i64::MAX), wide(i64::MAX)), (map(), map())] {
            let all: [(&str, &dyn Fn()); 4] = [
                ("hash", &|| {
                    hash_value(&a, &mut std::collections::hash_map::DefaultHasher::new());
                }),
                ("order", &|| _ = total_order(&a, &b)),
                ("equality", &|| _ = equals(&a, &b)),
                ("comparison", &|| _ = compare(&a, &b)),
            ];
            for (name, walked) in all {
                if name == "comparison" && matches!(a, Value::Map(_)) {
                    continue;
                }
                CALLS.set(Some(0));
                walked();
                let calls = CALLS.replace(None);
                // Once told, each level on the way out may be told again.
                assert!((3..200).contains(&calls.unwrap_or(0)), "{name}: {calls:?} calls");
                // And whoever asks next is answered in full.
                assert_eq!(total_order(&a, &b), Ordering::Equal, "{name}");
                assert_eq!(equals(&a, &b), Some(true), "{name}");
            }
        }
    }

    #[test]
    fn equivalent_values_hash_alike() {
        let hash = |value: &Value| {
            let mut state = std::collections::hash_map::DefaultHasher::new();
            hash_value(value, &mut state);
            state.finish()
        };
        assert_eq!(hash(&Value::Int(7)), hash(&Value::Float(7.0)));
        assert_eq!(hash(&Value::Float(0.0)), hash(&Value::Float(-0.0)));
    }
}
