//! The bytes that a snapshot reports, part by part, are those of the allocator.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use model::schema::{IndexDefinition, IndexId, SchemaTarget};
use model::{Column, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use store::*;

/// Three chunks.
const ROWS: usize = 3 * model::CHUNK_SLOTS;
const KEY: KeyId = KeyId(0);
const TYPE: EdgeTypeId = EdgeTypeId(0);
/// Heads of things: a few for each chunk.
const SLACK_BYTES: f64 = 4_096.0;

fn one_after_the_other(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(task);
}

/// Vertices with these columns, and edges.
fn built(columns: Vec<(KeyId, Column)>, edges: Vec<(u32, u32)>, own: Vec<(KeyId, Column)>) -> Store {
    let store = Store::new(StoreOptions::default());
    let label = store.names().intern_label("L").unwrap();
    store.names().intern_edge_type("T").unwrap();
    store.names().intern_key("k").unwrap();
    store.names().intern_key("l").unwrap();
    let set = store.names().intern_label_set(&[label]).unwrap();
    let bulk = Bulk::new(store.allocator());
    bulk.vertices(set, ROWS, columns).unwrap();
    if !edges.is_empty() {
        bulk.edges(TYPE, edges, own).unwrap();
    }
    bulk.seal().unwrap();
    let next = bulk.finish(&store.current(), 1, &one_after_the_other).unwrap();
    store.publish(next);
    store
}

/// What the allocator gave for something, and what it says that one of its parts has.
fn weigh<T>(make: impl FnOnce() -> T, told: impl Fn(&T) -> usize) -> (f64, f64, T) {
    let before = heap::held_by_thread();
    let made = make();
    ((heap::held_by_thread() - before) as f64, told(&made) as f64, made)
}

/// What is added by `with` to `without`, as it says and as it is.
fn is_told(name: &str, without: (f64, f64), with: (f64, f64), least: f64, most: f64) {
    let (given, told) = (with.0 - without.0, with.1 - without.1);
    assert!(
        told >= given * least - SLACK_BYTES && told <= given * most + SLACK_BYTES,
        "{name} holds {given} bytes and says {told}"
    );
    assert!(given > 8.0 * SLACK_BYTES, "{name} is too small to tell: {given}");
}

/// A value by its row.
type Form = fn(usize) -> Value;

const FORMS: [(&str, Form); 7] = [
    ("integers", |row| Value::Int(row as i64 * 7)),
    ("floats", |row| Value::Float(row as f64)),
    ("texts", |row| Value::string(format!("a text of its own, {row}"))),
    ("few texts", |row| Value::string(format!("one of a few, {}", row % 7))),
    ("lists", |row| Value::list(vec![Value::Int(row as i64); 3])),
    ("mixed", |row| if row % 2 == 0 { Value::Int(1) } else { Value::string(format!("text {row}")) }),
    ("bytes", |row| Value::Bytes(vec![7; row % 50].into())),
];

/// All rows have a value, half of them, one in twenty.
const PRESENT: [usize; 3] = [1, 2, 20];

fn column(form: Form, every: usize, rows: usize) -> Column {
    (0..rows).map(|row| if row % every == 0 { form(row) } else { Value::Null }).collect()
}

#[test]
fn columns_of_vertices_and_edges() {
    let plain = || built(Vec::new(), Vec::new(), Vec::new());
    let (given, told, _store) = weigh(plain, |store| store.current().memory().vertex_property_bytes);
    let pairs = || (0..40_000_u32).map(|n| (n % ROWS as u32, n * 7 % ROWS as u32)).collect::<Vec<_>>();
    let bare = || built(Vec::new(), pairs(), Vec::new());
    let (edges_given, edges_told, _store) = weigh(bare, |store| store.current().memory().edge_property_bytes);
    for (name, form) in FORMS {
        for every in PRESENT {
            let name = format!("{name}, one in {every}");
            let make = || built(vec![(KEY, column(form, every, ROWS))], Vec::new(), Vec::new());
            let (with, says, store) = weigh(make, |store| store.current().memory().vertex_property_bytes);
            let memory = store.current().memory();
            assert_eq!(memory.total_bytes(), memory.vertex_property_bytes + memory.adjacency_bytes, "{name}");
            if with - given > 8.0 * SLACK_BYTES {
                is_told(&name, (given, told), (with, says), 0.9, 1.1);
            } else {
                assert!(says <= 8.0 * SLACK_BYTES);
            }
            drop(store);
            let make = || built(Vec::new(), pairs(), vec![(KEY, column(form, every, 40_000))]);
            let (with, says, _store) = weigh(make, |store| store.current().memory().edge_property_bytes);
            if with - edges_given > 8.0 * SLACK_BYTES {
                is_told(&format!("edges: {name}"), (edges_given, edges_told), (with, says), 0.9, 1.1);
            }
        }
    }
}

/// Truth values are bits.
#[test]
fn truths_are_told_as_bits() {
    let store = built(vec![(KEY, column(|row| Value::Bool(row % 3 == 0), 1, ROWS))], Vec::new(), Vec::new());
    assert_eq!(store.current().memory().vertex_property_bytes, ROWS / 8);
    let store = built(vec![(KEY, column(|_| Value::Bool(true), 2, ROWS))], Vec::new(), Vec::new());
    assert_eq!(store.current().memory().vertex_property_bytes, 2 * ROWS / 8);
    let store = built(vec![(KEY, column(|_| Value::Int(1), 16, ROWS))], Vec::new(), Vec::new());
    assert_eq!(store.current().memory().vertex_property_bytes, ROWS / 16 * (4 + 8));
}

#[test]
fn tables_of_edges() {
    let plain = || built(Vec::new(), Vec::new(), Vec::new());
    let (given, told, _store) = weigh(plain, |store| store.current().memory().adjacency_bytes);
    // A few edges of every vertex; and so many of one chunk that their numbers no longer have 16 bits.
    for (name, count, sources) in [("few", 40_000_u32, ROWS as u32), ("many", 150_000, 4_096)] {
        let pairs = (0..count).map(|n| (n % sources, n * 7 % ROWS as u32)).collect::<Vec<_>>();
        let make = || built(Vec::new(), pairs.clone(), Vec::new());
        let (with, says, store) = weigh(make, |store| store.current().memory().adjacency_bytes);
        is_told(name, (given, told), (with, says), 0.9, 1.1);
        // An edge that is asked for by its number has its table find it: that takes a place for each.
        let snapshot = store.current();
        let view = snapshot.adjacency(&[TYPE], model::Direction::Out);
        let mut scratch = EdgeScratch::default();
        let edges: Vec<u64> = (0..3).flat_map(|n| view.edges(n, &mut scratch).unwrap().1.to_vec()).collect();
        drop(view);
        let (more, told_more, ()) = weigh(
            || edges.iter().for_each(|edge| assert!(snapshot.edge(EdgeId(*edge)).unwrap().is_some())),
            |()| snapshot.memory().adjacency_bytes,
        );
        assert!((told_more - says - more).abs() <= SLACK_BYTES, "{name}: {} and {more}", told_more - says);
    }
}

/// A change by its number.
type Make = fn(u32) -> Change;

/// Changes in memory: their account is rough, and not the double nor the half.
#[test]
fn changes_that_are_not_compacted() {
    let changes: [(&str, Make); 4] = [
        ("integers", |n| Change::SetProperty { id: VertexId::from_dense(n), key: KEY, value: Value::Int(7) }),
        ("texts", |n| {
            let value = Value::string(format!("a text that is rather long, of row {n:05}"));
            Change::SetProperty { id: VertexId::from_dense(n), key: KEY, value }
        }),
        ("edges", |n| {
            let (source, target) = (VertexId::from_dense(n % 4_096), VertexId::from_dense(4_096 + n));
            let edge = EdgeRef { id: EdgeId::new(0, TYPE, n), source, target };
            Change::CreateEdge { edge, properties: Vec::new() }
        }),
        ("edges of a hub", |n| {
            let (source, target) = (VertexId::from_dense(7), VertexId::from_dense(4_096 + n));
            let edge = EdgeRef { id: EdgeId::new(0, TYPE, n), source, target };
            Change::CreateEdge { edge, properties: vec![(KEY, Value::Int(n as i64))] }
        }),
    ];
    for (name, change) in changes {
        let store = built(Vec::new(), Vec::new(), Vec::new());
        let before = store.current();
        let list: Vec<Change> = (0..900).map(change).collect();
        let (given, told, after) =
            weigh(|| before.apply(2, &[&list]).unwrap(), |after| after.memory().delta_bytes);
        assert!(after.memory().total_bytes() as f64 >= told);
        // What it compacted instead is in no delta.
        if told > 0.0 {
            assert!(told >= given * 0.4 && told <= given * 2.5, "{name} hold {given} bytes and say {told}");
        }
    }
}

#[test]
fn indexes() {
    for ((name, form), width) in FORMS.into_iter().flat_map(|form| [(form, 1), (form, 2)]) {
        let keys: Vec<KeyId> = (0..width).map(KeyId).collect();
        let columns = keys.iter().map(|key| (*key, column(form, 1, ROWS))).collect();
        let store = built(columns, Vec::new(), Vec::new());
        let target = SchemaTarget::Vertices(LabelId(0));
        let definition = IndexDefinition { id: IndexId(0), name: "i".into(), target, keys, unique: false };
        let list = [Change::CreateIndex(definition)];
        let before = store.current();
        let (given, told, after) =
            weigh(|| before.apply(2, &[&list]).unwrap(), |after| after.memory().index_bytes);
        let memory = after.memory();
        assert_eq!(memory.total_bytes() - before.memory().total_bytes(), memory.index_bytes, "{name}");
        // A list or a text of another kind is shared with the column that it is of.
        is_told(
            name,
            (0.0, 0.0),
            (given, told),
            0.85,
            if matches!(name, "lists" | "mixed" | "bytes") { 8.0 } else { 1.15 },
        );
        // Entries that come one by one lie beside the runs until there are enough.
        let more: Vec<Change> = (0..600)
            .map(|n| Change::SetProperty { id: VertexId::from_dense(n), key: KEY, value: Value::Int(-1) })
            .collect();
        let later = after.apply(3, &[&more]).unwrap();
        assert_ne!(later.memory().index_bytes, memory.index_bytes, "{name}");
    }
}
