//! The heap bytes that a value reports are those of the allocator.

use std::sync::Arc;
use tanglewood_model::temporal::Duration;
use tanglewood_model::value::{Map, Path, Point};
use tanglewood_model::{Batch, CHUNK_SLOTS, Column, EdgeId, EdgeRef, Value, VertexId};

/// Rounding of sizes.
const SLACK_BYTES: usize = 16;

#[track_caller]
fn check(make: impl FnOnce() -> Value) {
    weigh(make, |value| (value.heap_bytes(), format!("{:?}", value.value_type())));
}

#[track_caller]
fn weigh<T>(make: impl FnOnce() -> T, told: impl Fn(&T) -> (usize, String)) {
    let before = heap::held_by_thread();
    let made = make();
    let given = usize::try_from(heap::held_by_thread() - before).unwrap();
    let (says, kind) = told(&made);
    assert!(says + SLACK_BYTES >= given * 9 / 10, "{kind} holds {given} bytes and says {says}");
    assert!(says <= given * 2 + SLACK_BYTES, "{kind} holds {given} bytes and says {says}");
}

fn map(entries: usize) -> Map {
    // Keys are made here, so they count; those of a query are shared with its text.
    (0..entries).map(|n| (Arc::from(format!("key number {n:04}").as_str()), Value::from(n as i64))).collect()
}

fn vertex(slot: usize) -> VertexId {
    VertexId::new(1, (slot % CHUNK_SLOTS) as u16)
}

fn edge(number: usize) -> EdgeRef {
    EdgeRef { id: EdgeId(number as u64), source: vertex(number), target: vertex(number + 1) }
}

#[test]
fn plain_values_hold_nothing() {
    for value in [Value::Null, true.into(), Value::from(7i64), 1.5.into(), vertex(4).into()] {
        assert_eq!(value.heap_bytes(), 0, "{value:?}");
    }
}

#[test]
fn texts_and_bytes() {
    for length in [0, 1, 7, 8, 100, 10_000] {
        check(|| Value::String("x".repeat(length).into()));
        check(|| Value::Bytes(vec![7u8; length].into()));
    }
}

#[test]
fn boxed_values() {
    check(|| Value::Point(Arc::new(Point { srid: 7203, x: 1.0, y: 2.0, z: None })));
    check(|| Duration { months: 1, days: 2, seconds: 3, nanos: 4 }.into());
    check(|| edge(3).into());
}

#[test]
fn lists() {
    for length in [0i64, 1, 2, 100, 5_000] {
        check(|| Value::list((0..length).map(Value::from).collect::<Vec<_>>()));
        check(|| Value::list((0..length).map(|n| Value::from(format!("text {n}"))).collect::<Vec<_>>()));
        check(|| Value::list((0..length).map(|n| Value::list(vec![Value::from(n); 3])).collect::<Vec<_>>()));
    }
    // What is reserved and not used is held as well.
    check(|| {
        let mut values = Vec::with_capacity(1_000);
        values.push(Value::from(1i64));
        Value::list(values)
    });
}

#[test]
fn maps() {
    for entries in [0, 1, 2, 11, 12, 40, 5_000] {
        check(|| Value::map(map(entries)));
        check(|| Value::list((0..20).map(|_| Value::map(map(entries.min(50)))).collect::<Vec<_>>()));
    }
}

#[test]
fn paths() {
    for edges in [0, 1, 5, 1_000] {
        check(|| {
            let (vertices, edges) = ((0..=edges).map(vertex).collect(), (0..edges).map(edge).collect());
            Value::Path(Arc::new(Path { vertices, edges }))
        });
    }
}

#[test]
fn columns_and_batches() {
    let of = |value: fn(u64) -> Value, rows: u64| (0..rows).map(value).collect::<Column>();
    let forms: [fn(u64) -> Value; 8] = [
        |n| Value::Bool(n % 2 == 0),
        |n| Value::from(n as i64),
        |n| Value::from(n as f64),
        |n| Value::from(format!("text {n}")),
        |n| vertex(n as usize).into(),
        |n| Value::edge(edge(n as usize)),
        |n| Value::list(vec![Value::from(n as i64); 3]),
        |n| if n % 2 == 0 { Value::Null } else { Value::from(format!("a longer text, of row number {n}")) },
    ];
    for rows in [1_000, 1_024, 5_000] {
        for form in forms {
            let kind = format!("a column like {:?}", form(0));
            weigh(|| of(form, rows), |column| (column.bytes(), kind.clone()));
            let batch = Batch::new(vec![of(form, rows)], rows as usize);
            let maps = |batch: &Batch| batch.select((0..2_000).map(|row| row % rows as u32).collect());
            // The columns are shared: what a selection adds is its map.
            let shared = batch.column(0).column().bytes();
            weigh(|| maps(&batch), |batch| (batch.bytes() - shared, "a map of rows".into()));
        }
        weigh(|| of(|_| Value::Null, rows), |column| (column.bytes(), "nulls".into()));
    }
}
