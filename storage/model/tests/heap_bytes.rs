//! What a value says that it holds on the heap is what the allocator gave for it.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use tanglewood_model::temporal::Duration;
use tanglewood_model::value::{Map, Path, Point};
use tanglewood_model::{EdgeId, EdgeRef, Value, VertexId};

thread_local! {
    /// Bytes held by this thread; other threads of the harness do not count.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: isize) {
    // While a thread ends there is nothing left to count with.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: everything is passed on to the system's allocator; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rounding of sizes.
const SLACK_BYTES: usize = 16;

#[track_caller]
fn check(make: impl FnOnce() -> Value) {
    let before = HELD.get();
    let value = make();
    let given = usize::try_from(HELD.get() - before).unwrap();
    let says = value.heap_bytes();
    let kind = value.value_type();
    assert!(says + SLACK_BYTES >= given * 9 / 10, "{kind:?} holds {given} bytes and says {says}");
    assert!(says <= given * 2 + SLACK_BYTES, "{kind:?} holds {given} bytes and says {says}");
}

fn map(entries: usize) -> Map {
    // Keys are made here, so they count; those of a query are shared with its text.
    (0..entries).map(|n| (Arc::from(format!("key number {n:04}").as_str()), Value::from(n as i64))).collect()
}

fn vertex(slot: usize) -> VertexId {
    VertexId::new(1, slot as u16)
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
