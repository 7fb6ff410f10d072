//! Repeated groups with a sub-query: the same ends as by one MATCH a round, whatever the policy and the number of executors.

use std::collections::BTreeMap;
use tanglewood_database::{Database, Options, Session, params};
use world::chance::Chance;

const SEEDS: u64 = 12;
const TEST: &str = "EXISTS { (y)-[:R]->(:Good) }";

/// Rows as a bag of numbers.
fn bag(session: &mut Session, text: &str) -> BTreeMap<Vec<i64>, usize> {
    let rows = session.query(text, params! {}).and_then(|result| result.rows());
    let rows = rows.unwrap_or_else(|error| panic!("{text}\n{error}"));
    let mut bag = BTreeMap::new();
    for row in rows {
        *bag.entry(row.iter().map(|value| value.as_int().unwrap_or(-1)).collect()).or_default() += 1;
    }
    bag
}

fn random_graph(seed: u64, executors: usize) -> Database {
    let mut chance = Chance::seeded(seed);
    let database = Database::open(":memory:", Options { executors: Some(executors), ..Options::default() });
    let database = database.unwrap();
    let mut session = database.session();
    let vertices = 4 + chance.below(8);
    for id in 0..vertices {
        let label = if chance.happens(0.4) { ":Good" } else { "" };
        session.query(&format!("CREATE (:N{label} {{id: {id}}})"), params! {}).unwrap().finish().unwrap();
    }
    for _ in 0..2 * vertices {
        let (a, b) = (chance.below(vertices), chance.below(vertices));
        let text = format!("MATCH (a:N {{id: {a}}}), (b:N {{id: {b}}}) CREATE (a)-[:R]->(b)");
        session.query(&text, params! {}).unwrap().finish().unwrap();
    }
    drop(session);
    database
}

/// The obvious twin: a MATCH with its test for each round.
fn unrolled(rounds: std::ops::RangeInclusive<usize>) -> String {
    let one = |count: usize| {
        let mut text = "MATCH (a:N) WITH a, a AS x".to_string();
        for _ in 0..count {
            text += &format!(" MATCH (x)-[:R]->(y) WHERE {TEST} WITH a, y AS x");
        }
        format!("{text} RETURN a.id AS a, x.id AS b")
    };
    rounds.map(one).collect::<Vec<_>>().join(" UNION ALL ")
}

#[test]
fn rounds_lead_to_the_ends_that_matches_lead_to() {
    let mut met_more_than_once = false;
    for seed in 0..SEEDS {
        let database = random_graph(seed, 1 + seed as usize % 3);
        let mut session = database.session();
        for (bounds, range) in [("{2}", 2..=2), ("{1,3}", 1..=3), ("{0,2}", 0..=2)] {
            let expected = bag(&mut session, &unrolled(range));
            met_more_than_once |= expected.values().any(|count| *count > 1);
            let distinct: BTreeMap<Vec<i64>, usize> = expected.keys().map(|row| (row.clone(), 1)).collect();
            for hint in [
                "",
                "USING SCOPE DFS",
                "USING SCOPE BFS MAX 1",
                "USING SCOPE FIFO WITHIN FIFO",
                "USING SCOPE OFF ROWS 1",
                "USING SCOPE DFS ROWS 2",
                "USING SCOPE WIDE",
                "USING SCOPE BFS MAX 1 ROWS 3 WIDE",
            ] {
                let path = format!("MATCH WALK (a:N) ((x)-[:R]->(y) WHERE {TEST}){bounds} (b) {hint}");
                let told = format!("seed {seed} {bounds} {hint}");
                assert_eq!(bag(&mut session, &format!("{path} RETURN a.id, b.id")), expected, "{told}");
                let found = bag(&mut session, &format!("{path} RETURN DISTINCT a.id, b.id"));
                assert_eq!(found, distinct, "{told} distinct");
                let ends: BTreeMap<Vec<i64>, usize> =
                    distinct.keys().filter(|row| row[0] == 0).map(|row| (vec![row[1]], 1)).collect();
                let one = path.replace("(a:N)", "(a:N {id: 0})");
                let found = bag(&mut session, &format!("{one} RETURN DISTINCT b.id"));
                assert_eq!(found, ends, "{told} from one");
                let few = bag(&mut session, &format!("{path} RETURN DISTINCT a.id, b.id LIMIT 3"));
                assert_eq!(few.len(), distinct.len().min(3), "{told} limited");
                assert!(few.keys().all(|row| distinct.contains_key(row)), "{told} limited");
                let tested =
                    format!("MATCH (a:N) WHERE EXISTS {{ {} }} RETURN a.id", path.replace("(a:N)", "(a)"));
                let having: BTreeMap<Vec<i64>, usize> =
                    distinct.keys().map(|row| (vec![row[0]], 1)).collect();
                assert_eq!(bag(&mut session, &tested), having, "{told} in a test");
            }
        }
    }
    assert!(met_more_than_once, "no end was ever met on two ways: the test tells too little");
}

/// Rounds of thousands of rows, so that executors do share them.
#[test]
fn wide_rounds_lead_to_the_same_ends_on_any_number_of_executors() {
    let path = format!("MATCH WALK (a:N {{id: 0}}) ((x)-[:R]->(y) WHERE {TEST}){{1,3}} (b)");
    let more = path.replace("{1,3}", "{1,6}");
    let mut expected = None;
    for executors in [1, 2, 3] {
        let options = Options { executors: Some(executors), ..Options::default() };
        let mut session = Database::open(":memory:", options).unwrap().session();
        for text in [
            "UNWIND range(0, 399) AS n CREATE (:N {id: n})",
            "MATCH (g:N) WHERE g.id % 3 = 0 SET g:Good",
            "MATCH (a:N), (b:N) WHERE (a.id * 7 + b.id * 13) % 67 < 3 CREATE (a)-[:R]->(b)",
        ] {
            session.query(text, params! {}).unwrap().finish().unwrap();
        }
        for hint in ["USING SCOPE BFS", "USING SCOPE WIDE", "USING SCOPE ROWS 100 WIDE", ""] {
            let counted = bag(&mut session, &format!("{path} {hint} RETURN b.id % 10 AS k, count(*) AS n"));
            let met = bag(&mut session, &format!("{path} {hint} RETURN DISTINCT b.id"));
            let both = (counted, met);
            assert_eq!(expected.get_or_insert_with(|| both.clone()), &both, "{hint} on {executors}");
        }
        let explained = session.query(&format!("EXPLAIN {more} RETURN count(*) AS n"), params! {}).unwrap();
        let plan = explained.summary().plan_text.clone().unwrap();
        assert!(plan.contains(" wide: all rows are wanted"), "{plan}");
    }
    assert!(expected.is_some_and(|(counted, met)| counted.len() > 3 && met.len() > 100));
}

#[test]
fn what_cannot_be_said_so_is_refused_with_a_hint() {
    let database = random_graph(1, 1);
    let mut session = database.session();
    for (text, said) in [
        ("MATCH (a) ((x)-->(y) WHERE EXISTS { (y)-->() }){1,3} (b) RETURN b", "write MATCH WALK"),
        ("MATCH WALK (a) ((x)-->(y) WHERE EXISTS { (y)-->() })+ (b) RETURN b", "needs an upper bound"),
        ("MATCH p = WALK (a) ((x)-->(y) WHERE EXISTS { (y)-->() }){1,3} (b) RETURN p", "not supported"),
    ] {
        let told = session.query(text, params! {}).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(said), "{text}: {told}");
    }
    let explained =
        "EXPLAIN MATCH WALK (a) ((x)-->(y) WHERE EXISTS { (y)-->() }){2} (b) RETURN DISTINCT b.id LIMIT 1";
    let result = session.query(explained, params! {}).unwrap();
    let plan = result.summary().plan_text.clone().unwrap();
    assert!(plan.contains("Repeat") && plan.contains("DFS/DFS: few rows are wanted"), "{plan}");
}
