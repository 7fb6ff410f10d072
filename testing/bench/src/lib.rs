//! # bench: figures that are checked
//!
//! A bench loads real data, asks it, verifies every answer, times it, and holds each figure against its target in the same run. A wrong
//! answer is a failure whatever its time. [`run`] starts one by name; each bench is a module of its own.
//!
//! Reading order: [`report`] (figures and their verdicts), [`timing`], [`data`] (packed data to a cache), [`ldbc`] (the interactive
//! workload: texts, expected rows, updates), [`power_law`] (a generated graph and its reference answers), [`peers`] (other engines on
//! the same data), [`figures`] (a page of all that the papers show), then the benches: `first`, `cypher`, `gremlin`, `recursive`, `bolt`, `store`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod analytics;
mod banyan;
mod bi;
mod bolt;
mod choice;
mod cluster;
mod cypher;
pub mod datalog;
mod edge_list;
pub mod figures;
mod first;
pub mod graphs;
mod gremlin;
mod kronos;
pub mod ldbc;
pub mod peers;
pub mod power_law;
mod programs;
mod recursive;
pub mod report;
mod rights;
mod rmat;
mod standing;
mod store;
pub mod timing;
mod tpch;

pub use choice::Choice;
pub use experiment::data;
use report::Report;
use std::path::Path;

/// The entry of a bench: the folder of data, and the report. An error means it could not be run.
type Bench = fn(Option<&Path>, &mut Report) -> Result<(), String>;

/// Every bench: its name, what it measures, and its entry.
const BENCHES: &[(&str, &str, Bench)] = &[
    ("first", "import, the LDBC interactive queries and updates, and hops on a power-law graph", first::run),
    ("cypher", "complex reads and subgraph counts beside other graph databases", cypher::run),
    ("analytics", "questions about a whole graph beside column stores", analytics::run),
    ("tpch", "the 22 queries of TPC-H over a graph, each asked of all rows, beside DuckDB", tpch::run),
    ("bi", "the 20 business intelligence reads of the social network, beside Kuzu and DuckDB", bi::run),
    ("gremlin", "traversals beside their twins in Cypher", gremlin::run),
    ("banyan", "scopes, policies and the isolation of tenants", banyan::run),
    (
        "recursive",
        "paths of many sources, policies, pairs, walks that explode; beside bare searches",
        recursive::run,
    ),
    ("bolt", "look-ups and rows a second over Bolt", bolt::run),
    (
        "cluster",
        "a cluster on this machine: the mix of TAO, strict reads, commits beside PostgreSQL",
        cluster::run,
    ),
    ("datalog", "rules: full answers, single facts that go, questions with bound values", datalog::run),
    (
        "kronos",
        "the event ordering service: figures 5.1 to 5.8 of Weaver, and its graph in process",
        kronos::run,
    ),
    (
        "programs",
        "node programs: a node beside its own work, twins, caching, blocks, traversals (Weaver, 5.12 to 5.18)",
        programs::run,
    ),
    ("rights", "what restrictions, log and traces cost on the interactive reads", rights::run),
    ("standing", "standing queries: first answers, deliveries, what they cost", standing::run),
    ("store", "all of the store's figures", store::run),
    ("store-bulk", "bulk load against COPY, and a network of scale factor 1", store::bulk::run),
    ("store-tao", "many clients with the mix of TAO", store::tao::run),
    ("store-commits", "commits a second beside the bare log", store::tao::commits),
    ("store-stalls", "how long a commit takes beside chores", store::stalls::run),
    ("store-readers", "readers beside a writer, scans of a dirty graph", store::readers::run),
    ("store-memory", "bytes an edge", store::memory::run),
    ("store-recovery", "a million commits replayed", store::recovery::run),
    ("store-size", "a graph beyond the memory budget, opens of two sizes", store::size::run),
];

/// Runs the bench `name` and prints one line a figure; true if every figure reached its target.
///
/// `data` is a folder of packed data sets; what is needed of it is unpacked into a cache. Without it only generated data is used.
///
/// `choice` leaves parts out, where the bench has parts.
///
/// # Errors
/// There is no bench of that name, or it could not be run at all.
pub fn run(name: &str, data: Option<&Path>, choice: Choice) -> Result<bool, String> {
    let Some((_, _, bench)) = BENCHES.iter().find(|(known, ..)| *known == name) else {
        let known: Vec<String> = BENCHES.iter().map(|(name, what, _)| format!("`{name}` ({what})")).collect();
        return Err(format!("there is no bench `{name}`; known: {}", known.join(", ")));
    };
    let mut report = Report::begin(name, data, choice);
    bench(data, &mut report)?;
    Ok(report.end())
}
