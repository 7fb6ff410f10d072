//! From plan to rows on a power-law graph: point look-ups, distinct ends within 1 to 3 hops of the hub, counts, top-k, a join.
//!
//! `cargo run --release -p tanglewood-execute --example measure [vertices] [edges]`; every answer is checked against a plain
//! breadth-first search or count over the edge list.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "../tests/support/build.rs"]
#[allow(dead_code)]
mod build;

use build::*;
use dataflow::{Runtime, RuntimeOptions};
use model::{Direction, Value};
use plan::{AggregateFunction, Plan, Statement, Var};
use std::time::Instant;
use store::Snapshot;
use tanglewood_execute::{Access, ExecuteOptions, Execution, Parameters, Rows};
use transact::OpenOptions;
use world::chance::Chance;

struct Bench {
    runtime: Runtime<Rows>,
    snapshot: Snapshot,
}

impl Bench {
    fn run(&self, statement: &Statement) -> Vec<Vec<Value>> {
        let access = Access::Read(self.snapshot.clone());
        let options = ExecuteOptions::default();
        let mut stream =
            Execution::start(&self.runtime, statement, access, Parameters::new(), options).unwrap();
        let mut rows = Vec::new();
        while let Some(batch) = stream.next() {
            let batch = batch.unwrap();
            (0..batch.len()).for_each(|row| rows.push(batch.row(row)));
        }
        rows
    }
    fn time(&self, name: &str, plan: Plan, column: u32, repeats: usize, expected: Option<i64>) {
        let statement = statement(plan, &[Var(column)]);
        let first = self.run(&statement);
        if let Some(expected) = expected {
            assert_eq!(first[0][0].as_int(), Some(expected), "{name}");
        }
        let mut times: Vec<f64> = (0..repeats)
            .map(|_| {
                let began = Instant::now();
                self.run(&statement);
                began.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!("{name:44} p50 {:10.1} us   p99 {:10.1} us   rows {}", at(0.5), at(0.99), first.len());
    }
}

fn reach(lists: &[Vec<u32>], from: u32, hops: usize) -> i64 {
    let (mut seen, mut level) = (vec![false; lists.len()], vec![from]);
    let mut count = 0;
    for _ in 0..hops {
        let mut next = Vec::new();
        for vertex in &level {
            for far in &lists[*vertex as usize] {
                if !std::mem::replace(&mut seen[*far as usize], true) {
                    count += 1;
                    next.push(*far);
                }
            }
        }
        level = next;
    }
    count
}

fn main() {
    let number = |at: usize, or: usize| std::env::args().nth(at).map_or(or, |text| text.parse().unwrap());
    let (vertices, edges) = (number(1, 100_000), number(2, 1_000_000));
    let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
    let mut chance = Chance::seeded(42);
    let transaction = engine.begin(transact::Mode::Write);
    let (label, key, knows) =
        (transaction.label("P").unwrap(), transaction.key("x").unwrap(), transaction.edge_type("R").unwrap());
    let ids: Vec<_> = (0..vertices)
        .map(|x| transaction.create_vertex(&[label], vec![(key, Value::Int(x as i64))]).unwrap())
        .collect();
    // Vertex 0 is the hub: ends are drawn with a density that falls with the number.
    let mut lists = vec![Vec::new(); vertices];
    for _ in 0..edges {
        let draw = |chance: &mut Chance| ((vertices as f64) * chance.float().powf(3.0)) as usize;
        let (source, target) = (draw(&mut chance), draw(&mut chance));
        transaction.create_edge(ids[source], ids[target], knows, Vec::new()).unwrap();
        lists[source].push(target as u32);
    }
    transaction.commit().unwrap();
    index(&engine, model::schema::SchemaTarget::Vertices(label), key);
    let runtime = Runtime::start(RuntimeOptions::default()).unwrap();
    println!("{vertices} vertices, {edges} edges, hub {}, {} executors", lists[0].len(), runtime.executors());
    let bench = Bench { runtime, snapshot: engine.snapshot() };

    let at = |x: i64| seek(Plan::Unit, 0, "P", "x", plan::algebra::Seek::Equal(vec![int(x)]));
    let distinct_count = |plan, to| {
        aggregate(plan, Vec::new(), vec![(9, call(AggregateFunction::Count, Some(var(to)), true))])
    };
    bench.time(
        "point look-up, RETURN n.x",
        project(at(777), vec![(1, property(0, "x"))]),
        1,
        5_000,
        Some(777),
    );
    for hops in 1..=3 {
        let mut node = path(at(0), 0, 1, Direction::Out, 1, Some(hops));
        node.distinct_ends = true;
        let expected = reach(&lists, 0, hops as usize);
        let plan = distinct_count(Plan::ExpandPath(Box::new(node)), 1);
        bench.time(
            &format!("hub -[*1..{hops}]-> count(DISTINCT b) = {expected}"),
            plan,
            9,
            300,
            Some(expected),
        );
    }
    let mut plan = at(0);
    let mut expected = 1;
    let mut level: Vec<u64> = vec![0; vertices];
    level[0] = 1;
    for hops in 1..=3u32 {
        plan = Plan::Expand(Box::new(expand(plan, hops - 1, None, hops, &["R"], Direction::Out)));
        let mut next = vec![0; vertices];
        for (source, list) in lists.iter().enumerate() {
            list.iter().for_each(|target| next[*target as usize] += level[source]);
        }
        level = next;
        let distinct = level.iter().filter(|paths| **paths > 0).count() as i64;
        expected = level.iter().sum::<u64>() as i64;
        if expected < 30_000_000 {
            bench.time(
                &format!("{hops} expands, count(DISTINCT b) = {distinct}"),
                distinct_count(plan.clone(), hops),
                9,
                20,
                Some(distinct),
            );
            bench.time(
                &format!("{hops} expands, count(*) = {expected}"),
                count(plan.clone(), 9),
                9,
                20,
                Some(expected),
            );
        }
    }
    println!("({expected} paths of 3 edges from the hub)");
    bench.time("scan, count(*)", count(scan(Plan::Unit, 0, "P"), 9), 9, 100, Some(vertices as i64));
    let filtered = filter(
        scan(Plan::Unit, 0, "P"),
        compare(plan::expr::BinaryOperator::Less, property(0, "x"), int(1_000)),
    );
    bench.time("scan, filter on a property, count(*)", count(filtered, 9), 9, 100, Some(1_000));
    let all = Plan::Expand(Box::new(expand(scan(Plan::Unit, 0, "P"), 0, None, 1, &["R"], Direction::Out)));
    bench.time("every edge, count(*)", count(all.clone(), 9), 9, 50, Some(edges as i64));
    bench.time("every edge, count(DISTINCT b)", distinct_count(all.clone(), 1), 9, 50, None);
    let by =
        aggregate(all.clone(), vec![(1, var(1))], vec![(8, call(AggregateFunction::CountRows, None, false))]);
    bench.time("every edge, count(*) by b, top 10", sort(by, vec![(var(8), true)], Some(10)), 8, 20, None);
    let top = sort(scan(Plan::Unit, 0, "P"), vec![(property(0, "x"), true)], Some(10));
    bench.time(
        "top 10 by a property",
        project(top, vec![(1, property(0, "x"))]),
        1,
        50,
        Some(vertices as i64 - 1),
    );
}
