//! Import beside commits: they go on while files are read and built, and what the import rests on is looked at once more at its end.
//!
//! Commits are made from the progress listener, which the import calls from its own threads: so every run meets them at the same point.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{Files, edge_lines, index_lines, memory, options, rejected, vertex_lines};
use ingest::{ExistingPolicy, ImportError, ImportOptions, ImportReport, Progress};
use model::Value;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::LabelFilter;
use transact::{Engine, Mode};
use world::chance::Chance;
use world::threads;

fn create(engine: &Engine, label: &str, id: i64) {
    let names = engine.store().names();
    let (label, key) = (names.intern_label(label).unwrap(), names.intern_key("id").unwrap());
    let transaction = engine.begin(Mode::Write);
    transaction.create_vertex(&[label], vec![(key, Value::Int(id))]).unwrap();
    transaction.commit().unwrap();
}

fn delete(engine: &Engine, id: i64) {
    let snapshot = engine.snapshot();
    let key = engine.store().names().intern_key("id").unwrap();
    let mut found = Vec::new();
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut found).unwrap();
    }
    found.retain(
        |vertex| matches!(snapshot.property(*vertex, key).unwrap(), Value::Int(found) if found == id),
    );
    let transaction = engine.begin(Mode::Write);
    found.iter().for_each(|vertex| assert!(transaction.delete_vertex(*vertex, false).unwrap().0));
    transaction.commit().unwrap();
}

/// Imports files, and does something whenever this phase is told, with the number of the time it is.
fn import_while(
    engine: &Engine,
    all: &[(&str, &str)],
    phase: &'static str,
    work: impl Fn(usize) + Send + Sync + 'static,
) -> Result<ImportReport, ImportError> {
    import_while_with(ExistingPolicy::Fail, engine, all, phase, work)
}

fn import_while_with(
    existing: ExistingPolicy,
    engine: &Engine,
    all: &[(&str, &str)],
    phase: &'static str,
    work: impl Fn(usize) + Send + Sync + 'static,
) -> Result<ImportReport, ImportError> {
    let files = Files::new(all);
    let (times, last) = (AtomicUsize::new(0), Mutex::new(""));
    let progress = move |progress: &Progress| {
        let before = std::mem::replace(&mut *last.lock(), progress.phase);
        if progress.phase == phase && before != phase {
            work(times.fetch_add(1, Ordering::Relaxed));
        }
    };
    let options = ImportOptions { existing, progress: Some(Arc::new(progress)), ..options(files.folder()) };
    ingest::import(engine, &options)
}

const PEOPLE: (&str, &str) = ("Person.csv", "id:ID(Person)\n1\n2\n");
const KNOWS: (&str, &str) = ("KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n1,2\n2,7\n");

#[test]
fn commits_go_on_in_every_phase() {
    for phase in ["reading vertices", "reading edges", "building", "writing"] {
        let engine = memory();
        create(&engine, "Person", 7);
        let other = engine.clone();
        // A label that is there, so that no new name is at stake, and one that is not.
        let report = import_while(&engine, &[PEOPLE, KNOWS], phase, move |_| {
            create(&other, "Person", 8);
            create(&other, "Dog", 9);
        });
        let report = report.unwrap();
        assert_eq!((report.vertices, report.edges, report.rejected), (2, 2, 0), "{phase}");
        let people =
            [":Dog {id: 9}", ":Person {id: 1}", ":Person {id: 2}", ":Person {id: 7}", ":Person {id: 8}"];
        assert_eq!(vertex_lines(&engine), people, "{phase}");
        assert_eq!(edge_lines(&engine), ["1 -[:KNOWS]-> 2", "2 -[:KNOWS]-> 7"], "{phase}");
        assert_eq!(index_lines(&engine), ["unique Person.id"], "{phase}");
        let snapshot = engine.snapshot();
        let index = snapshot.catalog().indexes()[0].id;
        for id in [1, 2, 7, 8] {
            assert_eq!(snapshot.seek(index, &[Value::Int(id)]).unwrap().len(), 1, "{phase}: {id}");
        }
        assert_eq!(snapshot.statistics().vertices(), 5);
        // What comes next goes on from there.
        create(&engine, "Person", 20);
        assert_eq!(engine.snapshot().statistics().vertices(), 6);
    }
}

#[test]
fn ids_that_came_into_being_meanwhile_are_met_by_reading_again() {
    for phase in ["reading edges", "building", "writing"] {
        let engine = memory();
        create(&engine, "Person", 7);
        let come = |other: Engine| {
            move |time| {
                if time == 0 {
                    create(&other, "Person", 2);
                }
            }
        };
        let files = [PEOPLE, KNOWS];
        let refused = memory();
        create(&refused, "Person", 7);
        let error = import_while(&refused, &files, phase, come(refused.clone())).unwrap_err();
        assert!(matches!(error, ImportError::Existing { .. }), "{phase}: {error}");
        assert_eq!(vertex_lines(&refused), [":Person {id: 2}", ":Person {id: 7}"], "{phase}");
        let skip = ExistingPolicy::Skip;
        let report = import_while_with(skip, &engine, &files, phase, come(engine.clone())).unwrap();
        assert_eq!((report.vertices, report.edges, report.existing), (1, 2, 1), "{phase}");
        assert_eq!(vertex_lines(&engine), [":Person {id: 1}", ":Person {id: 2}", ":Person {id: 7}"]);
        assert_eq!(edge_lines(&engine), ["1 -[:KNOWS]-> 2", "2 -[:KNOWS]-> 7"]);
    }
}

#[test]
fn an_end_that_was_deleted_meanwhile_is_met_by_reading_again() {
    let engine = memory();
    create(&engine, "Person", 7);
    let other = engine.clone();
    let report = import_while(&engine, &[PEOPLE, KNOWS], "writing", move |time| {
        if time == 0 {
            delete(&other, 7);
        }
    });
    let report = report.unwrap();
    assert_eq!(rejected(&report), ["KNOWS.csv:3: no vertex has the id `7`"]);
    assert_eq!(vertex_lines(&engine), [":Person {id: 1}", ":Person {id: 2}"]);
    assert_eq!(edge_lines(&engine), ["1 -[:KNOWS]-> 2"]);
}

#[test]
fn an_id_that_was_missing_and_came_is_found_by_reading_again() {
    let engine = memory();
    create(&engine, "Person", 70);
    let other = engine.clone();
    let report = import_while(&engine, &[PEOPLE, KNOWS], "building", move |time| {
        if time == 0 {
            create(&other, "Person", 7);
        }
    });
    assert_eq!(report.unwrap().rejected, 0);
    assert_eq!(edge_lines(&engine), ["1 -[:KNOWS]-> 2", "2 -[:KNOWS]-> 7"]);
}

/// Whoever changes what the files speak of faster than they are read makes the import give up, which can be tried again.
#[test]
fn an_import_that_never_agrees_gives_up_and_changes_nothing() {
    let engine = memory();
    create(&engine, "Person", 7);
    let other = engine.clone();
    let error = import_while(&engine, &[PEOPLE, KNOWS], "writing", move |_| {
        delete(&other, 7);
        create(&other, "Person", 7);
    });
    let error = error.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(error.code(), "Neo.TransientError.Transaction.Outdated");
    assert_eq!(vertex_lines(&engine), [":Person {id: 7}"]);
    assert!(index_lines(&engine).is_empty());
}

/// Random commits of several writers beside imports: whatever comes out is what doing one after the other would have given.
#[test]
fn imports_and_writers_together_lose_nothing() {
    let mut chance = Chance::from_system();
    let seed = chance.next_u64();
    println!("seed {seed}");
    let engine = memory();
    create(&engine, "Person", 0);
    let done = AtomicUsize::new(0);
    let created = threads::in_parallel("beside", 3, |thread| {
        let mut chance = Chance::seeded(seed + thread as u64);
        if thread == 0 {
            let mut edges = 0;
            for round in 0..8u64 {
                let first = 1_000_000 + round * 1000;
                let people: String = (first..first + 500).map(|id| format!("{id}\n")).collect();
                let knows: String = (first..first + 500)
                    .map(|id| format!("{id},{}\n{id},0\n", first + chance.below(500)))
                    .collect();
                let people = format!("id:ID(Person)\n{people}");
                let knows = format!(":START_ID(Person),:END_ID(Person)\n{knows}");
                let files = Files::new(&[("Person.csv", &people), ("KNOWS.csv", &knows)]);
                let report = ingest::import(&engine, &options(files.folder())).unwrap();
                assert_eq!((report.vertices, report.edges, report.rejected), (500, 1000, 0));
                edges += report.edges;
            }
            done.store(1, Ordering::Relaxed);
            return (0, edges);
        }
        let mut made = 0;
        while done.load(Ordering::Relaxed) == 0 {
            let names = engine.store().names();
            let (label, key) = (names.intern_label("Person").unwrap(), names.intern_key("id").unwrap());
            let transaction = engine.begin(Mode::Write);
            let id = 2_000_000 + thread as i64 * 1_000_000 + made;
            transaction.create_vertex(&[label], vec![(key, Value::Int(id))]).unwrap();
            // Transactions that were open when an import became visible are refused, and tried again.
            made += i64::from(transaction.commit().is_ok());
        }
        (made, 0)
    });
    let vertices: i64 = created.iter().map(|(made, _)| made).sum();
    let snapshot = engine.snapshot();
    assert!(vertices > 0);
    assert_eq!(snapshot.statistics().vertices(), 1 + 8 * 500 + vertices as u64);
    assert_eq!(snapshot.statistics().edges(), created[0].1);
    assert_eq!(vertex_lines(&engine).len(), 1 + 8 * 500 + vertices as usize);
    assert_eq!(edge_lines(&engine).len() as u64, created[0].1);
    let index = snapshot.catalog().indexes()[0].id;
    assert_eq!(snapshot.statistics().index(index).unwrap().entries, snapshot.statistics().vertices());
}
