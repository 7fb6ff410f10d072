//! Sub-queries stop as soon as they have enough: these would take hours if they did not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Direction;
use plan::algebra::{ApplyKind, ExpandPath, Intersect, IntersectArm};
use plan::pattern::{PathMode, Selector};
use plan::{LabelExpr, Plan, Var};
use support::build::*;
use support::{Graph, TwinVertex, drain, engine, read, start};
use tanglewood_execute::{Access, ExecuteOptions};

/// Everybody knows everybody: walks of length eight number in the billions.
fn clique() -> Graph {
    let engine = engine();
    let transaction = engine.begin(transact::Mode::Write);
    let (label, knows) = (transaction.label("A").unwrap(), transaction.edge_type("R").unwrap());
    let ids: Vec<_> = (0..40).map(|_| transaction.create_vertex(&[label], Vec::new()).unwrap()).collect();
    for source in &ids {
        for target in &ids {
            transaction.create_edge(*source, *target, knows, Vec::new()).unwrap();
        }
    }
    transaction.commit().unwrap();
    let vertices = ids.into_iter().map(|id| TwinVertex { id, labels: vec!["A"], x: None }).collect();
    Graph { engine, vertices, edges: Vec::new() }
}

fn far(input: Plan, from: u32, to: u32) -> Plan {
    Plan::ExpandPath(Box::new(ExpandPath {
        input,
        from: Var(from),
        edges: None,
        edges_reversed: false,
        length: None,
        to: Var(to),
        types: Vec::new(),
        direction: Direction::Both,
        into: false,
        labels: LabelExpr::Any,
        min: 1,
        max: Some(9),
        mode: PathMode::Trail,
        selector: Selector::Every,
        distinct_ends: false,
        edge_predicate: None,
    }))
}

fn out(input: Plan, from: u32, to: u32) -> Plan {
    Plan::Expand(Box::new(expand(input, from, None, to, &["R"], Direction::Out)))
}

fn rows(inner: Plan, kind: ApplyKind, column: u32) -> usize {
    let plan = apply(scan(Plan::Unit, 0, "A"), inner, &[0], kind);
    read(2, &clique(), plan, &[Var(column)]).unwrap().len()
}

#[test]
fn an_existence_test_does_not_enumerate() {
    let inner = || far(argument(&[0]), 0, 1);
    assert_eq!(rows(inner(), ApplyKind::Semi, 0), 40);
    assert_eq!(rows(inner(), ApplyKind::Anti, 0), 0);
    assert_eq!(rows(inner(), ApplyKind::Exists(Var(9)), 9), 40);
}

#[test]
fn nor_does_a_chain_of_expands_below_it() {
    let mut inner = argument(&[0]);
    for at in 0..9 {
        inner = out(inner, at, at + 1);
    }
    assert_eq!(rows(project(inner, vec![(20, int(1))]), ApplyKind::Semi, 0), 40);
}

#[test]
fn nor_does_one_with_a_filter_above() {
    let inner = filter(
        far(argument(&[0]), 0, 1),
        support::build::compare(plan::expr::BinaryOperator::Equal, var(1), var(1)),
    );
    assert_eq!(rows(inner, ApplyKind::Semi, 0), 40);
}

#[test]
fn a_limit_for_each_row_stops_the_work_below() {
    let inner = limit(far(argument(&[0]), 0, 1), 3);
    assert_eq!(rows(inner, ApplyKind::Inner(vec![Var(1)]), 1), 120);
    // A limit inside, and a test outside that looks at all of it.
    let inner = filter(
        count(limit(far(argument(&[0]), 0, 1), 5), 2),
        support::build::compare(plan::expr::BinaryOperator::Equal, var(2), int(5)),
    );
    assert_eq!(rows(inner, ApplyKind::Semi, 0), 40);
}

#[test]
fn what_a_dropped_stage_was_charged_for_is_given_back() {
    let arm = |from| IntersectArm {
        from: Var(from),
        types: vec!["R".into()],
        direction: Direction::Out,
        once: false,
    };
    let met = Intersect {
        input: out(argument(&[0]), 0, 1),
        arms: vec![arm(0), arm(1)],
        to: Var(2),
        labels: LabelExpr::Any,
    };
    // Every row's test is over at the first answer, while the lists that it met are still held.
    let outer = unwind(scan(Plan::Unit, 0, "A"), range(1, 500), 5);
    let plan = apply(outer, Plan::Intersect(Box::new(met)), &[0], ApplyKind::Semi);
    let graph = clique();
    let options = ExecuteOptions { batch_rows: 1, bytes_max: 1 << 20, ..ExecuteOptions::default() };
    let access = Access::Read(graph.engine.snapshot());
    let mut rows = start(1, access, count(plan, 9), &[Var(9)], options).unwrap();
    assert_eq!(drain(&mut rows).unwrap()[0][0].as_int(), Some(20_000));
}
