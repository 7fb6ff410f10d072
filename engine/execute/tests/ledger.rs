//! What statements cost, counted: for each node of a plan the rows that come in and go out, its batches, the most bytes it held (to the next power of two), and what it
//! tells of itself; before that the plan with its estimates, and behind it what the transaction knows to have been read, and the answer.
//!
//! `ledger.txt` has the statements, each with its account, on one executor and a graph with hubs, parallel edges, loops and gaps. An operator that
//! takes another way, makes more than is wanted, holds more or counts it wrongly changes its account, though the answer stays. Each
//! answer is held against that of the plan that was not optimised. With `LEDGER=write` it is written anew, to be read as any other change is.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use model::Value;
use model::compare::total_order;
use model::schema::SchemaTarget;
use plan::Statement;
use std::fmt::Write;
use std::sync::Arc;
use support::{drain, engine, runtime};
use tanglewood_execute::planning::SnapshotPlanning;
use tanglewood_execute::{Access, ExecuteOptions, Execution, Parameters, profiling};
use transact::{Engine, IndexRequest, Mode};

/// The graph, made by statements: 300 of P, each tenth of them also Q; 20 of T; two hubs; chains, loops, parallel edges.
const GRAPH: &[&str] = &[
    "UNWIND range(0, 299) AS k CREATE (:P {k: k, g: k % 7, s: 'name' + toString(k * 37 % 300)})",
    "MATCH (p:P) WHERE p.k % 10 = 0 SET p:Q, p.f = p.k / 8.0",
    "UNWIND range(0, 19) AS k CREATE (:T {k: k, at: [k, k + 1]})",
    "MATCH (a:P), (b:P) WHERE b.k = (a.k * 7 + 1) % 300 CREATE (a)-[:R {w: a.k % 11}]->(b)",
    "MATCH (a:P), (b:P) WHERE b.k = (a.k + 1) % 300 CREATE (a)-[:R {w: a.k % 5}]->(b)",
    "MATCH (a:P), (b:P) WHERE a.k < 40 AND b.k = a.k + 2 CREATE (a)-[:R {w: 3}]->(b), (a)-[:R {w: 4}]->(b)",
    "MATCH (a:P), (h:P {k: 150}) WHERE a.k % 3 = 0 CREATE (a)-[:R {w: 1}]->(h)",
    "MATCH (a:P), (h:P {k: 151}) WHERE a.k % 4 = 0 CREATE (h)-[:R {w: 2}]->(a)",
    "MATCH (a:P), (t:T) WHERE t.k = a.k % 17 CREATE (a)-[:S {v: a.k / 10.0}]->(t)",
    "MATCH (a:Q) CREATE (a)-[:L {w: a.k}]->(a)",
];

fn compiled(engine: &Engine, text: &str, is_optimized: bool) -> Result<Statement, String> {
    let mut statement = cypher::compile(text).map_err(|error| format!("{text}: {error}"))?;
    if is_optimized {
        let planning = SnapshotPlanning::new(engine.snapshot());
        statement.mode = plan::statement::Mode::Profile;
        return plan::optimize(statement, &planning).map_err(|error| format!("{text}: {error}"));
    }
    plan::optimize(statement, &plan::statistics::NothingKnown).map_err(|error| format!("{text}: {error}"))
}

/// Executors and rows of a batch, where nothing else is said.
const PLAIN: (usize, usize) = (1, 64);
/// An account that is not as it was is asked for again so often.
const ASKED_AGAIN_MAX: usize = 6;

struct Run {
    rows: Vec<Vec<Value>>,
    account: String,
    counters: String,
}

fn run(
    engine: &Engine,
    statement: &Statement,
    (executors, batch_rows): (usize, usize),
    commits: bool,
) -> Result<Run, String> {
    let transaction = Arc::new(engine.begin(Mode::Write));
    let options = ExecuteOptions { batch_rows, ..ExecuteOptions::default() };
    let access = Access::Write(transaction.clone());
    let told = |error: tanglewood_execute::ExecuteError| {
        let hint = error.hint().map_or(String::new(), |hint| format!("; hint: {hint}"));
        format!("{error} ({}{hint})", error.code())
    };
    let mut stream =
        Execution::start(runtime(executors), statement, access, Parameters::new(), options).map_err(told)?;
    let rows = drain(&mut stream).map_err(told)?;
    let mut account = String::new();
    for (number, node) in stream.profile().iter().enumerate().filter(|(_, node)| !node.operators.is_empty()) {
        let names = node.operators.join(" + ");
        let counted = format!("{} in, {} out, {} batches", node.rows_in, node.rows_out, node.batches);
        // To the next power of two: what a struct takes may change, what an operator holds may not.
        let bytes = if node.bytes_peak == 0 { 0 } else { node.bytes_peak.next_power_of_two() };
        write!(account, "  {number} {names}: {counted}, {bytes} bytes").unwrap();
        let told = if node.told.is_empty() { String::new() } else { format!(", {}", node.told) };
        writeln!(account, "{told}").unwrap();
    }
    writeln!(account, "  {} reads", transaction.reads().len()).unwrap();
    let counters = format!("{:?}", stream.counters());
    if commits {
        transaction.commit().unwrap();
    }
    Ok(Run { rows, account, counters })
}

fn filled() -> Engine {
    let engine = engine();
    for text in GRAPH {
        run(&engine, &compiled(&engine, text, true).unwrap(), PLAIN, true).unwrap();
    }
    let snapshot = engine.snapshot();
    let catalog = snapshot.catalog();
    let vertices = |label| SchemaTarget::Vertices(catalog.label(label).unwrap());
    let edges = |name| SchemaTarget::Edges(catalog.edge_type(name).unwrap());
    let wanted =
        [(vertices("P"), ["k"]), (vertices("P"), ["s"]), (vertices("T"), ["k"]), (edges("R"), ["w"])];
    for (target, keys) in wanted {
        let keys = keys.iter().map(|key| catalog.key(key).unwrap()).collect();
        engine.create_index(&IndexRequest { name: None, target, keys, if_not_exists: false }).unwrap();
    }
    engine
}

/// The answer in short: its rows, and a sum over all that they say, whatever their order.
fn answer(rows: &[Vec<Value>]) -> String {
    let digest = |row: &Vec<Value>| {
        format!("{row:?}").bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let sum = rows.iter().fold(0_u64, |sum, row| sum.wrapping_add(digest(row)));
    match rows {
        [row] => format!("{row:?}"),
        _ => format!("{} rows, {:04x}", rows.len(), sum & 0xffff),
    }
}

fn in_order(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by(|a, b| {
        let orders = a.iter().zip(b).map(|(a, b)| total_order(a, b));
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}

/// The whole account of a statement.
fn account(engine: &Engine, text: &str) -> String {
    let statement = match compiled(engine, text, true) {
        Ok(statement) => statement,
        Err(error) => return format!("  error: {error}\n"),
    };
    let (plan, _) = profiling::explain(&statement, &SnapshotPlanning::new(engine.snapshot()), 1);
    let mut told: String = plan.lines().map(|line| format!("  | {}\n", line.trim_end())).collect();
    match run(engine, &statement, PLAIN, false) {
        Err(error) => writeln!(told, "  error: {error}").unwrap(),
        Ok(run) => {
            // What a limit leaves undone depends on when it is heard of; `demand.rs` counts that.
            if !text.contains("LIMIT") {
                told.push_str(&run.account);
            }
            writeln!(told, "  = {}", answer(&run.rows)).unwrap();
            if !run.counters.contains("nodes_created: 0, nodes_deleted: 0, relationships_created: 0, relationships_deleted: 0, properties_set: 0, labels_added: 0, labels_removed: 0") {
                writeln!(told, "  {}", run.counters).unwrap();
            }
        }
    }
    told
}

#[test]
fn every_statement_costs_what_the_ledger_says() {
    let engine = filled();
    let ledger = include_str!("ledger.txt");
    let (mut faults, mut written) = (Vec::new(), String::new());
    for entry in ledger.split("\n\n").filter(|entry| !entry.trim().is_empty()) {
        let (text, expected) = entry.trim_end().split_once('\n').unwrap_or((entry.trim_end(), ""));
        let mut found = account(&engine, text);
        // On a busy machine a slice may end early, and a batch with it.
        for _ in 0..ASKED_AGAIN_MAX {
            if found.trim_end() != expected {
                found = account(&engine, text);
            }
        }
        if found.trim_end() != expected {
            faults.push(format!("{text}\n{found}   not\n{expected}"));
        }
        write!(written, "{text}\n{found}\n").unwrap();
    }
    if std::env::var("LEDGER").is_ok_and(|what| what == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ledger.txt"), &written).unwrap();
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_answer_of_the_ledger_is_that_of_the_plan_as_it_was_written() {
    let engine = filled();
    let mut compared = 0;
    for entry in include_str!("ledger.txt").split("\n\n").filter(|entry| !entry.trim().is_empty()) {
        let text = entry.lines().next().unwrap();
        // Rows by the ten thousand are about sizes, and have no other plan.
        if text.contains("0000)") {
            continue;
        }
        let Ok(plain) = compiled(&engine, text, false) else { continue };
        let optimized = compiled(&engine, text, true).unwrap();
        let Ok(plain) = run(&engine, &plain, PLAIN, false) else { continue };
        let plain_rows = in_order(plain.rows);
        let is_cut = text.contains("LIMIT")
            || text.contains("SKIP")
            || text.contains("ANY")
            || text.contains("collect(");
        for way in [PLAIN, (3, 50)] {
            if way != PLAIN && is_cut {
                continue;
            }
            let found =
                run(&engine, &optimized, way, false).unwrap_or_else(|error| panic!("{text}: {error}"));
            compared += 1;
            assert_eq!(found.counters, plain.counters, "{text}");
            assert!(support::same(&in_order(found.rows), &plain_rows), "{text}, executors and rows {way:?}");
        }
    }
    assert!(compared > 80, "{compared} were compared");
}
