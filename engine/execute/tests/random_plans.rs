//! Random plans on random graphs: on 1, 2 and 4 executors the rows agree with the obvious interpreter, as multisets.
//!
//! `EXECUTE_SEED` replays one case; `EXECUTE_CASES` sets how many are run.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Value;
use plan::physical::Algorithm;
use plan::{Plan, Var};
use std::sync::Arc;
use support::maker::Maker;
use support::twin::Row;
use support::{random_graph, read, same, sorted, twin};
use tanglewood_execute::{Access, ExecuteOptions, Ready};
use world::chance::Chance;

fn normal(rows: Vec<Vec<Value>>, bags: &[usize]) -> Vec<Vec<Value>> {
    let sort = |mut row: Vec<Value>| {
        for at in bags {
            if let Value::List(list) = &row[*at] {
                let mut list = list.to_vec();
                list.sort_by(model::compare::total_order);
                row[*at] = Value::list(list);
            }
        }
        row
    };
    sorted(rows.into_iter().map(sort).collect())
}

fn show(plan: &Plan) -> String {
    plan::explain::render(&support::statement(plan.clone(), &[]), &[], None)
}

/// Returns whether some sub-query ran within one operator.
fn check(seed: u64) -> bool {
    let mut chance = Chance::seeded(seed);
    let (vertices, edges) = (1 + chance.index(14), chance.index(24));
    let graph = random_graph(&mut chance, vertices, edges);
    let mut maker = Maker::new(&mut chance);
    let mut draft = maker.leaf();
    for _ in 0..1 + maker.chance.below(5) {
        let grown = maker.grow(draft.clone(), 2);
        // Plans whose answers explode tell nothing more.
        if twin::rows(&graph, &grown.plan, &Row::new()).len() < 4_000 {
            draft = grown;
        }
    }
    let columns: Vec<u32> = Maker::columns(&draft);
    let vars: Vec<Var> = columns.iter().map(|column| Var(*column)).collect();
    let bags: Vec<usize> = (0..columns.len()).filter(|at| draft.bags.contains(&columns[*at])).collect();
    let answer =
        |row: &Row| vars.iter().map(|variable| row.get(variable).cloned().unwrap_or_default()).collect();
    let expected = normal(twin::rows(&graph, &draft.plan, &Row::new()).iter().map(answer).collect(), &bags);
    // Of a plan that is a line, two runs of what is compiled once.
    let whole = support::statement(draft.plan.clone(), &vars);
    let ready = Ready::new(&whole);
    for run in 0..2 {
        let (access, options) = (Access::Read(graph.engine.snapshot()), ExecuteOptions::default());
        let Some(mut stream) = ready.try_here(&whole, access, &Arc::default(), &options).unwrap() else {
            continue;
        };
        let found = support::drain(&mut stream).unwrap();
        let found = if vars.is_empty() { expected.clone() } else { normal(found, &bags) };
        assert!(same(&found, &expected), "seed {seed}, run {run} here\n{}", show(&draft.plan));
    }
    for executors in [1, 2, 4] {
        let found = read(executors, &graph, draft.plan.clone(), &vars);
        let found = found.unwrap_or_else(|error| {
            panic!("seed {seed}, {executors} executors: {error}\n{}", show(&draft.plan))
        });
        let found = if vars.is_empty() { expected.clone() } else { normal(found, &bags) };
        assert!(
            same(&found, &expected),
            "seed {seed}, {executors} executors: {} rows, not {}\n{found:?}\n{expected:?}\n{}",
            found.len(),
            expected.len(),
            show(&draft.plan)
        );
    }
    let is_inline = |id| matches!(whole.physical.node(id).unwrap().algorithm, Algorithm::Inline { .. });
    (0..whole.physical.len()).any(is_inline)
}

#[test]
fn rows_agree_with_the_obvious_interpreter() {
    if let Ok(seed) = std::env::var("EXECUTE_SEED") {
        check(seed.parse().unwrap());
        return;
    }
    let cases = std::env::var("EXECUTE_CASES").map_or(400_u64, |cases| cases.parse().unwrap());
    let inline = (0..cases).filter(|seed| check(*seed)).count() as u64;
    assert!(inline * 50 > cases, "{inline} of {cases} cases have a sub-query that runs within one operator");
}
