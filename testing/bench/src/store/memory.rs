//! Bytes per edge: both directions, no properties, versions compacted.
//!
//! The graph is imported, checkpointed and opened anew, so nothing is left of the import; then every chunk is read, and the store reports its memory.
//! The growth of the process is reported beside it.

use super::{scratch, told};
use crate::edge_list;
use crate::power_law::{Graph, Shape};
use crate::report::Report;
use database::{Database, Options, Params};
use std::path::Path;
use world::memory::resident_bytes;

/// Bytes an edge may take.
const BYTES_AN_EDGE_MAX: f64 = 16.0;
const SHAPE: Shape = Shape { vertices: 200_000, edges: 4_000_000, exponent: 2.3, rank_shift: 10.0, seed: 43 };
/// Meets every edge from both ends.
const BOTH_WAYS: &str = "MATCH (a:N)-[:E]-(b) RETURN count(b)";

/// Measures it.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("memory of edges without properties, both directions");
    let place = scratch("memory")?;
    let (file, path) = (place.path().join("edges.txt"), place.path().join("database"));
    let edges = write_edges(&file)?;
    let database = Database::open(&path, Options::default()).map_err(|error| told(&error))?;
    let options = edge_list::options(file);
    database.import(&options).map_err(|error| told(&error))?;
    database.close().map_err(|error| told(&error))?;
    let before = resident_bytes();
    let database = Database::open(&path, Options::default()).map_err(|error| told(&error))?;
    let met = database.session().query(BOTH_WAYS, Params::new()).and_then(|result| result.single());
    let met = met.map_err(|error| told(&error))?;
    if met.as_int() != Some(2 * edges as i64) {
        return Err(format!("{met:?} ends of {edges} edges were met"));
    }
    let memory = database.snapshot().memory();
    let held = (memory.adjacency_bytes + memory.delta_bytes) as f64 / edges as f64;
    let grown = before.zip(resident_bytes()).map(|(before, after)| after.saturating_sub(before));
    report.note(format!(
        "Chung-Lu, {} vertices, {edges} edges, seed {}; properties {} bytes, indexes {} bytes; the process grew by {} MB",
        SHAPE.vertices,
        SHAPE.seed,
        memory.vertex_property_bytes + memory.edge_property_bytes,
        memory.index_bytes,
        grown.map_or("?".to_string(), |bytes| (bytes >> 20).to_string())
    ));
    let target = format!("at most {BYTES_AN_EDGE_MAX}");
    report.figure("bytes an edge", &format!("{held:.1}"), &target, held <= BYTES_AN_EDGE_MAX);
    Ok(())
}

/// Writes the edge list; how many edges it has.
fn write_edges(file: &Path) -> Result<usize, String> {
    let graph = Graph::generate(&SHAPE);
    edge_list::write(file, graph.edges())?;
    Ok(graph.edge_count())
}
