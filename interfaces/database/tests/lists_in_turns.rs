//! Tests over lists of very different lengths, taken in turns: each row passes if and only if counting says so.
//!
//! Below a test the neighbours of many rows are taken a few at a time, a row is left once it has its answer, and operators serve one scope
//! instance after the other. So lists are made here whose only match is anywhere, with tests that hold for few, for many and for none.

use tanglewood_database::{Database, Options, Session, params};
use world::chance::Chance;

const SEEDS: u64 = 3;
const OWNERS: u64 = 70;
/// Longer than what is taken of a list in the first rounds together.
const LIST_MAX: u64 = 400;

/// Owners with lists of items; an item has a kind, and kind 0 is rare.
fn lists(seed: u64) -> Database {
    let mut chance = Chance::seeded(seed);
    let database =
        Database::open(":memory:", Options { executors: Some(1 + seed as usize % 3), ..Options::default() });
    let database = database.unwrap();
    let mut session = database.session();
    let mut run = |text: &str| session.query(text, params! {}).unwrap().finish().unwrap();
    run("UNWIND range(0, 9) AS k CREATE (:Kind {id: k})");
    for owner in 0..OWNERS {
        let most = if chance.happens(0.5) { 8 } else { LIST_MAX };
        let (length, rare) = (chance.below(most), chance.below(600));
        run(&format!(
            "CREATE (o:Owner {{id: {owner}}}) WITH o UNWIND range(1, {length}) AS i CREATE (o)-[:HAS]->(m:Item {{id: i}})
             WITH m, i MATCH (k:Kind {{id: CASE WHEN i = {rare} THEN 0 ELSE 1 + i % 9 END}}) CREATE (m)-[:IS]->(k)"
        ));
    }
    drop(session);
    database
}

fn ids(session: &mut Session, text: &str) -> Vec<i64> {
    let rows = session.query(text, params! {}).and_then(|result| result.rows());
    let rows = rows.unwrap_or_else(|error| panic!("{text}\n{error}"));
    rows.iter().map(|row| row[0].as_int().unwrap()).collect()
}

#[test]
fn a_row_passes_where_counting_says_so() {
    for seed in 0..SEEDS {
        let database = lists(seed);
        let mut session = database.session();
        for kind in ["k.id = 0", "k.id = 3", "k.id >= 8 AND m.id > 300", "k.id > 100"] {
            let pattern = format!("MATCH (o)-[:HAS]->(m)-[:IS]->(k:Kind) WHERE {kind}");
            let counted =
                format!("MATCH (o:Owner) WHERE COUNT {{ {pattern} }} > 0 RETURN o.id ORDER BY o.id");
            let right = ids(&mut session, &counted);
            for hint in [
                "",
                "USING SCOPE FIFO",
                "USING SCOPE MAX 2 ROWS 1",
                "USING SCOPE DFS ROWS 40",
                "USING SCOPE OFF MAX 1 ROWS 1",
            ] {
                let tested = |test: &str, end: &str| {
                    format!("MATCH (o:Owner) {hint} WHERE {test} {{ {pattern} }} RETURN o.id AS id {end}")
                };
                let found = ids(&mut session, &tested("EXISTS", "ORDER BY id"));
                assert_eq!(found, right, "seed {seed}, {kind}, {hint}");
                let none = ids(&mut session, &tested("NOT EXISTS", "ORDER BY id"));
                let wrong: Vec<i64> = (0..OWNERS as i64).filter(|id| !right.contains(id)).collect();
                assert_eq!(none, wrong, "seed {seed}, not {kind}, {hint}");
                let some = ids(&mut session, &tested("EXISTS", "LIMIT 5"));
                assert_eq!(some.len(), right.len().min(5), "seed {seed}, {kind}, {hint}");
                assert!(some.iter().all(|id| right.contains(id)), "seed {seed}, {kind}, {hint}: {some:?}");
            }
        }
    }
}
