//! Walks of single relationships, which may repeat one: against walks that are listed over plain arrays.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt::Write;
use tanglewood_database::{Database, MEMORY, Options, Params, Session, Value};
use world::chance::Chance;

const VERTICES: u64 = 6;
const EDGES: u64 = 9;
const TYPES: [&str; 2] = ["R", "S"];
const SIDES: [(&str, &str); 3] = [("-", "->"), ("<-", "-"), ("-", "-")];

/// An edge: its ends, and the number of its type.
type Edge = (u64, u64, usize);

/// A step of a walk: the number of its direction, and of its type, if that is asked for.
type Step = (usize, Option<usize>);

struct Graph {
    session: Session,
    edges: Vec<Edge>,
}

impl Graph {
    fn random(chance: &mut Chance) -> Graph {
        let mut session =
            Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap().session();
        let made = format!("UNWIND range(0, {}) AS n CREATE (:N {{n: n}})", VERTICES - 1);
        session.query(&made, Params::new()).unwrap().finish().unwrap();
        let mut edges = Vec::new();
        for number in 0..EDGES {
            let edge = (chance.below(VERTICES), chance.below(VERTICES), chance.below(2) as usize);
            let (from, to, kind) = edge;
            let text = format!(
                "MATCH (a {{n: {from}}}), (b {{n: {to}}}) CREATE (a)-[:{} {{e: {number}}}]->(b)",
                TYPES[kind]
            );
            session.query(&text, Params::new()).unwrap().finish().unwrap();
            edges.push(edge);
        }
        Graph { session, edges }
    }
    /// The rows of a question, each as whole numbers, in order; nulls are -1.
    fn rows(&mut self, text: &str) -> Vec<Vec<i64>> {
        let result = self.session.query(text, Params::new()).and_then(|result| result.rows());
        let rows = result.unwrap_or_else(|error| panic!("{text}: {error}"));
        let number = |value: &Value| if value.is_null() { -1 } else { value.as_int().unwrap() };
        let mut rows: Vec<Vec<i64>> = rows.iter().map(|row| row.iter().map(number).collect()).collect();
        rows.sort_unstable();
        rows
    }
    /// Steps from a vertex: the edge and where it leads. A loop is one step.
    fn steps(&self, from: u64, (side, kind): Step) -> Vec<(usize, u64)> {
        let mut all = Vec::new();
        for (number, (a, b, its)) in self.edges.iter().enumerate() {
            if kind.is_some_and(|kind| kind != *its) {
                continue;
            }
            if side != 1 && *a == from {
                all.push((number, *b));
            }
            if side != 0 && *b == from && !(side == 2 && a == b) {
                all.push((number, *a));
            }
        }
        all
    }
    /// All walks of these steps: `n0, e0, n1, e1, …`.
    fn walks(&self, start: u64, steps: &[Step]) -> Vec<Vec<i64>> {
        let mut all = vec![vec![start as i64]];
        for step in steps {
            let longer = |walk: &Vec<i64>| -> Vec<Vec<i64>> {
                let at = walk[walk.len() - 1] as u64;
                let add = |(edge, to)| [walk.as_slice(), &[edge as i64, to as i64]].concat();
                self.steps(at, *step).into_iter().map(add).collect()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }
}

fn random_steps(chance: &mut Chance) -> Vec<Step> {
    let step =
        |chance: &mut Chance| (chance.below(3) as usize, [None, Some(0), Some(1)][chance.below(3) as usize]);
    (0..1 + chance.below(4)).map(|_| step(chance)).collect()
}

/// The path in words; its vertices are `n0` and so on, its edges `e0`; a closed one ends where it began.
fn path(steps: &[Step], is_closed: bool) -> String {
    let mut text = "(n0)".to_string();
    for (number, (side, kind)) in steps.iter().enumerate() {
        let kind = kind.map_or(String::new(), |kind| format!(":{}", TYPES[kind]));
        let (left, right) = SIDES[*side];
        let last = if is_closed && number + 1 == steps.len() { 0 } else { number + 1 };
        write!(text, "{left}[e{number}{kind}]{right}(n{last})").unwrap();
    }
    text
}

/// What is read of a walk.
fn columns(steps: usize, is_closed: bool) -> String {
    let mut text = "n0.n".to_string();
    for number in 0..steps {
        let last = if is_closed && number + 1 == steps { 0 } else { number + 1 };
        write!(text, ", e{number}.e, n{last}.n AS m{number}").unwrap();
    }
    text
}

#[test]
fn walks_are_all_that_may_repeat() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(Chance::system_seed);
    println!("SEED={seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..4 {
        let mut graph = Graph::random(&mut chance);
        for _ in 0..25 {
            a_walk(&mut graph, &mut chance);
            a_walk_beside_a_trail(&mut graph, &mut chance);
            a_trail_among_what_may_repeat(&mut graph, &mut chance);
            a_walk_with_conditions(&mut graph, &mut chance);
        }
    }
}

fn a_walk(graph: &mut Graph, chance: &mut Chance) {
    let (steps, is_closed, start) = (random_steps(chance), chance.below(4) == 0, chance.below(VERTICES));
    let mut walks = graph.walks(start, &steps);
    walks.retain(|walk| !is_closed || walk[0] == walk[walk.len() - 1]);
    walks.sort_unstable();
    let (path, columns) = (path(&steps, is_closed), columns(steps.len(), is_closed));
    let found = format!("WHERE n0.n = {start} RETURN {columns}");
    assert_eq!(graph.rows(&format!("MATCH WALK {path} {found}")), walks, "{path}");
    assert_eq!(graph.rows(&format!("MATCH REPEATABLE ELEMENTS {path} {found}")), walks, "{path}");
    let spoken = format!("MATCH p = WALK {path} {found}, length(p)");
    let lengths: Vec<i64> = graph.rows(&spoken).iter().map(|row| row[row.len() - 1]).collect();
    assert_eq!(lengths, vec![steps.len() as i64; walks.len()], "{spoken}");
    let mut optional = walks.clone();
    if walks.is_empty() {
        optional = vec![[vec![start as i64], vec![-1; 2 * steps.len() - usize::from(is_closed)]].concat()];
        if is_closed {
            optional[0].push(start as i64);
        }
    }
    for words in ["WALK", "REPEATABLE ELEMENTS"] {
        let text = format!("MATCH (n0 {{n: {start}}}) OPTIONAL MATCH {words} {path} RETURN {columns}");
        assert_eq!(graph.rows(&text), optional, "{text}");
    }
    let counted = format!(
        "MATCH (n0 {{n: {start}}}) RETURN COUNT {{ MATCH WALK {path} }}, CASE WHEN EXISTS {{ MATCH WALK {path} }} THEN 1 ELSE 0 END"
    );
    assert_eq!(graph.rows(&counted), [[walks.len() as i64, i64::from(!walks.is_empty())]], "{counted}");
    let last = if is_closed { 0 } else { steps.len() };
    let mut ends: Vec<i64> = walks.iter().map(|walk| walk[walk.len() - 1]).collect();
    ends.sort_unstable();
    ends.dedup();
    let distinct = format!("MATCH WALK {path} WHERE n0.n = {start} RETURN count(DISTINCT n{last}), count(*)");
    assert_eq!(graph.rows(&distinct), [[ends.len() as i64, walks.len() as i64]], "{distinct}");
}

/// Modes that are spoken hold within their paths also where elements may repeat.
fn a_trail_among_what_may_repeat(graph: &mut Graph, chance: &mut Chance) {
    let (steps, start) = (random_steps(chance), chance.below(VERTICES));
    let is_trail = |walk: &[i64]| {
        let mut edges: Vec<i64> = walk.iter().skip(1).step_by(2).copied().collect();
        edges.sort_unstable();
        edges.windows(2).all(|pair| pair[0] != pair[1])
    };
    let walks = graph.walks(start, &steps);
    let (mut both, mut pairs) = (Vec::new(), 0);
    for trail in walks.iter().filter(|walk| is_trail(walk)) {
        for step in graph.walks(start, &[(2, None)]) {
            both.push([trail.as_slice(), &step[1..]].concat());
        }
        for one in graph.walks(start, &[(0, None)]) {
            pairs += i64::from(one[0] != one[2]);
        }
    }
    both.sort_unstable();
    let (path, columns) = (path(&steps, false), columns(steps.len(), false));
    let text = format!(
        "MATCH REPEATABLE ELEMENTS TRAIL {path}, (n0)-[t]-(a) WHERE n0.n = {start} RETURN {columns}, t.e, a.n"
    );
    assert_eq!(graph.rows(&text), both, "{text}");
    // Each path has its own mode: the run uses what the trail used.
    let text = format!(
        "MATCH REPEATABLE ELEMENTS TRAIL {path}, ACYCLIC (n0)-[*1..1]->(a) WHERE n0.n = {start} RETURN count(*)"
    );
    assert_eq!(graph.rows(&text), [[pairs]], "{text}");
}

/// A shortest path may use what a search beside it uses, and what a single relationship does.
#[test]
fn shortest_paths_stand_apart() {
    let mut session = Database::open(MEMORY, Options::default()).unwrap().session();
    let made = "CREATE (:A)-[:R]->()-[:R]->(:Z)-[:S]->()-[:S]->()";
    session.query(made, Params::new()).unwrap().finish().unwrap();
    for text in [
        "MATCH shortestPath((a:A)-[:R*]->(z:Z)), (a) ((x)-[:R]->(y)-[:R]->(w)){1,1} (z) RETURN count(*)",
        "MATCH shortestPath((a:A)-[:R*1..1]->(b)), (a)-[r:R]->(b), WALK (z:Z) ((x)-[:S]->(y)-[:S]->(w)){1,2} (c) RETURN count(*)",
    ] {
        let rows = session.query(text, Params::new()).and_then(|result| result.rows()).unwrap();
        assert_eq!(rows[0][0].as_int(), Some(1), "{text}");
    }
}

/// Conditions with sub-queries, runs that read what was found before them, and rounds, between the steps of a walk.
fn a_walk_with_conditions(graph: &mut Graph, chance: &mut Chance) {
    let (start, least) = (chance.below(VERTICES), chance.below(VERTICES) as i64);
    let leaves = |graph: &Graph, vertex: i64| !graph.steps(vertex as u64, (0, Some(1))).is_empty();
    let first = graph.walks(start, &[(2, Some(0)), (2, Some(0))]);
    let tested: Vec<&Vec<i64>> =
        first.iter().filter(|walk| leaves(graph, walk[2]) && walk[4] >= least).collect();
    let text = format!(
        "MATCH WALK (a)-[:R]-(b)-[:R]-(c) WHERE a.n = {start} AND c.n >= {least} AND EXISTS {{ (b)-[:S]->() }} RETURN count(*)"
    );
    assert_eq!(graph.rows(&text), [[tested.len() as i64]], "{text}");
    let runs = first.iter().map(|walk| {
        let walks = graph.walks(walk[4] as u64, &[(0, None)]);
        let seen = walks.iter().filter(|run| run[1] > walk[0]);
        seen.filter(|run| leaves(graph, run[2])).count() as i64
    });
    let runs: i64 = runs.sum();
    let text = format!(
        "MATCH WALK (a)-[:R]-(b)-[:R]-(c)-[s*1..1]->(d) WHERE a.n = {start} AND all(one IN s WHERE one.e > a.n) AND EXISTS {{ (d)-[:S]->() }} RETURN count(*)"
    );
    assert_eq!(graph.rows(&text), [[runs]], "{text}");
    let rounds = first.iter().filter(|walk| leaves(graph, walk[4])).count() as i64;
    let text = format!(
        "MATCH WALK (a) ((x)-[:R]-(y)-[:R]-(z) WHERE EXISTS {{ (z)-[:S]->() }}){{1,1}} (c) WHERE a.n = {start} RETURN count(*)"
    );
    assert_eq!(graph.rows(&text), [[rounds]], "{text}");
}

/// In one clause, the edges of a trail differ from one another, and those of a walk from none.
fn a_walk_beside_a_trail(graph: &mut Graph, chance: &mut Chance) {
    let (steps, start) = (random_steps(chance), chance.below(VERTICES));
    let mut both = Vec::new();
    for walk in graph.walks(start, &steps) {
        for trail in graph.walks(start, &[(2, None), (2, None)]) {
            if trail[1] != trail[3] {
                both.push([walk.as_slice(), &trail[1..]].concat());
            }
        }
    }
    both.sort_unstable();
    let (path, columns) = (path(&steps, false), columns(steps.len(), false));
    let text = format!(
        "MATCH WALK {path}, (n0)-[t0]-(a)-[t1]-(b) WHERE n0.n = {start} RETURN {columns}, t0.e, a.n, t1.e, b.n"
    );
    assert_eq!(graph.rows(&text), both, "{text}");
}
