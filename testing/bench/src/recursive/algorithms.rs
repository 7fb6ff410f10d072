//! The procedures over whole graphs beside NetworKit, igraph and bare twins on the same matrix, on one thread and on all: milliseconds from text to
//! row, against the best of the three.
//!
//! Every answer is compared with the twin's, and with those of the others where they find the same thing. Community detection by labels is another
//! algorithm in NetworKit, which changes labels one by one: it is told, and does not count. Igraph has one thread, and follows ranks until
//! they settle. The peers' graphs are made before they are asked, and so are the twins' arrays.

use super::ours::{Ours, told};
use super::subject::Subject;
use super::twins::Twins;
use crate::peers::ALGORITHMS;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Params, Session, Value, params};
use serde_json::{Value as Json, json};
use world::files;

/// Calls that count.
const ROUNDS: usize = 3;
/// A question is not repeated once its calls took this long in total.
const ENOUGH_MS: f64 = 8_000.0;
/// Times the best of the others.
const OF_BEST_MAX: f64 = 2.0;
/// Rounds of page rank and of labels, and the damping of the first.
const RANK_ROUNDS: u32 = 20;
const LABEL_ROUNDS: u32 = 10;
const DAMPING: f64 = 0.85;
/// Answers that are sums of fractions are the same if they differ by so little of themselves.
const SAME: f64 = 1e-9;
/// Weights are whole numbers up to this, and bins of the twin as wide as is best for it here.
const WEIGHT_MAX: usize = 255;
const TWIN_WIDTH: f64 = 4.0;

/// Name, text, and whether the others' answers are held against ours.
const QUESTIONS: [(&str, &str, bool); 6] = [
    (
        "bfs",
        "MATCH (s:N {id: $source}) CALL graph.bfs({source: s}) YIELD node, distance \
         RETURN count(*) AS one, sum(distance) AS two",
        true,
    ),
    (
        "sssp",
        "MATCH (s:N {id: $source}) CALL graph.sssp({source: s, weight: 'weight'}) YIELD node, distance \
         RETURN count(*) AS one, sum(distance) AS two",
        true,
    ),
    ("wcc", "CALL graph.wcc({}) YIELD node, component RETURN count(DISTINCT component) AS one", true),
    (
        "pagerank",
        "CALL graph.pagerank({iterations: $ranks, damping: $damping}) YIELD node, score \
         RETURN sum(score * score) AS one",
        false,
    ),
    (
        "lcc",
        "CALL graph.lcc({direction: 'both'}) YIELD node, coefficient RETURN sum(coefficient) AS one",
        true,
    ),
    (
        "cdlp",
        "CALL graph.cdlp({iterations: $labels, direction: 'both', seed: 'id'}) YIELD node, community \
         RETURN count(DISTINCT community) AS one, sum(community) AS two",
        false,
    ),
];

/// The weight of an edge: a pseudo-random number from its position.
pub fn weight(edge: usize) -> u32 {
    (edge.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32 % WEIGHT_MAX as u32 + 1
}

/// Asks us and the others.
///
/// # Errors
/// A query failed.
pub fn run(subject: &Subject, report: &mut Report) -> Result<(), String> {
    let (vertices, edges) = (subject.vertices, subject.edges.len());
    report.section(&format!("{}: graph algorithms ({vertices} vertices, {edges} edges)", subject.name));
    let mut ours = Ours::load_weighted(subject, weight)?;
    let twins = Twins::new(vertices, &subject.edges, weight);
    let degree = subject.degrees();
    let source = (0..vertices).max_by_key(|vertex| degree[*vertex as usize]).unwrap_or(0);
    let cores = world::machine::Machine::here().cores;
    let threads: Vec<usize> = [1, cores].into_iter().filter(|count| *count == 1 || cores > 1).collect();
    let asked = json!({
        "vertices": vertices, "source": source, "threads": threads,
        "rounds": RANK_ROUNDS, "damping": DAMPING,
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
    for count in threads {
        report.note(format!("{count} thread{}", if count == 1 { "" } else { "s" }));
        ours = ours.with_executors(count)?;
        for question in QUESTIONS {
            cell(&ours, &twins, question, (source, count), &answers, report)?;
        }
    }
    Ok(())
}

fn cell(
    ours: &Ours,
    twins: &Twins,
    (name, text, is_compared): (&str, &str, bool),
    (source, threads): (u32, usize),
    answers: &[(&str, Json)],
    report: &mut Report,
) -> Result<(), String> {
    let mut session = ours.session();
    let (found, time_ms) = measured(&mut session, text, source)?;
    let mut samples = Samples::default();
    let mut right = Vec::new();
    let mut all_ms = 0.0;
    while samples.len() < ROUNDS && all_ms < ENOUGH_MS {
        let (answer, time_ms) = timed(|| twin(twins, name, source, threads));
        samples.push(time_ms);
        (all_ms, right) = (all_ms + time_ms, answer);
    }
    let mut times = vec![(samples.median_ms(), "a bare twin")];
    let (mut said, mut wrong) = (Vec::new(), Vec::new());
    if !alike(&found, &right) {
        wrong.push(format!("the twin finds {right:?}, we {found:?}"));
    }
    for (peer, answer) in answers {
        // An engine of one thread has but that.
        let figures = &answer["figures"];
        let figure = figures[threads.to_string()][name].as_f64().or(figures["1"][name].as_f64());
        let Some(peer_ms) = figure else { continue };
        said.push(format!("{peer} {}", shown_ms(peer_ms)));
        if name != "cdlp" {
            times.push((peer_ms, peer));
        }
        let theirs: Vec<f64> =
            answer["found"][name].as_array().into_iter().flatten().filter_map(Json::as_f64).collect();
        // To the others a vertex without edges is a component, which we have not.
        let is_same = name == "wcc" || alike(&found, &theirs);
        if is_compared && !theirs.is_empty() && !is_same {
            wrong.push(format!("{peer} finds {theirs:?}, we {found:?}"));
        }
    }
    said.push(format!("twin {}", shown_ms(samples.median_ms())));
    let (best_ms, best) =
        times.iter().min_by(|a, b| a.0.total_cmp(&b.0)).copied().unwrap_or((f64::NAN, "none"));
    let of_best = time_ms / best_ms;
    report.figure(
        &format!("{name}, {threads} thread{}", if threads == 1 { "" } else { "s" }),
        &format!("{}, {of_best:.2} of the best", shown_ms(time_ms)),
        &format!("at most {OF_BEST_MAX} of {best} ({})", shown_ms(best_ms)),
        of_best <= OF_BEST_MAX && wrong.is_empty(),
    );
    report.note(format!("  {}", said.join(", ")));
    wrong.iter().for_each(|fault| report.note(fault));
    Ok(())
}

fn twin(twins: &Twins, name: &str, source: u32, threads: usize) -> Vec<f64> {
    let pair = |(one, two): (u64, u64)| vec![one as f64, two as f64];
    match name {
        "bfs" => pair(twins.bfs(source, threads)),
        "sssp" => {
            let (reached, sum) = twins.sssp(source, TWIN_WIDTH, threads);
            vec![reached as f64, sum]
        }
        "wcc" => vec![twins.wcc(threads) as f64],
        "pagerank" => vec![twins.page_rank(RANK_ROUNDS, DAMPING, threads)],
        "lcc" => vec![twins.lcc(threads)],
        _ => pair(twins.cdlp(LABEL_ROUNDS, threads)),
    }
}

fn alike(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| (one - other).abs() <= SAME * other.abs())
}

fn measured(session: &mut Session, text: &str, source: u32) -> Result<(Vec<f64>, f64), String> {
    let (mut samples, mut found) = (Samples::default(), Vec::new());
    // The first call reads what a database that was opened anew has not read yet.
    let (mut is_first, mut all_ms) = (true, 0.0);
    while samples.len() < ROUNDS && all_ms < ENOUGH_MS {
        let params: Params = params! {
            "source" => i64::from(source), "ranks" => i64::from(RANK_ROUNDS),
            "labels" => i64::from(LABEL_ROUNDS), "damping" => DAMPING,
        };
        let (rows, time_ms) = timed(|| session.query(text, params).and_then(|result| result.rows()));
        let rows = rows.map_err(|error| told(&error))?;
        let number = |value: &Value| match value {
            Value::Int(int) => *int as f64,
            Value::Float(float) => *float,
            _ => f64::NAN,
        };
        found = rows.first().map(|row| row.iter().map(number).collect()).unwrap_or_default();
        if !std::mem::take(&mut is_first) {
            samples.push(time_ms);
            all_ms += time_ms;
        }
    }
    Ok((found, samples.median_ms()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn twins_find_the_same_on_one_thread_and_on_three() {
        let mut chance = Chance::seeded(3);
        let mut end = || chance.below(500) as u32;
        let edges: Vec<(u32, u32)> = (0..4_000).map(|_| (end(), end())).collect();
        let twins = Twins::new(600, &edges, weight);
        for (name, ..) in QUESTIONS {
            let (alone, together) = (twin(&twins, name, 1, 1), twin(&twins, name, 1, 3));
            assert!(alike(&alone, &together) && alone[0] > 0.0, "{name}: {alone:?} {together:?}");
        }
        let (reached, sum) = twins.bfs(1, 1);
        let bare = super::super::bare::Bare::new(600, &edges).search(1);
        assert_eq!((reached as i64 - 1, sum as i64), bare.summed(false));
    }
}
