//! Questions that explode where walks are listed one by one: a query of ends, of existence or of counts is answered at once, a query that has to list
//! walks is answered or refused, and none exceeds its budget. The memory of the process is watched meanwhile.

use super::ours::{Ours, told};
use super::subject::Subject;
use crate::report::Report;
use crate::timing::{shown_ms, timed};
use database::{Limits, QueryResult};
use database::{Params, Value};
use std::time::Duration;
use world::memory::resident_bytes;

/// All of these within this time.
const TIME_MS_MAX: f64 = 2_000.0;
/// Vertices of the mesh, in which everybody knows everybody, and of the long cycle.
const MESH: u32 = 50;
const CYCLE: u32 = 1_000_000;
/// Vertices of the small complete graph whose trails are counted, and the memory limit of a query that has to list them.
const COMPLETE: u32 = 6;
const LISTING_BYTES_MAX: u64 = 256 << 20;
/// A listing that goes on longer is ended, which is an honest answer too.
const LISTING_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two looks at the memory of the process.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Name, text and right answer of a question.
type Question = (&'static str, &'static str, i64);

const OF_MESH: [Question; 2] = [
    ("distinct ends in a mesh of 50", "MATCH (a:N {id: 1})-[:E*]->(b) RETURN count(DISTINCT b)", 50),
    ("ends of all its vertices", "MATCH (a:N)-[:E*1..30]->(b) WITH DISTINCT a, b RETURN count(*)", 2_500),
];
const OF_CYCLE: [Question; 3] = [
    (
        "how far each of its vertices is",
        "MATCH (a:N {id: 7}) MATCH p = ANY SHORTEST (a)-[:E]->+(b) RETURN sum(length(p))",
        500_000_500_000,
    ),
    ("a cycle of a million vertices", "MATCH (a:N {id: 7})-[:E*]->(b) RETURN count(DISTINCT b)", 1_000_000),
    ("existence in it", "MATCH (a:N {id: 7}) WHERE EXISTS { (a)-[:E*]->(:N {id: 6}) } RETURN count(*)", 1),
];

/// Asks them all.
///
/// # Errors
/// A graph could not be made.
pub fn run(report: &mut Report) -> Result<(), String> {
    report.section("walks that explode where they are listed");
    let all = |from: u32| (0..MESH).filter(move |to| *to != from).map(move |to| (from, to));
    let mesh = Subject { name: "mesh".into(), vertices: MESH, edges: (0..MESH).flat_map(all).collect() };
    ask(&mesh, &OF_MESH, report)?;
    let edges = (0..CYCLE).map(|from| (from, (from + 1) % CYCLE)).collect();
    let cycle = Subject { name: "cycle".into(), vertices: CYCLE, edges };
    ask(&cycle, &OF_CYCLE, report)?;
    listed(
        &cycle,
        "every path from a vertex of it",
        "MATCH (a:N {id: 7})-[r:E*]->(b) RETURN count(size(r))",
        report,
    )?;
    let pairs = |from: u32| (from + 1..COMPLETE).map(move |to| (from, to));
    let complete = Subject {
        name: "complete".into(),
        vertices: COMPLETE,
        edges: (0..COMPLETE).flat_map(pairs).collect(),
    };
    listed(
        &complete,
        "trails of up to 18 in a complete graph of six",
        "MATCH (a:N)-[:E*1..18]-(b) RETURN count(*)",
        report,
    )?;
    listed(
        &mesh,
        "trails of up to 30 in the mesh",
        "MATCH (a:N {id: 1})-[:E*1..30]->(b) RETURN count(*)",
        report,
    )
}

/// Runs a query that has to list walks: it is answered, or ended by its budget or its time, and never exceeds the budget.
fn listed(subject: &Subject, name: &str, text: &str, report: &mut Report) -> Result<(), String> {
    let ours = Ours::load(subject)?;
    let mut session = ours.session();
    let limits = Limits { bytes_max: Some(LISTING_BYTES_MAX), timeout: Some(LISTING_TIMEOUT) };
    let before = resident_bytes().unwrap_or(0);
    let (outcome, time_ms) = timed(|| {
        let mut result = session.query_within(text, Params::new(), &limits)?;
        watched(&mut result)
    });
    let (said, peak) = match outcome {
        Ok((answer, peak)) => (format!("{answer:?}"), peak),
        Err(fault) => (told(&fault).split_whitespace().take(9).collect::<Vec<_>>().join(" "), before),
    };
    let grown = peak.max(resident_bytes().unwrap_or(0)).saturating_sub(before);
    let measured = format!("{}, {} MB more: {said}", shown_ms(time_ms), grown >> 20);
    let target = format!("counted or refused within {} MB", LISTING_BYTES_MAX >> 20);
    report.figure(name, &measured, &target, grown <= LISTING_BYTES_MAX);
    Ok(())
}

/// The first value of the answer, and the most memory that the process held meanwhile.
fn watched(result: &mut QueryResult) -> Result<(Option<Value>, u64), database::Error> {
    let (mut answer, mut peak) = (None, 0);
    loop {
        peak = peak.max(resident_bytes().unwrap_or(0));
        match result.next_batch_timeout(LOOK_EVERY)? {
            None => {}
            Some(None) => return Ok((answer, peak)),
            Some(Some(batch)) => answer = answer.or_else(|| Some(batch.get(0, 0))),
        }
    }
}

fn ask(subject: &Subject, questions: &[Question], report: &mut Report) -> Result<(), String> {
    let ours = Ours::load(subject)?;
    let mut session = ours.session();
    let limits = Limits { bytes_max: Some(LISTING_BYTES_MAX), timeout: Some(LISTING_TIMEOUT) };
    for (name, text, right) in questions {
        let before = resident_bytes().unwrap_or(0);
        let (answer, time_ms) = timed(|| {
            let mut result = session.query_within(text, Params::new(), &limits)?;
            watched(&mut result)
        });
        let peak = answer.as_ref().map_or(before, |(_, peak)| *peak);
        let grown = peak.saturating_sub(before);
        let is_right = matches!(&answer, Ok((Some(Value::Int(found)), _)) if found == right);
        let target = format!("{right} within {}, {} MB", shown_ms(TIME_MS_MAX), LISTING_BYTES_MAX >> 20);
        let reached = is_right && time_ms < TIME_MS_MAX && grown <= LISTING_BYTES_MAX;
        report.figure(name, &format!("{}, {} MB more", shown_ms(time_ms), grown >> 20), &target, reached);
        match answer {
            Ok(_) if is_right => {}
            Ok((answer, _)) => report.note(format!("  {answer:?}")),
            Err(error) => report.note(format!("  {}", told(&error))),
        }
    }
    Ok(())
}
