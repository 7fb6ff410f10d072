//! Cypher through two gates over three shards: the answers of one database, whole transactions, no lost update.

mod common;

use common::{Shared, Small};
use database::{Database, Options, Params, params};
use parking_lot::Mutex;
use protocol::{MemoryTruth, Rules, Truth};
use std::sync::Arc;
use tanglewood_cluster::graph::{self, ShardGraph};
use world::chance::Chance;
use world::net::{Net, TcpNet};

const GATES: u16 = 2;
const SHARDS: u16 = 3;

struct Cluster {
    gates: Vec<Database>,
    small: Small,
    truth: Shared,
}

fn end(address: &str) -> Box<dyn Net> {
    Box::new(TcpNet::open(address, b"").unwrap())
}

fn options() -> Options {
    Options { executors: Some(1), ..Options::default() }
}

fn cluster() -> Cluster {
    let truth = Shared(Arc::new(Mutex::new(MemoryTruth::new(Rules::default(), &[]))));
    let ends = (0..GATES + SHARDS + 3).map(|_| end("127.0.0.1:0")).collect();
    let content = |shard| Box::new(ShardGraph::new(shard)) as Box<dyn tanglewood_cluster::Content>;
    let small = Small::start_holding(GATES, SHARDS, ends, &|| Box::new(truth.clone()), &content);
    let gate = |number: u16| {
        let handle = small.handle(usize::from(number));
        let gate = graph::gate(&handle, (number, GATES), SHARDS, None);
        Database::of_gate(gate, options()).unwrap()
    };
    Cluster { gates: (0..GATES).map(gate).collect(), small, truth }
}

fn rows(database: &Database, text: &str, params: Params) -> Vec<String> {
    let rows = database.session().query(text, params).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    rows.rows().unwrap().iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn both_gates_see_what_either_wrote() {
    let cluster = cluster();
    let [one, other] = &cluster.gates[..] else { panic!() };
    rows(one, "UNWIND range(1, 100) AS n CREATE (:P {n: n})", params! {});
    assert_eq!(rows(other, "MATCH (p:P) RETURN count(p), sum(p.n)", params! {}), ["[Int(100), Int(5050)]"]);
    let text = "MATCH (a:P), (b:P) WHERE b.n = a.n + 1 CREATE (a)-[:NEXT {by: a.n}]->(b)";
    rows(other, text, params! {});
    let text = "MATCH (a:P)-[e:NEXT]->(b:P) WHERE e.by = a.n AND b.n = a.n + 1 RETURN count(*)";
    assert_eq!(rows(one, text, params! {}), ["[Int(99)]"]);
    assert_eq!(rows(one, "MATCH p = (:P {n: 1})-[:NEXT*5]->(x) RETURN x.n", params! {}), ["[Int(6)]"]);
    assert_eq!(rows(one, "MATCH (x:P {n: 7})<-[:NEXT]-(y) RETURN y.n", params! {}), ["[Int(6)]"]);
    rows(one, "MATCH (x:P {n: 50}) DETACH DELETE x", params! {});
    assert_eq!(rows(other, "MATCH (:P)-[e:NEXT]->() RETURN count(e)", params! {}), ["[Int(97)]"]);
    let answer = other
        .session()
        .datalog("far(a, b) :- NEXT(a, b). far(a, c) :- far(a, b), NEXT(b, c). ?- far(a, b).", params! {});
    let pairs = answer.unwrap_or_else(|error| panic!("{error:?}")).rows().unwrap().len();
    // Two chains of 49 and 50 vertices.
    assert_eq!(pairs, 49 * 48 / 2 + 50 * 49 / 2);
    // Vertices lie on all shards.
    let mut truth = cluster.truth.clone();
    let mut touched = [0; SHARDS as usize];
    for (_, record) in truth.log(None, 0, 100).unwrap() {
        for (shard, part) in &record.parts {
            touched[usize::from(*shard)] += part.len();
        }
    }
    assert!(touched.iter().all(|bytes| *bytes > 200), "{touched:?}");
}

#[test]
fn what_is_not_possible_yet_is_refused() {
    let cluster = cluster();
    for text in [
        "CREATE INDEX FOR (p:P) ON (p.n)",
        "CREATE CONSTRAINT FOR (p:P) REQUIRE p.n IS UNIQUE",
        "CREATE USER a SET PASSWORD 'abcdefgh'",
    ] {
        let outcome = cluster.gates[0].session().query(text, params! {});
        let error = outcome.err().unwrap_or_else(|| panic!("{text} is taken"));
        assert_eq!(error.code, "Tanglewood.ClientError.Cluster.NotSupported", "{text}");
    }
}

/// Random statements, through the gates in turn, and through one database: the same answers.
#[test]
fn statements_answer_as_on_one_machine() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let (cluster, one) = (cluster(), Database::open(":memory:", options()).unwrap());
    let mut chance = Chance::seeded(seed);
    // Labels are listed by their numbers, and a statement that writes nothing gives none in a cluster.
    for database in [&one, &cluster.gates[0]] {
        rows(database, "CREATE (:A:B:C:D {k: 99})", params! {});
    }
    let texts = [
        "CREATE (:A {k: $k, v: $v})",
        "CREATE (:B:C {k: $k})",
        "MERGE (a:A {k: $k}) ON CREATE SET a.v = $v ON MATCH SET a.w = $v",
        "MATCH (a:A {k: $k}), (b {k: $v}) CREATE (a)-[:R {w: $v}]->(b)",
        "MATCH (a {k: $k}) SET a:D, a.v = $v",
        "MATCH (a:D {k: $k}) REMOVE a:D",
        "MATCH (a {k: $k})-[e]->() DELETE e",
        "MATCH (a {k: $k})-[e]->() SET e.w = $v",
        "MATCH (a {k: $k}) DETACH DELETE a",
        "MATCH (a:A)-[:R]->(b) RETURN a.k, a.v, labels(b), b.k ORDER BY a.k, a.v, b.k, labels(b)",
        "MATCH (n) RETURN labels(n) AS l, count(*), sum(n.k) ORDER BY l",
        "MATCH ()-[e:R]->() RETURN count(e), sum(e.w)",
        "MATCH (a {k: $k})-[*1..2]-(b) RETURN count(*), sum(b.k)",
    ];
    for step in 0..400 {
        let text = texts[chance.index(texts.len())];
        let (k, v) = (chance.below(12) as i64, chance.below(12) as i64);
        let gate = &cluster.gates[chance.index(2)];
        let (here, there) =
            (rows(&one, text, params! {"k" => k, "v" => v}), rows(gate, text, params! {"k" => k, "v" => v}));
        assert_eq!(here, there, "seed {seed}, step {step}: {text} with {k}, {v}");
    }
}

/// Each client adds to counters on several shards; names come into being meanwhile.
#[test]
fn no_update_is_lost_between_gates_and_a_shard_comes_back() {
    let mut cluster = cluster();
    rows(&cluster.gates[0], "UNWIND range(0, 11) AS k CREATE (:Counter {k: k, n: 0})", params! {});
    let gates = cluster.gates.clone();
    let work = |from: i64| {
        world::threads::in_parallel("client", 4, |client| {
            for step in 0..10 {
                let k = (client as i64 * 5 + step) % 12;
                let text = format!(
                    "MATCH (c:Counter) WHERE c.k IN [$k, ($k + 1) % 12] SET c.n = c.n + 1, c.s{client}_{from} = $k"
                );
                rows(&gates[client % 2], &text, params! {"k" => k});
            }
        });
    };
    work(0);
    let sum = "MATCH (c:Counter) RETURN sum(c.n)";
    assert_eq!(rows(&gates[1], sum, params! {}), ["[Int(80)]"]);
    // A shard is lost with all that it held, and another one takes its place.
    cluster.small.shards[1] = None;
    let address = cluster.small.addresses.shards[1].clone();
    let truth = Box::new(cluster.truth.clone());
    cluster.small.start_shard_of(1, end(&address), truth, Box::new(ShardGraph::new(1)));
    assert_eq!(rows(&gates[0], sum, params! {}), ["[Int(80)]"]);
    work(1);
    assert_eq!(rows(&gates[0], sum, params! {}), ["[Int(160)]"]);
}
