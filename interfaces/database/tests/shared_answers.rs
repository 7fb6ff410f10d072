//! A sub-query that runs once for all rows with the same arguments, against the same sub-query run row by row.
//!
//! The twin is the statement without scopes (`CYPHER scopes = off`), where no answer is shared. The seed is printed; `SEED=…` replays one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use tanglewood_database::{Database, MEMORY, Options, Params, Session};
use world::chance::Chance;

/// Graphs in a run.
const ROUNDS: usize = 4;
/// Vertices of a graph.
const VERTICES: usize = 40;

fn session() -> Session {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap().session()
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let rows = session.query(text, Params::new()).and_then(|result| result.rows());
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

fn graph(session: &mut Session, chance: &mut Chance) {
    for number in 0..VERTICES {
        let value = ["1", "1.0", "0.0", "-0.0", "'1'", "true", "null", "[1]", "2", "date('2020-01-01')"];
        let value = value[chance.below(value.len() as u64) as usize];
        rows(session, &format!("CREATE (:{} {{n: {number}, v: {value}}})", ["A", "B"][number % 2]));
    }
    for _ in 0..3 * VERTICES {
        let [a, b] = [0, 1].map(|_| chance.below(VERTICES as u64));
        let kind = ["R", "S"][chance.below(2) as usize];
        rows(session, &format!("MATCH (a {{n: {a}}}), (b {{n: {b}}}) CREATE (a)-[:{kind} {{w: {b}}}]->(b)"));
    }
}

/// What gives a sub-query rows, many of them alike: `x` a vertex or null, `y` a value, `r` an edge or null.
const OUTER: [&str; 5] = [
    "MATCH (x)-[r]->() WITH x, r, x.v AS y",
    "UNWIND [1, 2, 3] AS i MATCH (x) OPTIONAL MATCH (x)<-[r:S]-() WITH x, r, x.v AS y",
    "MATCH (z)-->(x) WITH x, null AS r, x.v AS y",
    "MATCH (z)-[r]->() OPTIONAL MATCH (z)-[:S]->(x:B) WITH x, r, z.v AS y",
    "UNWIND range(1, 3000) AS i WITH i % 7 AS n MATCH (x {n: n}) WITH x, null AS r, toStringOrNull(x.v) AS y",
];

/// Sub-queries over them.
const INNER: [&str; 12] = [
    "COUNT { (x)-->() }",
    "COUNT { (x)-[:R]->(b)-->(c) WHERE b.n < c.n }",
    "EXISTS { (x)-[:R]->(:B) }",
    "COLLECT { MATCH (x)-->(b) RETURN b.n }",
    "[(x)-[:S]->(b) | b.v]",
    "COUNT { MATCH (b {v: y}) }",
    "COLLECT { MATCH (b:A) WHERE b.n < 3 RETURN [valueType(y), b.n] }",
    "COUNT { (a)-[r]->(b) }",
    "[(a)-[s]->(b) WHERE (a = startNode(r) AND b = endNode(r)) OR (b = startNode(r) AND a = endNode(r)) | s.w]",
    "reduce(t = 0, v IN [(x)-->(b) | b.n] | t + v)",
    "[p IN [1, 2] | COUNT { (x)-->(b) WHERE b.n > p }]",
    "CASE WHEN EXISTS { (x)-->(b) WHERE COUNT { (b)-->() } > 3 } THEN COUNT { (x)<--() } ELSE -1 END",
];

#[test]
fn rows_that_give_the_same_get_the_same_as_if_each_was_asked() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(Chance::system_seed);
    println!("SEED={seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..ROUNDS {
        let mut session = session();
        graph(&mut session, &mut chance);
        for outer in OUTER {
            for inner in INNER {
                let value = format!("{outer} RETURN x.n, y, {inner} AS found");
                let test = format!("{outer} WITH x, y, r WHERE COUNT {{ {{}} }} > 0 RETURN x.n, y");
                let test = test.replace("{}", "MATCH (x)-[:R]->(b) WHERE b.n > 5");
                for text in [value, test] {
                    let twin = rows(&mut session, &format!("CYPHER scopes = off {text}"));
                    assert_eq!(rows(&mut session, &text), twin, "{text}");
                }
            }
        }
    }
}

/// The inner plan's work is that for different rows, not for all.
#[test]
fn what_was_asked_is_not_asked_again() {
    let mut session = session();
    rows(
        &mut session,
        "UNWIND range(1, 10) AS i CREATE (a:A {i: i}) WITH a UNWIND range(1, 5) AS j CREATE (a)-[:R]->(:B)",
    );
    let text = "PROFILE UNWIND range(1, 20000) AS i MATCH (a:A {i: i % 10 + 1}) \
                RETURN sum(COUNT { (a)-[:R]->(b:B) WHERE b.x IS NULL })";
    let mut result = session.query(text, Params::new()).unwrap();
    let mut sum = None;
    while let Some(batch) = result.next_batch().unwrap() {
        sum = batch.get(0, 0).as_int();
    }
    assert_eq!(sum, Some(100_000));
    let told = result.finish().unwrap().plan_text.unwrap();
    let line = told.lines().find(|line| line.contains("Expand")).unwrap();
    let found: Vec<u64> =
        line.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect();
    assert!(
        found.contains(&50) || found.contains(&100),
        "fifty edges, by one executor or by each of two: {told}"
    );
}

/// Where hardly any row gives the same as another, answers are not kept any more; those that were asked must still come.
#[test]
fn rows_that_never_repeat_have_their_answers() {
    let mut session = session();
    rows(&mut session, "UNWIND range(1, 6000) AS i CREATE (:A {i: i})-[:R]->(:B {n: i})");
    for inner in ["[(a)-->(b) | b.n]", "COLLECT { MATCH (a)-->(b) RETURN b.n }", "COUNT { (a)-->() }"] {
        let text = format!("MATCH (a:A) RETURN a.i AS i, {inner} AS found");
        let twin = rows(&mut session, &format!("CYPHER scopes = off {text}"));
        assert_eq!(twin.len(), 6_000);
        assert_eq!(rows(&mut session, &text), twin, "{text}");
    }
}

/// Likewise in a statement that writes, where none are kept.
#[test]
fn a_statement_that_writes_has_its_lists() {
    let mut session = session();
    rows(&mut session, "UNWIND range(1, 50) AS i CREATE (:A {i: i})-[:R]->(:B {n: i})");
    let text = "MATCH (a:A) SET a.z = 1 WITH a RETURN a.i AS i, [(a)-->(b) | b.n] AS found";
    let twin = rows(&mut session, &format!("CYPHER scopes = off {text}"));
    assert_eq!(rows(&mut session, text), twin);
}

/// A statement that writes sees what it wrote, also where it asked the same before.
#[test]
fn what_is_written_is_counted_anew() {
    let mut session = session();
    rows(&mut session, "CREATE (:A)");
    let text = "MATCH (a:A) UNWIND [1, 2, 3] AS i CALL (a) { CREATE (a)-[:R]->(:B) RETURN COUNT { (a)-->() } AS c } RETURN c";
    let mut expected: Vec<String> = (1..=3).map(|count| format!("[Int({count})]")).collect();
    expected.sort_unstable();
    assert_eq!(rows(&mut session, text), expected);
}

/// A statement that is asked again, alone or in a transaction, sees what was written between.
#[test]
fn what_was_written_between_two_askings_is_seen() {
    let mut session = session();
    rows(&mut session, "CREATE (:A {i: 1}), (:A {i: 2})");
    rows(&mut session, "CREATE INDEX FOR (n:A) ON (n.i)");
    let text = "UNWIND [1, 1, 2, 1] AS i MATCH (a:A {i: i}) RETURN i, COUNT { (a)-->() } AS c, [(a)-->(b) | b.n] AS l";
    for number in 0..40 {
        if number == 20 {
            session.begin(tanglewood_database::Mode::Write).unwrap();
        }
        let twin = rows(&mut session, &format!("CYPHER scopes = off {text}"));
        assert_eq!(rows(&mut session, text), twin);
        assert!(twin.iter().any(|row| row.contains(&format!("Int({number})"))), "{twin:?}");
        rows(&mut session, &format!("MATCH (a:A {{i: 1}}) CREATE (a)-[:R]->(:B {{n: {number}}})"));
    }
    session.commit().unwrap();
}

/// What differs at each asking is asked for each row.
#[test]
fn chance_is_asked_for_each_row() {
    let mut session = session();
    rows(&mut session, "CREATE (:A)");
    let text = "MATCH (a:A) UNWIND range(1, 100) AS i RETURN COUNT { MATCH (a) WHERE rand() < 0.5 } AS c";
    let found = rows(&mut session, text);
    assert!(found.iter().any(|row| *row != found[0]), "a hundred throws of a coin are alike");
}
