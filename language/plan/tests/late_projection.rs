//! Columns that are computed above a sort against the same computed below it: random columns, some of which read others, rename
//! them, or take the name of what they are made of. The runner leaves the order of rows alone, so rows are compared one by one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::compare;
use support::build::*;
use support::chance::Chance;
use support::evaluate::Row;
use support::graph::*;
use support::run::run;
use tanglewood_plan::algebra::*;
use tanglewood_plan::expr::*;
use tanglewood_plan::{Plan, Statement, StatementKind, optimize};

const CASES: u64 = 4_000;

fn expression(chance: &mut Chance, vertex: Var, columns: &[Var]) -> Expr {
    match chance.below(5) {
        0 => read(chance.pick(columns)),
        1 => Expr::List(vec![read(chance.pick(columns)), Expr::property(vertex, chance.pick(&KEYS))]),
        2 => Expr::literal(7_i64),
        _ => Expr::property(vertex, chance.pick(&KEYS)),
    }
}

/// One or two levels of columns over a scan, sorted by some of them, the first rows kept.
fn statement(chance: &mut Chance) -> Statement {
    let mut table = Table::default();
    let vertex = table.var("v");
    let mut plan = PatternText::default().vertex(vertex, "").over(Plan::Unit);
    let mut columns = vec![vertex];
    for level in 0..1 + chance.below(2) {
        let mut items: Vec<(Var, Expr)> = Vec::new();
        let adds = chance.percent(50);
        let mut seen = columns.clone();
        for number in 0..1 + chance.below(4) {
            let column = table.var(&format!("c{level}{number}"));
            items.push((column, expression(chance, vertex, &seen)));
            if adds {
                seen.push(column)
            }
        }
        plan = if adds {
            extend(plan, items)
        } else {
            // A column may take the name of another: then nothing that reads the old one can wait.
            if chance.percent(30) && columns.len() > 1 {
                items.push((columns[1], expression(chance, vertex, &columns)))
            }
            seen = items.iter().map(|(var, _)| *var).chain([vertex]).collect();
            items.push((vertex, read(vertex)));
            project(plan, items)
        };
        columns = seen;
        let key = |chance: &mut Chance| SortKey {
            expr: read(chance.pick(&columns)),
            descending: true,
            order: Default::default(),
        };
        let keys = (0..1 + chance.below(2)).map(|_| key(chance)).collect();
        plan = Plan::Sort(Box::new(Sort { input: plan, keys, limit: Some(Expr::literal(1_000_i64)) }));
    }
    let mut kept: Vec<Var> = columns.into_iter().filter(|_| chance.percent(70)).collect();
    kept.push(vertex);
    kept.dedup();
    let items = kept.iter().map(|var| (*var, read(*var))).collect();
    table.query(project(plan, items), &kept)
}

fn plan_of(statement: &Statement) -> &Plan {
    let StatementKind::Query { plan, .. } = &statement.kind else { unreachable!("only queries are written") };
    plan
}

fn rows(graph: &Graph, statement: &Statement) -> Vec<Row> {
    run(graph, plan_of(statement), &Row::new())
}

/// Is anything computed above a sort?
fn waits(plan: &Plan) -> bool {
    let computes = |items: &[(Var, Expr)]| items.iter().any(|(_, expr)| !matches!(expr, Expr::Variable(_)));
    plan.any(&mut |node| match node {
        Plan::Project(node) => matches!(node.input, Plan::Sort(_)) && computes(&node.items),
        Plan::Extend(node) => matches!(node.input, Plan::Sort(_)),
        _ => false,
    })
}

#[test]
fn what_waits_is_what_was_computed_at_once() {
    let mut waited = 0;
    for seed in 0..CASES {
        let mut chance = Chance(seed);
        let graph = Graph::random(&mut chance);
        let statement = statement(&mut chance);
        let planned = optimize(statement.clone(), &RandomFigures(chance.next())).unwrap();
        let (slow, fast) = (rows(&graph, &statement), rows(&graph, &planned));
        let StatementKind::Query { columns, .. } = &statement.kind else { unreachable!() };
        let same =
            |(a, b): (&Row, &Row)| columns.iter().all(|(_, var)| compare::equivalent(&a[var], &b[var]));
        let equal = slow.len() == fast.len() && slow.iter().zip(&fast).all(same);
        assert!(equal, "seed {seed}: {slow:?}\n{fast:?}\n{statement:#?}\n{planned:#?}");
        waited += usize::from(waits(plan_of(&planned)));
    }
    assert!(waited > CASES as usize / 4, "columns waited in only {waited} cases");
}
