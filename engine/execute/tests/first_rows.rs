//! Sorts by Gremlin's order, and the first row of each combination of columns, on rows of values of every type.
//!
//! `EXECUTE_SEED` replays one case.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Value;
use plan::algebra::{Distinct, KeyOrder, Sort, SortKey};
use plan::{Expr, Plan, Var};
use support::build::*;
use support::twin::Row;
use support::{drain, random_graph, same, start, twin};
use tanglewood_execute::{Access, ExecuteOptions};
use world::chance::Chance;

const CASES: u64 = 150;
/// Columns of a row beside its number; the element they come from has the number before.
const COLUMNS: u32 = 3;

fn any_value(chance: &mut Chance) -> Value {
    match chance.index(8) {
        0 => Value::Null,
        1 => Value::Bool(chance.happens(0.5)),
        2 | 3 => Value::Int(chance.below(6) as i64),
        4 => Value::Float(chance.below(6) as f64 / 2.0),
        5 => Value::list(vec![Value::Int(chance.below(3) as i64)]),
        _ => Value::string(["a", "b", "c", ""][chance.index(4)]),
    }
}

/// A value of a column that holds one type, as most do.
fn value(chance: &mut Chance, type_of: usize) -> Value {
    match type_of {
        0 => Value::Int(chance.below(6) as i64),
        1 => Value::string(["a", "b", "c", ""][chance.index(4)]),
        2 if chance.happens(0.8) => Value::Int(chance.below(6) as i64),
        2 => Value::Null,
        _ => any_value(chance),
    }
}

fn check(seed: u64) {
    let mut chance = Chance::seeded(seed);
    let graph = random_graph(&mut chance, 2, 0);
    let types: Vec<usize> = (0..COLUMNS).map(|_| chance.index(5)).collect();
    let rows = (0..chance.index(400)).map(|number| {
        let mut row: Vec<Value> = types.iter().map(|type_of| value(&mut chance, *type_of)).collect();
        row.push(Value::Int(number as i64));
        Value::list(row)
    });
    let list = Expr::literal(Value::list(rows.collect()));
    let part = |at: u32| (at + 1, Expr::Index(Box::new(var(0)), Box::new(int(i64::from(at)))));
    let mut plan = extend(unwind(Plan::Unit, list, 0), (0..=COLUMNS).map(part).collect());
    let key = |chance: &mut Chance| SortKey {
        expr: var(1 + chance.below(u64::from(COLUMNS)) as u32),
        descending: chance.happens(0.5),
        order: if chance.happens(0.7) { KeyOrder::Typed } else { KeyOrder::Total },
    };
    let keys = (0..1 + chance.index(3)).map(|_| key(&mut chance)).collect();
    let few = chance.happens(0.5).then(|| int(chance.below(60) as i64));
    plan = Plan::Sort(Box::new(Sort { input: plan, keys, limit: few }));
    let mut vars: Vec<Var> = (1..=COLUMNS + 1).map(Var).collect();
    if chance.happens(0.5) {
        let columns = vars.drain(..1 + chance.index(2)).collect();
        plan = Plan::Distinct(Box::new(Distinct { input: plan, columns, carried: vars.clone() }));
        vars = (1..=COLUMNS + 1).map(Var).collect();
    }
    let row = |row: &Row| vars.iter().map(|var| row[var].clone()).collect::<Vec<Value>>();
    let right: Vec<Vec<Value>> = twin::rows(&graph, &plan, &Row::new()).iter().map(row).collect();
    for batch_rows in [7, 1_000] {
        let options = ExecuteOptions { batch_rows, ..ExecuteOptions::default() };
        let access = Access::Read(graph.engine.snapshot());
        let found = start(2, access, plan.clone(), &vars, options).and_then(|mut rows| drain(&mut rows));
        let found = found.unwrap();
        assert!(same(&found, &right), "EXECUTE_SEED={seed}: {plan:?}\n{found:?}\n{right:?}");
    }
}

#[test]
fn rows_stand_in_order_and_the_first_is_kept() {
    if let Ok(seed) = std::env::var("EXECUTE_SEED") {
        return check(seed.parse().unwrap());
    }
    (0..CASES).for_each(check);
}
