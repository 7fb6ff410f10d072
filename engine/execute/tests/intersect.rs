//! Intersections on graphs where every way of them is taken: lists held and searched, two arms and three, by row and by group.
//!
//! `EXECUTE_SEED` replays one case.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::{Direction, Value};
use plan::algebra::{Intersect, IntersectArm};
use plan::{Expr, Plan, Var};
use support::build::*;
use support::twin::Row;
use support::{drain, engine, random_graph, same, sorted, start, twin};
use tanglewood_execute::{Access, ExecuteOptions};
use world::chance::Chance;

const CASES: u64 = 120;

fn arm(chance: &mut Chance, from: u32) -> IntersectArm {
    let types = chance.choose(&[vec![], vec!["R"], vec!["S"], vec!["R", "S"]]).cloned().unwrap();
    let direction = chance.choose(&[Direction::Out, Direction::In, Direction::Both]).cloned().unwrap();
    let once = chance.happens(0.3);
    IntersectArm { from: Var(from), types: types.into_iter().map(Into::into).collect(), direction, once }
}

/// All pairs of a few vertices with all others: in one order the few come in runs, in the other they alternate.
fn check(seed: u64) {
    let mut chance = Chance::seeded(seed);
    let edges = 40 + chance.index(300);
    let graph = random_graph(&mut chance, 30, edges);
    let list = (0..1 + chance.index(3)).map(|at| Value::Int(graph.vertices[at].id.0 as i64));
    let list = Expr::literal(Value::list(list.collect()));
    let few = |input: Plan| ids(input, 0, list);
    let input = if chance.happens(0.5) { scan(few(Plan::Unit), 1, "") } else { few(scan(Plan::Unit, 1, "")) };
    let mut arms = vec![arm(&mut chance, 0), arm(&mut chance, 1)];
    if chance.happens(0.3) {
        let from = chance.index(2) as u32;
        arms.push(arm(&mut chance, from));
    }
    if chance.happens(0.5) {
        arms.swap(0, 1);
    }
    let labels = label(chance.choose(&["", "A", "B"]).unwrap());
    let plan = Plan::Intersect(Box::new(Intersect { input, arms, to: Var(2), labels }));
    let vars = [Var(0), Var(1), Var(2)];
    let row = |row: &Row| vars.iter().map(|var| row[var].clone()).collect::<Vec<Value>>();
    let right = sorted(twin::rows(&graph, &plan, &Row::new()).iter().map(row).collect());
    for executors in [1, 2] {
        let options = ExecuteOptions { batch_rows: 200, ..ExecuteOptions::default() };
        let access = Access::Read(graph.engine.snapshot());
        let found =
            start(executors, access, plan.clone(), &vars, options).and_then(|mut rows| drain(&mut rows));
        assert!(
            same(&sorted(found.unwrap()), &right),
            "EXECUTE_SEED={seed}, {executors} executors: {plan:?}"
        );
    }
}

#[test]
fn every_way_meets_the_same_vertices() {
    if let Ok(seed) = std::env::var("EXECUTE_SEED") {
        return check(seed.parse().unwrap());
    }
    (0..CASES).for_each(check);
}

/// Lists that take more than one slice of work, in which every vertex stands twice.
#[test]
fn parallel_edges_count_once_from_slice_to_slice() {
    const LEAVES: usize = 9_000;
    let engine = engine();
    let transaction = engine.begin(transact::Mode::Write);
    let knows = transaction.edge_type("R").unwrap();
    let hubs = [0; 2].map(|_| transaction.create_vertex(&[], Vec::new()).unwrap());
    for _ in 0..LEAVES {
        let leaf = transaction.create_vertex(&[], Vec::new()).unwrap();
        for hub in hubs {
            transaction.create_edge(hub, leaf, knows, Vec::new()).unwrap();
            transaction.create_edge(leaf, hub, knows, Vec::new()).unwrap();
        }
    }
    transaction.commit().unwrap();
    let hub = |at: usize| Expr::literal(Value::list(vec![Value::Int(hubs[at].0 as i64)]));
    for (once, times) in [([true, true], 1), ([true, false], 2), ([false, false], 4)] {
        let arm = |at: usize| IntersectArm {
            from: Var(at as u32),
            types: vec!["R".into()],
            direction: Direction::Both,
            once: once[at],
        };
        let input = ids(ids(Plan::Unit, 0, hub(0)), 1, hub(1));
        let met = Intersect { input, arms: vec![arm(0), arm(1)], to: Var(2), labels: label("") };
        let access = Access::Read(engine.snapshot());
        let plan = count(Plan::Intersect(Box::new(met)), 3);
        let found = start(1, access, plan, &[Var(3)], ExecuteOptions::default())
            .and_then(|mut rows| drain(&mut rows));
        assert_eq!(found.unwrap()[0][0].as_int(), Some((LEAVES * times) as i64), "{once:?}");
    }
}
