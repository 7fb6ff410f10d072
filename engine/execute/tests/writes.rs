//! The effects of writing clauses on the graph, the state that they and the clauses above them see, and their errors.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::{Direction, Value};
use plan::algebra::{ApplyKind, ForEach, Merge, SetItem};
use plan::expr::BinaryOperator;
use plan::{AggregateFunction, Expr, LabelExpr, Plan, Var};
use support::build::*;
use support::{drain, engine, start, write};
use tanglewood_execute::{Access, ExecuteError, ExecuteOptions};
use transact::Engine;

fn rows(engine: &Engine, plan: Plan, columns: &[u32]) -> Vec<Vec<Value>> {
    let columns: Vec<Var> = columns.iter().map(|column| Var(*column)).collect();
    let access = Access::Read(engine.snapshot());
    support::sorted(drain(&mut start(2, access, plan, &columns, ExecuteOptions::default()).unwrap()).unwrap())
}

fn ints(engine: &Engine, plan: Plan, column: u32) -> Vec<Option<i64>> {
    rows(engine, plan, &[column]).into_iter().map(|row| row[0].as_int()).collect()
}

/// The property `key` of all vertices with a label.
fn all(engine: &Engine, label: &str, key: &str) -> Vec<Option<i64>> {
    ints(engine, project(scan(Plan::Unit, 0, label), vec![(1, property(0, key))]), 1)
}

fn add(a: Expr, b: Expr) -> Expr {
    compare(BinaryOperator::Add, a, b)
}

fn set_property(variable: u32, key: &str, value: Expr) -> SetItem {
    SetItem::Property(var(variable), key.into(), value)
}

fn made(engine: &Engine, label: &str, count: i64) {
    let plan = create(
        unwind(Plan::Unit, range(0, count - 1), 0),
        vec![create_vertex(1, &[label], Some(map(vec![("n", var(0))])))],
        Vec::new(),
    );
    write(engine, plan, &[]).unwrap();
}

#[test]
fn create_joins_what_it_creates() {
    let engine = engine();
    let plan = create(
        unwind(Plan::Unit, range(1, 10), 0),
        vec![create_vertex(1, &["A"], Some(map(vec![("n", var(0))]))), create_vertex(2, &["B"], None)],
        vec![create_edge(3, "R", 1, 2)],
    );
    let (found, counters) = write(&engine, project(plan, vec![(4, property(1, "n"))]), &[Var(4)]).unwrap();
    assert_eq!(found.len(), 10, "clauses above see what was created");
    assert!(found.iter().all(|row| row[0].as_int().is_some()));
    assert_eq!((counters.nodes_created, counters.relationships_created), (20, 10));
    assert_eq!((counters.properties_set, counters.labels_added), (10, 20));
    let expand = Plan::Expand(Box::new(expand(scan(Plan::Unit, 0, "A"), 0, None, 1, &["R"], Direction::Out)));
    assert_eq!(ints(&engine, count(expand, 2), 2), [Some(10)]);
}

#[test]
fn a_write_does_not_see_itself_below() {
    let engine = engine();
    made(&engine, "A", 5);
    // MATCH (a:A) CREATE (:A): ends, and creates one for each of those that were there.
    let plan = create(scan(Plan::Unit, 0, "A"), vec![create_vertex(1, &["A"], None)], Vec::new());
    let (_, counters) = write(&engine, plan, &[]).unwrap();
    assert_eq!(counters.nodes_created, 5);
    assert_eq!(all(&engine, "A", "n").len(), 10);
}

#[test]
fn clauses_above_a_write_see_it() {
    let engine = engine();
    let plan = create(Plan::Unit, vec![create_vertex(0, &["A"], None)], Vec::new());
    let plan = create(scan(plan, 1, "A"), vec![create_vertex(2, &["A"], None)], Vec::new());
    let (found, _) = write(&engine, count(scan(plan, 3, "A"), 4), &[Var(4)]).unwrap();
    assert_eq!(found[0][0].as_int(), Some(2));
}

#[test]
fn set_sees_what_earlier_rows_set() {
    let engine = engine();
    made(&engine, "A", 1);
    let plan = unwind(scan(Plan::Unit, 0, "A"), range(1, 1_000), 1);
    let plan = set(plan, vec![set_property(0, "n", add(property(0, "n"), int(1)))]);
    let (_, counters) = write(&engine, plan, &[]).unwrap();
    assert_eq!(counters.properties_set, 1_000);
    assert_eq!(all(&engine, "A", "n"), [Some(1_000)]);
}

/// Only the value was looked at for changes: an item whose subject or key reads what an item before it set was given the old value, and what they read was
/// not in the read set.
#[test]
fn every_part_of_a_change_sees_the_changes_before_it() {
    let chosen = || {
        let is_five = compare(BinaryOperator::Equal, property(0, "n"), int(5));
        Expr::Case { operand: None, arms: vec![(is_five, var(0))], otherwise: Some(Box::new(var(1))) }
    };
    let rows = || scan(scan(Plan::Unit, 0, "A"), 1, "B");
    type Items = Vec<SetItem>;
    let subject = |items: Items| [items, vec![SetItem::Property(chosen(), "y".into(), int(1))]].concat();
    let key = |items: Items| {
        let named = property(0, "named");
        [items, vec![SetItem::DynamicProperty(var(0), named, int(1))]].concat()
    };
    let labels = |items: Items, add: bool| {
        [items, vec![SetItem::DynamicLabels { variable: Var(0), labels: property(0, "named"), add }]].concat()
    };
    let engine = engine();
    made(&engine, "A", 1);
    made(&engine, "B", 1);
    let five = || vec![set_property(0, "n", int(5)), set_property(0, "named", Expr::literal("y2"))];
    write(&engine, set(rows(), subject(five())), &[]).unwrap();
    assert_eq!((all(&engine, "A", "y"), all(&engine, "B", "y")), (vec![Some(1)], vec![None]));
    let other = || vec![set_property(0, "named", Expr::literal("y3"))];
    write(&engine, set(rows(), key(other())), &[]).unwrap();
    assert_eq!((all(&engine, "A", "y3"), all(&engine, "A", "y2")), (vec![Some(1)], vec![None]));
    let third = || vec![set_property(0, "named", Expr::literal("Y4"))];
    write(&engine, set(rows(), labels(third(), true)), &[]).unwrap();
    assert_eq!((all(&engine, "Y4", "n"), all(&engine, "y3", "n")), (vec![Some(5)], vec![]));
    // What a subject, a key or a label read is validated.
    for (change, value) in [subject(vec![]), key(vec![]), labels(vec![], false)].into_iter().zip(6..) {
        let transaction = std::sync::Arc::new(engine.begin(transact::Mode::Write));
        let access = Access::Write(transaction.clone());
        let plan = set(rows(), change);
        drain(&mut start(2, access, plan, &[], ExecuteOptions::default()).unwrap()).unwrap();
        let beside = set(scan(Plan::Unit, 0, "A"), vec![set_property(0, "n", int(value))]);
        write(&engine, beside, &[]).unwrap();
        assert!(matches!(transaction.commit(), Err(transact::TransactError::Conflict { .. })), "{value}");
    }
}

/// Each row went through the whole list for changed nodes, and refreshed its view for one that it did not read: rows times elements.
#[test]
fn a_list_of_nodes_beside_each_row_is_not_gone_through() {
    const NODES: i64 = 1_500;
    let engine = engine();
    made(&engine, "A", NODES);
    let list = aggregate(
        scan(Plan::Unit, 0, "A"),
        vec![],
        vec![(1, support::build::call(AggregateFunction::Collect, Some(var(0)), false))],
    );
    let element = || Expr::Index(Box::new(var(1)), Box::new(var(2)));
    let rows = extend(unwind(list, range(0, NODES - 1), 2), vec![(3, element())]);
    // Each row reads one node of the list, and the one before it that the row before has changed.
    let before = Expr::Index(Box::new(var(1)), Box::new(compare(BinaryOperator::Subtract, var(2), int(1))));
    let value =
        Expr::Call(plan::Function::Coalesce, vec![Expr::Property(Box::new(element()), "m".into()), int(7)]);
    let changed = set(rows, vec![set_property(3, "m", value)]);
    let (_, counters) = write(&engine, changed, &[]).unwrap();
    assert_eq!(counters.properties_set, NODES as u64);
    assert_eq!(all(&engine, "A", "m"), vec![Some(7); NODES as usize]);
    let few = limit(scan(Plan::Unit, 0, "A"), 40);
    let list = aggregate(
        few,
        vec![],
        vec![(1, support::build::call(AggregateFunction::Collect, Some(var(0)), false))],
    );
    let rows = extend(unwind(list, range(1, 39), 2), vec![(3, element())]);
    let value = add(Expr::Property(Box::new(before), "m".into()), int(1));
    write(&engine, set(rows, vec![set_property(3, "m", value)]), &[]).unwrap();
    let mut found: Vec<Option<i64>> = all(&engine, "A", "m").into_iter().filter(|m| *m != Some(7)).collect();
    found.sort_unstable();
    assert_eq!(found, (8..47).map(Some).collect::<Vec<_>>(), "each saw what the row before it set");
}

/// All of a list was recorded as read for each row of a MERGE, and once for a SET: time as rows times elements, and conflicts with all who changed one of
/// its nodes.
#[test]
fn of_a_list_beside_each_row_what_is_read_is_recorded() {
    const NODES: i64 = 1_000;
    let engine = engine();
    made(&engine, "A", NODES);
    let list = || {
        let call = support::build::call(AggregateFunction::Collect, Some(var(0)), false);
        unwind(aggregate(scan(Plan::Unit, 0, "A"), vec![], vec![(1, call)]), range(0, NODES - 1), 2)
    };
    let element = |at: i64| Expr::Index(Box::new(var(1)), Box::new(int(at)));
    let of = |at: i64| Expr::Property(Box::new(element(at)), "n".into());
    let pointed_at = SetItem::Property(element(7), "m".into(), var(2));
    let plans = [
        (set(list(), vec![pointed_at]), 0),
        (set(list(), vec![SetItem::Property(element(7), "m".into(), of(8))]), 1),
        (merge_vertex(list(), int(1), 2, vec![], vec![set_property(10, "m", of(8))]), 1),
        (create(list(), vec![create_vertex(10, &["K"], Some(map(vec![("n", of(8))])))], vec![]), 1),
    ];
    for (at, (plan, read)) in plans.into_iter().enumerate() {
        let transaction = std::sync::Arc::new(engine.begin(transact::Mode::Write));
        let access = Access::Write(transaction.clone());
        drain(&mut start(2, access, plan, &[], ExecuteOptions::default()).unwrap()).unwrap();
        // Which nodes are A, and what MERGE looks for and finds.
        let recorded = transaction.reads().len();
        assert!((read..read + 6).contains(&recorded), "plan {at}: {recorded}");
    }
}

#[test]
fn set_replaces_merges_and_removes() {
    let engine = engine();
    made(&engine, "A", 1);
    let whole = |merge, value| SetItem::Properties { variable: Var(0), value, merge };
    let step = |item| write(&engine, set(scan(Plan::Unit, 0, ""), vec![item]), &[]).unwrap().1;
    step(whole(true, map(vec![("m", int(5))])));
    assert_eq!((all(&engine, "A", "n"), all(&engine, "A", "m")), (vec![Some(0)], vec![Some(5)]));
    step(whole(false, map(vec![("m", int(6))])));
    assert_eq!((all(&engine, "A", "n"), all(&engine, "A", "m")), (vec![None], vec![Some(6)]));
    step(set_property(0, "m", Expr::literal(Value::Null)));
    assert_eq!(all(&engine, "A", "m"), [None]);
    let added = step(SetItem::AddLabels(Var(0), vec!["B".into(), "A".into()]));
    assert_eq!((added.labels_added, all(&engine, "B", "n").len()), (1, 1));
    let removed = step(SetItem::RemoveLabels(Var(0), vec!["A".into()]));
    assert_eq!((removed.labels_removed, all(&engine, "A", "n").len()), (1, 0));
}

#[test]
fn properties_hold_simple_values_only() {
    let engine = engine();
    made(&engine, "A", 1);
    let refuse = |value: Expr| {
        let plan = set(scan(Plan::Unit, 0, "A"), vec![set_property(0, "n", value)]);
        write(&engine, plan, &[]).unwrap_err()
    };
    let mixed = Expr::List(vec![int(1), Expr::literal("x")]);
    for value in [map(vec![("x", int(1))]), var(0), mixed, Expr::List(vec![Expr::List(vec![int(1)])])] {
        let error = refuse(value);
        assert!(matches!(error, ExecuteError::PropertyType(_)), "{error:?}");
    }
}

#[test]
fn delete_minds_what_is_still_connected() {
    let engine = engine();
    let plan = create(
        Plan::Unit,
        vec![create_vertex(0, &["A"], None), create_vertex(1, &["B"], None)],
        vec![create_edge(2, "R", 0, 1), create_edge(3, "R", 0, 0), create_edge(4, "R", 1, 0)],
    );
    write(&engine, plan, &[]).unwrap();
    let error = write(&engine, delete(scan(Plan::Unit, 0, "A"), vec![var(0)], false), &[]).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Schema.ConstraintValidationFailed");
    // Vertex and edges in one clause, the vertex first: the order does not matter.
    let edges = expand(scan(Plan::Unit, 0, "A"), 0, Some(1), 2, &[], Direction::Both);
    let plan = delete(Plan::Expand(Box::new(edges)), vec![var(0), var(1)], false);
    let (_, counters) = write(&engine, plan, &[]).unwrap();
    assert_eq!((counters.nodes_deleted, counters.relationships_deleted), (1, 3));
    assert_eq!((all(&engine, "A", "n").len(), all(&engine, "B", "n").len()), (0, 1));
}

#[test]
fn detach_delete_takes_the_edges_along() {
    let engine = engine();
    made(&engine, "A", 200);
    let pairs = scan(scan(Plan::Unit, 0, "A"), 1, "A");
    let next = filter(pairs, compare(BinaryOperator::Equal, property(1, "n"), add(property(0, "n"), int(1))));
    write(&engine, create(next, Vec::new(), vec![create_edge(2, "R", 0, 1)]), &[]).unwrap();
    let (_, counters) = write(&engine, delete(scan(Plan::Unit, 0, "A"), vec![var(0)], true), &[]).unwrap();
    assert_eq!((counters.nodes_deleted, counters.relationships_deleted), (200, 199));
    assert_eq!(engine.snapshot().statistics().vertices(), 0);
}

/// MERGE (n:K {n: value}) over rows of `input`.
fn merge_vertex(
    input: Plan,
    value: Expr,
    read: u32,
    on_create: Vec<SetItem>,
    on_match: Vec<SetItem>,
) -> Plan {
    let found = filter(
        scan(argument(&[read]), 10, "K"),
        compare(BinaryOperator::Equal, property(10, "n"), value.clone()),
    );
    Plan::Merge(Box::new(Merge {
        input,
        inner: found,
        imports: vec![Var(read)],
        vertices: vec![create_vertex(10, &["K"], Some(map(vec![("n", value)])))],
        edges: Vec::new(),
        on_create,
        on_match,
        paths: Vec::new(),
    }))
}

/// Rows that wait to be merged are charged until they are done, and what came of them until it is handed on: never both.
#[test]
fn merge_gives_back_what_it_charged() {
    let engine = engine();
    let rows = 3_000;
    let plan = merge_vertex(unwind(Plan::Unit, range(1, rows), 0), var(0), 0, Vec::new(), Vec::new());
    let transaction = std::sync::Arc::new(engine.begin(transact::Mode::Write));
    let options = ExecuteOptions { batch_rows: 100, ..ExecuteOptions::default() };
    let mut stream = start(2, Access::Write(transaction), plan, &[Var(0)], options).unwrap();
    assert_eq!(drain(&mut stream).unwrap().len() as i64, rows);
    let profile = stream.profile();
    let merge = profile.iter().find(|node| node.operators.iter().any(|name| name == "Merge")).unwrap();
    let batch = model::Batch::from_rows(1, &(0..100).map(|n| vec![Value::Int(n)]).collect::<Vec<_>>());
    let all = batch.bytes() as u64 * (rows as u64 / 100);
    assert!((all..all * 3 / 2).contains(&merge.bytes_peak), "{all} bytes went in, {merge:?}");
}

#[test]
fn merge_makes_each_once() {
    let engine = engine();
    let modulo = compare(BinaryOperator::Modulo, var(0), int(7));
    let input = || extend(unwind(Plan::Unit, range(0, 999), 0), vec![(1, modulo.clone())]);
    let seen = |key: &str, value| vec![set_property(10, key, value)];
    let plan = merge_vertex(input(), var(1), 1, seen("made", int(1)), seen("met", var(0)));
    let (found, counters) = write(&engine, plan, &[Var(10)]).unwrap();
    assert_eq!((found.len(), counters.nodes_created), (1_000, 7));
    assert_eq!(all(&engine, "K", "n"), (0..7).map(Some).collect::<Vec<_>>());
    assert_eq!(all(&engine, "K", "made"), [Some(1); 7]);
    assert_eq!(all(&engine, "K", "met").iter().max(), Some(&Some(999)));
    let (_, again) = write(&engine, merge_vertex(input(), var(1), 1, Vec::new(), Vec::new()), &[]).unwrap();
    assert_eq!(again.nodes_created, 0);
}

#[test]
fn merge_whose_set_changes_what_it_matches_goes_row_by_row() {
    let engine = engine();
    // Each creation moves the new vertex out of reach of the next row.
    let away = vec![set_property(10, "n", int(-1))];
    let plan = merge_vertex(unwind(Plan::Unit, range(1, 5), 0), int(3), 0, away, Vec::new());
    let (_, counters) = write(&engine, plan, &[]).unwrap();
    assert_eq!(counters.nodes_created, 5);
}

#[test]
fn merge_refuses_null() {
    let engine = engine();
    let plan = merge_vertex(
        unwind(Plan::Unit, range(1, 1), 0),
        Expr::literal(Value::Null),
        0,
        Vec::new(),
        Vec::new(),
    );
    let error = write(&engine, plan, &[]).unwrap_err();
    assert!(matches!(error, ExecuteError::MergeNull(_)), "{error:?}");
}

#[test]
fn merge_of_undirected_edges_meets_both_ways() {
    let engine = engine();
    made(&engine, "A", 4);
    let pairs = scan(scan(Plan::Unit, 0, "A"), 1, "A");
    let mut found = expand(argument(&[0, 1]), 0, Some(2), 1, &["R"], Direction::Both);
    found.into = true;
    let plan = Plan::Merge(Box::new(Merge {
        input: pairs,
        inner: Plan::Expand(Box::new(found)),
        imports: vec![Var(0), Var(1)],
        vertices: Vec::new(),
        edges: vec![create_edge(2, "R", 0, 1)],
        on_create: Vec::new(),
        on_match: Vec::new(),
        paths: vec![(Var(3), vec![Var(0), Var(2), Var(1)])],
    }));
    let (found, counters) = write(&engine, plan, &[Var(3)]).unwrap();
    assert_eq!((found.len(), counters.relationships_created), (16, 10), "four loops and six pairs");
    assert!(found.iter().all(|row| matches!(row[0], Value::Path(_))));
}

#[test]
fn for_each_works_element_by_element() {
    let engine = engine();
    made(&engine, "A", 3);
    let body = |input| set(input, vec![set_property(0, "n", add(property(0, "n"), var(1)))]);
    let plan = |body| {
        Plan::ForEach(Box::new(ForEach {
            input: scan(Plan::Unit, 0, "A"),
            variable: Var(1),
            list: range(1, 4),
            body,
            imports: vec![Var(0)],
        }))
    };
    let (found, _) =
        write(&engine, project(plan(body(argument(&[0, 1]))), vec![(2, property(0, "n"))]), &[Var(2)])
            .unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(all(&engine, "A", "n"), [Some(10), Some(11), Some(12)]);
    // Two clauses: what the second reads, the first has just written for this element.
    let copy = create(
        body(argument(&[0, 1])),
        vec![create_vertex(3, &["B"], Some(map(vec![("n", property(0, "n"))])))],
        Vec::new(),
    );
    write(&engine, plan(copy), &[]).unwrap();
    let mut expected: Vec<Option<i64>> =
        (10..13).flat_map(|n| [n + 1, n + 3, n + 6, n + 10]).map(Some).collect();
    expected.sort();
    assert_eq!(all(&engine, "B", "n"), expected);
}

#[test]
fn a_subquery_that_writes_runs_row_by_row() {
    let engine = engine();
    // Each row counts what is there, and adds one.
    let counted = count(scan(argument(&[0]), 1, "A"), 2);
    let inner = create(counted, vec![create_vertex(3, &["A"], Some(map(vec![("n", var(2))])))], Vec::new());
    let plan = apply(unwind(Plan::Unit, range(1, 6), 0), inner, &[0], ApplyKind::Inner(vec![Var(2)]));
    let (found, _) = write(&engine, plan, &[Var(2)]).unwrap();
    let found: Vec<_> = support::sorted(found).iter().map(|row| row[0].as_int()).collect();
    assert_eq!(found, (0..6).map(Some).collect::<Vec<_>>());
    assert_eq!(all(&engine, "A", "n"), (0..6).map(Some).collect::<Vec<_>>());
}

#[test]
fn a_limit_above_a_write_does_not_cut_it_short() {
    let engine = engine();
    let plan = create(unwind(Plan::Unit, range(1, 500), 0), vec![create_vertex(1, &["A"], None)], Vec::new());
    let (found, counters) = write(&engine, limit(plan, 1), &[Var(1)]).unwrap();
    assert_eq!((found.len(), counters.nodes_created), (1, 500));
}

#[test]
fn reads_of_a_writing_transaction_are_validated() {
    let engine = engine();
    made(&engine, "A", 1);
    let attempt = || {
        let transaction = std::sync::Arc::new(engine.begin(transact::Mode::Write));
        let plan = set(scan(Plan::Unit, 0, "A"), vec![set_property(0, "n", add(property(0, "n"), int(1)))]);
        let access = Access::Write(transaction.clone());
        drain(&mut start(2, access, plan, &[], ExecuteOptions::default()).unwrap()).unwrap();
        transaction
    };
    let (first, second) = (attempt(), attempt());
    assert!(first.commit().is_ok());
    assert!(matches!(second.commit(), Err(transact::TransactError::Conflict { .. })));
    assert_eq!(all(&engine, "A", "n"), [Some(1)]);
}

#[test]
fn an_index_is_found_and_followed_in_a_transaction() {
    let engine = engine();
    made(&engine, "A", 50);
    let catalog = engine.snapshot().catalog().clone();
    let target = model::schema::SchemaTarget::Vertices(catalog.label("A").unwrap());
    index(&engine, target, catalog.key("n").unwrap());
    let seek = |input, seek| support::build::seek(input, 1, "A", "n", seek);
    use plan::algebra::Seek;
    let n = |plan| ints(&engine, project(plan, vec![(2, property(1, "n"))]), 2);
    assert_eq!(n(seek(Plan::Unit, Seek::Equal(vec![int(7)]))), [Some(7)]);
    assert_eq!(n(seek(Plan::Unit, Seek::Range(Some((int(45), false)), None))).len(), 4);
    assert_eq!(
        n(seek(unwind(Plan::Unit, range(48, 51), 0), Seek::Equal(vec![var(0)]))),
        [Some(48), Some(49)]
    );
    assert_eq!(n(seek(Plan::Unit, Seek::In(Expr::List(vec![int(1), int(2), int(1)])))), [Some(1), Some(2)]);
    let written = set(seek(Plan::Unit, Seek::Equal(vec![int(7)])), vec![set_property(1, "n", int(700))]);
    let again = seek(project(written, vec![(3, int(0))]), Seek::Equal(vec![int(700)]));
    let (found, _) = write(&engine, count(again, 4), &[Var(4)]).unwrap();
    assert_eq!(found[0][0].as_int(), Some(1), "the index of the view holds the transaction's own writes");
    let _ = (AggregateFunction::Count, LabelExpr::Any);
}

#[test]
fn merges_of_different_edges_at_one_hub_do_not_conflict() {
    let engine = engine();
    made(&engine, "A", 4);
    // The type exists before: who names a type that comes into being meanwhile conflicts.
    let vertices = vec![create_vertex(0, &["Z"], None), create_vertex(1, &["Z"], None)];
    write(&engine, create(Plan::Unit, vertices, vec![create_edge(2, "R", 0, 1)]), &[]).unwrap();
    let attempt = |far: i64| {
        let with = |vertex, n| {
            move |input| {
                filter(
                    scan(input, vertex, "A"),
                    compare(BinaryOperator::Equal, property(vertex, "n"), int(n)),
                )
            }
        };
        let mut found = expand(argument(&[0, 1]), 0, Some(2), 1, &["R"], Direction::Out);
        found.into = true;
        let plan = Plan::Merge(Box::new(Merge {
            input: with(1, far)(with(0, 0)(Plan::Unit)),
            inner: Plan::Expand(Box::new(found)),
            imports: vec![Var(0), Var(1)],
            vertices: Vec::new(),
            edges: vec![create_edge(2, "R", 0, 1)],
            on_create: Vec::new(),
            on_match: Vec::new(),
            paths: Vec::new(),
        }));
        let transaction = std::sync::Arc::new(engine.begin(transact::Mode::Write));
        let access = Access::Write(transaction.clone());
        drain(&mut start(2, access, plan, &[], ExecuteOptions::default()).unwrap()).unwrap();
        transaction
    };
    let (first, second, same) = (attempt(1), attempt(2), attempt(1));
    assert!(first.commit().is_ok());
    let second = second.commit();
    assert!(second.is_ok(), "another far end: {second:?}");
    assert!(same.commit().is_err(), "the same edge");
    let edges = Plan::Expand(Box::new(expand(scan(Plan::Unit, 0, "A"), 0, None, 1, &["R"], Direction::Out)));
    assert_eq!(ints(&engine, count(edges, 2), 2), [Some(2)]);
}

#[test]
fn the_second_branch_of_a_union_sees_what_the_first_wrote() {
    let union = |left, right, columns: (u32, u32)| {
        Plan::Union(Box::new(plan::algebra::Union {
            left,
            right,
            columns: vec![(Var(30), Var(columns.0), Var(columns.1))],
            distinct: false,
        }))
    };
    for _ in 0..20 {
        let engine = engine();
        made(&engine, "A", 3);
        let more = |variable| {
            let rows = unwind(Plan::Unit, range(1, 50), variable);
            count(create(rows, vec![create_vertex(variable + 1, &["A"], None)], Vec::new()), variable + 2)
        };
        let counted = |variable| count(scan(Plan::Unit, variable, "A"), variable + 1);
        let (found, _) = write(&engine, union(more(0), counted(10), (2, 11)), &[Var(30)]).unwrap();
        let found: Vec<_> = support::sorted(found).iter().map(|row| row[0].as_int().unwrap()).collect();
        assert_eq!(found, [50, 53], "it sees all of it");
        let (found, _) = write(&engine, union(counted(10), more(0), (11, 2)), &[Var(30)]).unwrap();
        let found: Vec<_> = support::sorted(found).iter().map(|row| row[0].as_int().unwrap()).collect();
        assert_eq!(found, [50, 53], "the first sees nothing of the second");
    }
}
