//! `bench programs`: node programs beside their twins, what a node costs, what the cache gains (Weaver, Figure 5.18),
//! blocks of a chain (Figures 5.12 and 5.13, Table 5.1), and traversals (Figure 5.16).
//!
//! Every answer is checked: programs against their twins in Cypher or among the graph procedures, cached calls against the same calls that are never
//! cached, request by request in one snapshot. Both sides of a figure take turns in one run.

mod blocks;
mod caching;
mod nodes;
mod traversals;

use crate::data;
use crate::edge_list;
use crate::power_law::{Graph, Shape};
use crate::report::Report;
use database::{Database, Options, Session, Value, params};
use std::path::Path;
use world::files::{self, TemporaryFolder};

/// The graph of the figures a node: every figure divides by its vertices.
const WHOLE: Shape = Shape { vertices: 100_000, edges: 1_000_000, exponent: 2.3, rank_shift: 10.0, seed: 42 };

/// All parts.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let parts = report.choice.among(&["nodes", "caching", "blocks", "traversals"]);
    if parts.contains(&"nodes") {
        nodes::run(&WHOLE, report)?;
    }
    if parts.contains(&"caching") {
        caching::run(data, report)?;
    }
    if parts.contains(&"blocks") {
        blocks::run(data, report)?;
    }
    if parts.contains(&"traversals") {
        traversals::run(data, report)?;
    }
    Ok(())
}

/// A graph in memory: nodes `:N` with `id`, relationships `:E`.
fn loaded(graph: &Graph, report: &Report) -> Result<Database, String> {
    let told = |error: world::disk::DiskError| error.to_string();
    let cache = data::cache_folder();
    files::create_folder(&cache).map_err(told)?;
    let place = TemporaryFolder::inside(&cache, "programs").map_err(told)?;
    edge_list::write(&place.path().join("edges.txt"), graph.edges())?;
    let opened = Database::open(database::MEMORY, Options::default());
    let database = opened.map_err(|error| crate::first::told(&error))?;
    let imported = database.import(&edge_list::options(place.path().join("edges.txt")));
    let imported = imported.map_err(|error| crate::first::told(&error))?;
    report.note(format!("{} nodes, {} relationships, in memory", graph.vertex_count(), imported.edges));
    match imported.edges == graph.edge_count() as u64 {
        true => Ok(database),
        false => Err(format!("{} edges were imported of {}", imported.edges, graph.edge_count())),
    }
}

/// The only row of a statement.
fn row(session: &mut Session, text: &str, vertex: u32) -> Result<Vec<Value>, String> {
    let asked = session.query(text, params! { "s" => i64::from(vertex) });
    let rows = asked.and_then(|result| result.rows()).map_err(|error| crate::first::told(&error))?;
    let count = rows.len();
    match <[Vec<Value>; 1]>::try_from(rows) {
        Ok([row]) => Ok(row),
        Err(_) => Err(format!("{count} rows of one: {text}")),
    }
}

/// Are these the same numbers? Sums of floats may be added up in any order.
fn agree(one: &[Value], other: &[Value]) -> bool {
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(a, b)| matches!((number(a), number(b)), (Some(a), Some(b)) if close(a, b)))
}
