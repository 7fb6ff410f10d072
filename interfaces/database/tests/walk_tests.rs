//! Tests of ways between two bound nodes, which are walked once for all rows of a first node: random graphs, with rows that repeat and ends that are
//! null, against the number of such ways, which is found row by row.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt::Write;
use tanglewood_database::{Database, MEMORY, Mode, Options, Params, Session};
use world::chance::Chance;

/// Graphs in a run.
const ROUNDS: usize = 4;

/// Ways from `a` to `b`; the last step of most leads to one node at most.
const WAYS: [&str; 7] = [
    "(a)<-[:BY]-(:M)-[:RE]->(:M)-[:BY]->(b)",
    "(a)<-[:BY]-(m)-[:RE]-(n)-[:BY]->(b)",
    "(b)<-[:BY]-(m:M)-[:RE]->(n)-[:BY]->(a)",
    "(a)-[:LIKES]->(m:M)-[:RE]->(n:M)-[:BY]->(b) WHERE n.k > m.k",
    "(a)-[:LIKES]->(m)-[:RE*1..2]->(n)-[:BY]->(b)",
    "(a)-[:LIKES]->(m)<-[:LIKES]-(c)<-[:BY]-(n)-[:BY]->(b)",
    "(a)-[:LIKES]->(m)<-[:RE]-(n)-[:BY]->(b) WHERE n.k <> a.i",
];

/// Where their ends come from.
const ROWS: [&str; 4] = [
    "MATCH (a:A), (b:A)",
    "UNWIND [1, 2, 2] AS u MATCH (a:A), (b:A) WHERE (a.i + b.i + u) % 3 > 0",
    "MATCH (a:A) OPTIONAL MATCH (a)-[:LIKES]->(:M)-[:BY]->(b)",
    "MATCH (m:M)-[:BY]->(b), (a:A) WHERE a.i % 2 = m.k % 2",
];

/// The rows as texts, sorted.
fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let found = session.query(text, Params::new()).and_then(|result| result.rows());
    let rows = found.unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{:?}", row.to_vec())).collect();
    rows.sort();
    rows
}

fn graph(chance: &mut Chance) -> String {
    let (people, messages) = (1 + chance.below(8), chance.below(400));
    let mut text = format!("FOREACH (i IN range(1, {people}) | CREATE (:A {{i: i}}))\n");
    let _ = writeln!(text, "FOREACH (k IN range(1, {messages}) | CREATE (:M {{k: k}}))");
    for message in 1..=messages {
        if chance.happens(0.9) {
            let by = 1 + chance.below(people);
            let _ = writeln!(text, "MATCH (m:M {{k: {message}}}), (a:A {{i: {by}}}) CREATE (m)-[:BY]->(a)");
        }
        if chance.happens(0.7) {
            let to = 1 + chance.below(messages);
            let _ = writeln!(text, "MATCH (m:M {{k: {message}}}), (n:M {{k: {to}}}) CREATE (m)-[:RE]->(n)");
        }
        for _ in 0..chance.below(3) {
            let by = 1 + chance.below(people);
            let _ =
                writeln!(text, "MATCH (m:M {{k: {message}}}), (a:A {{i: {by}}}) CREATE (a)-[:LIKES]->(m)");
        }
    }
    text
}

/// Compares, and returns how many of the tests are walked once for all rows.
fn compare(session: &mut Session, seed: u64) -> usize {
    let mut shared = 0;
    for from in ROWS {
        for way in WAYS {
            let whole = |condition: &str| {
                let and = if from.contains("WHERE") { "AND" } else { "WITH a, b WHERE" };
                format!("{from} {and} {condition} RETURN a.i AS x, b.i AS y")
            };
            for (test, twin) in [
                (
                    format!("{from} RETURN a.i AS x, b.i AS y, EXISTS {{ {way} }} AS is"),
                    format!("{from} RETURN a.i AS x, b.i AS y, COUNT {{ {way} }} > 0 AS is"),
                ),
                (whole(&format!("EXISTS {{ {way} }}")), whole(&format!("COUNT {{ {way} }} > 0"))),
                (whole(&format!("NOT EXISTS {{ {way} }}")), whole(&format!("COUNT {{ {way} }} = 0"))),
            ] {
                assert_eq!(rows(session, &test), rows(session, &twin), "seed {seed}: {test}");
                shared += usize::from(explained(session, &test).contains("once for all"));
            }
            let few = format!("{from} WITH a, b WHERE EXISTS {{ {way} }} RETURN a.i AS x, b.i AS y LIMIT 2");
            let all = rows(session, &whole(&format!("COUNT {{ {way} }} > 0")));
            let found = rows(session, &few);
            assert_eq!(found.len(), all.len().min(2), "seed {seed}: {few}");
            assert!(found.iter().all(|row| all.contains(row)), "seed {seed}: {few}");
        }
    }
    shared
}

#[test]
fn a_way_is_found_for_the_rows_that_ask_for_it() {
    let seed =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(Chance::system_seed);
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let mut shared = 0;
    for executors in (0..ROUNDS).map(|round| 1 + round % 2) {
        let options = Options { executors: Some(executors), ..Options::default() };
        let mut session = Database::open(MEMORY, options).unwrap().session();
        for line in graph(&mut chance).lines() {
            rows(&mut session, line);
        }
        shared += compare(&mut session, seed);
        // What a transaction has changed itself counts, too.
        session.begin(Mode::Write).unwrap();
        rows(&mut session, "MATCH (m:M)-[r:BY]->() WHERE m.k % 5 = 0 DELETE r");
        rows(&mut session, "MATCH (m:M), (a:A) WHERE m.k % 5 = 0 AND a.i = m.k % 3 CREATE (m)-[:BY]->(a)");
        shared += compare(&mut session, seed);
        session.rollback().unwrap();
    }
    println!("{shared} are walked once for all");
    assert!(shared > 0);
}

fn explained(session: &mut Session, text: &str) -> String {
    let summary = session.query(&format!("EXPLAIN {text}"), Params::new()).unwrap().finish().unwrap();
    format!("{:?}", summary.plan)
}

#[test]
fn the_plan_says_so() {
    let mut session = Database::open(MEMORY, Options::default()).unwrap().session();
    rows(&mut session, "UNWIND range(1, 300) AS i CREATE (:A {i: i})");
    rows(
        &mut session,
        "UNWIND range(1, 30000) AS k MATCH (a:A {i: 1 + k % 300}) CREATE (:M {k: k})-[:BY]->(a)",
    );
    rows(&mut session, "MATCH (m:M), (n:M {k: m.k / 2}) CREATE (m)-[:RE]->(n)");
    rows(&mut session, "MATCH (a:A), (b:A) WHERE (a.i + b.i) % 9 = 0 CREATE (a)-[:KNOWS]->(b)");
    let text = "MATCH (a:A), (b:A) RETURN a, b, EXISTS { (a)<-[:BY]-(:M)-[:RE]->(:M)-[:BY]->(b) } AS is";
    let plan = explained(&mut session, text);
    assert!(plan.contains("once for all"), "{plan}");
    // Where few rows are wanted each is answered by itself, and so is a step that may lead anywhere.
    for other in [
        "MATCH (a:A), (b:A) WHERE EXISTS { (a)<-[:BY]-(:M)-[:RE]->(:M)-[:BY]->(b) } RETURN a LIMIT 3",
        "MATCH (a:A), (b:A) RETURN EXISTS { (a)-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(b) } AS is",
    ] {
        let plan = explained(&mut session, other);
        assert!(!plan.contains("once for all"), "{plan}");
    }
}
