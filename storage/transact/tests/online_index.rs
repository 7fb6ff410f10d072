//! Indexes and unique constraints made while commits go on: none is refused or lost, and the index holds exactly what the graph does.
#![allow(clippy::disallowed_methods)]

use model::schema::{IndexId, SchemaTarget};
use model::{KeyId, LabelId, Value, VertexId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{LabelFilter, Snapshot, StoreError};
use tanglewood_transact::{ConstraintRequest, Engine, IndexRequest, Mode, OpenOptions, Rule, TransactError};
use world::chance::Chance;

const VERTICES: usize = 12_000;
/// Threads that write; one more makes the indexes.
const WRITERS: usize = 2;

/// A graph of persons with a number each, all different.
fn filled() -> (Engine, LabelId, KeyId, Vec<VertexId>) {
    let (engine, _) = tanglewood_transact::open(None, &OpenOptions::default()).unwrap();
    let setup = engine.begin(Mode::Write);
    let (label, key) = (setup.label("Person").unwrap(), setup.key("number").unwrap());
    let create = |n: usize| setup.create_vertex(&[label], vec![(key, Value::Int(n as i64))]).unwrap();
    let ids = (0..VERTICES).map(create).collect();
    setup.commit().unwrap();
    (engine, label, key, ids)
}

/// The index against a scan.
fn compare(snapshot: &Snapshot, index: IndexId, label: LabelId, key: KeyId) {
    let filter = LabelFilter::Has(label);
    let (mut vertices, mut expected) = (Vec::new(), BTreeMap::<i64, Vec<VertexId>>::new());
    for chunk in snapshot.scan_chunks(&filter) {
        snapshot.scan_chunk(chunk, &filter, &mut vertices).unwrap();
    }
    for vertex in vertices {
        if let Some(value) = snapshot.property(vertex, key).unwrap().as_int() {
            expected.entry(value).or_default().push(vertex);
        }
    }
    let found = snapshot.seek_range(index, Bound::Unbounded, Bound::Unbounded).unwrap();
    let found: Vec<VertexId> = found.map(Result::unwrap).collect();
    assert_eq!(found, expected.values().flatten().copied().collect::<Vec<_>>());
    for (value, vertices) in expected.iter().step_by(97) {
        assert_eq!(&snapshot.seek(index, &[Value::Int(*value)]).unwrap(), vertices);
    }
}

/// Writes until `done`: new persons, new numbers, deletions. Numbers stay different, by thread. How many commits that were.
fn write(
    engine: &Engine,
    thread: usize,
    label: LabelId,
    key: KeyId,
    ids: &[VertexId],
    done: &AtomicBool,
) -> usize {
    let mut chance = Chance::seeded(70 + thread as u64);
    let mut commits = 0;
    while !done.load(Ordering::Acquire) || commits < 20 {
        let fresh = (VERTICES * (2 + thread) + commits) as i64;
        let own = ids.len() / WRITERS * thread + chance.below((ids.len() / WRITERS) as u64) as usize;
        loop {
            let t = engine.begin(Mode::Write);
            let result = match commits % 3 {
                0 => t.create_vertex(&[label], vec![(key, Value::Int(fresh))]).map(|_| ()),
                1 => t.set_property(ids[own], key, Value::Int(fresh)),
                _ => t.delete_vertex(ids[own], true).map(|_| ()),
            };
            match result.and_then(|()| t.commit().map(|_| ())) {
                Ok(()) => break,
                Err(TransactError::Conflict { .. }) => {}
                // Deleted before.
                Err(_) => break,
            }
        }
        commits += 1;
    }
    commits
}

fn beside_writers(make: impl Fn(&Engine, LabelId, KeyId) + Sync) -> (Engine, LabelId, KeyId) {
    let (engine, label, key, ids) = filled();
    let done = AtomicBool::new(false);
    let commits: Vec<usize> = world::threads::in_parallel("online index", WRITERS + 1, |thread| {
        if thread < WRITERS {
            return write(&engine, thread, label, key, &ids, &done);
        }
        make(&engine, label, key);
        done.store(true, Ordering::Release);
        0
    });
    println!("commits beside: {commits:?}");
    (engine, label, key)
}

#[test]
fn an_index_is_made_beside_commits() {
    let (engine, label, key) = beside_writers(|engine, label, key| {
        let target = SchemaTarget::Vertices(label);
        for round in 0..3 {
            let request =
                IndexRequest { name: Some("numbers".into()), target, keys: vec![key], if_not_exists: false };
            assert!(engine.create_index(&request).unwrap());
            let snapshot = engine.snapshot();
            compare(&snapshot, snapshot.index_for(target, &[key]).unwrap(), label, key);
            if round < 2 {
                engine.drop_index("numbers", false).unwrap();
            }
        }
    });
    let snapshot = engine.snapshot();
    compare(&snapshot, snapshot.index_for(SchemaTarget::Vertices(label), &[key]).unwrap(), label, key);
}

#[test]
fn a_unique_constraint_is_made_beside_commits() {
    let (engine, label, key) = beside_writers(|engine, label, key| {
        let target = SchemaTarget::Vertices(label);
        let request = ConstraintRequest {
            name: None,
            target,
            keys: vec![key],
            rule: Rule::Unique,
            if_not_exists: false,
        };
        assert!(engine.create_constraint(&request).unwrap());
    });
    let snapshot = engine.snapshot();
    compare(&snapshot, snapshot.index_for(SchemaTarget::Vertices(label), &[key]).unwrap(), label, key);
    let t = engine.begin(Mode::Write);
    let taken = snapshot.seek_range(
        snapshot.index_for(SchemaTarget::Vertices(label), &[key]).unwrap(),
        Bound::Unbounded,
        Bound::Unbounded,
    );
    let taken = snapshot.property(taken.unwrap().next().unwrap().unwrap(), key).unwrap();
    t.create_vertex(&[label], vec![(key, taken)]).unwrap();
    assert!(t.commit().is_err(), "the number is taken");
}

/// Its name is taken while it is prepared, so existing data is not looked at then; and free when it is made: existing data is looked at now.
#[test]
fn a_constraint_whose_name_was_taken_meanwhile_looks_at_existing_data() {
    let (engine, label, key, _) = filled();
    let (target, other) =
        (SchemaTarget::Vertices(label), engine.store().names().intern_key("other").unwrap());
    let index = |keys| IndexRequest { name: Some("c".into()), target, keys, if_not_exists: false };
    for rule in [Rule::Exists, Rule::NodeKey, Rule::Typed(model::ValueType::String)] {
        engine.create_index(&index(vec![other])).unwrap();
        let keys = if let Rule::Typed(_) = rule { vec![key] } else { vec![other] };
        let request = ConstraintRequest { name: Some("c".into()), target, keys, rule, if_not_exists: false };
        let groundwork = engine.prepare_constraint(&request).unwrap();
        engine.drop_index("c", false).unwrap();
        let error = engine.create_constraint_upon(&request, groundwork).unwrap_err();
        assert!(matches!(error, TransactError::Constraint { .. }), "{rule:?}: {error:?}");
        assert!(engine.snapshot().catalog().constraints().is_empty(), "{rule:?}");
    }
}

thread_local! {
    /// Units of work after which this thread is stopped.
    static UNITS_LEFT: std::cell::Cell<u64> = const { std::cell::Cell::new(u64::MAX) };
}

fn count(units: u64, _: u64) -> Result<(), model::pace::Stopped> {
    let left = UNITS_LEFT.get().checked_sub(units).ok_or(model::pace::Stopped)?;
    UNITS_LEFT.set(left);
    Ok(())
}

/// Stopped at any point of building, nothing is made, and the next try makes it.
#[test]
fn an_index_whose_builder_is_stopped_is_not_made() {
    model::pace::counted_by(count);
    let (engine, label, key, _) = filled();
    let target = SchemaTarget::Vertices(label);
    let index = IndexRequest { name: None, target, keys: vec![key], if_not_exists: false };
    let rule =
        ConstraintRequest { name: None, target, keys: vec![key], rule: Rule::Unique, if_not_exists: false };
    let is_stopped = |error: &TransactError| matches!(error, TransactError::Store(StoreError::Stopped));
    let mut stopped = 0;
    for units in (0..).map(|step: u64| step * 4_001) {
        UNITS_LEFT.set(units);
        let (one, other) =
            (engine.prepare_index(&index).map(drop), engine.prepare_constraint(&rule).map(drop));
        let left = UNITS_LEFT.replace(u64::MAX);
        let catalog = engine.snapshot();
        assert!(catalog.catalog().indexes().is_empty() && catalog.catalog().constraints().is_empty());
        if one.is_ok() && other.is_ok() {
            assert!(left <= units);
            break;
        }
        for error in one.err().iter().chain(other.err().iter()) {
            assert!(is_stopped(error), "{units} units: {error}");
        }
        stopped += 1;
    }
    assert!(stopped > 0, "building counts nothing");
    assert!(engine.create_constraint(&rule).unwrap());
    let snapshot = engine.snapshot();
    compare(&snapshot, snapshot.index_for(target, &[key]).unwrap(), label, key);
}
