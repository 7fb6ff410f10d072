//! Random writing statements against a list of vertices and edges that does the same, obvious thing.
//!
//! The seed is printed; `SEED=… cargo test -p tanglewood-database --test suite random_writes` replays one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use tanglewood_database::{Database, MEMORY, Mode, Options, Params, Session, Value, params};
use world::chance::Chance;

/// Statements in one history.
const STATEMENTS: usize = 60;
/// Histories in one run.
const HISTORIES: usize = 12;

type Properties = BTreeMap<&'static str, i64>;

#[derive(Clone, Debug)]
struct Vertex {
    gone: bool,
    marked: bool,
    properties: Properties,
}

#[derive(Clone, Debug)]
struct Edge {
    source: usize,
    target: usize,
    gone: bool,
    w: i64,
}

/// The twin.
#[derive(Clone, Debug, Default)]
struct Twin {
    vertices: Vec<Vertex>,
    edges: Vec<Edge>,
}

fn bump(properties: &mut Properties, key: &'static str) {
    *properties.entry(key).or_insert(0) += 1;
}

/// Rows of integers and nulls.
type Rows = Vec<Vec<Option<i64>>>;

impl Twin {
    fn with_key(&self, k: i64) -> Vec<usize> {
        self.living().filter(|at| self.vertices[*at].properties["k"] == k).collect()
    }
    fn living(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.vertices.len()).filter(|at| !self.vertices[*at].gone)
    }
    fn create(&mut self, k: i64) -> usize {
        self.vertices.push(Vertex { gone: false, marked: false, properties: [("k", k)].into() });
        self.vertices.len() - 1
    }
    fn merge(&mut self, k: i64) {
        let found = self.with_key(k);
        if found.is_empty() {
            let made = self.create(k);
            self.vertices[made].properties.insert("c", 1);
        }
        found.into_iter().for_each(|at| bump(&mut self.vertices[at].properties, "m"));
    }
    fn merge_edges(&mut self, a: i64, b: i64, both_ways: bool) {
        for source in self.with_key(a) {
            for target in self.with_key(b) {
                let joins = |edge: &&mut Edge| {
                    let along = edge.source == source && edge.target == target;
                    !edge.gone && (along || both_ways && edge.source == target && edge.target == source)
                };
                let found: Vec<_> = self.edges.iter_mut().filter(joins).collect();
                if found.is_empty() {
                    self.edges.push(Edge { source, target, gone: false, w: 0 });
                } else {
                    found.into_iter().for_each(|edge| edge.w += 1);
                }
            }
        }
    }
    fn is_connected(&self, at: usize) -> bool {
        self.edges.iter().any(|edge| !edge.gone && (edge.source == at || edge.target == at))
    }
    fn delete(&mut self, at: usize) {
        self.vertices[at].gone = true;
        for edge in self.edges.iter_mut().filter(|edge| edge.source == at || edge.target == at) {
            edge.gone = true;
        }
    }
    fn rows(&self) -> (Rows, Rows) {
        let vertex = |at: usize| {
            let vertex = &self.vertices[at];
            let get = |key| vertex.properties.get(key).copied();
            vec![get("k"), get("n"), get("m"), get("c"), Some(i64::from(vertex.marked))]
        };
        let k = |at: usize| self.vertices[at].properties.get("k").copied();
        let edges = self.edges.iter().filter(|edge| !edge.gone);
        let mut edges: Vec<_> =
            edges.map(|edge| vec![k(edge.source), k(edge.target), Some(edge.w)]).collect();
        let mut vertices: Vec<_> = self.living().map(vertex).collect();
        vertices.sort();
        edges.sort();
        (vertices, edges)
    }
}

fn table(session: &mut Session, text: &str) -> Vec<Vec<Option<i64>>> {
    let rows = session.query(text, Params::new()).unwrap().rows().unwrap();
    let number = |value: &Value| value.as_int().or_else(|| value.as_bool().map(i64::from));
    let mut rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(number).collect()).collect();
    rows.sort();
    rows
}

fn compare(session: &mut Session, twin: &Twin, history: &[String]) {
    let (vertices, edges) = twin.rows();
    let found = table(session, "MATCH (v:N) RETURN v.k, v.n, v.m, v.c, v:L");
    assert_eq!(found, vertices, "vertices after {history:#?}");
    let found = table(session, "MATCH (a)-[r:R]->(b) RETURN a.k, b.k, r.w");
    assert_eq!(found, edges, "edges after {history:#?}");
    let found = table(session, "MATCH (a)<-[r:R]-(b) RETURN b.k, a.k, r.w");
    assert_eq!(found, edges, "edges from their ends after {history:#?}");
}

/// One random statement: its text and parameters, and what it does to the twin; the twin says whether it must fail.
fn statement(chance: &mut Chance, twin: &mut Twin) -> (String, Params, bool) {
    let k = |chance: &mut Chance| chance.below(8) as i64;
    let ks: Vec<i64> = (0..chance.below(6)).map(|_| k(chance)).collect();
    let list = Value::list(ks.iter().map(|k| Value::Int(*k)).collect());
    let (a, b) = (k(chance), k(chance));
    let pair = params! { "a" => a, "b" => b };
    let (text, params) = match chance.below(13) {
        0 | 1 => {
            ks.iter().for_each(|k| {
                twin.create(*k);
            });
            ("UNWIND $ks AS k CREATE (:N {k: k})", params! { "ks" => list })
        }
        2 | 3 => {
            ks.iter().for_each(|k| twin.merge(*k));
            let text = "UNWIND $ks AS k MERGE (v:N {k: k}) \
                        ON CREATE SET v.c = 1 ON MATCH SET v.m = coalesce(v.m, 0) + 1";
            (text, params! { "ks" => list })
        }
        4 => {
            for at in twin.living().collect::<Vec<_>>() {
                let properties = &mut twin.vertices[at].properties;
                if properties["k"] % 3 == a % 3 {
                    *properties.entry("n").or_insert(0) += b;
                }
            }
            ("MATCH (v:N) WHERE v.k % 3 = $a % 3 SET v.n = coalesce(v.n, 0) + $b", pair)
        }
        5 => {
            for at in twin.living().collect::<Vec<_>>() {
                let vertex = &mut twin.vertices[at];
                if vertex.properties.get("n").is_some_and(|n| *n > a) {
                    vertex.marked = true;
                    vertex.properties.remove("m");
                }
            }
            ("MATCH (v:N) WHERE v.n > $a SET v:L REMOVE v.m", pair)
        }
        6 => {
            for at in twin.with_key(a) {
                twin.vertices[at].marked = false;
            }
            ("MATCH (v:L {k: $a}) REMOVE v:L", pair)
        }
        7 => {
            for source in twin.with_key(a) {
                for target in twin.with_key(b) {
                    twin.edges.push(Edge { source, target, gone: false, w: a });
                }
            }
            ("MATCH (a:N {k: $a}), (b:N {k: $b}) CREATE (a)-[:R {w: $a}]->(b)", pair)
        }
        8 => {
            twin.merge_edges(a, b, false);
            let text = "MATCH (a:N {k: $a}), (b:N {k: $b}) MERGE (a)-[r:R]->(b) \
                        ON CREATE SET r.w = 0 ON MATCH SET r.w = r.w + 1";
            (text, pair)
        }
        9 => {
            twin.merge_edges(a, b, true);
            let text = "MATCH (a:N {k: $a}), (b:N {k: $b}) MERGE (a)-[r:R]-(b) \
                        ON CREATE SET r.w = 0 ON MATCH SET r.w = r.w + 1";
            (text, pair)
        }
        10 => {
            let gone = twin.with_key(a);
            for edge in twin.edges.iter_mut().filter(|edge| gone.contains(&edge.source)) {
                edge.gone = true;
            }
            ("MATCH (:N {k: $a})-[r:R]->() DELETE r", pair)
        }
        11 => {
            let gone = twin.with_key(a);
            if gone.iter().any(|at| twin.is_connected(*at)) {
                return ("MATCH (v:N {k: $a}) DELETE v".to_string(), pair, true);
            }
            gone.into_iter().for_each(|at| twin.delete(at));
            ("MATCH (v:N {k: $a}) DELETE v", pair)
        }
        _ => {
            let gone = twin.with_key(a);
            gone.into_iter().for_each(|at| twin.delete(at));
            ks.iter().filter(|k| **k != a).for_each(|k| twin.merge(*k));
            let text = "OPTIONAL MATCH (v:N {k: $a}) DETACH DELETE v WITH count(*) AS gone \
                        FOREACH (k IN [k IN $ks WHERE k <> $a] | MERGE (v:N {k: k}) \
                        ON CREATE SET v.c = 1 ON MATCH SET v.m = coalesce(v.m, 0) + 1)";
            (text, params! { "a" => a, "ks" => list })
        }
    };
    (text.to_string(), params, false)
}

fn history(chance: &mut Chance) {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let mut session = database.session();
    let (mut twin, mut before) = (Twin::default(), None);
    let mut history = Vec::new();
    for _ in 0..STATEMENTS {
        // Now and then a transaction of several statements begins, or ends well or badly.
        match (&before, chance.below(8)) {
            (None, 0) => {
                session.begin(Mode::Write).unwrap();
                before = Some(twin.clone());
                history.push("BEGIN".to_string());
            }
            (Some(_), 0 | 1) => {
                session.commit().unwrap();
                before = None;
                history.push("COMMIT".to_string());
            }
            (Some(_), 2) => {
                session.rollback().unwrap();
                twin = before.take().unwrap();
                history.push("ROLLBACK".to_string());
            }
            _ => {}
        }
        let (text, params, fails) = statement(chance, &mut twin);
        history.push(format!("{text} {params:?}"));
        let outcome = session.query(&text, params).map(|result| result.rows());
        assert_eq!(outcome.is_err(), fails, "{outcome:?} after {history:#?}");
        if fails && let Some(earlier) = before.take() {
            session.rollback().unwrap();
            twin = earlier;
        }
        compare(&mut session, &twin, &history);
    }
}

#[test]
fn random_histories_agree_with_their_twin() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| Chance::from_system().next_u64());
    println!("SEED={seed}");
    let mut chance = Chance::seeded(seed);
    (0..HISTORIES).for_each(|_| history(&mut chance));
}
