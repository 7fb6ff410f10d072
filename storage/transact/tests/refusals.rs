//! Refused operations give the reason: constraints over existing data, a full disk, a disk that failed before it confirmed.
#![allow(clippy::disallowed_methods)]

use durable::{LocalFolder, LogOptions, OpenMode};
use model::schema::SchemaTarget;
use model::{EdgeRef, EdgeTypeId, KeyId, LabelId, Value, ValueType, VertexId};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tanglewood_transact::{
    Act, ConstraintRequest, Engine, Mode, OpenOptions, Party, Permission, Rule, TransactError, Transaction,
    open, open_backing,
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

/// Notes what is asked for, and refuses one of it.
struct Asked {
    seen: Mutex<Vec<String>>,
    refused: usize,
}

impl Permission for Asked {
    fn allows(&self, act: &Act<'_>) -> bool {
        let mut seen = self.seen.lock().unwrap();
        seen.push(format!("{act:?}").replace('"', ""));
        seen.len() - 1 != self.refused
    }
}

/// A graph with (a:A:B {k: 1})-[:R {k: 1}]->(b:C), and (:C) alone.
struct Known {
    labels: [LabelId; 3],
    kind: EdgeTypeId,
    keys: [KeyId; 2],
    vertices: [VertexId; 3],
    edge: EdgeRef,
}

fn known(engine: &Engine) -> Known {
    let t = engine.begin(Mode::Write);
    let labels = ["A", "B", "C"].map(|name| t.label(name).unwrap());
    let keys = ["k", "l"].map(|name| t.key(name).unwrap());
    let kind = t.edge_type("R").unwrap();
    let one = || vec![(keys[0], Value::Int(1))];
    let a = t.create_vertex(&labels[..2], one()).unwrap();
    let [b, alone] = [0, 1].map(|_| t.create_vertex(&labels[2..], vec![]).unwrap());
    let edge = t.create_edge(a, b, kind, one()).unwrap();
    t.commit().unwrap();
    Known { labels, kind, keys, vertices: [a, b, alone], edge }
}

type Work = fn(&Transaction, &Known) -> Result<(), TransactError>;

/// Each write, and what it asks for, in order, before it changes anything.
const WRITES: [(Work, &[&str]); 17] = [
    (
        |t, known| {
            let properties = vec![(known.keys[0], Value::Int(1)), (known.keys[1], Value::Null)];
            t.create_vertex(&known.labels[..2], properties).map(drop)
        },
        &["CreateVertex([A, B])", "SetProperty([A, B], k)"],
    ),
    (|t, _| t.create_vertex(&[], vec![]).map(drop), &["CreateVertex([])"]),
    (
        |t, known| {
            let ([a, b, _], properties) = (known.vertices, vec![(known.keys[1], Value::Int(1))]);
            t.create_edge(a, b, known.kind, properties).map(drop)
        },
        &["CreateEdge(R)", "SetEdgeProperty(R, l)"],
    ),
    (|t, known| t.set_property(known.vertices[0], known.keys[1], Value::Int(2)), &["SetProperty([A, B], l)"]),
    (|t, known| t.set_property(known.vertices[1], known.keys[0], Value::Null), &["SetProperty([C], k)"]),
    (|t, known| t.set_edge_property(known.edge, known.keys[1], Value::Int(2)), &["SetEdgeProperty(R, l)"]),
    (
        |t, known| t.change_labels(known.vertices[0], &known.labels[2..], &known.labels[1..2]).map(drop),
        &["AddLabel(C)", "RemoveLabel(B)"],
    ),
    (|t, known| t.change_labels(known.vertices[0], &known.labels[..2], &known.labels[2..]).map(drop), &[]),
    (|t, known| t.delete_edge(known.edge).map(drop), &["DeleteEdge(R)"]),
    (|t, known| t.delete_vertex(known.vertices[2], false).map(drop), &["DeleteVertex([C])"]),
    (
        |t, known| t.delete_vertex(known.vertices[0], true).map(drop),
        &["DeleteVertex([A, B])", "DeleteEdge(R)"],
    ),
    (|t, _| t.label("New").map(drop), &["NewLabel(New)"]),
    (|t, _| t.edge_type("New").map(drop), &["NewEdgeType(New)"]),
    (|t, _| t.key("new").map(drop), &["NewKey(new)"]),
    (|t, _| t.label("A").map(drop), &[]),
    (|t, _| t.edge_type("R").map(drop), &[]),
    (|t, _| t.key("l").map(drop), &[]),
];

#[test]
fn every_write_of_somebody_who_may_not_do_everything_is_asked_for_before() {
    for (number, (work, wanted)) in WRITES.into_iter().enumerate() {
        // Each is refused, then all are allowed.
        for refused in 0..=wanted.len() {
            let (engine, _) = open(None, &OpenOptions::default()).unwrap();
            let known = known(&engine);
            let asked = Arc::new(Asked { seen: Mutex::default(), refused });
            let party = Party { restriction: None, permission: asked.clone() };
            let transaction = engine.begin(Mode::Write).of(Some(party));
            let outcome = work(&transaction, &known);
            let seen = asked.seen.lock().unwrap().clone();
            assert_eq!(seen, wanted[..wanted.len().min(refused + 1)], "write {number}");
            assert!(!transaction.has_changes() || refused == wanted.len(), "write {number}: {seen:?}");
            match outcome {
                Ok(()) => assert_eq!(refused, wanted.len(), "write {number}"),
                Err(error) => {
                    assert_eq!(error.code(), "Neo.ClientError.Security.Forbidden", "write {number}: {error}");
                    assert!(refused < wanted.len(), "write {number}: {error}");
                }
            }
        }
    }
}

/// What a vertex has become in the same transaction is what is asked about.
#[test]
fn labels_of_earlier_writes_are_asked_about() {
    let (engine, _) = open(None, &OpenOptions::default()).unwrap();
    let known = known(&engine);
    let asked = Arc::new(Asked { seen: Mutex::default(), refused: usize::MAX });
    let party = Party { restriction: None, permission: asked.clone() };
    let t = engine.begin(Mode::Write).of(Some(party));
    t.change_labels(known.vertices[1], &known.labels[..1], &known.labels[2..]).unwrap();
    t.set_property(known.vertices[1], known.keys[0], Value::Int(1)).unwrap();
    t.delete_vertex(known.vertices[1], true).unwrap();
    let wanted =
        ["AddLabel(A)", "RemoveLabel(C)", "SetProperty([A], k)", "DeleteVertex([A])", "DeleteEdge(R)"];
    assert_eq!(*asked.seen.lock().unwrap(), wanted);
    // Who may do everything is asked nothing, and does the same.
    let t = engine.begin(Mode::Write);
    WRITES.iter().for_each(|(work, _)| drop(work(&t, &known)));
    assert_eq!(asked.seen.lock().unwrap().len(), wanted.len());
}
