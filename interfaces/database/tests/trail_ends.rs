//! Where trails of two and more relationships end, each end once: against the ends of all trails, listed one by one, and on graphs where
//! nobody could list them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::{Database, Limits, MEMORY, Options, Params, Session};
use world::chance::Chance;

fn session() -> Session {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap().session()
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let limits = Limits { timeout: Some(Duration::from_secs(60)), bytes_max: None };
    let rows = session.query_within(text, Params::new(), &limits).and_then(|result| result.rows());
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

fn is_by_ends(session: &mut Session, text: &str) -> bool {
    let result = session.query(&format!("EXPLAIN {text}"), Params::new()).unwrap();
    result.finish().unwrap().plan_text.unwrap().contains("distinct ends")
}

#[test]
fn distinct_ends_are_those_of_all_trails() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(Chance::system_seed);
    println!("SEED={seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..2 {
        let mut session = session();
        rows(
            &mut session,
            "UNWIND range(0, 11) AS n CREATE (:A {n: n}) WITH n WHERE n % 3 = 0 MATCH (a {n: n}) SET a:B",
        );
        for _ in 0..16 {
            let [a, b, w] = [12, 12, 5].map(|most| chance.below(most));
            rows(
                &mut session,
                &format!("MATCH (a {{n: {a}}}), (b {{n: {b}}}) CREATE (a)-[:R {{w: {w}}}]->(b)"),
            );
        }
        for hops in ["*2", "*3", "*2..4", "*5..6", "*4..4"] {
            for (left, right) in [("-", "-"), ("-", "->"), ("<-", "-")] {
                for end in ["b", "b:B"] {
                    let pattern = format!("MATCH p = (a){left}[:R{hops}]{right}({end})");
                    let distinct = format!("{pattern} RETURN DISTINCT a.n AS a, b.n AS b");
                    assert!(is_by_ends(&mut session, &format!("{pattern} WHERE a.n = 1 RETURN DISTINCT b")));
                    let listed = "WITH collect([a.n, b.n, p]) AS all UNWIND all AS one RETURN DISTINCT one[0] AS a, one[1] AS b";
                    let twin = rows(&mut session, &format!("{pattern} {listed}"));
                    assert_eq!(rows(&mut session, &distinct), twin, "{distinct}");
                    let (a, b) = (chance.below(12), chance.below(12));
                    let bound = format!(
                        "MATCH (a {{n: {a}}}), ({end} {{n: {b}}}) WHERE EXISTS {{ (a){left}[:R{hops}]{right}(b) }} RETURN a.n, b.n"
                    );
                    let one = rows(&mut session, &bound);
                    let expected: Vec<&String> =
                        twin.iter().filter(|row| **row == format!("[Int({a}), Int({b})]")).collect();
                    assert_eq!(one.iter().collect::<Vec<_>>(), expected, "{bound}");
                }
            }
        }
    }
}

/// A graph with more trails than could ever be listed: 150 vertices, each with 60 edges.
fn dense() -> Session {
    let mut session = session();
    let text = "UNWIND range(0, 149) AS n CREATE (:A {n: n}) WITH count(*) AS c MATCH (a:A) UNWIND range(1, 30) AS d \
                MATCH (b:A {n: (a.n + d * d) % 150}) CREATE (a)-[:R]->(b)";
    rows(&mut session, text);
    rows(&mut session, "CREATE (:C {n: -1})");
    session
}

#[test]
fn ends_are_found_where_trails_cannot_be_listed() {
    let mut session = dense();
    let begin = Instant::now();
    for (text, expected) in [
        ("MATCH (a {n: 0})-[:R*6]-(b) RETURN count(DISTINCT b)", "[Int(150)]"),
        ("MATCH (a {n: 0})-[:R*3..8]->(b) RETURN count(DISTINCT b)", "[Int(150)]"),
        ("MATCH (a {n: 0}) RETURN EXISTS { (a)-[:R*6]-(:C) }", "[Bool(false)]"),
        ("MATCH (a {n: 0}), (b {n: 77}) RETURN EXISTS { (a)-[:R*6]-(b) }", "[Bool(true)]"),
        ("MATCH (a {n: 0}), (b:C) RETURN EXISTS { (a)-[:R*6]-(b) }", "[Bool(false)]"),
        ("MATCH (a {n: 0})-[:R*6]-(b) RETURN count(DISTINCT b.n % 2)", "[Int(2)]"),
        ("MATCH p = (a)-[:R*6]-(b) WITH p LIMIT 100 RETURN count(p)", "[Int(100)]"),
        ("MATCH (a {n: 0})-[:R*6]-(b) WITH DISTINCT b LIMIT 3 RETURN count(b)", "[Int(3)]"),
    ] {
        assert_eq!(rows(&mut session, text), [expected], "{text}");
    }
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

/// Trails that are listed all the same come as they are found, hold little, and can be ended.
#[test]
fn a_list_without_end_streams_holds_little_and_is_ended() {
    let mut session = dense();
    let limits = Limits { timeout: Some(Duration::from_millis(1_500)), bytes_max: Some(32 << 20) };
    let text = "MATCH p = (a)-[:R*6]-(b) RETURN length(p)";
    let mut result = session.query_within(text, Params::new(), &limits).unwrap();
    assert!(!result.next_batch().unwrap().unwrap().is_empty());
    drop(result);
    let text = "MATCH p = (a)-[:R*6]-(b) RETURN count(p)";
    let begin = Instant::now();
    let error =
        session.query_within(text, Params::new(), &limits).and_then(|result| result.rows()).unwrap_err();
    assert!(error.code.contains("TimedOut"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}
