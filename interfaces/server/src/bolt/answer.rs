//! The metadata of SUCCESS: at a result's end, after a commit, for routes.

use super::Version;
use super::gql;
use super::notices::{self, Filter};
use database::{QueryResult, RequestKind, Summary};
use model::{Map, Value};
use std::sync::Arc;

/// Name of the one database, as drivers know it.
pub const DATABASE: &str = "neo4j";
/// Seconds that a routing table is good for.
const ROUTES_TTL_SECONDS: i64 = 300;

/// The client's version and filter.
pub(super) struct Telling<'a> {
    pub version: Version,
    pub filter: &'a Filter,
    pub in_transaction: bool,
}

/// Of a result that was read or discarded to its end.
pub(super) fn finished(result: &QueryResult, has_sent: bool, telling: &Telling<'_>) -> Map {
    let summary = result.summary();
    let kind = match summary.kind {
        RequestKind::Read => "r",
        RequestKind::ReadWrite => "rw",
        RequestKind::Write => "w",
        RequestKind::Schema => "s",
    };
    let mut metadata = map([
        ("type", kind.into()),
        ("db", DATABASE.into()),
        ("t_last", Value::Int(summary.elapsed.as_millis() as i64)),
    ]);
    if !telling.in_transaction {
        metadata.insert("bookmark".into(), super::bookmark::of(summary.commit_version));
    }
    let stats = statistics(summary);
    if !stats.is_empty() {
        metadata.insert("stats".into(), Value::map(stats));
    }
    if let Some(plan) = &summary.plan {
        metadata.insert(if summary.profiled { "profile" } else { "plan" }.into(), database::plan_value(plan));
    }
    tell_notices(&mut metadata, result, has_sent, telling);
    metadata
}

fn tell_notices(metadata: &mut Map, result: &QueryResult, has_sent: bool, telling: &Telling<'_>) {
    let notices = result.summary().notifications.iter().filter(|notice| telling.filter.passes(notice));
    if telling.version.has_statuses() {
        let outcome = gql::outcome(!result.columns().is_empty(), has_sent);
        let statuses = std::iter::once(outcome).chain(notices.map(notices::status)).collect();
        metadata.insert("statuses".into(), Value::list(statuses));
    } else {
        let notices: Vec<Value> = notices.map(notices::notification).collect();
        if !notices.is_empty() {
            metadata.insert("notifications".into(), Value::list(notices));
        }
    }
}

/// A table of these servers, each in every role.
pub(super) fn routes(addresses: &[&str]) -> Map {
    let addresses: Vec<Value> = addresses.iter().map(|address| (*address).into()).collect();
    let server =
        |role: &str| Value::map([("addresses", Value::list(addresses.clone())), ("role", role.into())]);
    let servers = ["WRITE", "READ", "ROUTE"].map(server).to_vec();
    let table =
        [("ttl", Value::Int(ROUTES_TTL_SECONDS)), ("db", DATABASE.into()), ("servers", Value::list(servers))];
    map([("rt", Value::map(table))])
}

/// A map of these pairs.
pub(super) fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map {
    pairs.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// The counters of a request, by Neo4j's names; empty where it changed nothing.
fn statistics(summary: &Summary) -> Map {
    let counters = &summary.counters;
    let counts = [
        ("nodes-created", counters.nodes_created),
        ("nodes-deleted", counters.nodes_deleted),
        ("relationships-created", counters.relationships_created),
        ("relationships-deleted", counters.relationships_deleted),
        ("properties-set", counters.properties_set),
        ("labels-added", counters.labels_added),
        ("labels-removed", counters.labels_removed),
        ("indexes-added", summary.schema.indexes_added),
        ("indexes-removed", summary.schema.indexes_removed),
        ("constraints-added", summary.schema.constraints_added),
        ("constraints-removed", summary.schema.constraints_removed),
    ];
    let mut stats: Map = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (Arc::from(name), Value::Int(count as i64)))
        .collect();
    if !stats.is_empty() {
        stats.insert("contains-updates".into(), true.into());
    }
    stats
}
