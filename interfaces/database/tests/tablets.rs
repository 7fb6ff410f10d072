//! Tablets through the interface: listed, moved, and none of it changes an answer.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Options, Session, params};

const HOPS: &str = "MATCH (a:P {n: 0})-[:R]->(b) WITH DISTINCT b MATCH (b)-[:R]->(c)-[:R]->(d) \
    RETURN d.n % 7 AS k, count(*) AS n, sum(c.n) AS s ORDER BY k";

/// A vertex with many neighbours, each of which has some.
fn database(executors: usize) -> Database {
    let options = Options { executors: Some(executors), ..Options::default() };
    let database = Database::open(":memory:", options).unwrap();
    let mut session = database.session();
    for text in [
        "UNWIND range(0, 1499) AS n CREATE (:P {n: n})",
        "CREATE INDEX FOR (p:P) ON (p.n)",
        "MATCH (a:P {n: 0}), (b:P) WHERE b.n > 0 CREATE (a)-[:R]->(b)",
        "MATCH (a:P) WHERE a.n > 0 UNWIND range(1, 8) AS k MATCH (b:P {n: (a.n * 31 + k * 97) % 1500}) CREATE (a)-[:R]->(b)",
    ] {
        session.query(text, params! {}).unwrap().finish().unwrap();
    }
    database
}

/// All values are whole numbers.
fn rows(session: &mut Session, text: &str) -> Vec<Vec<i64>> {
    let rows = session.query(text, params! {}).unwrap().rows().unwrap();
    rows.iter().map(|row| row.iter().map(|value| value.as_int().unwrap()).collect()).collect()
}

#[test]
fn tablets_are_listed_and_moved_while_queries_run_and_answers_stay() {
    let alone = rows(&mut database(1).session(), HOPS);
    let database = database(2);
    database.balance_tablets(false);
    let mut session = database.session();
    assert_eq!(rows(&mut session, HOPS), alone);
    let listed = rows(&mut session, "SHOW TABLETS");
    assert!(listed.len() > 2, "more tablets than executors");
    let half = rows(&mut session, "SHOW TABLETS YIELD executor WHERE executor = 0 RETURN count(*) AS n");
    assert_eq!(half[0][0] as usize, listed.len() / 2);
    for to in [0, 1] {
        database.move_tablets((0..listed.len()).map(|tablet| (tablet, to)));
        for _ in 0..5 {
            assert_eq!(rows(&mut session, HOPS), alone);
        }
        let hosts = rows(&mut session, "SHOW TABLETS YIELD executor RETURN DISTINCT executor");
        assert_eq!(hosts, [[to as i64]]);
    }
    let moves = rows(&mut session, "SHOW TABLETS YIELD moves RETURN sum(moves) AS n");
    assert_eq!(moves[0][0] as u64, database.tablet_moves().0);
    // What is skewed is mended while queries go on.
    database.balance_tablets(true);
    let begin = Instant::now();
    while database.tablets().iter().all(|tablet| tablet.executor == 1) {
        assert_eq!(rows(&mut session, HOPS), alone);
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", database.tablets());
    }
}

#[test]
fn a_profile_says_how_executors_shared_the_work() {
    let database = database(2);
    let mut session = database.session();
    let begin = Instant::now();
    loop {
        let summary = session.query(&format!("PROFILE {HOPS}"), params! {}).unwrap().finish().unwrap();
        let text = summary.plan_text.unwrap();
        if text.lines().any(|line| line.contains(": executors ") && line.ends_with("of its time")) {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{text}");
    }
}
