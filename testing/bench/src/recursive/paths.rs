//! A shortest path from each of some sources to every vertex, read edge by edge: the time on one executor and on all, the bytes per vertex, and the
//! effects of a limit and a budget.
//!
//! Ends and lengths are compared with those of the bare search; that what is found are paths of the graph is checked here for each path of
//! a sample, edge by edge.

use super::lengths::{Question, questions};
use super::ours::{self, Ours, told};
use super::subject::Subject;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Limits, Session, Value, params};
use std::collections::HashSet;
use world::memory::resident_bytes;

/// Numbers of sources of one query.
const SOURCES: [usize; 3] = [1, 8, 64];
/// Calls that count, of each question; where there are more paths than these, one.
const ROUNDS: usize = 3;
const ROUNDS_PATHS_MAX: i64 = 1_000_000;
/// The least speedup of two executors, from that many sources on.
const SPEEDUP_MIN: f64 = 1.85;
const SPEEDUP_SOURCES_MIN: usize = 8;
/// Sources whose paths' bytes are judged, and the most bytes a vertex: a fifth of the paper's 536.
const MEMORY_SOURCES: usize = 64;
const BYTES_PER_VERTEX_MAX: f64 = 107.2;
/// Paths that are checked edge by edge.
const CHECKED_PATHS: i64 = 20_000;
/// This many paths take at most this long, whatever the graph.
const FEW_PATHS: i64 = 10;
const FEW_PATHS_MS_MAX: f64 = 20.0;
/// A budget that holds no list of all paths.
const TIGHT_BYTES_MAX: u64 = 128 << 20;

const FROM: &str = "MATCH (a:N) WHERE a.id IN $s MATCH p = ANY SHORTEST (a)-[:E]->+(b)";
/// Every path is rebuilt, and its last edge looked at.
const READ: &str =
    "RETURN count(endNode(relationships(p)[-1])) AS ends, sum(size(relationships(p))) AS steps";

fn text(rest: &str) -> String {
    format!("{FROM} {rest}")
}

fn sources_of(question: &Question) -> Value {
    Value::list(question.sources.iter().map(|source| Value::Int(i64::from(*source))).collect())
}

/// All figures of one graph.
///
/// # Errors
/// It could not be opened, or a query failed.
pub fn run(subject: &Subject, ours: Ours, report: &mut Report) -> Result<Ours, String> {
    report.section(&format!("{}: paths from some sources to all vertices", subject.name));
    let cores = world::machine::Machine::here().cores;
    let asked = SOURCES.map(|count| questions(subject, count));
    let all = |ours: &Ours| -> Result<Vec<f64>, String> {
        asked.iter().map(|questions| measure(ours, questions)).collect()
    };
    let ours = ours.with_executors(1)?;
    let alone = all(&ours)?;
    let ours = ours.with_executors(cores)?;
    let together = all(&ours)?;
    for ((questions, alone_ms), together_ms) in asked.iter().zip(alone).zip(together) {
        let count = questions[0].sources.len();
        let paths = questions.iter().map(|question| question.right.0).sum::<i64>() / questions.len() as i64;
        let each_ns = alone_ms * 1e6 / paths.max(1) as f64;
        let speedup = alone_ms / together_ms;
        let measured = format!("{}, {speedup:.2} times as fast", shown_ms(together_ms));
        let name = format!("{count} sources, {paths} paths, {cores} executors");
        report.note(format!("{count} sources, one executor: {}, {each_ns:.0} ns a path", shown_ms(alone_ms)));
        if count >= SPEEDUP_SOURCES_MIN {
            report.figure(&name, &measured, &format!("{SPEEDUP_MIN} times one"), speedup >= SPEEDUP_MIN);
        } else {
            report.note(format!("{name}: {measured}"));
        }
    }
    let question = questions(subject, MEMORY_SOURCES).remove(0);
    let mut session = ours.session();
    memory(&mut session, subject, &question, ("chosen", ""), report)?;
    memory(&mut session, subject, &question, ("nTkMS(1)", "CYPHER recursive = `nTkMS(1)` "), report)?;
    checked(&mut session, subject, &question, report)?;
    few(&mut session, &question, report)?;
    tight(&mut session, &question, report);
    Ok(ours)
}

/// Median over all questions, of which all but one are left out where they would take long.
fn measure(ours: &Ours, questions: &[Question]) -> Result<f64, String> {
    let (mut samples, mut session) = (Samples::default(), ours.session());
    let once = questions[0].right.0 > ROUNDS_PATHS_MAX;
    let question = if once { &questions[..1] } else { questions };
    for round in 0..if once { 1 } else { ROUNDS + 1 } {
        for question in question {
            let time_ms = ours::lengths(&mut session, &text(READ), &question.sources, question.right)?;
            if round > 0 || once {
                samples.push(time_ms);
            }
        }
    }
    Ok(samples.median_ms())
}

/// The most bytes that the search reports, and the growth of the process.
fn memory(
    session: &mut Session,
    subject: &Subject,
    question: &Question,
    (policy, hint): (&str, &str),
    report: &mut Report,
) -> Result<(), String> {
    let before = resident_bytes().unwrap_or(0);
    let params = params! { "s" => sources_of(question) };
    let fault = |error| told(&error);
    let mut result = session.query(&format!("PROFILE {hint}{}", text(READ)), params).map_err(fault)?;
    let mut peak = before;
    while result.next_batch().map_err(fault)?.is_some() {
        peak = peak.max(resident_bytes().unwrap_or(0));
    }
    let plan = result.summary().plan_text.clone().unwrap_or_default();
    let words = plan.split("at most ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let bytes = words.and_then(|word| word.parse::<f64>().ok()).unwrap_or(f64::INFINITY);
    report.figure(
        &format!("bytes a vertex, {MEMORY_SOURCES} sources with paths, {policy}"),
        &format!("{bytes:.1}"),
        &format!("under {BYTES_PER_VERTEX_MAX}"),
        bytes < BYTES_PER_VERTEX_MAX,
    );
    let grown = peak.max(resident_bytes().unwrap_or(0)).saturating_sub(before) as f64;
    report.note(format!("  the process grew by {:.1} bytes a vertex", grown / f64::from(subject.vertices)));
    Ok(())
}

/// Are they paths of the graph?
fn checked(
    session: &mut Session,
    subject: &Subject,
    question: &Question,
    report: &mut Report,
) -> Result<(), String> {
    let edges: HashSet<(i64, i64)> =
        subject.edges.iter().map(|(from, to)| (i64::from(*from), i64::from(*to))).collect();
    let rest = format!("RETURN a.id, b.id, [n IN nodes(p) | n.id] AS way LIMIT {CHECKED_PATHS}");
    let result = session.query(&text(&rest), params! { "s" => sources_of(question) });
    let rows = result.and_then(|result| result.rows()).map_err(|error| told(&error))?;
    let mut wrong = 0;
    for row in &rows {
        let Value::List(way) = &row[2] else { return Err(format!("{:?} is no list", row[2])) };
        let way: Vec<i64> = way.iter().filter_map(Value::as_int).collect();
        let ends = (row[0].as_int(), row[1].as_int()) == (way.first().copied(), way.last().copied());
        let is_path = way.windows(2).all(|step| edges.contains(&(step[0], step[1])));
        wrong += u64::from(!ends || !is_path);
    }
    let measured = format!("{wrong} of {} are none", rows.len());
    report.figure("  checked edge by edge", &measured, "all are paths", wrong == 0 && !rows.is_empty());
    Ok(())
}

/// Paths beyond a LIMIT are never rebuilt.
fn few(session: &mut Session, question: &Question, report: &mut Report) -> Result<(), String> {
    let mut samples = Samples::default();
    for _ in 0..ROUNDS * 2 {
        let params = params! { "s" => sources_of(question) };
        let asked = text(&format!("RETURN p LIMIT {FEW_PATHS}"));
        let (rows, time_ms) = timed(|| session.query(&asked, params).and_then(|result| result.rows()));
        if rows.map_err(|error| told(&error))?.len() as i64 != FEW_PATHS {
            return Err("a limit was not kept".to_string());
        }
        samples.push(time_ms);
    }
    let p50 = samples.median_ms();
    report.figure(
        &format!("  the first {FEW_PATHS} of them"),
        &shown_ms(p50),
        &format!("under {}", shown_ms(FEW_PATHS_MS_MAX)),
        p50 < FEW_PATHS_MS_MAX,
    );
    Ok(())
}

/// A list of all paths is refused, within the budget, and the error suggests another question.
fn tight(session: &mut Session, question: &Question, report: &mut Report) {
    let limits = Limits { bytes_max: Some(TIGHT_BYTES_MAX), timeout: None };
    let before = resident_bytes().unwrap_or(0);
    let params = params! { "s" => sources_of(question) };
    let asked = text("RETURN size(collect(p))");
    let (outcome, time_ms) =
        timed(|| session.query_within(&asked, params, &limits).and_then(|result| result.rows()));
    let grown = resident_bytes().unwrap_or(0).saturating_sub(before);
    let said = outcome.map_or_else(|error| told(&error), |rows| format!("{rows:?}"));
    let is_honest = said.contains("ask for length(p)") && grown <= TIGHT_BYTES_MAX;
    report.figure(
        "  all of them in a list",
        &format!("{}, {} MB more", shown_ms(time_ms), grown >> 20),
        &format!("refused within {} MB, with what to ask instead", TIGHT_BYTES_MAX >> 20),
        is_honest,
    );
    if !is_honest {
        report.note(said);
    }
}
