//! Reported figures of a snapshot: bytes in memory part by part, what statistics know of each index, and estimates of ranges beside what there
//! is; over random changes, compactions and imports.
//!
//! `bytes.rs` holds the bytes against the allocator, with some slack; here they are held as they are, so that a share that is counted wrongly shows.
//! With `LEDGER=write` the page is written anew, to be read as any other change is.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use crate::common;

use common::{Chance, Pair};
use model::schema::{IndexDefinition, IndexId, SchemaTarget};
use model::{Column, EdgeTypeId, KeyId, LabelId, Value};
use std::fmt::Write;
use std::ops::Bound;
use store::*;

/// Rounds of changes, and changes of each.
const ROUNDS: usize = 120;
const CHANGES: usize = 40;
/// Two chunks and a half.
const ROWS: usize = 5 * model::CHUNK_SLOTS / 2;

fn memory(snapshot: &Snapshot) -> String {
    let told = snapshot.memory();
    format!(
        "{} of {} chunks, adjacency {}, properties {} and {}, deltas {}, indexes {}",
        told.chunks_loaded,
        told.chunks,
        told.adjacency_bytes,
        told.vertex_property_bytes,
        told.edge_property_bytes,
        told.delta_bytes,
        told.index_bytes
    )
}

fn estimates(snapshot: &Snapshot, index: IndexId, bounds: &[Value]) -> String {
    let mut told = String::new();
    let all: Vec<Bound<&Value>> = std::iter::once(Bound::Unbounded)
        .chain(bounds.iter().flat_map(|value| [Bound::Included(value), Bound::Excluded(value)]))
        .collect();
    for lower in &all {
        for upper in &all {
            match snapshot.estimate_range(index, *lower, *upper) {
                Some(rows) => write!(told, " {rows:.1}").unwrap(),
                None => told.push_str(" -"),
            }
        }
    }
    told
}

fn one_after_the_other(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(task);
}

fn changed(written: &mut String) {
    let (mut chance, mut pair) = (Chance(5), Pair::new(StoreOptions::default()));
    pair.create_index(0, &[0]);
    pair.create_index(1, &[1, 0]);
    pair.create_edge_index(0, &[1]);
    for round in 0..ROUNDS {
        let mut changes = Vec::new();
        (0..CHANGES).for_each(|_| pair.random_change(&mut chance, &mut changes));
        pair.apply(&changes);
        let snapshot = pair.store.current();
        writeln!(written, "{round}: {}", memory(&snapshot)).unwrap();
        if round % 20 == 19 {
            pair.twin.compare(&snapshot);
            for index in (0..3).map(IndexId) {
                writeln!(written, "  {:?}", snapshot.statistics().index(index)).unwrap();
                let bounds = [Value::Int(0), Value::Int(3), Value::string("b".to_string())];
                writeln!(written, "  {}", estimates(&snapshot, index, &bounds)).unwrap();
            }
        }
    }
}

/// A form of values: its name, one by its row, and bounds within them.
type Form = (&'static str, fn(usize) -> Value, [i64; 3]);

const FORMS: [Form; 3] = [
    ("each once", |row| Value::Int(row as i64), [10, 5_000, 9_000]),
    ("few", |row| Value::Int(row as i64 % 50), [1, 25, 48]),
    (
        "floats and gaps",
        |row| if row % 3 == 0 { Value::Null } else { Value::Float(row as f64 / 2.0) },
        [10, 2_000, 4_000],
    ),
];

fn imported(written: &mut String) {
    for (name, form, bounds) in FORMS {
        let store = Store::new(StoreOptions::default());
        let label = store.names().intern_label("L").unwrap();
        store.names().intern_edge_type("T").unwrap();
        store.names().intern_key("k").unwrap();
        store.names().intern_key("t").unwrap();
        let set = store.names().intern_label_set(&[label]).unwrap();
        let bulk = Bulk::new(store.allocator());
        let texts: Column =
            (0..ROWS).map(|row| Value::string(format!("text {:05}", row * 7 % ROWS))).collect();
        let columns = vec![(KeyId(0), (0..ROWS).map(form).collect()), (KeyId(1), texts)];
        bulk.vertices(set, ROWS, columns).unwrap();
        let pairs = (0..30_000_u32).map(|n| (n % 700, n * 7 % ROWS as u32)).collect::<Vec<_>>();
        let own: Column = (0..30_000).map(|row| form(row / 3)).collect();
        bulk.edges(EdgeTypeId(0), pairs, vec![(KeyId(0), own)]).unwrap();
        bulk.seal().unwrap();
        let mut next = bulk.finish(&store.current(), 1, &one_after_the_other).unwrap();
        writeln!(written, "{name}: {}", memory(&next)).unwrap();
        for (at, (target, key)) in [
            (SchemaTarget::Vertices(LabelId(0)), 0),
            (SchemaTarget::Vertices(LabelId(0)), 1),
            (SchemaTarget::Edges(EdgeTypeId(0)), 0),
        ]
        .into_iter()
        .enumerate()
        {
            let id = IndexId(at as u32);
            let keys = vec![KeyId(key)];
            let definition = IndexDefinition { id, name: format!("i{at}"), target, keys, unique: false };
            next = next.apply(2 + at as u64, &[&[Change::CreateIndex(definition)]]).unwrap();
            writeln!(written, "  {}", memory(&next)).unwrap();
            writeln!(written, "  {:?}", next.statistics().index(id)).unwrap();
            let bounds = match key {
                0 => bounds.map(Value::Int),
                _ => bounds.map(|number| Value::string(format!("text {number:05}"))),
            };
            writeln!(written, "  {}", estimates(&next, id, &bounds)).unwrap();
        }
    }
}

#[test]
fn a_snapshot_says_of_itself_what_the_ledger_says() {
    let mut written = String::new();
    changed(&mut written);
    imported(&mut written);
    if std::env::var("LEDGER").is_ok_and(|what| what == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ledger.txt"), &written).unwrap();
        return;
    }
    for (found, expected) in written.lines().zip(include_str!("ledger.txt").lines()) {
        assert_eq!(found, expected);
    }
}
