//! Paths from many rows at once, which share one search, against the same question for one row at a time.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use tanglewood_database::{Database, MEMORY, Options, Params, Value, params};
use world::chance::Chance;

fn rows(database: &Database, text: &str, keys: &[u64]) -> Vec<String> {
    let keys = Value::list(keys.iter().map(|key| Value::Int(*key as i64)).collect());
    let result = database.session().query(text, params! { "keys" => keys }).unwrap();
    let mut rows: Vec<String> = result.rows().unwrap().iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn many_rows_find_what_each_finds_alone() {
    let seed = 20_261_122;
    let mut random = Chance::seeded(seed);
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let vertices = 300;
    let mut session = database.session();
    let text = format!("UNWIND range(0, {}) AS k CREATE (:N {{k: k, even: k % 2 = 0}})", vertices - 1);
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    session.query("MATCH (n:N) WHERE n.k % 5 = 1 SET n:Fifth", Params::new()).unwrap().rows().unwrap();
    let pair = |random: &mut Chance| format!("[{}, {}]", random.below(vertices), random.below(vertices / 2));
    let pairs: Vec<String> = (0..700).map(|_| pair(&mut random)).collect();
    let text = format!(
        "UNWIND [{}] AS e MATCH (a:N {{k: e[0]}}), (b:N {{k: e[1]}}) CREATE (a)-[:E]->(b)",
        pairs.join(", ")
    );
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    let questions = [
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH (a)-[:E*1..4]->(b) RETURN key, count(DISTINCT b)",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH (a)-[:E*0..]->(b:Fifth) WITH DISTINCT key, b RETURN key, b.k",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)-[:E]->+(b) RETURN key, b.k, length(p)",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)-[:E]-+(b:Fifth) RETURN key, b.k, length(p)",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)<-[:E]-{0,5}(b) RETURN key, b.k, length(p)",
    ];
    for round in 0..3 {
        let keys: Vec<u64> = (0..1 + random.below(80)).map(|_| random.below(vertices)).collect();
        let mut distinct = keys.clone();
        distinct.sort_unstable();
        distinct.dedup();
        for question in questions {
            let mut one_by_one: Vec<String> =
                distinct.iter().flat_map(|key| rows(&database, question, &[*key])).collect();
            one_by_one.sort_unstable();
            let together = rows(&database, question, &distinct);
            assert_eq!(together, one_by_one, "seed {seed} round {round}: {question}");
            for policy in ["1T1S", "nT1S", "nTkS(2)", "nTkMS(1)", "nTkMS(3)"] {
                let hinted = format!("CYPHER recursive = `{policy}` {question}");
                let together = rows(&database, &hinted, &distinct);
                assert_eq!(together, one_by_one, "seed {seed} round {round}: {hinted}");
            }
        }
    }
}

#[test]
fn what_is_no_policy_is_told() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let text = "CYPHER recursive = often MATCH (a)-[*]->(b) RETURN count(DISTINCT b)";
    let told = database.session().query(text, Params::new()).and_then(|result| result.rows()).unwrap_err();
    assert!(told.to_string().contains("`recursive` is 1T1S, nT1S"), "{told}");
}

/// EXPLAIN says which policy is expected, PROFILE which one it was, who worked and from which sides.
#[test]
fn explain_and_profile_say_how_sources_were_shared_out() {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let mut session = database.session();
    let text = "UNWIND range(0, 99) AS k CREATE (:N {k: k})";
    session.query(text, Params::new()).unwrap().rows().unwrap();
    let text = "MATCH (a:N), (b:N) WHERE b.k = a.k * 7 % 100 OR b.k = a.k + 1 CREATE (a)-[:E]->(b)";
    session.query(text, Params::new()).unwrap().rows().unwrap();
    let question = "MATCH (a:N) MATCH p = ANY SHORTEST (a)-[:E]->+(b) RETURN sum(length(p))";
    let mut told = |text: &str| {
        let mut result = session.query(text, Params::new()).unwrap();
        while result.next_batch().unwrap().is_some() {}
        result.summary().plan_text.clone().unwrap()
    };
    let expected = told(&format!("EXPLAIN {question}"));
    assert!(expected.contains(": nTkMS(2) for about 100 sources on 2 executors"), "{expected}");
    let expected = told(&format!("EXPLAIN CYPHER recursive = nT1S {question}"));
    assert!(expected.contains(": nT1S (as asked for) for about 100 sources"), "{expected}");
    let profiled = told(&format!("PROFILE {question}"));
    assert!(profiled.contains(": nTkMS(2), sources 100, workers "), "{profiled}");
    assert!(profiled.contains("levels from above ") && !profiled.contains("from above 0"), "{profiled}");
}
