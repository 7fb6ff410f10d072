//! Point look-ups and hops on the power-law graph, beside every other installed engine.

use super::told;
use crate::data;
use crate::edge_list;
use crate::peers::HOPS;
use crate::power_law::{FIRST, Graph, Question};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Options, Session, Value, params};
use serde_json::{Value as Json, json};
use std::path::Path;
use world::files::{self, TemporaryFolder};

/// Number of ordinary vertices, and the seed that chooses them.
const ORDINARY_COUNT: usize = 5;
const ORDINARY_SEED: u64 = 7;
/// Calls before times count, and calls that count, for each source.
const WARM_UP_ROUNDS: usize = 10;
const ROUNDS: usize = 25;

/// The figures: name, steps (0 is a look-up), and whether they start from the largest hub.
const FIGURES: [(&str, usize, bool); 7] = [
    ("point", 0, false),
    ("hop1", 1, false),
    ("hop2", 2, false),
    ("hop3", 3, false),
    ("hub1", 1, true),
    ("hub2", 2, true),
    ("hub3", 3, true),
];

/// Our wording of each number of steps.
const TEXTS: [&str; 4] = [
    "MATCH (a:N {id: $s}) RETURN a.id",
    "MATCH (:N {id: $s})-[:E]->(b) RETURN count(DISTINCT b)",
    "MATCH (:N {id: $s})-[:E*1..2]->(b) RETURN count(DISTINCT b)",
    "MATCH (:N {id: $s})-[:E*1..3]->(b) RETURN count(DISTINCT b)",
];

/// Measures all engines on one graph.
pub fn run(report: &mut Report) -> Result<(), String> {
    report.section("hops on a power-law graph");
    let graph = Graph::generate(&FIRST);
    let ordinary = graph.ordinary(ORDINARY_COUNT, ORDINARY_SEED);
    let ordinary: Vec<Question> = ordinary.into_iter().map(|source| graph.question(source)).collect();
    let hub = graph.question(graph.largest_hub());
    report.note(format!(
        "Chung-Lu, {} vertices, {} edges, exponent {}, seed {}; hub of degree {}",
        graph.vertex_count(),
        graph.edge_count(),
        FIRST.exponent,
        FIRST.seed,
        hub.degree
    ));
    let place = scratch()?;
    write_files(&graph, &ordinary, &hub, place.path())?;
    let database = loaded(&graph, place.path(), report)?;
    let ours: Vec<Result<f64, String>> = FIGURES
        .iter()
        .map(|(_, steps, from_hub)| {
            let questions = if *from_hub { std::slice::from_ref(&hub) } else { &ordinary };
            measure(&mut database.session(), *steps, questions)
        })
        .collect();
    let peers = peers(place.path(), report);
    for ((name, ..), ours) in FIGURES.iter().zip(ours) {
        judge(name, &ours, &peers, report);
    }
    Ok(())
}

fn scratch() -> Result<TemporaryFolder, String> {
    let cache = data::cache_folder();
    files::create_folder(&cache)
        .and_then(|()| TemporaryFolder::inside(&cache, "hops"))
        .map_err(|error| error.to_string())
}

fn write_files(graph: &Graph, ordinary: &[Question], hub: &Question, place: &Path) -> Result<(), String> {
    edge_list::write(&place.join("edges.txt"), graph.edges())?;
    let question = |question: &Question| json!({ "source": question.source, "within": question.within, "on_cycle": question.on_cycle });
    let questions = json!({
        "vertices": graph.vertex_count(),
        "ordinary": ordinary.iter().map(question).collect::<Vec<_>>(),
        "hub": [question(hub)],
    });
    files::write_bytes(&place.join("questions.json"), questions.to_string().as_bytes())
        .map_err(|error| error.to_string())
}

fn loaded(graph: &Graph, place: &Path, report: &mut Report) -> Result<Database, String> {
    let database = Database::open(place.join("hops"), Options::default()).map_err(|error| told(&error))?;
    let options = edge_list::options(place.join("edges.txt"));
    let (imported, time_ms) = timed(|| database.import(&options));
    let imported = imported.map_err(|error| told(&error))?;
    report.note(format!("ours        loaded in {:.2} s", time_ms / 1e3));
    if imported.edges != graph.edge_count() as u64 {
        return Err(format!("{} edges were imported of {}", imported.edges, graph.edge_count()));
    }
    Ok(database)
}

/// Median time in milliseconds of a text over all questions; every answer of every call is checked.
fn measure(session: &mut Session, steps: usize, questions: &[Question]) -> Result<f64, String> {
    let mut samples = Samples::default();
    for round in 0..WARM_UP_ROUNDS + ROUNDS {
        for question in questions {
            let params = params! { "s" => i64::from(question.source) };
            let (answer, time_ms) =
                timed(|| session.query(TEXTS[steps], params).and_then(|result| result.single()));
            let right = match steps {
                0 => i64::from(question.source),
                steps => question.within[steps - 1] as i64,
            };
            match answer.map_err(|error| told(&error))? {
                Value::Int(found) if found == right => {}
                found => {
                    return Err(format!("wrong answer {found:?} from {}, right is {right}", question.source));
                }
            }
            if round >= WARM_UP_ROUNDS {
                samples.push(time_ms);
            }
        }
    }
    Ok(samples.median_ms())
}

/// Measures each installed engine.
fn peers(place: &Path, report: &mut Report) -> Vec<(&'static str, Json)> {
    let mut found = Vec::new();
    for peer in HOPS {
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

fn judge(name: &str, ours: &Result<f64, String>, peers: &[(&'static str, Json)], report: &mut Report) {
    let theirs: Vec<(&str, f64)> =
        peers.iter().filter_map(|(peer, answer)| Some((*peer, answer["figures"][name].as_f64()?))).collect();
    let fastest = theirs.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let target = fastest.map_or("right (no other engine here)".to_string(), |(peer, time_ms)| {
        format!("under {} ({peer})", shown_ms(*time_ms))
    });
    match ours {
        Ok(time_ms) => {
            let reached = fastest.is_none_or(|(_, best)| time_ms < best);
            report.figure(name, &shown_ms(*time_ms), &target, reached);
        }
        Err(fault) => {
            report.figure(name, "wrong", &target, false);
            report.note(fault);
        }
    }
    if theirs.len() > 1 {
        let all: Vec<String> =
            theirs.iter().map(|(peer, time_ms)| format!("{peer} {}", shown_ms(*time_ms))).collect();
        report.note(format!("  {}", all.join(", ")));
    }
}
