//! The functions and procedures of Cypher 5, as Neo4j 5.26 lists them, held against ours: each is here, or the guide says that it is not.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;
use tanglewood_database::{Database, MEMORY, Options, Params};

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
