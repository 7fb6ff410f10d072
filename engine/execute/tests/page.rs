//! A page of Cypher over a small graph, each statement with its rows: every operator, in its forms.
//!
//! `page.txt` has a statement a line, and behind it what it gives: rows (`;` between them), sorted unless they have an order, or an error's message. Each is run
//! with batches of one row and of many, by one executor and by three, over a graph with and without indexes. With `PAGE=write` the page is
//! written anew, to be read as any other change is.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Value;
use model::schema::SchemaTarget;
use plan::Statement;
use std::sync::Arc;
use support::{drain, engine, runtime};
use tanglewood_execute::planning::SnapshotPlanning;
use tanglewood_execute::{Access, ExecuteOptions, Execution, Parameters};
use transact::{Engine, IndexRequest, Mode};

/// Four people, two towns, who knows whom since when, who lives where; a self-loop, two edges side by side, values that are missing.
const GRAPH: &str = "CREATE (a:Person {name: 'ann', age: 30, town: 'x'}), (b:Person {name: 'bob', age: 25}), \
     (c:Person:Boss {name: 'cid', age: 41, town: 'y'}), (d:Person {name: 'dee', town: 'x'}), \
     (x:Town {name: 'x', at: [1, 2]}), (y:Town {name: 'y'}), \
     (a)-[:KNOWS {since: 1}]->(b), (a)-[:KNOWS {since: 5}]->(b), (b)-[:KNOWS {since: 2}]->(c), \
     (c)-[:KNOWS {since: 3}]->(a), (c)-[:KNOWS {since: 9}]->(d), (d)-[:KNOWS {since: 4}]->(d), \
     (a)-[:LIVES]->(x), (b)-[:LIVES]->(x), (c)-[:LIVES {rent: 2.5}]->(y), (d)-[:LIVES]->(y)";

/// A value as the page writes it; vertices and edges only stand in for themselves.
fn written(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(bool) => bool.to_string(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => format!("{float:?}"),
        Value::String(text) => text.to_string(),
        Value::List(values) => format!("[{}]", values.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{key}: {}", written(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        _ => "?".into(),
    }
}

fn compiled(engine: &Engine, text: &str) -> Result<Statement, String> {
    let statement = cypher::compile(text).map_err(|error| error.to_string())?;
    let planning = SnapshotPlanning::new(engine.snapshot());
    plan::optimize(statement, &planning).map_err(|error| error.to_string())
}

/// Runs a statement in a transaction of its own, which is not committed unless that is asked.
fn run(
    engine: &Engine,
    text: &str,
    (executors, batch_rows): (usize, usize),
    commits: bool,
) -> Result<Vec<String>, String> {
    let statement = compiled(engine, text)?;
    let transaction = Arc::new(engine.begin(Mode::Write));
    let options = ExecuteOptions { batch_rows, ..ExecuteOptions::default() };
    let access = Access::Write(transaction.clone());
    let stream = Execution::start(runtime(executors), &statement, access, Parameters::new(), options);
    let rows = stream.and_then(|mut stream| drain(&mut stream)).map_err(|error| error.to_string())?;
    if commits {
        transaction.commit().unwrap();
    }
    let shown = |row: &Vec<Value>| row.iter().map(written).collect::<Vec<_>>().join(", ");
    let mut rows: Vec<String> = rows.iter().map(shown).collect();
    let end = text.rsplit("RETURN").next().unwrap_or_default();
    if !end.contains("ORDER BY") || end.contains('}') {
        rows.sort();
    }
    Ok(rows)
}

fn filled(indexed: bool) -> Engine {
    let engine = engine();
    run(&engine, GRAPH, (1, 100), true).unwrap();
    let snapshot = engine.snapshot();
    let catalog = snapshot.catalog();
    let (label, edge_type) = (catalog.label("Person").unwrap(), catalog.edge_type("KNOWS").unwrap());
    for (target, key) in [
        (SchemaTarget::Vertices(label), "name"),
        (SchemaTarget::Vertices(label), "age"),
        (SchemaTarget::Edges(edge_type), "since"),
    ] {
        let keys = vec![catalog.key(key).unwrap()];
        if indexed {
            engine.create_index(&IndexRequest { name: None, target, keys, if_not_exists: false }).unwrap();
        }
    }
    engine
}

fn told(outcome: Result<Vec<String>, String>) -> String {
    match outcome {
        Ok(rows) if rows.is_empty() => "no rows".into(),
        Ok(rows) => rows.join(" ; "),
        Err(error) => format!("error: {}", error.replace('\n', " ")),
    }
}

#[test]
fn every_statement_of_the_page_gives_its_rows() {
    let engines = [filled(false), filled(true)];
    let (mut faults, mut written) = (Vec::new(), String::new());
    for line in include_str!("page.txt").lines() {
        let (text, expected) = line.split_once(" => ").unwrap_or((line, ""));
        let first = told(run(&engines[0], text, (1, 100), false));
        for (at, engine) in engines.iter().enumerate() {
            for way in [(1, 1), (1, 100), (3, 2)] {
                let found = told(run(engine, text, way, false));
                if found != expected {
                    faults.push(format!(
                        "index {at}, executors and rows {way:?}: {text} => {found}\n   not {expected}"
                    ));
                }
            }
        }
        written.push_str(&format!("{text} => {first}\n"));
    }
    if std::env::var("PAGE").is_ok_and(|what| what == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.txt"), &written).unwrap();
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// Groups of rows that come vertex by vertex are handed on as they end; with several executors a small graph is grouped as a whole. One vertex has
/// more groups of its own than are taken along.
#[test]
fn groups_vertex_by_vertex_are_the_groups() {
    let engine = engine();
    let setup = "UNWIND range(0, 5999) AS n CREATE (:N {n: n, x: n % 7})";
    run(&engine, setup, (1, 1_024), true).unwrap();
    let few = "MATCH (a:N) WHERE a.n % 3 > 0 UNWIND [a.n % 5, 7, 7] AS w CREATE (a)-[:T {w: w}]->(a)";
    run(&engine, few, (1, 1_024), true).unwrap();
    let many = "MATCH (a:N {n: 3}) MATCH (b:N) WHERE b.n > 500 CREATE (a)-[:T {w: b.n}]->(b)";
    run(&engine, many, (1, 1_024), true).unwrap();
    let statements = [
        "MATCH (a:N)-[r:T]->(b) WITH a, count(*) AS c, sum(r.w) AS s RETURN a.n, c, s",
        "MATCH (a:N)-[r:T]->(b) WITH a, b.n AS k, collect(r.w) AS l RETURN a.n, k, size(l)",
        "MATCH (a:N)-[r:T]->(b) WHERE b.x > 2 WITH a, b.x AS k, avg(r.w) AS v, count(DISTINCT b) AS d RETURN a.n, k, v, d",
        "MATCH (a:N) WITH a, max(a.x) AS m RETURN a.n, m",
        "MATCH (a:N)-[r:T]->(b) WITH a, min(b.n) AS m RETURN count(m), sum(m)",
    ];
    for text in statements {
        let right = run(&engine, text, (3, 1_024), false).unwrap();
        for batch_rows in [1_024, 100, 7] {
            assert_eq!(run(&engine, text, (1, batch_rows), false).unwrap(), right, "{text}");
        }
    }
}
