//! What is refused says why: constraints over existing data, a full disk, a disk that failed before it confirmed.
#![allow(clippy::disallowed_methods)]

use durable::{LocalFolder, LogOptions, OpenMode};
use model::schema::SchemaTarget;
use model::{Value, ValueType};
use std::path::Path;
use std::sync::Arc;
use tanglewood_transact::{
    ConstraintRequest, Engine, Mode, OpenOptions, Rule, TransactError, open, open_backing,
};
use world::disk::{Disk, Faults, SimDisk};
use world::threads::in_parallel;

fn on(disk: &Arc<SimDisk>) -> Engine {
    let disk: Arc<dyn Disk> = disk.clone();
    let folder =
        LocalFolder::open(disk, Path::new("/db"), OpenMode::CreateIfMissing, LogOptions::default()).unwrap();
    open_backing(Arc::new(folder), &OpenOptions::default()).unwrap().0
}

fn create(engine: &Engine, value: Value) -> Result<u64, TransactError> {
    let t = engine.begin(Mode::Write);
    t.create_vertex(&[t.label("P")?], vec![(t.key("id")?, value)])?;
    t.commit()
}

fn constraint(engine: &Engine, rule: Rule) -> Result<bool, TransactError> {
    let names = engine.store().names();
    engine.create_constraint(&ConstraintRequest {
        name: Some("rule".into()),
        target: SchemaTarget::Vertices(names.intern_label("P")?),
        keys: vec![names.intern_key("id")?],
        rule,
        if_not_exists: false,
    })
}

#[test]
fn existing_data_that_breaks_a_constraint_is_shown() {
    for rule in [Rule::Unique, Rule::NodeKey, Rule::Exists, Rule::Typed(ValueType::Int)] {
        let (engine, _) = open(None, &OpenOptions::default()).unwrap();
        for value in 0..50 {
            let value = match rule {
                Rule::Exists => Value::Null,
                Rule::Typed(_) => "text".into(),
                _ => Value::Int(value % 25),
            };
            create(&engine, value).unwrap();
        }
        let said = constraint(&engine, rule).unwrap_err().to_string();
        let count = if matches!(rule, Rule::Unique | Rule::NodeKey) {
            "of the same values: 25"
        } else {
            "50 existing"
        };
        assert!(said.contains(count), "{said}");
        assert_eq!(said.matches(';').count(), 9, "ten of them: {said}");
        assert!(engine.snapshot().catalog().constraints().is_empty());
        assert!(engine.snapshot().catalog().indexes().is_empty());
    }
}

#[test]
fn constraints_hold_between_writers() {
    for rule in [Rule::Unique, Rule::NodeKey] {
        let (engine, _) = open(None, &OpenOptions::default()).unwrap();
        constraint(&engine, rule).unwrap();
        let made = in_parallel("writer", 4, |_| {
            (0..200).filter(|number| create(&engine, Value::Int(*number)).is_ok()).count()
        });
        assert_eq!(made.iter().sum::<usize>(), 200, "each value once: {made:?}");
        assert_eq!(engine.snapshot().statistics().vertices(), 200);
        assert_eq!(create(&engine, Value::Null).is_err(), rule == Rule::NodeKey);
    }
}

#[test]
fn a_full_disk_refuses_commits_and_nothing_else() {
    let disk = Arc::new(SimDisk::new());
    let engine = on(&disk);
    create(&engine, 1.into()).unwrap();
    disk.set_faults(Faults { capacity_bytes: Some(0), ..Faults::default() });
    let error = create(&engine, 2.into()).unwrap_err();
    assert!(matches!(error, TransactError::Durable(_)), "{error}");
    assert!(error.hint().unwrap().contains("free some space"), "{error}");
    assert!(engine.checkpoint().is_err());
    assert_eq!(engine.snapshot().statistics().vertices(), 1, "reads go on");
    disk.set_faults(Faults::default());
    create(&engine, 3.into()).unwrap();
    engine.checkpoint().unwrap();
    assert_eq!(engine.snapshot().statistics().vertices(), 2);
    drop(engine);
    let engine = on(&Arc::new(disk.crash(1)));
    assert_eq!(engine.snapshot().statistics().vertices(), 2, "what was refused never comes back");
}

/// "It did not happen" was said of commits that were there after the next open.
#[test]
fn a_commit_that_was_not_confirmed_is_said_to_be_unknown() {
    let (mut there, mut gone) = (0, 0);
    for seed in 0..40 {
        let disk = Arc::new(SimDisk::new());
        let engine = on(&disk);
        create(&engine, 1.into()).unwrap();
        // The next operation is the write, the one after it the sync.
        disk.set_faults(Faults { error_at: Some(disk.operations() + 1 + seed % 2), ..Faults::default() });
        let error = create(&engine, 2.into()).unwrap_err();
        assert_eq!(error.code(), "Tanglewood.DatabaseError.Transaction.OutcomeUnknown", "{error}");
        assert!(!error.is_retryable());
        let refused = create(&engine, 3.into()).unwrap_err();
        assert!(
            matches!(refused, TransactError::Durable(_)),
            "this one is known not to have happened: {refused}"
        );
        assert_eq!(engine.snapshot().statistics().vertices(), 1, "nobody sees what may not be there");
        drop(engine);
        let engine = on(&Arc::new(if seed % 4 < 2 { disk.kill() } else { disk.crash(seed) }));
        match engine.snapshot().statistics().vertices() {
            1 => gone += 1,
            2 => there += 1,
            other => panic!("{other} vertices"),
        }
    }
    assert!(there > 0 && gone > 0, "both happen: {there} and {gone}");
}

/// It was deleted before, by this transaction or behind its back, or never was there: no property is set, and nothing is deleted twice.
#[test]
fn a_relationship_that_is_gone_takes_no_property() {
    let (engine, _) = open(None, &OpenOptions::default()).unwrap();
    let t = engine.begin(Mode::Write);
    let (kind, key) = (t.edge_type("R").unwrap(), t.key("k").unwrap());
    let node = || t.create_vertex(&[], Vec::new()).unwrap();
    let (one, other) = (node(), node());
    let edges: Vec<_> = (0..4).map(|_| t.create_edge(one, other, kind, Vec::new()).unwrap()).collect();
    t.commit().unwrap();
    let missing = |outcome: Result<(), TransactError>| {
        assert!(matches!(outcome, Err(TransactError::NotFound { what: "relationship" })), "{outcome:?}");
    };

    let t = engine.begin(Mode::Write);
    t.set_edge_property(edges[0], key, Value::Int(1)).unwrap();
    assert!(t.delete_edge(edges[0]).unwrap() && !t.delete_edge(edges[0]).unwrap());
    missing(t.set_edge_property(edges[0], key, Value::Int(2)));
    let born = t.create_edge(one, other, kind, Vec::new()).unwrap();
    t.set_edge_property(born, key, Value::Int(3)).unwrap();
    assert!(t.delete_edge(born).unwrap());
    missing(t.set_edge_property(born, key, Value::Int(4)));
    t.commit().unwrap();

    let t = engine.begin(Mode::Write);
    missing(t.set_edge_property(edges[0], key, Value::Int(5)));
    missing(t.set_edge_property(born, key, Value::Int(6)));
    assert!(!t.delete_edge(edges[0]).unwrap());
    let elsewhere = model::EdgeRef { target: one, ..edges[1] };
    missing(t.set_edge_property(elsewhere, key, Value::Int(7)));
    drop(t);

    // Behind its back.
    let (late, first) = (engine.begin(Mode::Write), engine.begin(Mode::Write));
    late.set_edge_property(edges[1], key, Value::Int(8)).unwrap();
    assert!(first.delete_edge(edges[1]).unwrap());
    first.commit().unwrap();
    let refused = late.commit();
    assert!(matches!(refused, Err(TransactError::Conflict { .. })), "{refused:?}");
}
