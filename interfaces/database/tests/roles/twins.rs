//! Two graphs that differ only in what is hidden from a user: every statement of that user gets the same answer from both. Rows, errors with their hints, counters,
//! notifications and plans are compared, of every procedure and listing that there is and of random statements; no secret is in any of them.
//!
//! What of a plan is not compared is the time that it took. Values that a constraint says are unique, and nodes that are deleted, are not those that
//! hidden things meet: such a write must be refused in one graph alone (docs/guide/roles.md).

use super::{database, restricted, run};
use plan::explain::PlanDescription;
use plan::procedures::PROCEDURES;
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, Error, Params, QueryResult, Session};
use world::chance::Chance;

/// Rights, and the statements that make what they hide. `{*}` in a name stands where rights name it, so that only the others are secrets.
struct Case {
    rights: &'static [&'static str],
    hidden: &'static [&'static str],
}

/// In both graphs.
const SHOWN: [&str; 11] = [
    "CREATE ({id: 50})",
    "CREATE INDEX a_p FOR (n:A) ON (n.p)",
    "CREATE INDEX t_w FOR ()-[r:T]-() ON (r.w)",
    // Of these types nothing is shown, though such relationships leave and enter what is.
    "CREATE INDEX v_x FOR ()-[r:V]-() ON (r.x)",
    "CREATE CONSTRAINT v_y FOR ()-[r:V]-() REQUIRE r.y IS NOT NULL",
    "CREATE CONSTRAINT u FOR (n:B) REQUIRE n.u IS UNIQUE",
    "UNWIND range(0, 11) AS i CREATE (:A {id: i, p: i % 3})",
    "UNWIND range(12, 19) AS i CREATE (:B {id: i, u: i, q: 'q' + (i % 2)})",
    "UNWIND range(20, 23) AS i CREATE (:A:B {id: i, p: 1, u: i})",
    "MATCH (a:A), (b:B) WHERE (a.id + b.id) % 4 = 0 CREATE (a)-[:T {w: a.id}]->(b)",
    "MATCH (b:B), (a:A) WHERE (a.id * b.id) % 7 = 1 CREATE (b)-[:U {w: 1, z: 2}]->(a)",
];

const CASES: [Case; 2] = [
    Case {
        rights: &[
            "GRANT MATCH {*} ON GRAPH * TO restricted",
            "DENY TRAVERSE ON GRAPH * NODES Denied TO restricted",
            "DENY TRAVERSE ON GRAPH * RELATIONSHIPS DENIED_TYPE TO restricted",
            "DENY READ {denied_key} ON GRAPH * TO restricted",
        ],
        hidden: &[
            // Hidden in two steps: a label set is left that no node has.
            "UNWIND range(896, 899) AS i CREATE (:SecretLabel {id: i, secret_key: 'hush' + i})",
            "MATCH (n:SecretLabel) SET n:Denied",
            "UNWIND range(900, 930) AS i CREATE (:Denied:SecretLabel {id: i, p: 1, secret_key: 'hush' + i, u: i})",
            "UNWIND range(940, 990) AS i CREATE (:A:Denied {id: i, p: i, secret_key: 'hush'})",
            "UNWIND range(991, 995) AS i CREATE (:B:Denied {id: i, u: i, q: 'hush' + i})",
            "MATCH (a:A {id: 1}), (d:Denied) CREATE (a)-[:T {w: 77}]->(d), (d)-[:U {w: 77}]->(a)",
            "MATCH (a:A {id: 2}), (d:Denied {id: 900}) CREATE (a)-[:V {x: 1, y: 1}]->(d), (d)-[:V {x: 2, y: 1}]->(a)",
            "MATCH (d:Denied), (e:SecretLabel) WHERE d.id < e.id CREATE (d)-[:SECRET_TYPE {secret_edge_key: 1}]->(e)",
            "MATCH (a:A), (b:B) WHERE a.id < 5 AND b.id < 15 CREATE (a)-[:DENIED_TYPE {secret_edge_key: 2}]->(b)",
            "MATCH (a:A) WHERE a.id < 8 SET a.denied_key = 'hush' + a.id",
            "CREATE INDEX secret_index FOR (n:Denied) ON (n.secret_key)",
            "CREATE INDEX secret_other FOR (n:A) ON (n.denied_key)",
            "CREATE CONSTRAINT secret_rule FOR (n:SecretLabel) REQUIRE n.secret_key IS NOT NULL",
        ],
    },
    Case {
        rights: &[
            "GRANT TRAVERSE ON GRAPH * NODES A, B TO restricted",
            "GRANT READ {id, p, q, u} ON GRAPH * NODES A, B TO restricted",
            "GRANT MATCH {*} ON GRAPH * RELATIONSHIPS T, U, V TO restricted",
        ],
        hidden: &[
            "MATCH (a:A) WHERE a.id % 2 = 0 SET a:SecretLabel SET a.secret_key = 'hush'",
            "UNWIND range(900, 930) AS i CREATE (:Denied {id: i, p: 1, secret_key: 'hush' + i})",
            "MATCH (a:A {id: 1}), (d:Denied) CREATE (a)-[:T {w: 77, secret_edge_key: 1}]->(d), (a)-[:DENIED_TYPE]->(d)",
            "MATCH (a:A {id: 2}), (d:Denied {id: 900}) CREATE (a)-[:V {x: 1, y: 1}]->(d), (d)-[:V {x: 2, y: 1}]->(a)",
            "MATCH (a:A), (b:B) WHERE a.id < 5 AND b.id < 15 CREATE (a)-[:SECRET_TYPE {secret_edge_key: 2}]->(b)",
            "CREATE INDEX secret_index FOR (n:SecretLabel) ON (n.secret_key)",
        ],
    },
];

/// Beside what is seen.
const ALLOWED: [&str; 5] = [
    "GRANT WRITE ON GRAPH * TO restricted",
    "GRANT INDEX MANAGEMENT ON DATABASE * TO restricted",
    "GRANT CONSTRAINT MANAGEMENT ON DATABASE * TO restricted",
    "GRANT SUBSCRIBE ON DATABASE * TO restricted",
    "GRANT IMPERSONATE (*) ON DBMS TO restricted",
];

/// What is in no answer.
const SECRETS: [&str; 7] =
    ["SecretLabel", "SECRET_TYPE", "secret_key", "secret_edge_key", "secret_index", "secret_rule", "hush"];

fn twins(case: &Case) -> [(Database, Session); 2] {
    let rights: Vec<&str> = case.rights.iter().chain(&ALLOWED).copied().collect();
    let whole = database();
    run(&whole, &SHOWN);
    run(&whole, case.hidden);
    let twin = database();
    run(&twin, &SHOWN);
    // Commits are counted for everybody to see.
    let commit_version = |database: &Database| database.snapshot().commit_version();
    while commit_version(&twin) < commit_version(&whole) {
        run(&twin, &["MATCH (n:A {id: 0}) SET n.p = n.p"]);
    }
    [whole, twin].map(|database| {
        run(&database, &["CREATE STANDING QUERY s AS MATCH (n:SecretLabel) RETURN n.secret_key AS k"]);
        let guest = restricted(&database, &rights);
        (database, guest)
    })
}

/// A plan without times, and what it did.
fn plan_of(plan: &PlanDescription, found: &mut Vec<String>) {
    let arguments: Vec<_> = plan.arguments.iter().filter(|(name, _)| *name != "Executors").collect();
    let did = plan.profile.map(|profile| (profile.db_hits, profile.rows));
    found.push(format!(
        "{} {:?} {:?} {arguments:?} {did:?}",
        plan.name, plan.identifiers, plan.estimated_rows
    ));
    plan.children.iter().for_each(|child| plan_of(child, found));
}

fn told(error: &Error) -> String {
    format!("{} {} {:?}", error.code, error.message, error.hint)
}

/// Where an element lies is told to everybody: its number is not compared.
fn without_places(row: &str) -> String {
    ["Vertex(", "Edge("].into_iter().fold(row.to_string(), |text, begin| {
        let mut parts = text.split(begin);
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |text, part| {
            let behind = part.split_once(')').map_or("", |(_, behind)| behind);
            format!("{text}{begin}){behind}")
        })
    })
}

fn all_of(result: Result<QueryResult, Error>) -> String {
    let mut result = match result {
        Ok(result) => result,
        Err(error) => return told(&error),
    };
    let mut rows: Vec<String> = Vec::new();
    loop {
        match result.next_batch() {
            Ok(Some(batch)) => {
                rows.extend((0..batch.len()).map(|row| without_places(&format!("{:?}", batch.row(row)))))
            }
            Ok(None) => break,
            Err(error) => return told(&error),
        }
    }
    rows.sort();
    match result.finish() {
        Err(error) => told(&error),
        Ok(summary) => {
            let mut plan = Vec::new();
            summary.plan.iter().for_each(|root| plan_of(root, &mut plan));
            let text = summary.plan_text.filter(|_| !summary.profiled);
            let done = (summary.counters, summary.schema, summary.said);
            format!("{rows:?} {done:?} {:?} {plan:#?} {text:?}", summary.notifications)
        }
    }
}

fn gremlin(session: &mut Session, text: &str) -> String {
    let answer = session.gremlin_text(text, &Params::new(), &GremlinOptions::default());
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) => return told(&error),
    };
    let mut found = Vec::new();
    loop {
        match answer.next_objects() {
            Ok(Some(some)) => found.extend(some.iter().map(|(object, bulk)| format!("{bulk} {object:?}"))),
            Ok(None) => break,
            Err(error) => return told(&error),
        }
    }
    found.sort();
    format!("{found:?}")
}

/// How a text is asked.
#[derive(Clone, Copy, Debug)]
enum By {
    Cypher,
    Gremlin,
    Datalog,
    Explain,
    Profile,
}

fn ask(session: &mut Session, by: By, text: &str) -> String {
    match by {
        By::Cypher => all_of(session.query(text, Params::new())),
        By::Explain => all_of(session.query(&format!("EXPLAIN {text}"), Params::new())),
        By::Profile => all_of(session.query(&format!("PROFILE {text}"), Params::new())),
        By::Gremlin => gremlin(session, text),
        By::Datalog => all_of(session.datalog(text, Params::new())),
    }
}

struct Twins {
    both: [(Database, Session); 2],
    seed: u64,
}

impl Twins {
    fn check(&mut self, by: By, text: &str) -> String {
        let [whole, twin] = &mut self.both;
        let (whole, twin) = (ask(&mut whole.1, by, text), ask(&mut twin.1, by, text));
        assert_eq!(whole, twin, "SEED={} {by:?}: {text}", self.seed);
        // What was asked for may be said again.
        let said = SECRETS.iter().find(|secret| !text.contains(**secret) && whole.contains(**secret));
        assert_eq!(said, None, "SEED={} {by:?}: {text}\n{whole}", self.seed);
        whole
    }
}

/// Arguments of a procedure, by their types.
fn call(name: &str, arguments: &[(&str, &str)]) -> Vec<String> {
    let value = |(name, kind): &(&str, &str)| match *kind {
        _ if *name == "source" => "0",
        _ if kind.starts_with("STRING") => "'A'",
        _ if kind.starts_with("MAP") => "{}",
        _ if kind.starts_with("INTEGER") => "1",
        _ if kind.starts_with("LIST") => "[]",
        _ => "null",
    };
    let values: Vec<&str> = arguments.iter().map(value).collect();
    vec![format!("CALL {name}({})", values.join(", ")), format!("CALL {name}()")]
}

/// Each procedure and each listing of the table is asked, so that a new one is by itself.
fn listings() -> Vec<String> {
    let mut texts = Vec::new();
    // Groups are named and chosen by where their nodes lie, which is not compared, and ranks are added up in that order.
    let is_told = |name: &str| {
        !["graph.cdlp", "graph.pagerank", "graph.wcc", "program.labelPropagation"].contains(&name)
    };
    for procedure in PROCEDURES.iter().filter(|procedure| is_told(procedure.name)) {
        match procedure.name.strip_prefix("show ") {
            Some("role privileges") => texts.push("SHOW ROLE admin PRIVILEGES YIELD *".to_string()),
            Some("user privileges") => texts.push("SHOW USER guest PRIVILEGES YIELD *".to_string()),
            // How far each has read depends on the moment.
            Some("standing queries") => {
                let fields = procedure.fields.iter().map(|(name, _)| *name).filter(|name| *name != "commit");
                texts.push(format!("SHOW STANDING QUERIES YIELD {}", fields.collect::<Vec<_>>().join(", ")));
            }
            Some(what) => texts.push(format!("SHOW {} YIELD *", what.to_uppercase())),
            None if procedure.name.contains(' ') => {}
            None => texts.extend(call(procedure.name, procedure.arguments)),
        }
    }
    texts
}

/// Statements that an attacker would try, in their order.
const ATTACKS: [(By, &str); 82] = [
    (By::Cypher, "CALL graph.lcc({label: 'SecretLabel'}) YIELD coefficient RETURN coefficient"),
    (By::Cypher, "CALL graph.lcc({types: 'SECRET_TYPE'}) YIELD coefficient RETURN count(*)"),
    (
        By::Cypher,
        "MATCH (n {id: 1}) CALL graph.sssp({source: n, weight: 'secret_edge_key'}) YIELD distance RETURN count(*)",
    ),
    (By::Gremlin, "g.V().has('secret_key', 'hush').count()"),
    (By::Gremlin, "g.V().out('SECRET_TYPE').count()"),
    (By::Gremlin, "g.V().hasLabel('A').property('secret_key', 1)"),
    (By::Gremlin, "g.addV('SecretLabel')"),
    (By::Datalog, "f(i) :- SecretLabel(x), _.id(x, i). ?- f(i)."),
    (By::Datalog, "f(v) :- SecretLabel.secret_key(x, v). ?- f(v)."),
    (By::Datalog, "f(v) :- SECRET_TYPE.secret_edge_key(x, y, v). ?- f(v)."),
    (
        By::Cypher,
        "MATCH (n:A) WHERE n.p IN [1, 941] RETURN n.id AS id UNION MATCH (n:Denied) RETURN n.id AS id",
    ),
    (By::Cypher, "MATCH (n:A) USING INDEX n:A(denied_key) WHERE n.denied_key = 'hush1' RETURN n.id"),
    (By::Cypher, "CALL apoc.schema.properties.distinct('A', 'denied_key') YIELD value RETURN value"),
    (By::Cypher, "CALL apoc.schema.properties.distinct('Denied', 'secret_key') YIELD value RETURN value"),
    (By::Cypher, "CALL db.awaitIndex('secret_index')"),
    (By::Cypher, "MATCH (n) RETURN n.secret_keyy, n.idd"),
    (By::Cypher, "MATCH (n:SecretLabell)-[:SECRET_TYP]->(m:Deniedd) RETURN n"),
    (By::Cypher, "MATCH (n:SecretLabel)-[:SECRET_TYPE]->(m:Denied) RETURN n.secret_key, m.denied_key"),
    (By::Explain, "MATCH (n:A) WHERE n.p = 1 RETURN n"),
    (By::Explain, "MATCH (n:A {p: 941}) RETURN n"),
    (By::Explain, "MATCH (n:A) WHERE 0 <= n.p < 950 RETURN n"),
    (By::Explain, "MATCH (n:A {denied_key: 'hush1'}) RETURN n"),
    (By::Explain, "MATCH (n:Denied {secret_key: 'hush1'}) RETURN n"),
    (By::Explain, "MATCH (n:B {u: 991}) RETURN n"),
    (By::Explain, "MATCH (n:B) WHERE n.u > 5 RETURN n"),
    (By::Explain, "MATCH ()-[r:T {w: 77}]->() RETURN r"),
    (By::Explain, "MATCH ()-[r:T]->() WHERE r.w > 3 RETURN r"),
    (By::Explain, "MATCH (a:A)-[:T]->(b:B)-[:U]->(c) RETURN a, c"),
    (By::Explain, "MATCH (a)-[:T*1..3]->(b) RETURN a, b"),
    (By::Explain, "MATCH p = shortestPath((a:A {id: 1})-[*]-(b:B {id: 13})) RETURN p"),
    (By::Explain, "MATCH (a)-[r:SECRET_TYPE|DENIED_TYPE]->(b) RETURN count(r)"),
    (By::Explain, "MATCH ()-[r]->() RETURN count(r)"),
    (By::Explain, "MATCH (n) RETURN count(n)"),
    (By::Profile, "MATCH (a:A {p: 1})-[r:T]->(b) RETURN b.id, r.w"),
    (By::Profile, "MATCH (n:A {id: 9})-[:SECRET_TYPE*1..3]->(m) RETURN DISTINCT m.id"),
    (By::Profile, "MATCH (a:A)-[:T]->(b)<-[:T]-(c) RETURN count(*)"),
    (By::Profile, "MATCH (b:B) WHERE b.u > 12 RETURN b.id"),
    (By::Profile, "MATCH (a:A {id: 1})--(b) RETURN count(b)"),
    (By::Cypher, "CREATE CONSTRAINT c1 FOR (n:A) REQUIRE n.denied_key IS UNIQUE"),
    (By::Cypher, "CREATE CONSTRAINT c2 FOR (n:A) REQUIRE n.denied_key IS NOT NULL"),
    (By::Cypher, "CREATE CONSTRAINT c3 FOR (n:Denied) REQUIRE n.secret_key IS UNIQUE"),
    (By::Cypher, "CREATE CONSTRAINT c4 FOR (n:A) REQUIRE n.p IS :: INTEGER"),
    (By::Cypher, "CREATE CONSTRAINT c5 FOR ()-[r:T]-() REQUIRE r.w IS UNIQUE"),
    (By::Cypher, "CREATE CONSTRAINT c6 FOR ()-[r:DENIED_TYPE]-() REQUIRE r.secret_edge_key IS NOT NULL"),
    (By::Cypher, "CREATE INDEX i1 FOR (n:SecretLabel) ON (n.secret_key)"),
    (By::Cypher, "CREATE INDEX i2 FOR (n:Unheard) ON (n.of)"),
    (By::Cypher, "CREATE INDEX i3 FOR ()-[r:SECRET_TYPE]-() ON (r.secret_edge_key)"),
    (By::Cypher, "SHOW INDEXES YIELD *"),
    (By::Cypher, "SHOW CONSTRAINTS YIELD *"),
    (By::Explain, "MATCH ()-[r:V {x: 1}]->() RETURN r"),
    (By::Cypher, "DROP INDEX v_x"),
    (By::Cypher, "DROP CONSTRAINT v_y IF EXISTS"),
    (By::Cypher, "MATCH (a:A {id: 2})-[r:V]-(b) RETURN r.x, r.y, r.xx"),
    (By::Cypher, "CALL db.relationshipTypes()"),
    (By::Cypher, "DROP INDEX secret_index"),
    (By::Cypher, "DROP INDEX secret_other IF EXISTS"),
    (By::Cypher, "DROP CONSTRAINT secret_rule"),
    (By::Cypher, "DROP CONSTRAINT secret_rule IF EXISTS"),
    (By::Cypher, "CREATE (:SecretLabel {id: 1})"),
    (By::Cypher, "CREATE (:A {id: 100, secret_key: 1})"),
    (By::Cypher, "MATCH (a:A {id: 3}), (b:B {id: 12}) CREATE (a)-[:SECRET_TYPE]->(b)"),
    (By::Cypher, "MATCH (n:A {id: 2}) SET n:SecretLabel"),
    (By::Cypher, "MATCH (n:A {id: 2}) REMOVE n:SecretLabel"),
    (By::Cypher, "MATCH (n:A) WHERE n.id < 4 REMOVE n:Denied:B"),
    (By::Cypher, "MATCH (n:A {id: 3}) SET n.denied_key = 1 RETURN n.denied_key"),
    (By::Cypher, "MATCH (n:A {id: 3}) SET n = {id: 3, p: 0} RETURN properties(n)"),
    (By::Cypher, "MATCH (n:A {id: 4}) REMOVE n.denied_key, n.secret_key"),
    (By::Cypher, "MERGE (n:A {p: 941}) ON CREATE SET n.id = 101 RETURN n.id"),
    (By::Cypher, "MERGE (n:Denied {id: 900}) ON MATCH SET n.p = 7 RETURN n.p"),
    (By::Cypher, "MATCH (a:A {id: 5}), (b:B {id: 13}) MERGE (a)-[r:DENIED_TYPE]->(b) RETURN r.w"),
    (
        By::Cypher,
        "MATCH (n:A {id: 3}) RETURN COUNT { (n)--() }, EXISTS { (n)--(:Denied) }, size([(n)-->(m) | m.id])",
    ),
    (By::Cypher, "MATCH (n) RETURN labels(n) AS l, count(*), sum(n.p), count(DISTINCT keys(n))"),
    (By::Cypher, "SUBSCRIBE TO secret_index"),
    (By::Cypher, "EXPORT DATABASE 'x'"),
    (By::Cypher, "LOAD CSV FROM 'x.csv' AS row RETURN row"),
    (By::Gremlin, "g.V().label().dedup()"),
    (By::Gremlin, "g.V().hasLabel('SecretLabel').values('secret_key')"),
    (By::Gremlin, "g.V().properties().key().groupCount()"),
    (By::Gremlin, "g.E().groupCount().by(label)"),
    (By::Gremlin, "g.V().has('A', 'p', 941).count()"),
    (By::Datalog, "f(i, v) :- A.denied_key(x, v), _.id(x, i). ?- f(i, v)."),
    (By::Datalog, "f(a, b) :- DENIED_TYPE(x, y), _.id(x, a), _.id(y, b). ?- f(a, b)."),
];

/// A random statement over names that are shown and hidden.
fn random(chance: &mut Chance, made: &mut u64) -> (By, String) {
    let mut pick = |of: &[&'static str]| of[chance.index(of.len())];
    let label = pick(&["A", "B", "A:B", "Denied", "SecretLabel", "Nobody"]);
    let other = pick(&["A", "B", "Denied", "SecretLabel"]);
    let kind = pick(&["T", "U", "T|U", "V", "T|V", "DENIED_TYPE", "SECRET_TYPE", "T|SECRET_TYPE"]);
    let one_kind = pick(&["T", "U", "DENIED_TYPE", "SECRET_TYPE"]);
    let key = pick(&["id", "p", "q", "u", "denied_key", "secret_key", "nothing"]);
    let edge_key = pick(&["w", "z", "secret_edge_key"]);
    let value = pick(&["1", "77", "941", "'hush'", "'q1'", "null"]);
    let comparison = pick(&["=", "<", ">=", "<>"]);
    let by = match chance.below(4) {
        0 => By::Explain,
        1 => By::Profile,
        _ => By::Cypher,
    };
    // What it writes itself is no secret.
    let written = if value == "'hush'" { "'hash'" } else { value };
    *made += 1;
    let (id, new) = (chance.below(20), 1_000 + *made);
    let read = |text: String| (by, text);
    let write = |text: String| (By::Cypher, text);
    match chance.below(18) {
        0 => read(format!("MATCH (n:{label}) WHERE n.{key} {comparison} {value} RETURN n.id, n.{key}")),
        1 => read(format!(
            "MATCH (n:{label} {{{key}: {value}}})-[r:{kind}]->(m) RETURN n.id, r.{edge_key}, m.id"
        )),
        2 => {
            read(format!("MATCH (n:{label})-[r:{kind}]-(m:{other}) RETURN count(*), sum(r.w), max(m.{key})"))
        }
        3 => read(format!("MATCH ()-[r:{kind}]->() WHERE r.{edge_key} {comparison} {value} RETURN r.w")),
        4 => read(format!("MATCH (n:{label} {{id: {id}}})-[:{kind}*1..3]->(m) RETURN DISTINCT m.id")),
        5 => read(format!("MATCH (n:{label}) RETURN count(n), count(n.{key}), count(DISTINCT n.{key})")),
        6 => read(format!("MATCH (n) WHERE EXISTS {{ (n)-[:{kind}]-(:{other}) }} RETURN n.id")),
        7 => read(format!("MATCH (n) RETURN n.id, COUNT {{ (n)-[:{kind}]->() }}, n.{key}")),
        8 => read(format!("MATCH (n:{label}|{other}) RETURN labels(n) AS l, count(*)")),
        9 => read(format!("MATCH (a:{label})-[:{kind}]->(b)-[:{one_kind}]->(c:{other}) RETURN count(*)")),
        10 => read(format!("MATCH (n:{label}) RETURN n.id ORDER BY n.{key}, n.id LIMIT 3")),
        11 => write(format!("MATCH (n {{id: {id}}}) SET n:{other} RETURN count(n)")),
        12 => write(format!("MATCH (n {{id: {id}}}) REMOVE n:{other}")),
        13 => write(format!(
            "MATCH (n:{label} {{id: {id}}}) SET n.{} = {written}",
            if key == "id" { "p" } else { key }
        )),
        14 => {
            write(format!("CREATE (:{label} {{id: {new}, {}: {new}}})", if key == "id" { "p" } else { key }))
        }
        15 => write(format!("MERGE (n:{label} {{id: {new}}}) SET n.p = {written} RETURN n.id")),
        16 => write(format!("MATCH (n {{id: {}}}) DETACH DELETE n", new - 5)),
        _ => write(format!(
            "MATCH (a:{label} {{id: {id}}}), (b:{other} {{id: {}}}) MERGE (a)-[r:{one_kind}]->(b) RETURN r.{edge_key}",
            id + 1
        )),
    }
}

#[test]
fn what_is_told_does_not_depend_on_what_is_hidden() {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(Chance::system_seed);
    println!("SEED={seed}");
    for case in &CASES {
        let mut twins = Twins { both: twins(case), seed };
        let mut chance = Chance::seeded(seed);
        for (by, text) in ATTACKS {
            twins.check(by, text);
        }
        let mut made = 0;
        for _ in 0..RANDOM_STATEMENTS {
            let (by, text) = random(&mut chance, &mut made);
            twins.check(by, &text);
        }
        for text in listings() {
            twins.check(By::Cypher, &text);
        }
    }
}

/// Random statements of one run and case.
const RANDOM_STATEMENTS: usize = 40;
