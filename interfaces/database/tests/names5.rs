//! The functions and procedures of Cypher 5, as Neo4j 5.26 lists them, held against ours: each is here, or the guide says that it is not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;
use tanglewood_database::{Database, MEMORY, Options, Params, Session, params};
use world::chance::Chance;

const FUNCTIONS: &str = "abs acos all any asin atan atan2 avg btrim ceil char_length character_length coalesce collect cos cot count \
    date date.realtime date.statement date.transaction date.truncate datetime datetime.fromepoch datetime.fromepochmillis \
    datetime.realtime datetime.statement datetime.transaction datetime.truncate db.nameFromElementId degrees duration \
    duration.between duration.inDays duration.inMonths duration.inSeconds e elementId endNode exists exp file floor \
    graph.byElementId graph.byName graph.names graph.propertiesByName haversin head id isEmpty isNaN keys labels last left length \
    linenumber localdatetime localdatetime.realtime localdatetime.statement localdatetime.transaction localdatetime.truncate \
    localtime localtime.realtime localtime.statement localtime.transaction localtime.truncate log log10 lower ltrim max min nodes \
    none normalize nullIf percentileCont percentileDisc pi point point.distance point.withinBBox properties radians rand \
    randomUUID range reduce relationships replace reverse right round rtrim sign sin single size split sqrt startNode stdev \
    stdevp substring sum tail tan time time.realtime time.statement time.transaction time.truncate timestamp toBoolean \
    toBooleanList toBooleanOrNull toFloat toFloatList toFloatOrNull toInteger toIntegerList toIntegerOrNull toLower toString \
    toStringList toStringOrNull toUpper trim type upper valueType vector.similarity.cosine vector.similarity.euclidean";

const PROCEDURES: &str = "db.awaitIndex db.awaitIndexes db.checkpoint db.clearQueryCaches db.create.setNodeVectorProperty \
    db.create.setRelationshipVectorProperty db.create.setVectorProperty db.createLabel db.createProperty \
    db.createRelationshipType db.index.fulltext.awaitEventuallyConsistentIndexRefresh \
    db.index.fulltext.listAvailableAnalyzers db.index.fulltext.queryNodes db.index.fulltext.queryRelationships \
    db.index.vector.createNodeIndex db.index.vector.queryNodes db.index.vector.queryRelationships db.info db.labels \
    db.listLocks db.ping db.prepareForReplanning db.propertyKeys db.relationshipTypes db.resampleIndex \
    db.resampleOutdatedIndexes db.schema.nodeTypeProperties db.schema.relTypeProperties db.schema.visualization \
    db.stats.clear db.stats.collect db.stats.retrieve db.stats.retrieveAllAnonymized db.stats.status db.stats.stop \
    dbms.cluster.routing.getRoutingTable dbms.components dbms.info dbms.killConnection dbms.killConnections \
    dbms.listActiveLocks dbms.listCapabilities dbms.listConfig dbms.listConnections dbms.listPools dbms.queryJmx \
    dbms.routing.getRoutingTable dbms.scheduler.failedJobs dbms.scheduler.groups dbms.scheduler.jobs \
    dbms.setConfigValue dbms.upgrade dbms.upgradeStatus tx.getMetaData tx.setMetaData";

const GUIDE: &str = include_str!("../../../docs/guide/cypher-5.md");

/// What the guide's table names in backticks, without brackets: names, and beginnings of names with `*` behind them.
fn absent() -> Vec<String> {
    let rows = GUIDE.lines().filter(|line| line.starts_with('|'));
    let first = rows.filter_map(|line| line.split('|').nth(1).map(str::to_string));
    let quoted =
        |cell: String| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_string).collect() };
    first.flat_map(quoted).map(|name| name.trim_end_matches("()").to_lowercase()).collect()
}

fn is_absent(name: &str, absent: &[String]) -> bool {
    absent.iter().any(|absent| match absent.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == absent,
    })
}

fn listed(text: &str) -> BTreeSet<String> {
    let options = Options { executors: Some(1), ..Options::default() };
    let mut session = Database::open(MEMORY, options).unwrap().session();
    let rows = session.query(text, Params::new()).unwrap().rows().unwrap();
    rows.iter().map(|row| row[0].as_str().unwrap().to_lowercase()).collect()
}

/// Every name is here or in the guide's table, and none is in both.
fn hold(wanted: &str, ours: &BTreeSet<String>) {
    let absent = absent();
    let wanted: BTreeSet<String> = wanted.split_whitespace().map(str::to_lowercase).collect();
    let missing: Vec<&String> = wanted.difference(ours).filter(|name| !is_absent(name, &absent)).collect();
    assert!(missing.is_empty(), "neither here nor in docs/guide/cypher-5.md: {missing:?}");
    let both: Vec<&String> = ours.iter().filter(|name| is_absent(name, &absent)).collect();
    assert!(both.is_empty(), "docs/guide/cypher-5.md calls these absent, but they are here: {both:?}");
}

#[test]
fn every_function_of_cypher_5_is_here_or_called_absent() {
    hold(FUNCTIONS, &listed("SHOW FUNCTIONS YIELD name"));
}

#[test]
fn every_procedure_of_neo4j_5_is_here_or_called_absent() {
    hold(PROCEDURES, &listed("SHOW PROCEDURES YIELD name"));
}

/// So that the two tests above see a name that is neither here nor in the guide.
#[test]
fn a_name_that_nobody_has_is_noticed() {
    let absent = absent();
    assert!(!is_absent("no.such.function", &absent) && is_absent("apoc.coll.sum", &absent));
    assert!(std::panic::catch_unwind(|| hold("no.such.function", &BTreeSet::new())).is_err());
}

fn session() -> Session {
    Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap().session()
}

fn rows(session: &mut Session, text: &str, params: Params) -> Result<Vec<String>, String> {
    let rows = session.query(text, params).and_then(|result| result.rows()).map_err(|error| error.code)?;
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    Ok(rows)
}

const SYNTAX: &str = "Neo.ClientError.Statement.SyntaxError";

/// Procedures that write, called with names that only the row knows, beside the clauses with names in the text.
#[test]
fn procedures_that_write_do_what_their_clauses_do() {
    let seed =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(Chance::system_seed);
    println!("SEED={seed}");
    let (mut chance, mut called, mut written) = (Chance::seeded(seed), session(), session());
    for _ in 0..60 {
        let (label, kind) = (["A", "B", "C D"][chance.index(3)], ["T", "U V"][chance.index(2)]);
        let (id, other, value) = (chance.below(4) as i64, chance.below(4) as i64, chance.below(3) as i64);
        let params = || params! { "l" => label, "k" => kind, "id" => id, "o" => other, "v" => value };
        let ends = "MATCH (a {id: $id}), (b {id: $o}) WITH a, b";
        let (call, clauses) = match chance.index(6) {
            0 => (
                "UNWIND [$id, $o] AS x CALL apoc.merge.node([$l], {id: x}, {made: $v}, {met: $v}) YIELD node RETURN node.id".to_string(),
                format!("UNWIND [$id, $o] AS x MERGE (node:`{label}` {{id: x}}) ON CREATE SET node.made = $v ON MATCH SET node.met = $v RETURN node.id"),
            ),
            // A map that is known only with the row.
            1 => (
                "UNWIND [{id: $id, v: $v}] AS map CALL apoc.merge.node($l, map) YIELD node AS n RETURN n.id".to_string(),
                format!("UNWIND [1] AS one MERGE (n:`{label}` {{id: $id, v: $v}}) RETURN n.id"),
            ),
            2 => (
                format!("{ends} CALL apoc.merge.relationship(a, $k, {{v: $v}}, {{made: true}}, b, {{met: true}}) YIELD rel RETURN count(rel)"),
                format!("{ends} MERGE (a)-[rel:`{kind}` {{v: $v}}]->(b) ON CREATE SET rel.made = true ON MATCH SET rel.met = true RETURN count(rel)"),
            ),
            3 => (
                format!("{ends} CALL apoc.create.relationship(a, $k, {{w: $v}}, b) YIELD rel RETURN count(rel)"),
                format!("{ends} CREATE (a)-[rel:`{kind}` {{w: $v}}]->(b) RETURN count(rel)"),
            ),
            4 => (
                "MATCH (a {id: $id}) CALL apoc.create.addLabels(a, [$l]) YIELD node CALL db.create.setNodeVectorProperty(node, 'vector', [1.0, $v]) RETURN count(node)".to_string(),
                format!("MATCH (a {{id: $id}}) SET a:`{label}`, a.vector = [1.0, $v] RETURN count(a)"),
            ),
            _ => ("CALL apoc.create.node([$l, 'E'], {id: $id})".to_string(), format!("CREATE (n:`{label}`:E {{id: $id}}) RETURN n")),
        };
        let is_node = call.starts_with("CALL");
        let (ours, twin) = (rows(&mut called, &call, params()), rows(&mut written, &clauses, params()));
        assert!(is_node || ours == twin, "SEED={seed} {call}\n{ours:?}\n{twin:?}");
        for all in [
            "MATCH (n) UNWIND labels(n) AS label RETURN label, properties(n)",
            "MATCH (a)-[r]->(b) RETURN a.id, type(r), properties(r), b.id",
        ] {
            let [ours, twin] = [&mut called, &mut written].map(|session| rows(session, all, params! {}));
            assert_eq!(ours, twin, "SEED={seed} after {call} with {label}, {kind}, {id}, {other}, {value}");
        }
        if chance.happens(0.1) {
            for session in [&mut called, &mut written] {
                rows(session, "MATCH (n) DETACH DELETE n", params! {}).unwrap();
            }
        }
    }
    for (text, code) in [
        ("CALL apoc.merge.node([null], {id: 1})", "Neo.ClientError.Statement.TypeError"),
        ("CALL apoc.merge.node(['A'], {id: null})", "Neo.ClientError.Statement.SemanticError"),
        // What the call is about to make is not there when its arguments are.
        ("CALL apoc.create.node(['A'], {id: node.id}) YIELD node RETURN 1", SYNTAX),
        ("CALL apoc.merge.node(['A'], {id: 1}, {was: n.id}) YIELD node AS n RETURN 1", SYNTAX),
        ("CALL apoc.create.node(['A'], {}) YIELD node AS n, node AS n RETURN 1", SYNTAX),
        ("MATCH (n) CALL apoc.create.node(['A'], {}) YIELD node AS n RETURN 1", SYNTAX),
        (
            "MATCH (n) WHERE EXISTS { CALL apoc.create.node(['A'], {}) YIELD node RETURN node } RETURN n",
            SYNTAX,
        ),
    ] {
        assert_eq!(rows(&mut called, text, params! {}), Err(code.to_string()), "{text}");
    }
    for (text, found) in [
        ("CALL apoc.create.node(['A'], {}) YIELD node AS a, node AS b RETURN a = b", "[Bool(true)]"),
        (
            "CALL apoc.create.node(['A'], {id: 7}) YIELD node WITH * WHERE node.id = 7 RETURN count(*)",
            "[Int(1)]",
        ),
        (
            "CALL apoc.create.node(['A'], {id: 7}) YIELD node AS n CALL apoc.create.node(['A'], {id: n.id + 1}) YIELD node AS m RETURN m.id",
            "[Int(8)]",
        ),
        (
            "MATCH (n {id: 8}) CALL apoc.create.addLabels(n, ['Z']) YIELD node AS a, node AS b RETURN a:Z AND b = n",
            "[Bool(true)]",
        ),
        (
            "WITH 1 AS ` made` CALL apoc.create.node(['A'], {id: 10}) YIELD node AS n CALL apoc.create.node(['A'], {id: 11}) YIELD node AS ` n` WITH * RETURN ` made` + n.id + ` n`.id",
            "[Int(22)]",
        ),
        ("CALL apoc.create.node(['A'], {id: 9}) YIELD node WHERE node.id = 8 RETURN count(*)", "[Int(0)]"),
    ] {
        assert_eq!(rows(&mut called, text, params! {}), Ok(vec![found.to_string()]), "{text}");
    }
}

/// What the tools read of a small graph, all of which is in the sample, is what questions about all of it find.
#[test]
fn a_sample_of_all_tells_what_questions_about_all_tell() {
    let mut session = session();
    let make = "UNWIND range(1, 40) AS i CREATE (a:A {i: i})-[:T {w: i}]->(:B {s: 'x' + i, f: CASE WHEN i < 9 THEN i * 0.5 END}), (a)-[:U]->(:A:C) SET a.d = date()";
    rows(&mut session, make, params! {}).unwrap();
    for (call, twin) in [
        (
            "CALL apoc.meta.data() YIELD label, property, count, type, elementType WHERE type <> 'RELATIONSHIP' AND elementType = 'node' RETURN label, property, count",
            "MATCH (n) UNWIND labels(n) AS label UNWIND keys(n) AS property RETURN label, property, count(*)",
        ),
        (
            "CALL apoc.meta.data() YIELD label, property, count, other, type WHERE type = 'RELATIONSHIP' UNWIND other AS end RETURN label, property, end",
            "MATCH (a)-[r]->(b) UNWIND labels(a) AS label UNWIND labels(b) AS end RETURN DISTINCT label, type(r), end",
        ),
        (
            "CALL apoc.meta.relTypeProperties() YIELD relType, propertyName, propertyObservations, totalObservations RETURN relType, propertyName, propertyObservations, totalObservations",
            "RETURN ':`T`', 'w', 40 AS some, 40 AS of",
        ),
        ("CALL apoc.meta.stats() YIELD nodeCount, relCount, labels", "RETURN 120, 80, {A: 80, B: 40, C: 40}"),
        (
            "CALL apoc.schema.properties.distinct('B', 'f') YIELD value UNWIND value AS v RETURN v",
            "MATCH (b:B) WHERE b.f IS NOT NULL RETURN DISTINCT b.f",
        ),
        (
            "CALL apoc.meta.data({sample: 1}) YIELD label, property, count, type, elementType WHERE elementType = 'node' AND type = 'STRING' RETURN count",
            "RETURN 1",
        ),
        (
            "CALL apoc.meta.graph() YIELD relationships UNWIND relationships AS r RETURN apoc.any.property(r, 'type'), r.count, r.start, r.end",
            "UNWIND [['T', 40, 'A', 'B'], ['U', 40, 'A', 'A'], ['U', 40, 'A', 'C']] AS r RETURN r[0], r[1], r[2], r[3]",
        ),
    ] {
        assert_eq!(rows(&mut session, call, params! {}), rows(&mut session, twin, params! {}), "{call}");
    }
}
