//! The cost of a traversal beside its twin in Cypher, and on the traverser machine: `cargo run --release --example gremlin`
#![allow(missing_docs)]

use gremlin::{Bindings, Object, Request};
use tanglewood_database as database;
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, Options, Params, Session};
use world::chance::Chance;
use world::clock::monotonic_ns;

/// Times each question is asked; the median is shown.
const ROUNDS: usize = 15;
const VERTICES: usize = 20_000;
const EDGES: usize = 200_000;

/// Name, Gremlin, Cypher: both answer with one number.
const TWINS: &[(&str, &str, &str)] = &[
    ("look-up", "g.V().has('person', 'n', 77).values('age')", "MATCH (a:person {n: 77}) RETURN a.age"),
    (
        "1 hop",
        "g.V().has('person', 'n', 77).out('knows').count()",
        "MATCH (:person {n: 77})-[:knows]->() RETURN count(*)",
    ),
    (
        "2 hops, distinct",
        "g.V().has('person', 'n', 77).out('knows').out('knows').dedup().count()",
        "MATCH (:person {n: 77})-[:knows]->()-[:knows]->(c) RETURN count(DISTINCT c)",
    ),
    (
        "3 hops, distinct",
        "g.V().has('person', 'n', 77).repeat(out('knows')).times(3).dedup().count()",
        "MATCH (:person {n: 77})-[:knows]->()-[:knows]->()-[:knows]->(c) RETURN count(DISTINCT c)",
    ),
    (
        "all 2 hops with a filter",
        "g.V().hasLabel('person').has('age', 30).out('knows').where(__.out('knows').has('age', 31)).count()",
        "MATCH (a:person {age: 30})-[:knows]->(b) WHERE EXISTS { (b)-[:knows]->({age: 31}) } RETURN count(*)",
    ),
];

fn fill(session: &mut Session) {
    let mut chance = Chance::seeded(7);
    session.query("CREATE INDEX FOR (p:person) ON (p.n)", Params::new()).unwrap();
    let make = format!("UNWIND range(0, {}) AS n CREATE (:person {{n: n, age: n % 60}})", VERTICES - 1);
    session.query(&make, Params::new()).unwrap().rows().unwrap();
    for _ in 0..EDGES / 10_000 {
        let pair = |chance: &mut Chance| format!("[{}, {}]", chance.index(VERTICES), chance.index(VERTICES));
        let pairs: Vec<String> = (0..10_000).map(|_| pair(&mut chance)).collect();
        let text = format!(
            "UNWIND [{}] AS e MATCH (a:person {{n: e[0]}}), (b:person {{n: e[1]}}) CREATE (a)-[:knows]->(b)",
            pairs.join(",")
        );
        session.query(&text, Params::new()).unwrap().rows().unwrap();
    }
}

fn timed(mut ask: impl FnMut() -> String) -> (f64, String) {
    let mut nanos = Vec::new();
    let mut answer = String::new();
    for _ in 0..ROUNDS {
        let start = monotonic_ns();
        answer = ask();
        nanos.push(monotonic_ns() - start);
    }
    nanos.sort_unstable();
    (nanos[ROUNDS / 2] as f64 / 1e3, answer)
}

fn gremlin(session: &mut Session, text: &str, options: &GremlinOptions) -> String {
    let requests = gremlin::parse(text, &Bindings::new()).unwrap();
    let Request::Traversal(traversal, _) = &requests[0] else { panic!("{text} is no traversal") };
    let all = session.gremlin(traversal, options).unwrap().all().unwrap();
    match all.as_slice() {
        [only] => only.as_long().map_or_else(|| only.to_string(), |number| number.to_string()),
        all => format!("{:?}", all.iter().map(Object::to_string).collect::<Vec<_>>()),
    }
}

fn main() {
    let mut session = Database::open(database::MEMORY, Options::default()).unwrap().session();
    fill(&mut session);
    let machine = GremlinOptions { machine_only: true, ..GremlinOptions::default() };
    println!("{:<26} {:>12} {:>12} {:>12}   (medians in us)", "", "Cypher", "Gremlin", "machine");
    for (name, traversal, query) in TWINS {
        let (cypher_us, wanted) = timed(|| {
            let rows = session.query(query, Params::new()).unwrap().rows().unwrap();
            rows[0][0].as_int().unwrap().to_string()
        });
        let (lowered_us, one) = timed(|| gremlin(&mut session, traversal, &GremlinOptions::default()));
        let (machine_us, two) = timed(|| gremlin(&mut session, traversal, &machine));
        assert_eq!((one, two), (wanted.clone(), wanted), "{name}");
        println!("{name:<26} {cypher_us:>12.1} {lowered_us:>12.1} {machine_us:>12.1}");
    }
}
