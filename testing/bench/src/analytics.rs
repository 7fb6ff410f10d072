//! Questions about a whole graph: groups, filters, sorts, joins and counts of patterns, beside column stores on the same files.
//!
//! The graph is generated ([`graph`]): a million people with five properties, five million edges with two, a million edges of another
//! type. Every answer is compared with the one that plain arrays give ([`questions`]); those of other engines as well.

mod graph;
mod questions;

use crate::data;
use crate::first::told;
use crate::peers::ANALYTICS;
use crate::report::Report;
use crate::timing::{shown_ms, timed};
use database::{Database, ImportOptions, Limits, Options, Params, Session, Value};
use graph::{Graph, SHAPE};
use questions::{Question, Right};
use serde_json::Value as Json;
use std::path::Path;
use world::files::{self, TemporaryFolder};

/// Calls of each question; the fastest counts, as with the other engines.
const ROUNDS: usize = 5;
/// Of the fastest other engine's time, the share that is wanted at most, by engine.
const SHARES: [(&str, f64); 2] = [("Kuzu", 1.0), ("DuckDB", 1.5)];
/// Memory of a query that has little, in bytes: less than the million rows take that some questions sort or group.
const LITTLE_BYTES: u64 = 16 << 20;
/// How far a float may be from the sum that plain arrays give, relative to its size.
const TOLERANCE: f64 = 1e-9;

/// Time of one question, or why there is none.
type Outcome = Result<f64, String>;

/// Runs every question that was chosen.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let graph = Graph::generate(&SHAPE);
    report.note(format!(
        "{} people, {} KNOWS, {} LIKES, seed {}",
        SHAPE.people, SHAPE.knows, SHAPE.likes, SHAPE.seed
    ));
    let questions = questions::all(&graph);
    let names: Vec<&str> = questions.iter().map(|question| question.name).collect();
    let chosen = report.choice.among(&names);
    let questions: Vec<&Question> =
        questions.iter().filter(|question| chosen.contains(&question.name)).collect();
    let cache = data::cache_folder();
    let place = files::create_folder(&cache)
        .and_then(|()| TemporaryFolder::inside(&cache, "analytics"))
        .map_err(|error| error.to_string())?;
    graph.write(place.path())?;
    let database = loaded(place.path(), report)?;
    report.section(&format!("the fastest of {ROUNDS} calls, every answer checked"));
    let mut session = database.session();
    let ours: Vec<Outcome> = questions.iter().map(|question| asked(question, &mut session)).collect();
    with_little(&questions, &ours, &database, report);
    let peers = peers(&questions, place.path(), report);
    for (question, ours) in questions.iter().zip(ours) {
        judge(question, ours, &peers, report);
    }
    drop(session);
    database.close().map_err(|error| told(&error))
}

/// Runs each question once more with little memory, which measures what spilling costs.
fn with_little(questions: &[&Question], ours: &[Outcome], database: &Database, report: &mut Report) {
    let mut session = database.session();
    session.set_limits(Limits { timeout: None, bytes_max: Some(LITTLE_BYTES) });
    for (question, ours) in questions.iter().zip(ours) {
        let before = database.spilled_bytes();
        let (answer, time_ms) = timed(|| answer(question, &mut session));
        let outcome = answer.and_then(|answer| question.right.check(&answer));
        let put_aside = database.spilled_bytes() - before;
        let told = match (outcome, ours) {
            (Err(error), _) => error,
            (Ok(()), Ok(ours)) if put_aside > 0 => {
                format!(
                    "{}, {:.1} times as long, {} kB put aside",
                    shown_ms(time_ms),
                    time_ms / ours,
                    put_aside / 1000
                )
            }
            (Ok(()), _) => continue,
        };
        report.note(format!("{} with {} MiB: {told}", question.name, LITTLE_BYTES >> 20));
    }
}

fn loaded(place: &Path, report: &mut Report) -> Result<Database, String> {
    let database = Database::open(place.join("graph"), Options::default()).map_err(|error| told(&error))?;
    let options = ImportOptions { mapping: graph::mapping(place), ..ImportOptions::default() };
    let (imported, time_ms) = timed(|| database.import(&options));
    imported.map_err(|error| told(&error))?;
    report.note(format!("ours        loaded in {:.2} s", time_ms / 1e3));
    Ok(database)
}

/// The fastest of some calls; each answer is checked.
fn asked(question: &Question, session: &mut Session) -> Outcome {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (answer, time_ms) = timed(|| answer(question, session));
        question.right.check(&answer?)?;
        best = best.min(time_ms);
    }
    Ok(best)
}

/// Rows as numbers and texts; of a long answer the columns alone are read, as a program would that goes on with them.
fn answer(question: &Question, session: &mut Session) -> Result<Vec<Vec<Json>>, String> {
    let mut result = session.query(question.cypher, Params::new()).map_err(|error| told(&error))?;
    if let Right::Sorted(_) = question.right {
        return sorted(&mut result);
    }
    let rows = result.rows().map_err(|error| told(&error))?;
    Ok(rows.into_iter().map(|row| row.iter().map(json).collect()).collect())
}

/// Rows, whether they are sorted, the first and the last.
fn sorted(result: &mut database::QueryResult) -> Result<Vec<Vec<Json>>, String> {
    let (mut rows, mut is_sorted) = (0, true);
    let (mut first, mut last) = (None, f64::NEG_INFINITY);
    while let Some(batch) = result.next_batch().map_err(|error| told(&error))? {
        for row in 0..batch.len() {
            let Value::Float(float) = batch.get(row, 0) else { return Err("a float was expected".into()) };
            is_sorted &= last <= float;
            first = first.or(Some(float));
            last = float;
        }
        rows += batch.len();
    }
    Ok(vec![vec![Json::from(rows), Json::from(is_sorted), Json::from(first), Json::from(last)]])
}

fn json(value: &Value) -> Json {
    match value {
        Value::Int(int) => Json::from(*int),
        Value::Float(float) => Json::from(*float),
        Value::String(text) => Json::from(&**text),
        other => Json::from(format!("{other:?}")),
    }
}

/// Rows as they are compared: in an order of their own where the question gives none, floats nearly equal.
fn same(found: &[Vec<Json>], right: &[Vec<Json>]) -> bool {
    let same_value = |(found, right): (&Json, &Json)| match (found.as_f64(), right.as_f64()) {
        (Some(found), Some(right)) => (found - right).abs() <= TOLERANCE * right.abs().max(1.0),
        _ => found == right,
    };
    let same_row = |(found, right): (&Vec<Json>, &Vec<Json>)| {
        found.len() == right.len() && found.iter().zip(right).all(same_value)
    };
    found.len() == right.len() && found.iter().zip(right).all(same_row)
}

/// Runs each installed engine; its name and its results.
fn peers(questions: &[&Question], place: &Path, report: &mut Report) -> Vec<(&'static str, Json)> {
    let texts: Json = questions.iter().map(|question| question.to_json(ROUNDS)).collect();
    if let Err(error) = files::write_bytes(&place.join("questions.json"), texts.to_string().as_bytes()) {
        report.note(error.to_string());
        return Vec::new();
    }
    let choice = report.choice.clone();
    let mut found = Vec::new();
    for peer in ANALYTICS.into_iter().filter(|peer| choice.takes(peer.name, peer.package)) {
        match peer.run(place, &[]) {
            Ok(answer) => {
                let version = answer["version"].as_str().unwrap_or("?");
                let load = answer["load_seconds"].as_f64().unwrap_or(f64::NAN);
                report.note(format!("{:<11} loaded in {load:.2} s (version {version})", peer.name));
                found.push((peer.name, answer));
            }
            Err(why) => report.skipped(peer.name, &why),
        }
    }
    found
}

/// The time of a peer, if its answer is right.
fn peer_time(question: &Question, answer: &Json) -> Option<f64> {
    let figure = &answer["figures"][question.name];
    let rows: Vec<Vec<Json>> = serde_json::from_value(figure["rows"].clone()).ok()?;
    question.right.check(&rows).ok()?;
    figure["best_ms"].as_f64()
}

fn judge(question: &Question, ours: Outcome, peers: &[(&'static str, Json)], report: &mut Report) {
    let times: Vec<(&str, Option<f64>)> =
        peers.iter().map(|(peer, answer)| (*peer, peer_time(question, answer))).collect();
    let bar = |(peer, share): (&str, f64)| {
        let (_, time_ms) = times.iter().find(|(name, _)| *name == peer)?;
        Some((*time_ms)? * share)
    };
    let bar = SHARES.into_iter().filter_map(bar).min_by(f64::total_cmp);
    let target = bar.map_or("right".into(), |bar_ms| format!("right, under {}", shown_ms(bar_ms)));
    let (shown, reached) = match &ours {
        Ok(time_ms) => (shown_ms(*time_ms), bar.is_none_or(|bar_ms| *time_ms < bar_ms)),
        Err(_) => ("wrong".into(), false),
    };
    report.figure(question.name, &shown, &target, reached);
    if let Err(wrong) = ours {
        report.note(format!("  {wrong}"));
    }
    let told = |(peer, time_ms): &(&str, Option<f64>)| {
        format!("{peer} {}", time_ms.map_or("no right answer".into(), shown_ms))
    };
    if !times.is_empty() {
        report.note(format!("  {}", times.iter().map(told).collect::<Vec<_>>().join(", ")));
    }
}
