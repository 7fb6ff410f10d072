//! The work of queries that need few rows: one case at a time, repeated as requested, so that instructions can be counted.
//!
//! `cargo run --release -p tanglewood-execute --example demand CASE REPEATS`; without a case it lists them with times. Every answer is
//! held against the number of rows that the case must have.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "../tests/support/build.rs"]
#[allow(dead_code)]
mod build;

use build::*;
use dataflow::{Runtime, RuntimeOptions};
use model::{Direction, Value};
use plan::algebra::{ApplyKind, Seek};
use plan::{Plan, Var};
use std::sync::Arc;
use std::time::Instant;
use tanglewood_execute::{Access, ExecuteOptions, Execution, Parameters, Ready, Rows};
use transact::{Engine, OpenOptions};
use world::chance::Chance;

const VERTICES: usize = 20_000;
const HUB_EDGES: usize = 50_000;
const EDGES: usize = 150_000;

/// A hub, vertex 0, and edges between all others; every tenth vertex is a `Q`, too.
fn graph() -> Engine {
    let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
    let mut chance = Chance::seeded(7);
    let transaction = engine.begin(transact::Mode::Write);
    let (label, other) = (transaction.label("P").unwrap(), transaction.label("Q").unwrap());
    let (key, knows) = (transaction.key("x").unwrap(), transaction.edge_type("R").unwrap());
    let labels = |x: usize| if x % 10 == 9 { vec![label, other] } else { vec![label] };
    let ids: Vec<_> = (0..VERTICES)
        .map(|x| transaction.create_vertex(&labels(x), vec![(key, Value::Int(x as i64))]).unwrap())
        .collect();
    for _ in 0..HUB_EDGES {
        transaction.create_edge(ids[0], ids[chance.index(VERTICES)], knows, Vec::new()).unwrap();
    }
    for _ in 0..EDGES {
        let (source, target) = (ids[chance.index(VERTICES)], ids[chance.index(VERTICES)]);
        transaction.create_edge(source, target, knows, Vec::new()).unwrap();
    }
    transaction.commit().unwrap();
    index(&engine, model::schema::SchemaTarget::Vertices(label), key);
    engine
}

fn at(x: i64) -> Plan {
    seek(Plan::Unit, 0, "P", "x", Seek::Equal(vec![int(x)]))
}

fn out(input: Plan, from: u32, to: u32) -> Plan {
    Plan::Expand(Box::new(expand(input, from, None, to, &["R"], Direction::Out)))
}

fn out_to(input: Plan, from: u32, to: u32, labels: &str) -> Plan {
    let mut node = expand(input, from, None, to, &["R"], Direction::Out);
    node.labels = label(labels);
    Plan::Expand(Box::new(node))
}

fn far(input: Plan, hops: u32) -> Plan {
    Plan::ExpandPath(Box::new(path(input, 0, 1, Direction::Out, 1, Some(hops))))
}

fn all() -> Plan {
    scan(Plan::Unit, 0, "P")
}

fn test(input: Plan, inner: Plan, kind: ApplyKind, together: Option<u32>) -> Plan {
    let Plan::Apply(mut node) = apply(input, inner, &[0], kind) else { unreachable!() };
    node.scope.rows = together;
    Plan::Apply(node)
}

/// Cases by name, each with its column.
fn cases() -> Vec<(&'static str, Plan, u32)> {
    let one = || argument(&[0]);
    let counted = |plan| count(plan, 9);
    let big = || filter(far(at(0), 3), compare(plan::expr::BinaryOperator::Less, int(10), property(1, "x")));
    vec![
        ("point", project(at(777), vec![(9, property(0, "x"))]), 9),
        ("point-expand", project(out(at(777), 0, 1), vec![(9, property(1, "x"))]), 9),
        ("point-expand-limit", limit(project(out(at(777), 0, 1), vec![(9, property(1, "x"))]), 3), 9),
        ("scan-limit-1", limit(all(), 1), 0),
        (
            "scan-filter-limit-1",
            limit(filter(all(), compare(plan::expr::BinaryOperator::Less, int(10), property(0, "x"))), 1),
            0,
        ),
        (
            "range-limit-1",
            limit(seek(Plan::Unit, 0, "P", "x", Seek::Range(Some((int(5), true)), None)), 1),
            0,
        ),
        ("hub-limit-1", limit(out(at(0), 0, 1), 1), 1),
        ("hub-limit-25", limit(out(at(0), 0, 1), 25), 1),
        ("hub-limit-20000", limit(out(at(0), 0, 1), 20_000), 1),
        ("hub-all", out(at(0), 0, 1), 1),
        ("hub-two-limit-10", limit(out(out(at(0), 0, 1), 1, 2), 10), 2),
        ("hub-two-limit-1000", limit(out(out(at(0), 0, 1), 1, 2), 1_000), 2),
        ("hub-two-label-limit-10", limit(out_to(out(at(0), 0, 1), 1, 2, "Q"), 10), 2),
        ("path-limit-1", limit(far(at(0), 4), 1), 1),
        ("path-limit-100", limit(far(at(0), 4), 100), 1),
        ("path-filter-limit-10", limit(big(), 10), 1),
        ("unwind-limit-1", limit(unwind(Plan::Unit, range(1, 1_000_000), 0), 1), 0),
        ("exists-one", counted(test(all(), out(one(), 0, 1), ApplyKind::Semi, None)), 9),
        ("exists-label", counted(test(all(), out_to(one(), 0, 1, "Q"), ApplyKind::Semi, None)), 9),
        ("exists-none", counted(test(all(), out_to(one(), 0, 1, "None"), ApplyKind::Anti, None)), 9),
        ("exists-two", counted(test(all(), out(out(one(), 0, 1), 1, 2), ApplyKind::Semi, None)), 9),
        ("exists-two-rows", counted(test(all(), out(out(one(), 0, 1), 1, 2), ApplyKind::Semi, Some(64))), 9),
        (
            "exists-three-label",
            counted(test(all(), out_to(out(out(one(), 0, 1), 1, 2), 2, 3, "Q"), ApplyKind::Semi, Some(64))),
            9,
        ),
        (
            "exists-filter",
            counted(test(
                all(),
                filter(
                    out(one(), 0, 1),
                    compare(plan::expr::BinaryOperator::Less, int(10_000), property(1, "x")),
                ),
                ApplyKind::Semi,
                None,
            )),
            9,
        ),
        ("exists-path", counted(test(all(), far(one(), 2), ApplyKind::Semi, None)), 9),
        ("exists-unwind", counted(test(all(), unwind(one(), range(1, 1_000), 1), ApplyKind::Semi, None)), 9),
        ("point-exists", test(at(777), out(out(one(), 0, 1), 1, 2), ApplyKind::Exists(Var(9)), None), 9),
        ("point-optional", test(at(777), out(one(), 0, 1), ApplyKind::Optional(vec![Var(1)]), None), 1),
        (
            "optional-limit-1",
            limit(test(at(0), out(one(), 0, 1), ApplyKind::Optional(vec![Var(1)]), None), 1),
            1,
        ),
        ("exists-limit-1", limit(test(all(), out(out(one(), 0, 1), 1, 2), ApplyKind::Semi, Some(64)), 1), 0),
        ("count-edges", counted(out(all(), 0, 1)), 9),
        ("two-hops", out(out(at(777), 0, 1), 1, 2), 2),
        (
            "call-limit-3",
            counted(test(all(), limit(out(one(), 0, 1), 3), ApplyKind::Inner(vec![Var(1)]), None)),
            9,
        ),
        (
            "call-exists",
            counted(test(all(), distinct(out(out(one(), 0, 1), 1, 2), &[2]), ApplyKind::Semi, None)),
            9,
        ),
        ("union-limit-5", limit(union(out(at(0), 0, 1), all(), &[(3, 1, 0)], false), 5), 3),
        ("join-limit-1", limit(join(at(0), out(all(), 0, 1), &[0]), 1), 1),
        ("join-fan-limit-1", limit(join(out(all(), 0, 1), all(), &[0]), 1), 1),
    ]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let engine = graph();
    let runtime: Runtime<Rows> =
        Runtime::start(RuntimeOptions { executors: 1, pin: false, ..RuntimeOptions::default() }).unwrap();
    let repeats: usize = arguments.get(1).map_or(200, |text| text.parse().unwrap());
    let is_asked = |name: &str| arguments.first().is_none_or(|asked| asked == name || asked == "all");
    for (name, plan, column) in cases().into_iter().filter(|(name, ..)| is_asked(name)) {
        let statement = statement(plan, &[Var(column)]);
        let (ready, parameters) = (Ready::new(&statement), Arc::new(Parameters::new()));
        let options = ExecuteOptions::default();
        let (mut here, mut rows, mut times) = (0, 0, Vec::new());
        for _ in 0..repeats {
            let began = Instant::now();
            let access = || Access::Read(engine.snapshot());
            let tried = ready.try_here(&statement, access(), &parameters, &options).unwrap();
            here += usize::from(tried.is_some());
            let mut stream = match tried {
                Some(stream) => stream,
                None => Execution::start(&runtime, &statement, access(), parameters.clone(), options.clone())
                    .unwrap(),
            };
            let mut count = 0;
            while let Some(batch) = stream.next() {
                count += batch.unwrap().len();
            }
            times.push(began.elapsed().as_nanos());
            assert!(rows == 0 || rows == count, "{name}: the same number of rows each time");
            rows = count;
        }
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or(0) as f64 / 1e3;
        println!("{name:24} rows {rows:6}  here {here:5} of {repeats}  p50 {median:10.1} us");
    }
}
