//! Random graphs and random privileges: what a restricted user is answered is what the same questions are answered of a graph in which all that
//! is hidden was never there. What is hidden is worked out here a second time, in the obvious way.
//!
//! The seed is printed; `SEED=… cargo test -p tanglewood-database --test suite roles` replays one.

use super::{database, restricted, rows};
use std::collections::BTreeSet;
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, Error, Params, Session};
use world::chance::Chance;

const LABELS: [&str; 3] = ["A", "B", "S"];
const TYPES: [&str; 2] = ["T", "U"];
const KEYS: [&str; 2] = ["p", "q"];
/// Graphs of one run.
const ROUNDS: usize = 6;

/// Which names a kind of privilege is granted on and denied on; `*` is all.
#[derive(Debug, Default)]
struct Rule {
    granted: BTreeSet<&'static str>,
    denied: BTreeSet<&'static str>,
}

impl Rule {
    fn random(chance: &mut Chance, names: &[&'static str]) -> Rule {
        let mut rule = Rule::default();
        match chance.happens(0.5) {
            true => drop(rule.granted.insert("*")),
            false => rule.granted.extend(names.iter().filter(|_| chance.happens(0.6))),
        }
        rule.denied.extend(names.iter().filter(|_| chance.happens(0.25)));
        rule
    }
    fn allows(&self, name: &str) -> bool {
        (self.granted.contains("*") || self.granted.contains(name)) && !self.denied.contains(name)
    }
    /// Granted for one of the labels, or all, and denied for none.
    fn allows_one(&self, labels: &BTreeSet<&str>) -> bool {
        let has = |set: &BTreeSet<&'static str>| {
            set.contains("*") || labels.iter().any(|label| set.contains(label))
        };
        has(&self.granted) && !has(&self.denied)
    }
    fn statements(&self, what: &str, of: &str, found: &mut Vec<String>) {
        let statement =
            |verb: &str, name: &str| format!("{verb} {what} ON GRAPH * {of} {name} TO restricted");
        found.extend(self.granted.iter().map(|name| statement("GRANT", name)));
        found.extend(self.denied.iter().map(|name| statement("DENY", name)));
    }
}

struct Privileges {
    labels: Rule,
    types: Rule,
    /// By key.
    of_vertices: [Rule; 2],
    of_edges: [Rule; 2],
}

struct Vertex {
    labels: BTreeSet<&'static str>,
    values: [Option<u64>; 2],
}

struct Graph {
    vertices: Vec<Vertex>,
    edges: Vec<(usize, usize, &'static str, [Option<u64>; 2])>,
}

fn values(chance: &mut Chance) -> [Option<u64>; 2] {
    [0, 1].map(|_| chance.happens(0.7).then(|| chance.below(4)))
}

impl Graph {
    fn random(chance: &mut Chance) -> Graph {
        let count = 4 + chance.index(12);
        let vertex = |chance: &mut Chance| Vertex {
            labels: LABELS.into_iter().filter(|_| chance.happens(0.4)).collect(),
            values: values(chance),
        };
        let vertices: Vec<Vertex> = (0..count).map(|_| vertex(chance)).collect();
        let edge = |chance: &mut Chance| {
            let kind = TYPES[chance.index(2)];
            (chance.index(count), chance.index(count), kind, values(chance))
        };
        let edges = (0..count * 2).map(|_| edge(chance)).collect();
        Graph { vertices, edges }
    }
    /// Statements that make it; with privileges, without what these hide.
    fn statements(&self, shown_to: Option<&Privileges>) -> Vec<String> {
        let set = |values: [Option<u64>; 2], shows: &dyn Fn(usize) -> bool| -> String {
            let shown = (0..2).filter_map(|at| Some((at, values[at].filter(|_| shows(at))?)));
            shown.map(|(at, value)| format!(", {}: {value}", KEYS[at])).collect()
        };
        let is_shown =
            |at: usize| shown_to.is_none_or(|own| own.labels.allows_one(&self.vertices[at].labels));
        let mut made = Vec::new();
        for (at, vertex) in self.vertices.iter().enumerate().filter(|(at, _)| is_shown(*at)) {
            let labels =
                vertex.labels.iter().filter(|label| shown_to.is_none_or(|own| own.labels.allows(label)));
            let labels: String = labels.map(|label| format!(":{label}")).collect();
            let shows =
                |key: usize| shown_to.is_none_or(|own| own.of_vertices[key].allows_one(&vertex.labels));
            made.push(format!("CREATE ({labels} {{id: {at}{}}})", set(vertex.values, &shows)));
        }
        for (at, (from, to, kind, values)) in self.edges.iter().enumerate() {
            if !is_shown(*from) || !is_shown(*to) || shown_to.is_some_and(|own| !own.types.allows(kind)) {
                continue;
            }
            let shows = |key: usize| shown_to.is_none_or(|own| own.of_edges[key].allows(kind));
            let set = set(*values, &shows);
            made.push(format!(
                "MATCH (a {{id: {from}}}), (b {{id: {to}}}) CREATE (a)-[:{kind} {{id: {at}{set}}}]->(b)"
            ));
        }
        made
    }
}

impl Privileges {
    fn random(chance: &mut Chance) -> Privileges {
        Privileges {
            labels: Rule::random(chance, &LABELS),
            types: Rule::random(chance, &TYPES),
            of_vertices: [0, 1].map(|_| Rule::random(chance, &LABELS)),
            of_edges: [0, 1].map(|_| Rule::random(chance, &TYPES)),
        }
    }
    fn statements(&self) -> Vec<String> {
        let mut found = vec!["GRANT READ {id} ON GRAPH * TO restricted".to_string()];
        found.push("GRANT EXECUTE PROCEDURE * ON DBMS TO restricted".to_string());
        self.labels.statements("TRAVERSE", "NODES", &mut found);
        self.types.statements("TRAVERSE", "RELATIONSHIPS", &mut found);
        for (at, key) in KEYS.iter().enumerate() {
            self.of_vertices[at].statements(&format!("READ {{{key}}}"), "NODES", &mut found);
            self.of_edges[at].statements(&format!("READ {{{key}}}"), "RELATIONSHIPS", &mut found);
        }
        found
    }
}

fn questions(chance: &mut Chance) -> Vec<String> {
    let mut pick = |of: &[&str]| of[chance.index(of.len())].to_string();
    let mut found: Vec<String> = [
        "MATCH (n) RETURN count(n)",
        "MATCH ()-[r]->() RETURN count(r)",
        "MATCH ()-[r]-() RETURN count(r)",
        "MATCH (n) RETURN n.id, labels(n), properties(n), keys(n)",
        "MATCH (a)-[r]->(b) RETURN a.id, type(r), properties(r), b.id",
        "MATCH (a)-[r]-(b) RETURN a.id, r.id, b.id",
        "MATCH (a)-[*1..3]->(b) RETURN a.id, b.id",
        "MATCH (a)-[*0..2]-(b) RETURN DISTINCT a.id, b.id",
        "MATCH (a)-->(b)-->(c)-->(a) RETURN a.id, b.id, c.id",
        "MATCH (a), (b) WHERE a.id < b.id MATCH p = shortestPath((a)-[*..5]-(b)) RETURN a.id, b.id, length(p)",
        "MATCH (a) OPTIONAL MATCH (a)-[r:T]->(b) RETURN a.id, r.id, b.id",
        "MATCH (a) RETURN a.id, count { (a)--() }, exists { (a)-[:U]->() }",
        "MATCH (a) RETURN a.id, size([(a)-[r]->(b) WHERE b.p > 0 | b.p])",
        "MATCH (n) WHERE n.p IS NULL RETURN n.id",
        "MATCH (a)-[r]->() WHERE r.q IS NOT NULL RETURN r.id, r.q",
        "MATCH (n) RETURN labels(n) AS l, count(*), sum(n.p), max(n.q) ORDER BY l",
        "MATCH (a)-->(b) RETURN a.id, count(*)",
        "CALL db.labels()",
        "CALL db.relationshipTypes()",
        "CALL db.statistics() YIELD nodes, relationships",
        "CALL db.schema.nodeTypeProperties()",
        "CALL db.schema.relTypeProperties()",
        "CALL apoc.meta.data() YIELD label, property, count, type, other, elementType",
        "CALL apoc.meta.stats() YIELD nodeCount, relCount, labels, relTypesCount",
        "CALL apoc.meta.graph() YIELD nodes, relationships",
        "CALL graph.lcc({}) YIELD node, coefficient RETURN node.id, coefficient",
        "CALL graph.bfs({source: 0}) YIELD node, distance RETURN count(*) >= 0",
        "MATCH (a:A) WHERE (a)-[:T]->(:B) RETURN a.id",
        "MATCH (n:!A) RETURN n.id",
    ]
    .map(str::to_string)
    .into();
    for _ in 0..12 {
        let (a, b, key) = (pick(&LABELS), pick(&LABELS), pick(&KEYS));
        let (kind, way, value) = (pick(&TYPES), pick(&["->", "-"]), pick(&["0", "1", "2"]));
        found.push(format!("MATCH (n:{a}) RETURN count(*)"));
        found.push(format!("MATCH (n:{a} {{{key}: {value}}}) RETURN n.id"));
        found.push(format!(
            "MATCH (n:{a}) WHERE n.{key} >= {value} RETURN n.id, n.{key} ORDER BY n.{key}, n.id"
        ));
        found.push(format!("MATCH (:{a})-[r:{kind}]->() RETURN count(r)"));
        found.push(format!("MATCH (x:{a})-[r:{kind}]{way}(y:{b}) RETURN x.id, r.{key}, y.{key}"));
        found.push(format!("MATCH ()-[r:{kind} {{{key}: {value}}}]->() RETURN r.id"));
        found.push(format!("MATCH (x:{a})-[:{kind}*1..4]{way}(y) RETURN x.id, y.id"));
        found.push(format!("MATCH (x:{a}) RETURN x.id, count {{ (x)-[:{kind}]-(:{b}) }}"));
    }
    found
}

const TRAVERSALS: [&str; 10] = [
    "g.V().count()",
    "g.E().count()",
    "g.V().values('p')",
    "g.E().values('q')",
    "g.V().hasLabel('A').out().values('id')",
    "g.V().has('B', 'p', 1).values('id')",
    "g.V().both('T').both().values('id')",
    "g.V().local(__.bothE().count())",
    "g.V().properties().key()",
    "g.V().repeat(__.out()).times(2).path().by('id')",
];
const PROGRAMS: [&str; 4] = [
    "f(i) :- A(x), _.id(x, i). ?- f(i).",
    "r(x, y) :- T(x, y). r(x, z) :- r(x, y), T(y, z). f(a, b) :- r(x, y), _.id(x, a), _.id(y, b). ?- f(a, b).",
    "f(i, v) :- A.p(x, v), _.id(x, i). ?- f(i, v).",
    "f(a, b, v) :- T.q(x, y, v), _.id(x, a), _.id(y, b). ?- f(a, b, v).",
];

fn traversed(session: &mut Session, text: &str, machine_only: bool) -> Result<Vec<String>, Error> {
    let options = GremlinOptions { machine_only, ..GremlinOptions::default() };
    let mut answer = session.gremlin_text(text, &Params::new(), &options)?;
    let mut found = Vec::new();
    while let Some(some) = answer.next_objects()? {
        for (object, bulk) in some {
            found.extend((0..bulk).map(|_| format!("{object:?}")));
        }
    }
    found.sort();
    Ok(found)
}

fn answered(session: &mut Session, program: &str) -> Result<Vec<String>, Error> {
    let rows = session.datalog(program, Params::new())?.rows()?;
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    Ok(rows)
}

fn made(statements: &[String]) -> Database {
    let database = database();
    let mut all: Vec<&str> = vec!["CREATE INDEX a FOR (n:A) ON (n.p)", "CREATE INDEX b FOR (n:B) ON (n.q)"];
    all.extend(["CREATE INDEX t FOR ()-[r:T]-() ON (r.p)"]);
    // Every name is known in both, whoever sees what.
    all.push("CREATE (a:A:B:S {id: 0, p: 0, q: 0})-[r:T {p: 0, q: 0}]->(a), (a)-[:U]->(a) DETACH DELETE a");
    all.extend(statements.iter().map(String::as_str));
    super::run(&database, &all);
    database
}

fn check(
    what: &str,
    text: &str,
    seed: u64,
    guest: Result<Vec<String>, Error>,
    twin: Result<Vec<String>, Error>,
) {
    match (guest, twin) {
        (Ok(guest), Ok(twin)) => assert_eq!(guest, twin, "SEED={seed} {what}: {text}"),
        (Err(guest), Err(twin)) => assert_eq!(guest.code, twin.code, "SEED={seed} {what}: {text}"),
        (guest, twin) => panic!("SEED={seed} {what}: {text}\nguest {guest:?}\ntwin {twin:?}"),
    }
}

#[test]
fn what_is_hidden_was_never_there() {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let first = given.unwrap_or_else(Chance::system_seed);
    let rounds = if given.is_some() { 1 } else { ROUNDS };
    let mut hidden = 0;
    for seed in (0..rounds as u64).map(|round| first.wrapping_add(round)) {
        println!("SEED={seed}");
        let mut chance = Chance::seeded(seed);
        let (graph, privileges) = (Graph::random(&mut chance), Privileges::random(&mut chance));
        let (whole, shown) = (graph.statements(None), graph.statements(Some(&privileges)));
        hidden += whole.len() - shown.len();
        let whole = made(&whole);
        let grants = privileges.statements();
        let grants: Vec<&str> = grants.iter().map(String::as_str).collect();
        let (mut guest, mut twin) = (restricted(&whole, &grants), made(&shown).session());
        for text in questions(&mut chance) {
            check("cypher", &text, seed, rows(&mut guest, &text), rows(&mut twin, &text));
        }
        for text in TRAVERSALS {
            for machine in [false, true] {
                let (guest, twin) =
                    (traversed(&mut guest, text, machine), traversed(&mut twin, text, machine));
                check("gremlin", text, seed, guest, twin);
            }
        }
        for text in PROGRAMS {
            check("datalog", text, seed, answered(&mut guest, text), answered(&mut twin, text));
        }
    }
    assert!(given.is_some() || hidden > 0, "something was hidden");
}

const STANDING: [&str; 7] = [
    "MATCH (n:A) RETURN n.id AS id, n.p AS p, n.q AS q",
    "MATCH (a)-[r:T]->(b) RETURN a.id AS a, r.p AS p, b.id AS b, b.q AS q",
    "MATCH (n) UNWIND labels(n) AS label RETURN label, count(*) AS c, sum(n.p) AS s",
    "MATCH (a:B)-->(b)-->(c) RETURN a.id AS a, c.id AS c",
    "MATCH (n) WHERE n.p > 1 RETURN n.id AS id, properties(n) AS all",
    "MATCH (n) RETURN n.id AS id ORDER BY n.id DESC LIMIT 3",
    "DATALOG { f(i, v) :- A.p(x, v), _.id(x, i). ?- f(i, v). }",
];

/// A statement that changes something, often what decides what is hidden.
fn change(chance: &mut Chance, made: &mut u64) -> String {
    let (id, other, value) = (chance.below(16), chance.below(16), chance.below(4));
    let (label, kind, key) = (LABELS[chance.index(3)], TYPES[chance.index(2)], KEYS[chance.index(2)]);
    match chance.below(10) {
        0 | 1 => format!("MATCH (n {{id: {id}}}) SET n:{label}"),
        2 | 3 => format!("MATCH (n {{id: {id}}}) REMOVE n:{label}"),
        4 => format!("MATCH (n {{id: {id}}}) SET n.{key} = {value}"),
        5 => format!(
            "MATCH (n {{id: {id}}}) SET n.{key} = {value}, n:{label} REMOVE n.{}",
            KEYS[chance.index(2)]
        ),
        6 => {
            *made += 1;
            format!("CREATE (:{label} {{id: {}, {key}: {value}}})", 15 + *made % 3)
        }
        7 => format!("MATCH (n {{id: {id}}}) DETACH DELETE n"),
        8 => format!(
            "MATCH (a {{id: {id}}}), (b {{id: {other}}}) CREATE (a)-[:{kind} {{id: {id}, {key}: {value}}}]->(b)"
        ),
        _ => format!(
            "MATCH ()-[r:{kind} {{id: {id}}}]->() SET r.{key} = {value} WITH r LIMIT 1 WHERE {value} = 0 DELETE r"
        ),
    }
}

/// What a subscriber has been told so far: rows, and how often each is there.
#[derive(Default)]
struct ToldRows(std::collections::BTreeMap<String, i64>);

impl ToldRows {
    fn take(&mut self, batch: &tanglewood_database::Batch) {
        for row in 0..batch.len() {
            let cells = batch.row(row);
            let count = cells[2].as_int().unwrap_or(0);
            let of = self.0.entry(format!("{:?}", &cells[4..])).or_default();
            *of += count;
        }
        self.0.retain(|_, count| *count != 0);
    }
    fn rows(&self) -> Vec<String> {
        let mut rows: Vec<String> = self
            .0
            .iter()
            .flat_map(|(row, count)| std::iter::repeat_n(row.clone(), *count as usize))
            .collect();
        rows.sort();
        rows
    }
}

/// What subscribers under a restriction have been told adds up to what their own queries answer, while labels come and go that decide what is hidden.
#[test]
fn standing_queries_tell_a_restricted_reader_what_its_own_queries_answer() {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let first = given.unwrap_or_else(Chance::system_seed);
    let rounds = if given.is_some() { 1 } else { 2 };
    for seed in (0..rounds as u64).map(|round| first.wrapping_add(round)) {
        println!("SEED={seed}");
        let mut chance = Chance::seeded(seed);
        let (graph, privileges) = (Graph::random(&mut chance), Privileges::random(&mut chance));
        let database = made(&graph.statements(None));
        for (at, text) in STANDING.iter().enumerate() {
            super::run(&database, &[&format!("CREATE STANDING QUERY s{at} AS {text}")]);
        }
        let mut grants = privileges.statements();
        grants.push("GRANT SUBSCRIBE ON DATABASE * TO restricted".into());
        let grants: Vec<&str> = grants.iter().map(String::as_str).collect();
        let mut guest = restricted(&database, &grants);
        let mut readers: Vec<_> = (0..STANDING.len())
            .map(|at| {
                let mut reader = super::session_of(&database, "guest");
                let text = format!("SUBSCRIBE TO s{at} SNAPSHOT");
                let told =
                    reader.query(&text, Params::new()).unwrap_or_else(|error| panic!("{text}: {error}"));
                (told, ToldRows::default(), reader)
            })
            .collect();
        let (mut admin, mut made) = (database.session(), 0);
        for _ in 0..10 {
            let count = 1 + chance.index(4);
            let changes: Vec<String> = (0..count).map(|_| change(&mut chance, &mut made)).collect();
            let together = chance.happens(0.4);
            if together {
                admin.begin(tanglewood_database::Mode::Write).unwrap();
            }
            for text in &changes {
                admin
                    .query(text, Params::new())
                    .and_then(|result| result.finish())
                    .unwrap_or_else(|error| panic!("{text}: {error}"));
            }
            if together {
                admin.commit().unwrap();
            }
            for (at, (told, so_far, _)) in readers.iter_mut().enumerate() {
                let wanted = rows(&mut guest, STANDING[at]).unwrap();
                let began = std::time::Instant::now();
                while so_far.rows() != wanted {
                    let next = told.next_batch_timeout(std::time::Duration::from_millis(20)).unwrap();
                    next.flatten().iter().for_each(|batch| so_far.take(batch));
                    assert!(
                        began.elapsed().as_secs() < 10,
                        "SEED={seed} {}\nafter {changes:?} in one: {together}\ntold {:?}\nwanted {wanted:?}",
                        STANDING[at],
                        so_far.rows()
                    );
                }
            }
        }
        // A change of rights ends them all.
        super::run(&database, &["DENY TRAVERSE ON GRAPH * NODES C TO restricted"]);
        let ended = (0..200)
            .find_map(|_| readers[0].0.next_batch_timeout(std::time::Duration::from_millis(50)).err());
        assert_eq!(ended.unwrap().code, "Neo.ClientError.Security.AuthorizationExpired");
    }
}
