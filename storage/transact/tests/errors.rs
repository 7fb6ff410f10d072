//! Every error with its code, its hint and its words, and whether trying again may help. The expected lines are in `tests/conflicts/errors.txt`;
//! `TANGLEWOOD_BLESS=1` writes them anew, and the difference is then read like code.
#![allow(clippy::disallowed_methods)]

use durable::DurableError;
use model::schema::SchemaTarget;
use model::{Value, ValueType, VertexId};
use std::fmt::Write;
use std::path::PathBuf;
use store::StoreError;
use tanglewood_transact::{
    ConstraintRequest, Engine, Mode, Moment, OpenOptions, Point, Rule, SchemaClash, TransactError, open,
};
use world::disk::DiskError;

fn errors() -> Vec<TransactError> {
    let path = || PathBuf::from("/db");
    let disk = || DiskError::Full { path: path() };
    let point = Point { commit_version: 7, time_micros: 1_500_000 };
    let clashes = [
        SchemaClash::Equivalent,
        SchemaClash::Index,
        SchemaClash::Constraint,
        SchemaClash::IndexName,
        SchemaClash::ConstraintName,
    ];
    let mut all = vec![
        TransactError::Conflict { what: "it was changed" },
        TransactError::Constraint { name: "c".into(), what: "two are alike".into() },
        TransactError::NotFound { what: "node" },
        TransactError::StillConnected { vertex: VertexId(7) },
        TransactError::ReadOnly,
        TransactError::Schema { what: "there is no index `i`".into() },
        TransactError::TooLarge,
        TransactError::NotKept { asked: Moment::CommitVersion(3), oldest: Some(point) },
        TransactError::NotKept { asked: Moment::Time(5_000_000), oldest: None },
        TransactError::NotReached { asked: Moment::CommitVersion(9), newest: point },
        TransactError::NoHistoryInMemory,
        DurableError::Unconfirmed { cause: disk() }.into(),
    ];
    all.extend(
        clashes.map(|clash| TransactError::SchemaExists { clash, what: format!("{clash:?} is there") }),
    );
    let stored = [
        StoreError::Corrupt("chunk 3".into()),
        StoreError::Source("no such file".into()),
        StoreError::NoVertex(VertexId(7)),
        StoreError::EntryRefused("an entry is too long"),
        StoreError::Full("labels"),
        StoreError::NameTooLong(70_000),
        StoreError::NameRefused("is empty"),
    ];
    all.extend(stored.map(TransactError::from));
    let durable = [
        DurableError::Disk(disk()),
        DurableError::Corrupt { file: path(), offset: 12, what: "a checksum".into() },
        DurableError::NewerFormat { file: path(), found: 9, supported: 3 },
        DurableError::NotADatabase { path: path() },
        DurableError::NoDatabase { path: path() },
        DurableError::IsBackup { path: path() },
        DurableError::AlreadyOpen { path: path(), pid: Some(5) },
        DurableError::Poisoned { cause: "it failed".into() },
        DurableError::OutOfOrder { commit_version: 3, last: 5 },
    ];
    all.extend(durable.map(TransactError::from));
    all
}

#[test]
fn each_error_has_its_code_hint_and_words() {
    let mut told = String::new();
    for error in errors() {
        let again = if error.is_retryable() { ", try again" } else { "" };
        let _ = writeln!(told, "{}{again}\n    {error}", error.code());
        if let Some(hint) = error.hint() {
            let _ = writeln!(told, "    hint: {hint}");
        }
    }
    let file = format!("{}/tests/conflicts/errors.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (expected, line) in expected.lines().zip(told.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(told.lines().count(), expected.lines().count());
}

/// Nodes of one label and relationships of one type, so many of each, with these values of `k`.
fn filled(nodes: &[Value]) -> (Engine, [SchemaTarget; 2], model::KeyId) {
    let engine = open(None, &OpenOptions::default()).unwrap().0;
    let t = engine.begin(Mode::Write);
    let (label, edge_type, key) = (t.label("A").unwrap(), t.edge_type("R").unwrap(), t.key("k").unwrap());
    let hub = t.create_vertex(&[], Vec::new()).unwrap();
    for value in nodes {
        let node = t.create_vertex(&[label], vec![(key, value.clone())]).unwrap();
        t.create_edge(hub, node, edge_type, vec![(key, value.clone())]).unwrap();
    }
    t.commit().unwrap();
    (engine, [SchemaTarget::Vertices(label), SchemaTarget::Edges(edge_type)], key)
}

/// What exists already and breaks a new constraint is counted, and the first of it are named.
#[test]
fn data_that_breaks_a_constraint_is_counted_and_shown() {
    let refusal = |values: &[Value], rule: Rule| {
        [0, 1].map(|at| {
            let (engine, targets, key) = filled(values);
            let target = targets[at];
            let request = ConstraintRequest {
                name: Some("c".into()),
                target,
                keys: vec![key],
                rule,
                if_not_exists: false,
            };
            match engine.create_constraint(&request) {
                Ok(made) => {
                    assert!(made);
                    "it holds".to_string()
                }
                Err(error) => {
                    assert!(engine.snapshot().catalog().constraints().is_empty());
                    error.to_string()
                }
            }
        })
    };
    let integers = |count: i64| (0..count).map(Value::Int).collect::<Vec<_>>();
    for rule in [Rule::Unique, Rule::Exists, Rule::NodeKey, Rule::Typed(ValueType::Int)] {
        assert_eq!(refusal(&integers(20), rule), ["it holds", "it holds"]);
    }
    // As many as are shown, and one more.
    for count in [1, 10, 11] {
        let absent = vec![Value::Null; count];
        for (rule, broken) in [(Rule::Exists, true), (Rule::NodeKey, true), (Rule::Unique, false)] {
            let of = ["node", "relationship"];
            for (told, of) in refusal(&absent, rule).into_iter().zip(of) {
                let begins = format!("constraint `c` would be broken: {count} existing entities break it");
                assert_eq!(told.starts_with(&begins), broken, "{told}");
                let shown = told.matches("must have the property `k`").count();
                assert_eq!(
                    (shown, told.contains(of)),
                    (if broken { count.min(10) } else { 0 }, broken),
                    "{told}"
                );
            }
        }
    }
    let told = refusal(&[1.into(), "x".into(), Value::Null, 2.5.into()], Rule::Typed(ValueType::Int));
    for told in told {
        assert!(told.contains("2 existing entities break it"), "{told}");
        assert!(told.contains("must have an Integer as `k`, not a String"), "{told}");
        assert!(told.contains("must have an Integer as `k`, not a Float"), "{told}");
    }
    // Groups of the same values: as many as are shown and one more, of as many and one more.
    for (groups, each) in [(1, 2), (10, 2), (11, 2), (1, 10), (1, 11), (2, 3)] {
        let values: Vec<Value> =
            (0..each).flat_map(|_| integers(groups)).chain(vec![Value::Int(999)]).collect();
        for rule in [Rule::Unique, Rule::NodeKey] {
            for told in refusal(&values, rule) {
                assert!(told.contains(&format!("(groups of the same values: {groups})")), "{told}");
                assert_eq!(told.matches("have the same values").count(), groups.min(10) as usize, "{told}");
                let first = told.split("of them: ").nth(1).unwrap().split(" have").next().unwrap();
                assert_eq!(first.matches(", ").count(), (each - 1).min(10) as usize, "{told}");
                assert_eq!(first.contains('…'), each > 10, "{told}");
            }
        }
    }
}

/// The same rules for what a transaction writes, told in its words.
#[test]
fn commits_that_break_a_constraint_are_refused_in_words() {
    let (engine, targets, key) = filled(&[1.into(), 2.into()]);
    let of = ["node", "relationship"];
    for (at, target) in targets.into_iter().enumerate() {
        for (name, rule) in
            [("unique", Rule::Unique), ("there", Rule::Exists), ("typed", Rule::Typed(ValueType::Int))]
        {
            let name = Some(format!("{name}{at}"));
            engine
                .create_constraint(&ConstraintRequest {
                    name,
                    target,
                    keys: vec![key],
                    rule,
                    if_not_exists: false,
                })
                .unwrap();
        }
    }
    let told = |value: Value, edge: bool| {
        let t = engine.begin(Mode::Write);
        let (label, edge_type) = (t.label("A").unwrap(), t.edge_type("R").unwrap());
        let (labels, own) = if edge { (vec![], vec![]) } else { (vec![label], vec![(key, value.clone())]) };
        let node = t.create_vertex(&labels, own).unwrap();
        if edge {
            t.create_edge(node, node, edge_type, vec![(key, value)]).unwrap();
        }
        match t.commit() {
            Ok(_) => "it holds".to_string(),
            Err(error) => error.to_string(),
        }
    };
    for (at, edge) in [(0, false), (1, true)] {
        let twice = told(1.into(), edge);
        let begins = format!("constraint `unique{at}` would be broken: {} ", of[at]);
        assert!(
            twice.starts_with(&begins) && twice.contains(&format!("the same `k` as {}", of[at])),
            "{twice}"
        );
        let what = ["a node with label `A`", "a relationship of type `R`"][at];
        let absent = format!("constraint `there{at}` would be broken: {what} must have the property `k`");
        assert_eq!(told(Value::Null, edge), absent);
        let typed = format!(
            "constraint `typed{at}` would be broken: {what} must have an Integer as `k`, not a String"
        );
        assert_eq!(told("x".into(), edge), typed);
        assert_eq!(told(3.into(), edge), "it holds");
    }
}
