//! The procedures over whole graphs beside NetworKit and igraph on the same matrix: milliseconds from text to row.
//!
//! Numbers of reached vertices and of components are compared with theirs; that all six procedures are right is proved on the examples
//! of LDBC Graphalytics, by a test. Community detection by labels is not the same algorithm in any two of the three, nor are the ways in
//! which ranks are known to have settled: those figures say how long each takes for what it does.

use super::ours::{Ours, told};
use super::subject::Subject;
use crate::peers::ALGORITHMS;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Params, Session, params};
use serde_json::json;
use world::files;

/// Calls that count.
const ROUNDS: usize = 3;
/// Times the best of the others.
const OF_BEST_MAX: f64 = 2.0;
/// Rounds of page rank and of labels, and the damping of the first.
const ITERATIONS: i64 = 20;
const DAMPING: f64 = 0.85;

/// Name, text, and whether the first value is a number that others find too.
const QUESTIONS: [(&str, &str, bool); 5] = [
    (
        "bfs",
        "MATCH (s:N {id: $source}) CALL graph.bfs({source: s}) YIELD node, distance \
         WITH distance WHERE distance > 0 AND distance < 1000000000 RETURN count(*)",
        true,
    ),
    ("wcc", "CALL graph.wcc({}) YIELD node, component RETURN count(DISTINCT component)", true),
    (
        "pagerank",
        "CALL graph.pagerank({iterations: $iterations, damping: $damping}) YIELD node, score RETURN max(score)",
        false,
    ),
    ("lcc", "CALL graph.lcc({direction: 'both'}) YIELD node, coefficient RETURN avg(coefficient)", false),
    (
        "cdlp",
        "CALL graph.cdlp({iterations: $iterations, direction: 'both'}) YIELD node, community \
         RETURN count(DISTINCT community)",
        false,
    ),
];

/// Asks us and the others.
///
/// # Errors
/// A query failed.
pub fn run(subject: &Subject, ours: &Ours, report: &mut Report) -> Result<(), String> {
    report.section(&format!("{}: graph algorithms", subject.name));
    let bare = subject.bare();
    let source = (0..subject.vertices).max_by_key(|vertex| bare.degree(*vertex)).unwrap_or(0);
    let asked = json!({
        "vertices": subject.vertices, "source": source, "threads": world::machine::Machine::here().cores,
        "rounds": ITERATIONS, "damping": DAMPING,
    });
    files::write_bytes(&ours.folder().join("algorithms.json"), asked.to_string().as_bytes())
        .map_err(|error| error.to_string())?;
    let mut answers = Vec::new();
    for peer in ALGORITHMS {
        if !report.choice.takes(peer.name, peer.package) {
            continue;
        }
        match peer.run(ours.folder(), &[]) {
            Ok(answer) => answers.push((peer.name, answer)),
            Err(why) => report.skipped(peer.name, &why),
        }
    }
    let isolated = (0..subject.vertices).filter(|vertex| bare.is_isolated(*vertex)).count() as i64;
    let mut session = ours.session();
    for (name, text, is_compared) in QUESTIONS {
        let (found, time_ms) = measured(&mut session, text, source)?;
        let best =
            answers.iter().filter_map(|(peer, answer)| Some((answer["figures"][name].as_f64()?, *peer)));
        let Some((best_ms, best)) = best.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            report.note(format!("  {name}: {}, with nothing beside it", shown_ms(time_ms)));
            continue;
        };
        // Our graph has no vertices without edges; to the others each is a component.
        let more = if name == "wcc" { isolated } else { 0 };
        let differs = |(_, answer): &&(&str, serde_json::Value)| {
            answer["found"][name].as_i64().is_some_and(|theirs| theirs - more != found)
        };
        let wrong = answers.iter().find(differs).filter(|_| is_compared);
        let target = format!("at most {OF_BEST_MAX} of {best} ({})", shown_ms(best_ms));
        let times = time_ms / best_ms;
        let said = format!("{}, {times:.2} of {best}", shown_ms(time_ms));
        report.figure(&format!("  {name}"), &said, &target, times <= OF_BEST_MAX && wrong.is_none());
        if let Some((peer, answer)) = wrong {
            report.note(format!("  {peer} finds {}, we {found}", answer["found"][name]));
        }
    }
    Ok(())
}

fn measured(session: &mut Session, text: &str, source: u32) -> Result<(i64, f64), String> {
    let (mut samples, mut found) = (Samples::default(), 0);
    for _ in 0..ROUNDS {
        let params: Params =
            params! { "source" => i64::from(source), "iterations" => ITERATIONS, "damping" => DAMPING };
        let (value, time_ms) = timed(|| session.query(text, params).and_then(|result| result.single()));
        found = value.map_err(|error| told(&error))?.as_int().unwrap_or_default();
        samples.push(time_ms);
    }
    Ok((found, samples.median_ms()))
}
