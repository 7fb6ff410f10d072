//! Questions about a whole graph, beside the same answered here from rows: groups that are merged in parts, distinct values, and
//! properties of edges as columns.
//!
//! Random questions over random values. The seed is printed; `SEED=… cargo test -p tanglewood-database --test suite whole_graph` replays one, and
//! `ROUNDS=…` makes more.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use database::{Database, MEMORY, Options, Params, Session, Value};
use model::compare::{equivalent, total_order};
use std::cmp::Ordering;
use tanglewood_database as database;
use world::chance::Chance;

/// Nodes and edges: more groups than one executor keeps whole.
const NODES: u64 = 40_000;
const EDGES: u64 = 60_000;

fn numbered(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    session.query(text, Params::new()).unwrap_or_else(|error| panic!("{text}: {error}")).rows().unwrap()
}

/// Nodes with few and many values of several types, edges with properties that some lack, and a hub.
fn filled(executors: usize, chance: &mut Chance) -> Database {
    let database =
        Database::open(MEMORY, Options { executors: Some(executors), ..Options::default() }).unwrap();
    let mut session = database.session();
    let nodes = format!(
        "UNWIND range(0, {}) AS k CREATE (:N {{k: k, few: k % 7, many: k * 7919 % 29989, s: 'text ' + toString(k * 31 % 19997), \
         f: CASE k % 11 WHEN 0 THEN null WHEN 1 THEN 0.0 / 0 ELSE k * 1.5 % 997 END, \
         m: CASE k % 4 WHEN 0 THEN k % 100 WHEN 1 THEN toString(k % 300) WHEN 2 THEN k % 100 * 1.0 ELSE [k % 50, k % 3] END}})",
        NODES - 1
    );
    rows(&mut session, &nodes);
    rows(&mut session, "CREATE INDEX FOR (n:N) ON (n.k)");
    let seed = chance.below(1 << 20);
    let edges = format!(
        "UNWIND range(0, {}) AS k MATCH (a:N {{k: CASE WHEN k % 20 = 0 THEN 1 ELSE (k * 7907 + {seed}) % {NODES} END}}), (b:N {{k: k * 31 % {NODES}}}) \
         CREATE (a)-[:R {{y: k % 35, x: CASE WHEN k % 13 = 0 THEN null ELSE k * 0.25 END, t: 'note ' + toString(k % 5000)}}]->(b)",
        EDGES - 1
    );
    rows(&mut session, &edges);
    // Values that lie beside the columns, and others that are gone.
    rows(&mut session, "MATCH (a:N)-[r:R]->() WHERE a.k % 97 = 0 SET r.y = r.y + 100, r.z = a.k");
    rows(&mut session, "MATCH (a:N)-[r:R]->() WHERE a.k % 89 = 0 DELETE r");
    rows(&mut session, "MATCH (a:N) WHERE a.k % 101 = 0 SET a.s = 'another', a.few = null");
    database
}

/// The aggregates that are asked for; each is worked out here from the values of its group.
const CALLS: [&str; 7] = [
    "count(*)",
    "count(V)",
    "count(DISTINCT V)",
    "min(V)",
    "max(V)",
    "size(collect(V))",
    "size(collect(DISTINCT V))",
];

fn same_keys(a: &[Value], b: &[Value]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| total_order(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn worked_out(call: &str, values: &[Value]) -> Value {
    let mut there: Vec<&Value> = values.iter().filter(|value| !matches!(value, Value::Null)).collect();
    there.sort_by(|a, b| total_order(a, b));
    let mut distinct = there.clone();
    distinct.dedup_by(|a, b| equivalent(a, b));
    match call {
        "count(*)" => Value::Int(values.len() as i64),
        "count(V)" | "size(collect(V))" => Value::Int(there.len() as i64),
        "count(DISTINCT V)" | "size(collect(DISTINCT V))" => Value::Int(distinct.len() as i64),
        "min(V)" => there.first().map_or(Value::Null, |value| (*value).clone()),
        _ => there.last().map_or(Value::Null, |value| (*value).clone()),
    }
}

/// Groups of rows: keys first, the value last.
fn grouped(mut all: Vec<Vec<Value>>, call: &str, keys: usize) -> Vec<String> {
    all.sort_by(|a, b| same_keys(&a[..keys], &b[..keys]));
    let same =
        |a: &Vec<Value>, b: &Vec<Value>| a[..keys].iter().zip(&b[..keys]).all(|(a, b)| equivalent(a, b));
    let mut groups: Vec<String> = all
        .chunk_by(same)
        .map(|group| {
            let values: Vec<Value> = group.iter().map(|row| row[keys].clone()).collect();
            shown(&[&group[0][..keys], &[worked_out(call, &values)]].concat())
        })
        .collect();
    if groups.is_empty() && keys == 0 {
        groups.push(shown(&[worked_out(call, &[])]));
    }
    groups.sort();
    groups
}

/// A row as it is compared: numbers that are equivalent look alike.
fn shown(row: &[Value]) -> String {
    let value = |value: &Value| match value {
        Value::Int(int) => format!("{:?}", *int as f64),
        Value::Float(float) => format!("{float:?}"),
        other => format!("{other:?}"),
    };
    row.iter().map(value).collect::<Vec<_>>().join(" | ")
}

/// A question: what it matches, its keys, its value and its call.
fn question(chance: &mut Chance) -> (&'static str, Vec<&'static str>, &'static str, &'static str) {
    const OF_NODES: [&str; 7] = ["n.few", "n.many", "n.s", "n.f", "n.m", "n.many % 1000", "n.k"];
    const OF_EDGES: [&str; 7] = ["r.y", "r.x", "r.t", "r.z", "r.missing", "r.y % 3", "n.few"];
    const MATCHES: [(&str, bool); 8] = [
        ("MATCH (n:N)", false),
        ("MATCH (n:N) WHERE n.few < 5", false),
        ("MATCH (n:N)-[:R]->()", false),
        ("MATCH (n:N)-[r:R]->()", true),
        ("MATCH (n)<-[r:R]-(:N)", true),
        ("MATCH (n:N)-[r:R]->() WHERE r.y > 17", true),
        ("MATCH (n)-[r:R]-()", true),
        ("MATCH (n:N)-[r:R]->(o) WHERE r.y <> 3 AND r.x > 100", true),
    ];
    let (matched, has_edge) = MATCHES[chance.index(MATCHES.len())];
    let columns = if has_edge { OF_EDGES } else { OF_NODES };
    let mut column = || columns[chance.index(columns.len())];
    let value = column();
    let mut keys: Vec<&str> = (0..2).map(|_| column()).collect();
    keys.truncate(chance.index(3));
    (matched, keys, value, CALLS[chance.index(CALLS.len())])
}

#[test]
fn groups_are_those_of_their_rows() {
    let seed = numbered("SEED", Chance::system_seed());
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let database = filled(1 + chance.index(4), &mut chance);
    let mut session = database.session();
    for round in 0..numbered("ROUNDS", 12) {
        let (matched, keys, value, call) = question(&mut chance);
        let named: Vec<String> = keys.iter().enumerate().map(|(at, key)| format!("{key} AS k{at}")).collect();
        let all = [named.clone(), vec![format!("{value} AS v")]].concat().join(", ");
        // What is not read as a property is read of whole edges.
        let twin = format!("{matched} WITH *, properties(r) AS p RETURN {}", all.replace("r.", "p."));
        let twin = if matched.contains("[r") { twin } else { format!("{matched} RETURN {all}") };
        let right = grouped(rows(&mut session, &twin), call, keys.len());
        let text = format!(
            "{matched} RETURN {}",
            [named, vec![format!("{} AS a", call.replace('V', value))]].concat().join(", ")
        );
        let mut found: Vec<String> = rows(&mut session, &text).iter().map(|row| shown(row)).collect();
        found.sort();
        let differs = found.iter().zip(&right).find(|(found, right)| found != right);
        assert!(
            found == right,
            "seed {seed} round {round}: {text}: {} rows, {} right; {differs:?}",
            found.len(),
            right.len()
        );
    }
}
