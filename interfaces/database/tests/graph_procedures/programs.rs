//! Node programs that are built in, each beside its twin in Cypher, on random graphs with loops and parallel relationships.

use super::rows;
use std::collections::BTreeMap;
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, Error, MEMORY, Options, Params, Session, params};
use world::chance::Chance;

const VERTICES: u64 = 40;
const EDGES: usize = 120;

/// Nodes `:A` and `:B` with `id` and `k`, relationships `R` and `S` with `k` and a weight, loops and parallel ones among them.
fn random(seed: u64, executors: usize) -> Database {
    let options = Options { executors: Some(executors), ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    let mut session = database.session();
    let mut chance = Chance::seeded(seed);
    let mut run = |text: &str| session.query(text, params! {}).unwrap().rows().unwrap();
    run("CREATE INDEX FOR (v:A) ON (v.id)");
    for id in 0..VERTICES {
        let label = ["A", "B"][chance.below(2) as usize];
        run(&format!("CREATE (:{label} {{id: {id}, k: {}}})", chance.below(3)));
    }
    for _ in 0..EDGES {
        let (from, to) = (chance.below(VERTICES), chance.below(VERTICES));
        let to = if chance.below(10) == 0 { from } else { to };
        let kind = ["R", "R", "S"][chance.below(3) as usize];
        let (k, weight, times) = (chance.below(2), chance.below(9), 1 + chance.below(2));
        run(&format!(
            "MATCH (a {{id: {from}}}), (b {{id: {to}}}) UNWIND range(1, {times}) AS i \
             CREATE (a)-[:{kind} {{k: {k}, w: {weight}}}]->(b)"
        ));
    }
    database
}

/// What a program answers, and what its twin does.
const TWINS: [(&str, &str); 14] = [
    (
        "MATCH (s {id: 1}) CALL program.reach(s) YIELD node, value",
        "MATCH (s {id: 1}) CALL graph.bfs({source: s}) YIELD node, distance AS value",
    ),
    (
        "MATCH (s {id: 2}) CALL program.reach(s, {types: 'R', direction: 'in', depth: 2}) YIELD node, value",
        "MATCH (s {id: 2}) MATCH p = (s)<-[:R*0..2]-(node) WITH node, min(length(p)) AS value",
    ),
    (
        "MATCH (s {id: 3}) CALL program.reach(s, {types: ['R', 'S'], direction: 'both', label: 'A', edge: {k: 1}}) YIELD node, value",
        "MATCH (s {id: 3}) CALL (s) { RETURN s AS node, 0 AS value UNION ALL \
         MATCH p = SHORTEST 1 (s) (()-[:R|S {k: 1}]-(:A)){1,} (node) WHERE node <> s RETURN node, length(p) AS value }",
    ),
    (
        "MATCH (s {id: 4}) CALL program.reach(s, {types: 'R', node: {k: 1}}) YIELD node, value",
        "MATCH (s {id: 4}) CALL (s) { RETURN s AS node, 0 AS value UNION ALL \
         MATCH p = SHORTEST 1 (s) (()-[:R]->({k: 1})){1,} (node) WHERE node <> s RETURN node, length(p) AS value }",
    ),
    (
        "MATCH (s {id: 5}), (t {id: 6}) CALL program.reach(s, {target: t}) YIELD node, value",
        "MATCH (s {id: 5}), (node {id: 6}) MATCH p = SHORTEST 1 (s)-[*]->(node) WITH node, length(p) AS value",
    ),
    (
        "MATCH (s:A) WITH collect(s) AS all CALL program.reach(all, {depth: 1}) YIELD node, value",
        "MATCH (node) WHERE node:A OR EXISTS { (:A)-->(node) } WITH node, CASE WHEN node:A THEN 0 ELSE 1 END AS value",
    ),
    (
        "MATCH (s {id: 1}) CALL program.shortestDistance(s, {weight: 'w'}) YIELD node, value",
        "MATCH (s {id: 1}) CALL graph.sssp({source: s, weight: 'w'}) YIELD node, distance AS value",
    ),
    (
        "MATCH (s {id: 2}) CALL program.shortestDistance(s, {weight: 'w', types: 'R', depth: 3, edge: {k: 0}}) YIELD node, value",
        "MATCH (s {id: 2}) MATCH p = (s)-[r:R*0..3 {k: 0}]->(node) \
         WITH node, min(reduce(sum = 0.0, x IN r | sum + x.w)) AS value",
    ),
    (
        "CALL program.clusteringCoefficient() YIELD node, value",
        "MATCH (node) CALL (node) { MATCH (node)--(u) WHERE u <> node WITH collect(DISTINCT u) AS all \
         CALL (all) { UNWIND all AS a UNWIND all AS b WITH a, b WHERE a <> b AND EXISTS { (a)--(b) } RETURN count(*) AS links } \
         RETURN CASE WHEN size(all) < 2 THEN 0.0 ELSE toFloat(links) / (size(all) * (size(all) - 1)) END AS value }",
    ),
    (
        "CALL program.clusteringCoefficient(null, {types: 'R', label: 'A'}) YIELD node, value",
        "MATCH (node:A) CALL (node) { MATCH (node)-[:R]-(u:A) WHERE u <> node WITH collect(DISTINCT u) AS all \
         CALL (all) { UNWIND all AS a UNWIND all AS b WITH a, b WHERE a <> b AND EXISTS { (a)-[:R]-(b) } RETURN count(*) AS links } \
         RETURN CASE WHEN size(all) < 2 THEN 0.0 ELSE toFloat(links) / (size(all) * (size(all) - 1)) END AS value }",
    ),
    (
        "CALL program.countEdges(null, {direction: 'both'}) YIELD node, value",
        "MATCH (node) WITH node, COUNT { (node)--() } AS value",
    ),
    (
        "CALL program.countEdges(null, {types: 'R', label: 'B', edge: {k: 1}}) YIELD node, value",
        "MATCH (node:B) WITH node, COUNT { (node)-[:R {k: 1}]->() } AS value",
    ),
    (
        "MATCH (s {id: 7}) CALL program.blockRender(s, {types: 'R'}) YIELD node, value AS all \
         WITH node, all.properties.k * 1000 + size(all.labels) * 100 + reduce(sum = 0, r IN all.relationships | \
         sum + r.node.id + r.properties.w * 7 + size(r.type)) AS value",
        "MATCH (s {id: 7})-[:R*0..1]->(n) WITH DISTINCT n AS node \
         WITH node, [(node)-[r:R]->(m) | m.id + r.w * 7 + 1] AS each \
         WITH node, node.k * 1000 + 100 + reduce(sum = 0, x IN each | sum + x) AS value",
    ),
    (
        "CALL program.labelPropagation(null, {types: 'R', iterations: 0}) YIELD node, value",
        "MATCH (node) WITH node, id(node) AS value",
    ),
];

#[test]
fn each_answers_as_its_twin() {
    for seed in 0..3 {
        let database = random(seed, 1 + seed as usize % 3);
        let mut session = database.session();
        for (program, twin) in TWINS {
            let all = |call: &str| format!("{call} RETURN node.id AS id, value ORDER BY id, value");
            let (found, right) = (rows(&mut session, &all(program)), rows(&mut session, &all(twin)));
            assert_eq!(found, right, "seed {seed}: {program}");
        }
    }
}

/// Labels by hand, from the relationships as Cypher tells them.
fn propagated(session: &mut Session, iterations: usize) -> Vec<Vec<i64>> {
    let ends = rows(session, "MATCH (a)-[:R]-(b) RETURN id(b), id(a)");
    let nodes = rows(session, "MATCH (n) RETURN id(n), n.id");
    let mut labels: BTreeMap<i64, i64> = nodes.iter().map(|node| (node[0], node[0])).collect();
    for _ in 0..iterations {
        let mut counts: BTreeMap<i64, BTreeMap<i64, i64>> = BTreeMap::new();
        for end in &ends {
            *counts.entry(end[0]).or_default().entry(labels[&end[1]]).or_default() += 1;
        }
        for (node, counts) in counts {
            let most = counts.values().max().unwrap();
            labels.insert(node, *counts.iter().find(|(_, count)| *count == most).unwrap().0);
        }
    }
    let mut all: Vec<Vec<i64>> = nodes.iter().map(|node| vec![node[1], labels[&node[0]]]).collect();
    all.sort();
    all
}

#[test]
fn labels_spread_round_by_round() {
    for seed in 10..12 {
        let database = random(seed, 2);
        let mut session = database.session();
        for iterations in [1, 5] {
            let call =
                format!("CALL program.labelPropagation(null, {{types: 'R', iterations: {iterations}}})");
            let found = rows(
                &mut session,
                &format!("{call} YIELD node, value RETURN node.id AS id, value ORDER BY id"),
            );
            assert_eq!(found, propagated(&mut session, iterations), "seed {seed}, {iterations} iterations");
        }
    }
}

fn refused(session: &mut Session, text: &str) -> Error {
    match session.query(text, params! {}).and_then(|result| result.rows()) {
        Err(error) => error,
        Ok(rows) => panic!("{text}: {rows:?}"),
    }
}

#[test]
fn wrong_calls_say_what_is_expected() {
    let database = random(1, 1);
    let mut session = database.session();
    for (text, part) in [
        ("CALL program.reach(null)", "its start is a node"),
        ("CALL program.reach(1)", "a node, a list of nodes, or null"),
        ("CALL program.reach([1])", "a node, a list of nodes, or null"),
        ("MATCH (s {id: 1}) CALL program.reach(s, {typ: 'R'}) YIELD node RETURN 1", "known: types"),
        ("MATCH (s {id: 1}) CALL program.reach(s, {types: 'NO'}) YIELD node RETURN 1", "NO"),
        ("MATCH (s {id: 1}) CALL program.reach(s, {depth: -1}) YIELD node RETURN 1", "from 0 to"),
        ("MATCH (s {id: 1}) CALL program.reach(s, {edge: 1}) YIELD node RETURN 1", "a map of properties"),
        ("MATCH (s {id: 1}) CALL program.reach(s, 1) YIELD node RETURN 1", "are a map"),
        ("MATCH (s {id: 1}) CALL program.labelPropagation(s) YIELD node RETURN 1", "begins at all nodes"),
        ("MATCH (s {id: 1}) CALL program.nothing(s) YIELD node RETURN 1", "there is no program `nothing`"),
        ("CALL program.reach()", "$start"),
    ] {
        let error = refused(&mut session, text);
        assert!(
            error.message.contains(part) || format!("{error:?}").contains(part.trim_start_matches('$')),
            "{text}: {error:?}"
        );
    }
    let query = "MATCH (a)-[r:R]->() WITH a, r LIMIT 1 SET r.w = -1 WITH a \
                 CALL program.shortestDistance(a, {weight: 'w'}) YIELD node RETURN count(*)";
    assert!(refused(&mut session, query).message.contains("does not weigh a number of at least 0"));
    // A node that is gone.
    let query = "MATCH (s {id: 1}) DETACH DELETE s WITH s CALL program.reach(s) YIELD node RETURN count(*)";
    assert!(refused(&mut session, query).message.contains("that is there"));
}

#[test]
fn a_path_of_many_rounds_and_a_star_of_one() {
    let options = Options { executors: Some(3), ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    let mut session = database.session();
    let mut one = |text: &str| rows(&mut session, text);
    one("UNWIND range(0, 3000) AS i CREATE (:V {i: i})");
    one("CREATE INDEX FOR (v:V) ON (v.i)");
    one("UNWIND range(0, 2999) AS i MATCH (a:V {i: i}), (b:V {i: i + 1}) CREATE (a)-[:NEXT]->(b)");
    one("MATCH (a:V {i: 0}) UNWIND range(1, 30000) AS j CREATE (a)-[:STAR]->(:W)");
    let path = "MATCH (s:V {i: 0}) CALL program.reach(s, {types: 'NEXT'}) YIELD node, value";
    assert_eq!(one(&format!("{path} RETURN count(*), max(value), sum(value)")), [[3_001, 3_000, 4_501_500]]);
    assert_eq!(one(&format!("{path} RETURN node.i LIMIT 2")).len(), 2);
    let star = "MATCH (s:V {i: 0}) CALL program.reach(s, {types: 'STAR'}) YIELD node, value";
    assert_eq!(one(&format!("{star} RETURN count(*), sum(value)")), [[30_001, 30_000]]);
    let back = "MATCH (w:W) WITH collect(w) AS all CALL program.reach(all, {types: 'STAR', direction: 'in'}) YIELD node, value";
    assert_eq!(one(&format!("{back} RETURN count(*), sum(value)")), [[30_001, 1]]);
    assert_eq!(one("CALL program.reach([]) YIELD node RETURN count(*)"), [[0]]);
}

#[test]
fn a_transaction_sees_its_own_writes_and_is_told_of_conflicts() {
    let database = random(2, 2);
    let (mut one, mut other) = (database.session(), database.session());
    let count = "MATCH (s {id: 1}) CALL program.countEdges(s) YIELD value RETURN value";
    let before = rows(&mut one, count)[0][0];
    one.begin(tanglewood_database::Mode::Write).unwrap();
    rows(&mut one, "MATCH (s {id: 1}), (t {id: 2}) CREATE (s)-[:R]->(t)");
    assert_eq!(rows(&mut one, count)[0][0], before + 1);
    // What it read was changed by another one before it commits.
    rows(&mut one, "CREATE (:Own)");
    rows(&mut other, "MATCH (s {id: 1}), (t {id: 3}) CREATE (s)-[:S]->(t)");
    let error = one.commit().unwrap_err();
    assert!(error.code.contains("Transient"), "{error:?}");
}

#[test]
fn they_are_listed_and_told_by_profile() {
    let database = random(3, 2);
    let mut session = database.session();
    let names = "SHOW PROCEDURES YIELD name WHERE name STARTS WITH 'program.' RETURN count(*)";
    assert_eq!(rows(&mut session, names), [[6]]);
    let text = "PROFILE CALL program.countEdges() YIELD value RETURN sum(value)";
    let summary = session.query(text, Params::new()).unwrap().finish().unwrap();
    assert!(summary.plan_text.unwrap().contains("edges visited"));
}

/// What a traversal gives, as texts in order.
pub fn objects(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let mut answer = session.gremlin_text(text, &params! {}, &GremlinOptions::default())?;
    let mut all = Vec::new();
    while let Some(some) = answer.next_objects()? {
        all.extend(some.iter().map(|(one, _)| format!("{one:?}")));
    }
    all.sort();
    Ok(all)
}

#[test]
fn gremlin_calls_them_for_each_traverser() {
    let database = random(4, 2);
    let mut session = database.session();
    let calls = [
        (
            "g.call('program.countEdges', ['direction': 'both']).select('value').sum()",
            "CALL program.countEdges(null, {direction: 'both'}) YIELD value RETURN sum(value)",
        ),
        (
            "g.V().has('id', 3).call('program.reach').with('types', 'R').with('depth', 2).select('node').values('id').sum()",
            "MATCH (s {id: 3}) CALL program.reach(s, {types: 'R', depth: 2}) YIELD node RETURN sum(node.id)",
        ),
        (
            "g.V().hasLabel('A').call('program.reach', ['edge': ['k': 1], 'types': ['R', 'S']]).select('value').sum()",
            "MATCH (s:A) CALL program.reach(s, {types: ['R', 'S'], edge: {k: 1}}) YIELD value RETURN sum(value)",
        ),
    ];
    for (traversal, twin) in calls {
        let right = rows(&mut session, twin)[0][0];
        let found = objects(&mut session, traversal).unwrap();
        let is_right = found.len() == 1 && found[0].contains(&format!("({right})"));
        assert!(is_right, "{traversal}: {found:?} instead of {right}");
    }
    for (traversal, part) in [
        ("g.call('program.nothing')", "there is no program `nothing`"),
        ("g.call('program.reach')", "its start is a node"),
        ("g.call('program.countEdges', ['typ': 1])", "known: types"),
    ] {
        let error = objects(&mut session, traversal).unwrap_err();
        assert!(error.message.contains(part), "{traversal}: {error:?}");
    }
}
