//! Patterns counted without their rows: as many as there are rows, over all and by a property, on 1, 2 and 4 executors; also for what a
//! transaction has written itself. `EXECUTE_SEED` replays one case.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::{Direction, Value};
use plan::algebra::{Aggregate, AggregateCall, Apply, ApplyKind, Match};
use plan::expr::BinaryOperator;
use plan::pattern::{Pattern, PatternEdge, PatternVertex};
use plan::statistics::NothingKnown;
use plan::{AggregateFunction, Expr, Plan, StatementKind, Var};
use std::collections::BTreeMap;
use support::build::{label, property, var};
use support::{Graph, random_graph, read, statement};
use tanglewood_execute::planning::SnapshotPlanning;
use world::chance::Chance;

const CASES: u64 = 500;
/// Rows beyond which a case tells nothing more.
const ROWS_MAX: usize = 20_000;

const DIRECTED: [Direction; 2] = [Direction::Out, Direction::In];
const ANY: [Direction; 3] = [Direction::Out, Direction::In, Direction::Both];

fn edge(chance: &mut Chance, variable: u32, from: u32, to: u32) -> PatternEdge {
    let types: &[&str] =
        chance.choose(&[&["R"][..], &["R"], &["R"], &["S"], &["S"], &["S"], &["R", "S"], &[]]).unwrap();
    PatternEdge {
        variable: Var(variable),
        from: Var(from),
        to: Var(to),
        types: types.iter().map(|name| (*name).into()).collect(),
        // Edges of which one has a direction and the other none are seldom told apart.
        direction: *chance.choose(if from.is_multiple_of(2) { &DIRECTED } else { &ANY }).unwrap(),
        run: None,
        // Some edges may be the same as others, as in a walk, or differ among themselves only.
        distinct_among: *chance.choose(&[Some(0), Some(0), Some(0), None, Some(1)]).unwrap(),
    }
}

fn vertex(chance: &mut Chance, variable: u32) -> PatternVertex {
    let labels = label(chance.choose(&["", "", "", "A", "B"]).unwrap());
    PatternVertex { variable: Var(variable), labels }
}

/// A connected pattern over the vertices 0.., perhaps with what may be missing and what must be.
fn pattern(chance: &mut Chance) -> (Plan, u32) {
    let count = 2 + chance.below(3) as u32;
    let mut pattern = Pattern::default();
    for number in 0..count {
        pattern.vertices.push(vertex(chance, number));
        if number > 0 {
            let other = chance.below(number as u64) as u32;
            pattern.edges.push(edge(chance, 10 + number, number, other));
        }
    }
    for extra in 0..1 + chance.below(2) as u32 {
        let (a, b) = (chance.below(count as u64) as u32, chance.below(count as u64) as u32);
        if a != b {
            pattern.edges.push(edge(chance, 20 + extra, a, b));
        }
        let (a, b) = (chance.below(count as u64) as u32, chance.below(count as u64) as u32);
        if a != b && chance.happens(0.6) {
            pattern.predicates.push(Expr::binary(BinaryOperator::NotEqual, var(a), var(b)));
        }
    }
    let mut plan =
        Plan::Match(Box::new(Match { input: Plan::Unit, pattern, optional: false, hints: Vec::new() }));
    if chance.happens(0.3) {
        let root = chance.below(count as u64) as u32;
        let any = PatternVertex { variable: Var(root), labels: label("") };
        let far = vertex(chance, 30);
        let edges = vec![edge(chance, 31, root, 30)];
        let pattern = Pattern { vertices: vec![any, far], edges, predicates: Vec::new() };
        plan = Plan::Match(Box::new(Match { input: plan, pattern, optional: true, hints: Vec::new() }));
    }
    if chance.happens(0.3) {
        let any = |number| PatternVertex { variable: Var(number), labels: label("") };
        let edges = vec![edge(chance, 41, 0, 1)];
        let pattern = Pattern { vertices: vec![any(0), any(1)], edges, predicates: Vec::new() };
        let imports = vec![Var(0), Var(1)];
        let inner = Plan::Match(Box::new(Match {
            input: Plan::Argument(imports.clone()),
            pattern,
            optional: false,
            hints: Vec::new(),
        }));
        plan = Plan::Apply(Box::new(Apply {
            input: plan,
            inner,
            imports,
            kind: ApplyKind::Anti,
            scope: Default::default(),
            rank: None,
        }));
    }
    (plan, count)
}

/// The optimised plan, with statistics or without.
fn optimised(graph: &Graph, plan: Plan, columns: &[Var], known: bool) -> Plan {
    let written = statement(plan, columns);
    let optimised = match known {
        true => plan::optimize(written, &SnapshotPlanning::new(graph.engine.snapshot())),
        false => plan::optimize(written, &NothingKnown),
    };
    match optimised.unwrap().kind {
        StatementKind::Query { plan, .. } => plan,
        other => panic!("not a query: {other:?}"),
    }
}

fn check(seed: u64) -> bool {
    let mut chance = Chance::seeded(seed);
    let (vertices, edges) = (2 + chance.index(10), 6 + chance.index(24));
    let graph = random_graph(&mut chance, vertices, edges);
    let (plan, count) = pattern(&mut chance);
    let key = Var(chance.below(count as u64) as u32);
    let known = chance.happens(0.5);
    // All rows, with the key's property.
    let (k, n) = (Var(50), Var(51));
    let rows = support::build::project(plan.clone(), vec![(k.0, property(key.0, "x"))]);
    let rows = read(2, &graph, optimised(&graph, rows, &[k], known), &[k]).unwrap();
    if rows.len() > ROWS_MAX {
        return false;
    }
    let call =
        AggregateCall { function: AggregateFunction::CountRows, arguments: Vec::new(), distinct: false };
    let counted = |keys: Vec<(Var, Expr)>| {
        let aggregates = vec![(n, call.clone())];
        Plan::Aggregate(Box::new(Aggregate { input: plan.clone(), keys, aggregates }))
    };
    let all = optimised(&graph, counted(Vec::new()), &[n], known);
    let by_key = optimised(&graph, counted(vec![(k, property(key.0, "x"))]), &[k, n], known);
    let mut groups: BTreeMap<Option<i64>, i64> = BTreeMap::new();
    rows.iter().for_each(|row| *groups.entry(row[0].as_int()).or_default() += 1);
    for executors in [1, 2, 4] {
        let found = read(executors, &graph, all.clone(), &[n]).unwrap();
        let total = Value::Int(rows.len() as i64);
        let told = || plan::explain::render(&statement(all.clone(), &[n]), &[], None);
        assert!(
            found.len() == 1 && model::compare::equivalent(&found[0][0], &total),
            "seed {seed}: {found:?}, not {total:?}\n{}",
            told()
        );
        let found = read(executors, &graph, by_key.clone(), &[k, n]).unwrap();
        let found: BTreeMap<Option<i64>, i64> =
            found.iter().map(|row| (row[0].as_int(), row[1].as_int().unwrap())).collect();
        assert_eq!(found, groups, "seed {seed}\n{}", told());
    }
    !rows.is_empty() && all.any(&mut |node| matches!(node, Plan::CountMatches(_)))
}

#[test]
fn as_many_as_there_are_rows() {
    if let Ok(seed) = std::env::var("EXECUTE_SEED") {
        check(seed.parse().unwrap());
        return;
    }
    let counted = (0..CASES).filter(|seed| check(*seed)).count();
    assert!(counted > 40, "only {counted} cases were counted");
}
