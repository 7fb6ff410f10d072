//! Limits stop work early, and cancellation, deadlines and budgets end a query with an error that says why.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::{Direction, Value};
use plan::{AggregateFunction, Expr, Plan, Var};
use std::time::{Duration, Instant};
use support::build::*;
use support::{Graph, drain, random_graph, read, start};
use tanglewood_execute::{Access, ExecuteError, ExecuteOptions};
use world::chance::Chance;

fn graph() -> Graph {
    random_graph(&mut Chance::seeded(7), 60, 200)
}

/// A plan that would run for ever: a product of long lists.
fn endless() -> Plan {
    let mut plan = Plan::Unit;
    for variable in 0..8 {
        plan = unwind(plan, range(0, 999), variable);
    }
    plan
}

fn start_endless(
    executors: usize,
    plan: Plan,
    columns: &[Var],
    options: ExecuteOptions,
) -> (Graph, Result<Vec<Vec<Value>>, ExecuteError>) {
    let graph = graph();
    let mut stream = start(executors, Access::Read(graph.engine.snapshot()), plan, columns, options).unwrap();
    let rows = drain(&mut stream);
    (graph, rows)
}

#[test]
fn a_limit_stops_the_work_below() {
    for executors in [1, 2, 4] {
        let began = Instant::now();
        let (_, rows) = start_endless(executors, limit(endless(), 5), &[Var(7)], ExecuteOptions::default());
        assert_eq!(rows.unwrap().len(), 5);
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_limit_of_nothing_yields_nothing() {
    let rows = read(2, &graph(), limit(scan(Plan::Unit, 0, ""), 0), &[Var(0)]).unwrap();
    assert!(rows.is_empty());
}

#[test]
fn a_deadline_ends_a_query() {
    let options = ExecuteOptions { deadline: Some(Duration::from_millis(30)), ..ExecuteOptions::default() };
    let (_, rows) = start_endless(2, count(endless(), 9), &[Var(9)], options);
    assert!(matches!(rows, Err(ExecuteError::TimedOut { .. })), "{rows:?}");
}

#[test]
fn a_cancelled_query_ends_soon() {
    let graph = graph();
    let access = Access::Read(graph.engine.snapshot());
    let mut stream = start(2, access, count(endless(), 9), &[Var(9)], ExecuteOptions::default()).unwrap();
    assert!(stream.next_timeout(Duration::from_millis(20)).is_none());
    stream.cancel("for a test");
    let end = stream.next().unwrap();
    assert!(matches!(end, Err(ExecuteError::Cancelled(ref reason)) if reason == "for a test"), "{end:?}");
    assert!(stream.next().is_none());
}

#[test]
fn a_budget_names_who_held_what() {
    let options = ExecuteOptions { bytes_max: 1 << 20, ..ExecuteOptions::default() };
    let plan = sort(endless(), vec![(var(7), true)], None);
    let (_, rows) = start_endless(2, plan, &[Var(7)], options);
    let Err(ExecuteError::OverBudget { limit, held, .. }) = rows else { panic!("{rows:?}") };
    assert_eq!(limit, 1 << 20);
    assert!(held.iter().any(|(name, bytes)| name.contains("Sort") && *bytes > 0), "{held:?}");
}

#[test]
fn a_client_that_goes_away_ends_its_query() {
    let graph = graph();
    for _ in 0..50 {
        let access = Access::Read(graph.engine.snapshot());
        let mut stream = start(4, access, endless(), &[Var(7)], ExecuteOptions::default()).unwrap();
        assert!(stream.next().unwrap().is_ok());
    }
    let rows = read(4, &graph, count(scan(Plan::Unit, 0, ""), 1), &[Var(1)]).unwrap();
    assert_eq!(rows[0][0].as_int(), Some(60));
}

#[test]
fn a_failing_expression_is_reported_with_its_code() {
    let divide = Expr::binary(plan::expr::BinaryOperator::Divide, int(1), var(0));
    let plan = project(unwind(Plan::Unit, range(0, 3), 0), vec![(1, divide)]);
    let error = read(2, &graph(), plan, &[Var(1)]).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Statement.ArithmeticError");
}

#[test]
fn writing_needs_a_transaction() {
    let plan = create(Plan::Unit, vec![create_vertex(0, &["A"], None)], Vec::new());
    let error = read(1, &graph(), plan, &[]).unwrap_err();
    assert!(matches!(error, ExecuteError::ReadOnly));
    assert_eq!(error.code(), "Neo.ClientError.Statement.AccessMode");
}

#[test]
fn order_is_kept_on_every_number_of_executors() {
    for executors in [1, 2, 4] {
        let plan = sort(unwind(Plan::Unit, range(0, 5_000), 0), vec![(var(0), true)], None);
        let plan = extend(plan, vec![(1, var(0))]);
        let rows = read(executors, &graph(), plan, &[Var(1)]).unwrap();
        let found: Vec<i64> = rows.iter().map(|row| row[0].as_int().unwrap()).collect();
        assert_eq!(found, (0..=5_000).rev().collect::<Vec<_>>());
    }
}

#[test]
fn a_long_sort_merges_its_runs_and_keeps_equal_rows_in_order() {
    let modulo = Expr::binary(plan::expr::BinaryOperator::Modulo, var(0), int(10));
    let plan = sort(unwind(Plan::Unit, range(0, 49_999), 0), vec![(modulo, true)], None);
    let rows = read(2, &graph(), plan, &[Var(0)]).unwrap();
    let found: Vec<i64> = rows.iter().map(|row| row[0].as_int().unwrap()).collect();
    let mut expected: Vec<i64> = (0..50_000).collect();
    expected.sort_by_key(|value| std::cmp::Reverse(value % 10));
    assert_eq!(found, expected);
}

#[test]
fn a_profile_speaks_of_plan_nodes() {
    let graph = graph();
    let plan =
        count(Plan::Expand(Box::new(expand(scan(Plan::Unit, 0, ""), 0, None, 1, &[], Direction::Out))), 2);
    let mut stream =
        start(2, Access::Read(graph.engine.snapshot()), plan, &[Var(2)], ExecuteOptions::default()).unwrap();
    let rows = drain(&mut stream).unwrap();
    assert_eq!(rows[0][0].as_int(), Some(200));
    let profile = stream.profile();
    assert_eq!(profile.len(), 4, "aggregate, expand, scan, unit: {profile:?}");
    assert_eq!((profile[0].rows_out, profile[1].rows_out, profile[2].rows_out), (1, 200, 60), "{profile:?}");
}

#[test]
fn procedures_answer_and_refuse() {
    let call = |name: &str, field: &str| {
        Plan::CallProcedure(Box::new(plan::algebra::CallProcedure {
            input: Plan::Unit,
            name: name.into(),
            arguments: Vec::new(),
            yields: vec![(field.into(), Var(0))],
            is_cached: false,
        }))
    };
    let rows = read(2, &graph(), call("db.labels", "label"), &[Var(0)]).unwrap();
    assert_eq!(rows.iter().map(|row| row[0].as_str().unwrap()).collect::<Vec<_>>(), ["A", "B"]);
    assert!(matches!(
        read(1, &graph(), call("db.nothing", "x"), &[Var(0)]),
        Err(ExecuteError::NoProcedure(_))
    ));
    assert!(matches!(
        read(1, &graph(), call("db.labels", "x"), &[Var(0)]),
        Err(ExecuteError::ProcedureCall(_))
    ));
}

#[test]
fn collecting_after_sorting_keeps_the_order() {
    let sorted = sort(unwind(Plan::Unit, range(0, 40), 0), vec![(var(0), true)], None);
    let plan =
        aggregate(sorted, Vec::new(), vec![(1, call(AggregateFunction::Collect, Some(var(0)), false))]);
    let rows = read(4, &graph(), plan, &[Var(1)]).unwrap();
    let Value::List(list) = &rows[0][0] else { panic!("{rows:?}") };
    assert_eq!(
        list.iter().map(|value| value.as_int().unwrap()).collect::<Vec<_>>(),
        (0..=40).rev().collect::<Vec<_>>()
    );
}
