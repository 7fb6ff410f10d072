//! The graph procedures on several executors, in clauses, in transactions, and at their limits.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::Duration;
use tanglewood_database::{
    Database, ImportOptions, Limits, MEMORY, Mode, Options, Params, Session, Value, params,
};
use world::chance::Chance;
use world::files::TemporaryFolder;

#[path = "graph_procedures/cached.rs"]
mod cached;
#[path = "graph_procedures/deployed.rs"]
mod deployed;
#[path = "graph_procedures/deployed_limits.rs"]
mod deployed_limits;
#[path = "graph_procedures/programs.rs"]
mod programs;

const VERTICES: u64 = 6_000;
const EDGES: usize = 60_000;

/// A random graph with hubs and whole weights.
fn database(executors: usize) -> Database {
    let place = TemporaryFolder::new("graph-procedures").unwrap();
    let mut chance = Chance::seeded(5);
    let mut text = String::new();
    for _ in 0..EDGES {
        let near = chance.below(VERTICES) * chance.below(VERTICES) / VERTICES;
        let (far, weight) = (chance.below(VERTICES), 1 + chance.below(100));
        text.push_str(&format!("{near} {far} {weight}\n"));
    }
    let file = place.path().join("edges.txt");
    world::files::write_bytes(&file, text.as_bytes()).unwrap();
    let database =
        Database::open(MEMORY, Options { executors: Some(executors), ..Options::default() }).unwrap();
    let options = ImportOptions { from: file, ..ImportOptions::default() };
    assert_eq!(database.import(&options).unwrap().edges, EDGES as u64);
    database
}

/// Whole numbers, and the bits of others.
fn rows(session: &mut Session, text: &str) -> Vec<Vec<i64>> {
    let rows = session.query(text, params! {}).and_then(|result| result.rows());
    let number = |value: &Value| match value {
        Value::Int(int) => *int,
        Value::Float(float) => float.to_bits() as i64,
        other => panic!("{text}: {other:?}"),
    };
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    rows.iter().map(|row| row.iter().map(number).collect()).collect()
}

const CALLS: [&str; 12] = [
    "MATCH (s {id: 7}) CALL graph.bfs({source: s}) YIELD node, distance AS value",
    "MATCH (s {id: 7}) CALL graph.sssp({source: s, weight: 'weight'}) YIELD node, distance AS value",
    "MATCH (s) WHERE s.id < 3 CALL graph.bfs({source: s, direction: 'both'}) YIELD node, distance AS value",
    "CALL graph.wcc({}) YIELD node, component AS value",
    "CALL graph.pagerank({}) YIELD node, score AS value",
    "CALL graph.cdlp({direction: 'both'}) YIELD node, community AS value",
    "CALL graph.cdlp({iterations: 3, seed: 'id'}) YIELD node, community AS value",
    "CALL graph.lcc({}) YIELD node, coefficient AS value",
    "CALL graph.lcc({direction: 'both'}) YIELD node, coefficient AS value",
    "MATCH (s {id: 7}) CALL program.reach(s) YIELD node, value",
    "MATCH (s {id: 7}) CALL program.shortestDistance(s, {weight: 'weight'}) YIELD node, value",
    "CALL program.countEdges(null, {direction: 'both'}) YIELD node, value",
];

#[test]
fn values_do_not_depend_on_how_many_executors_work() {
    let (alone, together) = (database(1), database(3));
    for call in CALLS {
        let text = format!("{call} WITH node.id AS id, value ORDER BY id, value RETURN id, value");
        let ids = format!("{call} RETURN count(*) AS rows, count(DISTINCT node) AS nodes");
        let right = rows(&mut alone.session(), &text);
        assert!(right.len() > 1_000, "{call}");
        for _ in 0..3 {
            let found = rows(&mut together.session(), &text);
            // Ids of nodes differ between the two: they are given as files are parsed.
            if call.contains("wcc") || (call.contains("cdlp") && !call.contains("seed")) {
                assert_eq!(found.len(), right.len(), "{call}");
            } else {
                assert_eq!(found, right, "{call}: to the last bit");
            }
        }
        assert_eq!(rows(&mut together.session(), &ids), rows(&mut alone.session(), &ids));
    }
}

#[test]
fn the_profile_tells_who_worked() {
    let database = database(3);
    let mut session = database.session();
    let result = session.query("PROFILE CALL graph.pagerank({}) YIELD node RETURN count(*)", params! {});
    let summary = result.unwrap().finish().unwrap();
    let told = summary.plan_text.unwrap();
    assert!(told.contains("workers") && told.contains("edges visited"), "{told}");
}

#[test]
fn results_go_on_into_other_clauses() {
    let database = database(2);
    let mut session = database.session();
    let top = rows(
        &mut session,
        "CALL graph.pagerank({}) YIELD node, score WITH node, score ORDER BY score DESC LIMIT 3 \
         MATCH (node)<--(other) RETURN node.id, count(other)",
    );
    assert_eq!(top.len(), 3);
    let within = rows(
        &mut session,
        "MATCH (s) WHERE s.id < 4 CALL (s) { CALL graph.bfs({source: s}) YIELD node, distance \
         WHERE distance = 1 RETURN count(*) AS near } RETURN s.id AS id, near ORDER BY id",
    );
    let right = rows(
        &mut session,
        "MATCH (s)-->(other) WHERE s.id < 4 AND s <> other RETURN s.id AS id, count(DISTINCT other) ORDER BY id",
    );
    assert_eq!(within, right);
    let first = rows(&mut session, "CALL graph.wcc({}) YIELD node RETURN node.id LIMIT 5");
    assert_eq!(first.len(), 5);
}

#[test]
fn labels_and_types_narrow_every_call() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    let text =
        "CREATE (a:P {id: 1})-[:X]->(b:P {id: 2})-[:X]->(c:Q {id: 3})-[:X]->(d:R {id: 4}), (a)-[:Y]->(d)";
    rows(&mut session, text);
    let mut ids = |call: &str| -> Vec<i64> {
        let text = format!("MATCH (s {{id: 1}}) CALL {call} YIELD node RETURN node.id AS id ORDER BY id");
        rows(&mut session, &text).iter().map(|row| row[0]).collect()
    };
    assert_eq!(ids("graph.bfs({source: s})"), [1, 2, 3, 4]);
    assert_eq!(ids("graph.bfs({source: s, label: 'P'})"), [1, 2]);
    assert_eq!(ids("graph.bfs({source: s, label: ['P', 'R'], types: 'X'})"), [1, 2]);
    assert_eq!(ids("graph.bfs({source: s, label: ['P', 'R'], types: ['X', 'Y']})"), [1, 2, 4]);
    assert_eq!(ids("graph.sssp({source: s, label: ['Q', 'P']})"), [1, 2, 3]);
    assert_eq!(ids("graph.pagerank({label: ['Q', 'P']})"), [1, 2, 3]);
    assert_eq!(ids("graph.bfs({source: s, label: 'Q'})"), [1]);
}

#[test]
fn a_transaction_sees_its_own_changes() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    rows(&mut session, "CREATE (:V {id: 1}), (:V {id: 2})");
    let count = "CALL graph.wcc({}) YIELD component RETURN count(DISTINCT component)";
    session.begin(Mode::Write).unwrap();
    rows(&mut session, "MATCH (a {id: 1}), (b {id: 2}) CREATE (a)-[:E]->(b)");
    assert_eq!(rows(&mut session, count), [[1]]);
    session.rollback().unwrap();
    assert_eq!(rows(&mut session, count), [[2]]);
}

#[test]
fn cheapest_paths_of_a_chain_come_out_in_pieces() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let mut session = database.session();
    // Paths of half a million steps: many slices of them.
    let last = 999_i64;
    rows(&mut session, &format!("UNWIND range(0, {last}) AS k CREATE (:N {{k: k, next: k + 1}})"));
    rows(&mut session, "MATCH (a:N), (b:N) WHERE b.k = a.next CREATE (a)-[:E]->(b)");
    let mut ask = |settings: &str, rest: &str| {
        let call = format!("CALL graph.cheapestPath({{source: a{settings}}}) YIELD node, path, cost");
        rows(&mut session, &format!("MATCH (a:N {{k: 0}}), (z:N {{k: {last}}}) {call} RETURN {rest}"))
    };
    let sums =
        "count(*), sum(length(path)), sum(toInteger(cost)), sum(last(nodes(path)).k), max(length(path))";
    let sum = last * (last + 1) / 2;
    assert_eq!(ask("", sums), [[last + 1, sum, sum, sum, last]]);
    assert_eq!(ask(", direction: 'both', label: 'N'", sums), [[last + 1, sum, sum, sum, last]]);
    assert_eq!(ask("", "length(path) LIMIT 3"), [[0], [1], [2]]);
    assert_eq!(ask(", target: z", sums), [[1, last, last, last, last]]);
    assert_eq!(ask(", target: a", sums), [[1, 0, 0, 0, 0]]);
    assert_eq!(ask(", target: z, direction: 'in'", "count(*)"), [[0]]);
}

#[test]
fn budgets_and_time_limits_end_a_call() {
    let database = database(2);
    let mut session = database.session();
    let mut code = |text: &str, limits: Limits| {
        let outcome = session.query_within(text, Params::new(), &limits).and_then(|result| result.rows());
        outcome.unwrap_err().code.to_string()
    };
    let small = Limits { bytes_max: Some(50_000), timeout: None };
    for call in ["graph.lcc({})", "graph.pagerank({})", "graph.cdlp({})"] {
        let code = code(&format!("CALL {call} YIELD node RETURN count(*)"), small.clone());
        assert!(code.contains("Memory"), "{call}: {code}");
    }
    let short = Limits { bytes_max: None, timeout: Some(Duration::from_millis(1)) };
    let endless = "CALL graph.pagerank({iterations: 10000}) YIELD node RETURN count(*)";
    assert!(code(endless, short).contains("TimedOut"));
}
