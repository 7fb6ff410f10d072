//! Bulk load: edge lists and social networks against COPY of Kuzu and LadybugDB on the same files, and a network of scale factor 1
//! from our own generator within a minute and 1.2 GB.
//!
//! What was loaded is verified: all counts, and the degrees of a hub and of other vertices. Peers get their best settings (all
//! threads, tables made beforehand, COPY alone is timed, and nothing but COPY).

use super::social_graph::{self, Counts, SF1};
use super::told;
use crate::data;
use crate::edge_list;
use crate::peers::{COPY, KUZU_SOCIAL};
use crate::power_law::{FIRST, Graph};
use crate::report::Report;
use crate::rmat;
use crate::timing::timed;
use database::{Database, ImportOptions, ImportReport, Options, Value, params};
use serde_json::{Value as Json, json};
use std::path::Path;
use world::files::{self, TemporaryFolder};
use world::memory::{resident_bytes, resident_bytes_peak};

/// Import must take less than this part of the fastest COPY.
const IMPORT_PART_MAX: f64 = 0.5;
/// The generated network must be there within this time, and take no more than this.
const SF1_SECONDS_MAX: f64 = 60.0;
const SF1_RESIDENT_BYTES_MAX: u64 = 1_200_000_000;
/// Social networks of others, packed, and the least of them that is compared.
const SETS: [&str; 2] = ["snb-like-sf0.1", "snb-like-sf0.3"];
/// Vertices whose degree is checked.
const DEGREES_ASKED: u32 = 20;

/// Runs all parts. The network of scale factor 1 comes first, while the process is small: its memory is one of the figures.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    scale_factor_1(report)?;
    let graph = Graph::generate(&FIRST);
    let edges = graph.edges().collect::<Vec<_>>();
    edge_list("power law, 1 M edges", &edges, report)?;
    edge_list("RMAT scale 20, 16.8 M edges", &rmat::edges(&rmat::SCALE_20), report)?;
    for set in SETS {
        match data {
            Some(folder) => social(folder, set, report)?,
            None => {
                report.skipped(&format!("import of {set}"), "it needs --data with a folder that holds it")
            }
        }
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn scratch() -> Result<TemporaryFolder, String> {
    let cache = data::cache_folder();
    files::create_folder(&cache).and_then(|()| TemporaryFolder::inside(&cache, "bulk")).map_err(text)
}

/// Imports into a fresh database; the database, the import's report, and seconds.
fn import(place: &Path, options: ImportOptions) -> Result<(Database, ImportReport, f64), String> {
    let database =
        Database::open(place.join("database"), Options::default()).map_err(|error| told(&error))?;
    let (imported, time_ms) = timed(|| database.import(&options));
    let imported = imported.map_err(|error| told(&error))?;
    Ok((database, imported, time_ms / 1e3))
}

/// The one number that a query gives.
fn number(database: &Database, text: &str, source: u32) -> Result<i64, String> {
    let rows =
        database.session().query(text, params! { "s" => i64::from(source) }).and_then(|result| result.rows());
    match rows.map_err(|error| told(&error))?.first().and_then(|row| row.first()) {
        Some(Value::Int(number)) => Ok(*number),
        other => Err(format!("`{text}` gave {other:?}")),
    }
}

fn scale_factor_1(report: &mut Report) -> Result<(), String> {
    report.section("bulk load: a social network of scale factor 1, our own generator");
    let place = scratch()?;
    let folder = place.path().join("network");
    let (written, time_ms) = timed(|| social_graph::write(&SF1, &folder));
    let counts = written.map_err(text)?;
    let (vertices, edges, megabytes) = (counts.vertices, counts.edges, counts.bytes / 1_000_000);
    let seconds = time_ms / 1e3;
    report.note(format!(
        "{vertices} vertices, {edges} edges, {megabytes} MB, seed {}, written in {seconds:.1} s",
        SF1.seed
    ));
    let options = ImportOptions { from: folder, ..ImportOptions::default() };
    let (database, imported, seconds) = import(place.path(), options)?;
    let peak = resident_bytes_peak();
    let right = verify_network(&database, &imported, &counts)?;
    report.figure("SF1: every row is there", right, "all counts right", right == "all counts right");
    let target = format!("under {SF1_SECONDS_MAX} s");
    report.figure("SF1: import", &format!("{seconds:.1} s"), &target, seconds < SF1_SECONDS_MAX);
    let memory = database.snapshot().memory();
    let shown = |bytes: usize| bytes / 1_000_000;
    report.note(format!(
        "{} MB accounted: adjacency {}, vertex properties {}, edge properties {}, deltas {}, indexes {}; {:.1} bytes of adjacency an edge",
        shown(memory.total_bytes()),
        shown(memory.adjacency_bytes),
        shown(memory.vertex_property_bytes),
        shown(memory.edge_property_bytes),
        shown(memory.delta_bytes),
        shown(memory.index_bytes),
        memory.adjacency_bytes as f64 / edges as f64,
    ));
    let target = format!("at most {} MB", SF1_RESIDENT_BYTES_MAX / 1_000_000);
    match resident_bytes() {
        Some(bytes) => {
            let shown = format!("{} MB", bytes / 1_000_000);
            report.figure("SF1: resident afterwards", &shown, &target, bytes <= SF1_RESIDENT_BYTES_MAX);
        }
        None => report.skipped("SF1: resident afterwards", "the system does not say"),
    }
    if let Some(peak) = peak {
        let times = peak as f64 / memory.total_bytes() as f64;
        let shown = format!("{} MB, {times:.2} x", peak / 1_000_000);
        report.figure("SF1: resident at the peak", &shown, "at most 2 x what is accounted", times <= 2.0);
    }
    database.close().map_err(|error| told(&error))
}

/// Compares counts by label and by type with the generated ones.
fn verify_network(
    database: &Database,
    imported: &ImportReport,
    written: &Counts,
) -> Result<&'static str, String> {
    let count = |text: &str| number(database, text, 0);
    let message_count = count("MATCH (m:Message) RETURN count(m)")?;
    let authors = count("MATCH (:Message)-[:HAS_CREATOR]->(:Person) RETURN count(*)")?;
    let joined = count("MATCH (:Forum)-[joined:HAS_MEMBER]->() WHERE joined.joinDate > 0 RETURN count(*)")?;
    let longest = count("MATCH (c:Comment) WHERE size(c.content) <> c.length RETURN count(c)")?;
    let members =
        imported.by_type.iter().find(|(name, _)| name == "HAS_MEMBER").map(|(_, count)| *count as i64);
    Ok(if imported.rejected > 0 {
        "rows were rejected"
    } else if (imported.vertices, imported.edges) != (written.vertices, written.edges)
        || count("MATCH (n) RETURN count(n)")? as u64 != written.vertices
        || count("MATCH ()-[e]->() RETURN count(e)")? as u64 != written.edges
    {
        "counts differ"
    } else if message_count as u64 != SF1.posts + SF1.comments
        || authors != message_count
        || Some(joined) != members
        || longest != 0
    {
        "contents differ"
    } else {
        "all counts right"
    })
}

fn edge_list(name: &str, edges: &[(u32, u32)], report: &mut Report) -> Result<(), String> {
    report.section(&format!("bulk load: {name}"));
    let place = scratch()?;
    let file = place.path().join("edges.txt");
    edge_list::write(&file, edges.iter().copied())?;
    let vertices = edges.iter().map(|(source, target)| source.max(target) + 1).max().unwrap_or(0);
    let questions = json!({ "vertices": vertices });
    files::write_bytes(&place.path().join("questions.json"), questions.to_string().as_bytes())
        .map_err(text)?;
    let options = edge_list::options(file);
    let (database, imported, seconds) = import(place.path(), options)?;
    let fault = verify_edges(&database, edges, vertices, &imported)?;
    let shown = fault.clone().unwrap_or_else(|| "all right".into());
    report.figure("edges and degrees", &shown, "all right", fault.is_none());
    drop(database);
    let copies = COPY.iter().map(|peer| (peer.name, peer.run(place.path(), &[]), "copy_seconds"));
    let rate = imported.edges as f64 / seconds / 1e6;
    report.note(format!("{rate:.1} M edges a second, durable"));
    judge("import against COPY", seconds, copies.collect(), report);
    Ok(())
}

fn verify_edges(
    database: &Database,
    edges: &[(u32, u32)],
    vertices: u32,
    imported: &ImportReport,
) -> Result<Option<String>, String> {
    let mut degrees = vec![(0i64, 0i64); vertices as usize];
    for (source, target) in edges {
        degrees[*source as usize].0 += 1;
        degrees[*target as usize].1 += 1;
    }
    let met = degrees.iter().filter(|degrees| **degrees != (0, 0)).count() as u64;
    if (imported.edges, imported.vertices, imported.rejected) != (edges.len() as u64, met, 0) {
        return Ok(Some(format!("{} vertices and {} edges", imported.vertices, imported.edges)));
    }
    let hub = (0..vertices).max_by_key(|vertex| degrees[*vertex as usize].0).unwrap_or(0);
    let asked = (0..DEGREES_ASKED).map(|at| at * (vertices / DEGREES_ASKED)).chain([hub]);
    for vertex in asked.filter(|vertex| degrees[*vertex as usize] != (0, 0)) {
        let out = number(database, "MATCH (:N {id: $s})-[:E]->() RETURN count(*)", vertex)?;
        let into = number(database, "MATCH (:N {id: $s})<-[:E]-() RETURN count(*)", vertex)?;
        if (out, into) != degrees[vertex as usize] {
            return Ok(Some(format!("vertex {vertex} has {out} and {into} edges")));
        }
    }
    Ok(None)
}

fn social(folder: &Path, set: &str, report: &mut Report) -> Result<(), String> {
    report.section(&format!("bulk load: {set}"));
    let (unpacked, _) = data::unpacked(folder, set)?;
    let network =
        data::find_folder(&unpacked, "social_network").ok_or("the archive holds no social_network")?;
    let place = scratch()?;
    let options = ImportOptions { from: network.clone(), ..ImportOptions::default() };
    let (database, imported, seconds) = import(place.path(), options)?;
    let vertices = number(&database, "MATCH (n) RETURN count(n)", 0)? as u64;
    let edges = number(&database, "MATCH ()-[e]->() RETURN count(e)", 0)? as u64;
    let right = (vertices, edges, 0) == (imported.vertices, imported.edges, imported.rejected);
    report.figure(
        "every row is there",
        &format!("{vertices} vertices, {edges} edges"),
        "none rejected",
        right,
    );
    drop(database);
    let questions = json!({ "persons": [], "messages": [] }).to_string();
    let copy = KUZU_SOCIAL.run(&network, &[&questions]);
    judge("import against COPY", seconds, vec![(KUZU_SOCIAL.name, copy, "copy_seconds")], report);
    Ok(())
}

/// Our time against that of each peer that could be run; the fastest of them counts.
fn judge(name: &str, seconds: f64, copies: Vec<(&str, Result<Json, String>, &str)>, report: &mut Report) {
    let mut fastest: Option<(f64, String)> = None;
    for (peer, answer, key) in copies {
        match answer {
            Ok(answer) => {
                let copy = answer[key].as_f64().unwrap_or(f64::NAN);
                let version = answer["version"].as_str().unwrap_or("?");
                report.note(format!("{peer} {version}: COPY in {copy:.2} s"));
                if fastest.as_ref().is_none_or(|(best, _)| copy < *best) {
                    fastest = Some((copy, peer.to_string()));
                }
            }
            Err(why) => report.skipped(&format!("{name} of {peer}"), &why),
        }
    }
    if let Some((copy, peer)) = fastest {
        let measured = format!("{seconds:.2} s, {:.1} x as fast", copy / seconds);
        let target = format!("at least {:.0} x as fast ({peer}: {copy:.2} s)", 1.0 / IMPORT_PART_MAX);
        report.figure(name, &measured, &target, seconds < copy * IMPORT_PART_MAX);
    }
}
