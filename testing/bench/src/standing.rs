//! Standing queries: how soon a new one answers, how soon a commit is told, and what they cost those who commit.
//!
//! Every answer is checked against plain search over the same edges. Graph, arguments and changes come from seeds.

mod beside;
mod large;
mod recursive;
mod retained;
mod tpch;
mod ttc;

use crate::edge_list;
use crate::power_law::{FIRST, Graph, Shape};
use crate::report::Report;
use crate::store::{scratch, told};
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Event, Options, Params, Session, Subscription, Value, params};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::files;
use world::threads::in_parallel;

const SEED: u64 = 23;
/// Commits that are timed.
const COMMITS: usize = 300;
/// How long anybody waits for news before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Parts by name.
const PARTS: [&str; 8] = ["new", "sustained", "recursive", "beside", "retained", "ttc", "tpch", "tpch-0.1"];

/// Measures all of it, or the parts that were named.
pub fn run(folder: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let (place, parts) = (scratch("standing")?, report.choice.among(&PARTS));
    let has = |part: &str| parts.contains(&part);
    if has("new") || has("sustained") {
        large::run(&place.path().join("large"), has("new"), has("sustained"), report)?;
    }
    if has("recursive") {
        recursive::run(&place.path().join("recursive"), report)?;
    }
    if has("beside") {
        beside::run(&place.path().join("beside"), report)?;
    }
    if has("retained") {
        retained::run(&place.path().join("retained"), report)?;
    }
    if has("tpch") {
        tpch::run(0.01, report)?;
    }
    // Minutes of it: only where it is asked for by name.
    if has("tpch-0.1") && !report.choice.only.is_empty() {
        tpch::run(0.1, report)?;
    }
    match folder {
        Some(folder) if has("ttc") => ttc::run(folder, report)?,
        None if has("ttc") => report.skipped("the Transformation Tool Contest", "it needs --data"),
        _ => {}
    }
    Ok(())
}

fn loaded(graph: &Graph, path: &Path) -> Result<Database, String> {
    files::create_folder(path).map_err(|error| error.to_string())?;
    let file = path.join("edges.txt");
    edge_list::write(&file, graph.edges())?;
    let database = Database::open(path.join("db"), Options::default()).map_err(|error| told(&error))?;
    let options = edge_list::options(file);
    database.import(&options).map_err(|error| told(&error))?;
    Ok(database)
}

fn described(graph: &Graph, shape: &Shape, report: &Report) {
    let (vertices, edges) = (graph.vertex_count(), graph.edge_count());
    report.note(format!(
        "Chung-Lu, {vertices} vertices, {edges} edges, seed {}; arguments by seed {SEED}",
        shape.seed
    ));
}

/// Rows of an answer: values of the first column, and how often.
fn rows(event: &Event, subscription: &Subscription, found: &mut BTreeMap<i64, isize>) {
    let at = subscription.columns()[0].at;
    if let Event::Snapshot { rows, .. } | Event::Changes { rows, .. } = event {
        for (row, count) in rows.iter() {
            *found.entry(row.values()[at].as_int().unwrap_or(-1)).or_insert(0) += count;
        }
        found.retain(|_, count| *count != 0);
    }
}

/// Waits until the subscriber knows of this commit.
fn read_to(subscription: &Subscription, place: u64, found: &mut BTreeMap<i64, isize>) -> Result<(), String> {
    loop {
        let event = subscription.next(PATIENCE).map_err(|end| format!("a subscription ended: {end:?}"))?;
        let event = event.ok_or("a subscriber was told nothing for a minute")?;
        rows(&event, subscription, found);
        if event.commit_version() >= place {
            return Ok(());
        }
    }
}

fn arguments(source: u32, target: u32) -> Params {
    params! { "s" => i64::from(source), "t" => i64::from(target) }
}

fn write(session: &mut Session, text: &str, params: Params) -> Result<u64, String> {
    let summary =
        session.query(text, params).and_then(|result| result.finish()).map_err(|error| told(&error))?;
    Ok(summary.commit_version)
}
