//! Expressions over a real snapshot of the store: names defined after compiling, labels, properties, deletions.

use super::{WALL_US, reader};
use crate::{EvalError, Layout, Parameters, Request, Scope, compile};
use model::{Batch, Column, EdgeRef, Value};
use plan::Var;
use plan::expr::LabelExpr;
use store::{Change, Snapshot, Store};

/// Two people, Ann (30) and Bo (no age), Ann knows Bo since 2001.
fn graph() -> (Snapshot, Snapshot, Batch) {
    let store = Store::new(Default::default());
    let (names, allocator) = (store.names(), store.allocator());
    let person = names.intern_label("Person").unwrap();
    let people = names.intern_label_set(&[person]).unwrap();
    let (name, age) = (names.intern_key("name").unwrap(), names.intern_key("age").unwrap());
    let (knows, since) = (names.intern_edge_type("KNOWS").unwrap(), names.intern_key("since").unwrap());
    let (ann, bo) = (allocator.vertex(people).unwrap(), allocator.vertex(people).unwrap());
    let edge = EdgeRef { id: allocator.edge(ann, knows).unwrap(), source: ann, target: bo };
    let (definitions, _) = names.undurable();
    let mut changes: Vec<Change> = definitions.into_iter().map(Change::DefineName).collect();
    changes.push(Change::CreateVertex {
        id: ann,
        labels: people,
        properties: vec![(name, "Ann".into()), (age, 30.into())],
    });
    changes.push(Change::CreateVertex { id: bo, labels: people, properties: vec![(name, "Bo".into())] });
    changes.push(Change::CreateEdge { edge, properties: vec![(since, 2001.into())] });
    let full = store.current().apply(1, &[&changes]).unwrap();
    let gone = [Change::DeleteEdge { edge }, Change::DeleteVertex { id: bo }];
    let after = full.apply(2, &[&gone]).unwrap();
    let rows =
        vec![vec![ann.into(), edge.into()], vec![bo.into(), edge.into()], vec![Value::Null, Value::Null]];
    (full, after, Batch::from_rows(2, &rows))
}

fn evaluate(text: &str, snapshot: &Snapshot, batch: &Batch) -> Result<Vec<Value>, EvalError> {
    let request = Request::fixed(Parameters::new(), WALL_US, 1);
    // Compiled against a catalogue that knows no name yet: each is looked up when it is needed.
    let nothing = Snapshot::empty(Default::default(), Default::default());
    let expr = reader::read(text).unwrap();
    let compiled =
        compile(&expr, &Layout::new(&[Var(0), Var(1)]), nothing.catalog(), &request.parameters).unwrap();
    let scope = Scope::new(snapshot, &request);
    let column = compiled.evaluate(batch, &scope)?;
    Ok((0..batch.len()).map(|row| column.get(row)).collect())
}

#[test]
fn a_snapshot_is_read() {
    let (full, _, batch) = graph();
    let table = [
        ("@0.name", vec!["Ann".into(), "Bo".into(), Value::Null]),
        ("@0.age + 1", vec![31.into(), Value::Null, Value::Null]),
        ("@0:Person", vec![true.into(), true.into(), Value::Null]),
        ("@0:Dog", vec![false.into(), false.into(), Value::Null]),
        ("@1.since", vec![2001.into(), 2001.into(), Value::Null]),
        ("type(@1)", vec!["KNOWS".into(), "KNOWS".into(), Value::Null]),
        ("size(keys(@0))", vec![2.into(), 1.into(), Value::Null]),
        ("properties(@1).since", vec![2001.into(), 2001.into(), Value::Null]),
    ];
    for (text, expected) in table {
        let found = evaluate(text, &full, &batch).unwrap_or_else(|error| panic!("{text}: {error}"));
        let same = found.iter().zip(&expected).all(|(a, b)| model::compare::equivalent(a, b));
        assert!(same, "{text} gave {found:?}, not {expected:?}");
    }
}

#[test]
fn what_was_deleted_is_an_error_to_read() {
    let (_, after, batch) = graph();
    for text in ["@0.name", "@0.age", "@0:Person", "labels(@0)", "properties(@0)", "@1.since", "keys(@1)"] {
        let error = evaluate(text, &after, &batch).unwrap_err();
        assert_eq!(error.code(), "Neo.ClientError.Statement.EntityNotFound", "{text}");
    }
    assert!(evaluate("type(@1)", &after, &batch).is_ok());
    assert!(evaluate("@0 = @0", &after, &batch).is_ok());
}

/// All tests of two labels, one of them unknown: over a column as for each row alone, errors of deleted vertices included.
#[test]
fn label_tests_over_a_column_are_those_of_each_row() {
    let (full, after, batch) = graph();
    let has = |name: &str| LabelExpr::Has(name.into());
    let simple = || [has("Person"), has("Missing"), LabelExpr::Some, LabelExpr::Any];
    let not = |one: LabelExpr| LabelExpr::Not(Box::new(one));
    let leaves: Vec<LabelExpr> = simple().into_iter().chain(simple().map(not)).collect();
    let pair = |(a, b): (&LabelExpr, &LabelExpr)| (Box::new(a.clone()), Box::new(b.clone()));
    let pairs = || leaves.iter().flat_map(|a| leaves.iter().map(move |b| (a, b)));
    let both = pairs().map(pair).map(|(a, b)| LabelExpr::And(a, b));
    let either = pairs().map(pair).map(|(a, b)| LabelExpr::Or(a, b));
    let tests: Vec<LabelExpr> = leaves.iter().cloned().chain(both).chain(either).collect();
    let request = Request::fixed(Parameters::new(), WALL_US, 1);
    let deleted = batch.select(vec![1]);
    for (labels, snapshot) in tests.iter().flat_map(|labels| [(labels, &full), (labels, &after)]) {
        let scope = Scope::new(snapshot, &request);
        let expr = plan::Expr::HasLabels(Box::new(plan::Expr::Variable(Var(0))), labels.clone());
        let compiled =
            compile(&expr, &Layout::new(&[Var(0), Var(1)]), snapshot.catalog(), &request.parameters).unwrap();
        for rows in [&batch, &deleted] {
            let column = compiled.evaluate(rows, &scope);
            let alone: Result<Vec<Value>, _> =
                (0..rows.len()).map(|row| compiled.evaluate_row(rows, row, &scope)).collect();
            assert_eq!(column.is_err(), alone.is_err(), "{labels:?}");
            let (Ok(column), Ok(alone)) = (column, alone) else { continue };
            assert!(
                (0..rows.len()).all(|row| column.get(row).as_bool() == alone[row].as_bool()),
                "{labels:?}"
            );
        }
    }
}

/// Sets of labels, some vertices without any, and a row of null.
#[test]
fn labels_are_lists_by_set() {
    let store = Store::new(Default::default());
    let (names, allocator) = (store.names(), store.allocator());
    let label = |name: &str| names.intern_label(name).unwrap();
    let sets = [vec![label("A")], vec![label("A"), label("B")], Vec::new()];
    let mut changes = Vec::new();
    let mut rows = Vec::new();
    for round in 0..3 {
        for labels in &sets {
            let set = names.intern_label_set(labels).unwrap();
            let id = allocator.vertex(set).unwrap();
            changes.push(Change::CreateVertex { id, labels: set, properties: Vec::new() });
            rows.push((vec![id.into()], labels.len(), round));
        }
    }
    let (definitions, _) = names.undurable();
    let all: Vec<Change> = definitions.into_iter().map(Change::DefineName).chain(changes).collect();
    let snapshot = store.current().apply(1, &[&all]).unwrap();
    let batch = |rows: &[Vec<Value>]| Batch::from_rows(1, rows);
    let size = |value: Value| match value {
        Value::List(list) => Some(list.len()),
        Value::Null => None,
        other => panic!("{other:?}"),
    };
    let mut mixed: Vec<Vec<Value>> = rows.iter().map(|(row, ..)| row.clone()).collect();
    mixed.push(vec![Value::Null]);
    let request = Request::fixed(Parameters::new(), WALL_US, 1);
    let scope = Scope::new(&snapshot, &request);
    let expr = reader::read("labels(@0)").unwrap();
    let compiled = compile(&expr, &Layout::new(&[Var(0)]), snapshot.catalog(), &request.parameters).unwrap();
    let found = compiled.evaluate(&batch(&mixed), &scope).unwrap();
    let sizes: Vec<Option<usize>> = (0..mixed.len()).map(|row| size(found.get(row))).collect();
    let expected: Vec<Option<usize>> = rows.iter().map(|(_, size, _)| Some(*size)).chain([None]).collect();
    assert_eq!(sizes, expected);
    // One set makes one list that all rows share, unless one row has none.
    let same: Vec<Vec<Value>> = rows.iter().filter(|row| row.1 == 2).map(|row| row.0.clone()).collect();
    let found = compiled.evaluate(&batch(&same), &scope).unwrap();
    assert!(matches!(&found, model::Column::Constant(list, 3) if size(list.clone()) == Some(2)), "{found:?}");
    let with_null = [same, vec![vec![Value::Null]]].concat();
    let found = compiled.evaluate(&batch(&with_null), &scope).unwrap();
    assert_eq!((size(found.get(0)), size(found.get(3))), (Some(2), None));
}

/// One row at a time and all at once.
#[test]
fn a_property_is_read_alone_as_among_others() {
    let (full, _, batch) = graph();
    for text in ["@0.name", "@0.age", "@1.since", "@0.unheard"] {
        let alone = evaluate(&format!("[x IN [1] | {text}][0]"), &full, &batch).unwrap();
        let among = evaluate(text, &full, &batch).unwrap();
        assert!(alone.iter().zip(&among).all(|(a, b)| model::compare::equivalent(a, b)), "{text}: {alone:?}");
    }
}

/// Values that lie together in the store, compared with constants of each type: as the interpreter does, row by row.
#[test]
fn runs_are_compared_as_each_value_alone() {
    let store = Store::new(Default::default());
    let (names, allocator) = (store.names(), store.allocator());
    let set = names.intern_label_set(&[names.intern_label("N").unwrap()]).unwrap();
    let edge_type = names.intern_edge_type("T").unwrap();
    let keys = ["i", "f", "t"].map(|key| names.intern_key(key).unwrap());
    let properties = |number: i64| {
        let float = if number == 7 { f64::NAN } else { number as f64 / 2.0 };
        let text = ["a", "ab", "b"][number as usize % 3];
        vec![(keys[0], Value::Int(number)), (keys[1], float.into()), (keys[2], text.into())]
    };
    let (mut changes, mut rows) = (Vec::new(), Vec::<Vec<Value>>::new());
    for number in 0..40 {
        let id = allocator.vertex(set).unwrap();
        changes.push(Change::CreateVertex { id, labels: set, properties: properties(number) });
        let edge = EdgeRef { id: allocator.edge(id, edge_type).unwrap(), source: id, target: id };
        changes.push(Change::CreateEdge { edge, properties: properties(number) });
        rows.push(vec![id.into(), edge.into()]);
    }
    let (definitions, _) = names.undurable();
    let all: Vec<Change> = definitions.into_iter().map(Change::DefineName).chain(changes).collect();
    let chunk = Column::from_iter([rows[0][0].clone()]).vertex(0).unwrap().chunk();
    let snapshot = store.current().apply(1, &[&all]).unwrap().compact(chunk).unwrap();
    let batch = Batch::from_rows(2, &rows);
    let request = Request::fixed(Parameters::new(), WALL_US, 1);
    let scope = Scope::new(&snapshot, &request);
    let layout = Layout::new(&[Var(0), Var(1)]);
    let constants: [Value; 9] = [
        9.into(),
        9.5.into(),
        10.0.into(),
        f64::NAN.into(),
        i64::MAX.into(),
        (1_i64 << 60).into(),
        f64::NEG_INFINITY.into(),
        "ab".into(),
        true.into(),
    ];
    use plan::expr::BinaryOperator as B;
    for operator in [B::Equal, B::NotEqual, B::Less, B::LessEqual, B::Greater, B::GreaterEqual, B::StartsWith]
    {
        for (constant, key) in
            constants.iter().flat_map(|constant| ["i", "f", "t"].map(|key| (constant, key)))
        {
            for entity in [0, 1] {
                let property = plan::Expr::property(Var(entity), key);
                let expr = plan::Expr::binary(operator, property, plan::Expr::literal(constant.clone()));
                let compiled = compile(&expr, &layout, snapshot.catalog(), &request.parameters).unwrap();
                let slow = compiled.evaluate_slowly(&batch, &scope);
                let mut selected = Vec::new();
                let fast = compiled.select(&batch, &scope, &mut selected);
                assert_eq!(fast.is_ok(), slow.is_ok(), "{expr:?}");
                let Ok(slow) = slow else { continue };
                let right =
                    (0..rows.len() as u32).filter(|row| slow.get(*row as usize).as_bool() == Some(true));
                assert_eq!(selected, right.collect::<Vec<_>>(), "{expr:?}");
            }
        }
    }
}
