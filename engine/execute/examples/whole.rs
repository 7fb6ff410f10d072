//! Questions about a whole graph: how long each takes, one executor.
//!
//! `cargo run --release -p tanglewood-execute --example whole [PEOPLE]`. Answers are shown, so that two builds can be compared.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dataflow::{Runtime, RuntimeOptions};
use model::Value;
use std::sync::Arc;
use std::time::Instant;
use tanglewood_execute::{Access, ExecuteOptions, Execution, Parameters, Rows};
use transact::{Engine, OpenOptions};
use world::chance::Chance;

const QUESTIONS: [&str; 9] = [
    "MATCH (p:P) RETURN p.age AS k, count(*) AS c, avg(p.score) AS a ORDER BY k LIMIT 2",
    "MATCH (p:P) WHERE p.age > 30 AND p.score < 0.5 RETURN p.city AS k, count(*) AS c ORDER BY k LIMIT 2",
    "MATCH (p:P) RETURN p.city AS k, min(p.score) AS a, max(p.score) AS b ORDER BY k LIMIT 2",
    "MATCH (p:P) RETURN count(DISTINCT p.name) AS c",
    "MATCH (p:P) WHERE p.name STARTS WITH 'name 12' AND p.city <> 'city 3' RETURN count(*) AS c",
    "MATCH (p:P) RETURN p.score AS s ORDER BY s DESC LIMIT 10",
    "MATCH (p:P) RETURN p.score AS s ORDER BY s",
    "MATCH ()-[k:R]->() RETURN k.year AS y, sum(k.weight) AS s ORDER BY y LIMIT 2",
    "MATCH (p:P)-[:R]->(q:P) WITH p, avg(q.score) AS a RETURN avg(a) AS b",
];

fn graph(people: usize) -> Engine {
    let place = world::files::TemporaryFolder::new("whole").unwrap();
    let engine =
        transact::open(Some((Arc::new(world::disk::RealDisk), place.path())), &OpenOptions::default())
            .unwrap()
            .0;
    let mut chance = Chance::seeded(7);
    let mut ids = Vec::new();
    for _ in 0..people.div_ceil(10_000) {
        let t = engine.begin(transact::Mode::Write);
        let label = t.label("P").unwrap();
        let [age, score, city, name] = ["age", "score", "city", "name"].map(|key| t.key(key).unwrap());
        for _ in 0..10_000 {
            let properties = vec![
                (age, Value::Int(chance.below(90) as i64)),
                (score, Value::Float(chance.float())),
                (city, Value::string(format!("city {}", chance.below(200)))),
                (name, Value::string(format!("name {}", chance.below(people as u64 / 3)))),
            ];
            ids.push(t.create_vertex(&[label], properties).unwrap());
        }
        t.commit().unwrap();
    }
    for _ in 0..people.div_ceil(2_000) {
        let t = engine.begin(transact::Mode::Write);
        let r = t.edge_type("R").unwrap();
        let [year, weight] = ["year", "weight"].map(|key| t.key(key).unwrap());
        for _ in 0..10_000 {
            let properties = vec![
                (year, Value::Int(1990 + chance.below(35) as i64)),
                (weight, Value::Float(chance.float())),
            ];
            t.create_edge(ids[chance.index(ids.len())], ids[chance.index(ids.len())], r, properties).unwrap();
        }
        t.commit().unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    let engine =
        transact::open(Some((Arc::new(world::disk::RealDisk), place.path())), &OpenOptions::default())
            .unwrap()
            .0;
    std::mem::forget(place);
    engine
}

fn main() {
    let people = std::env::args().nth(1).map_or(200_000, |text| text.parse().unwrap());
    let engine = graph(people);
    let runtime: Runtime<Rows> =
        Runtime::start(RuntimeOptions { executors: 1, pin: false, ..RuntimeOptions::default() }).unwrap();
    for text in QUESTIONS {
        let statement = cypher::compile(text).unwrap();
        let planning = tanglewood_execute::planning::SnapshotPlanning::new(engine.snapshot());
        let statement = plan::optimize(statement, &planning).unwrap();
        let mut best = f64::INFINITY;
        let mut first = Vec::new();
        for _ in 0..7 {
            let began = Instant::now();
            let access = Access::Read(engine.snapshot());
            let mut stream = Execution::start(
                &runtime,
                &statement,
                access,
                Arc::new(Parameters::new()),
                ExecuteOptions::default(),
            )
            .unwrap();
            first.clear();
            while let Some(batch) = stream.next() {
                let batch = batch.unwrap();
                if first.is_empty() && !batch.is_empty() {
                    first = batch.row(0);
                }
            }
            best = best.min(began.elapsed().as_secs_f64() * 1e3);
        }
        println!("{best:9.2} ms  {text}  {first:?}");
    }
}
