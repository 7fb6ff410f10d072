//! Questions that explode where walks are listed one by one, and that ask only for ends or for existence: they are answered at once.

use super::ours::{Ours, told};
use super::subject::Subject;
use crate::report::Report;
use crate::timing::{shown_ms, timed};
use database::{Params, Session, Value};

/// All of these within this time.
const TIME_MS_MAX: f64 = 2_000.0;
/// Vertices of the mesh, in which everybody knows everybody, and of the long cycle.
const MESH: u32 = 50;
const CYCLE: u32 = 1_000_000;

/// What is asked, and the right answer.
type Question = (&'static str, &'static str, i64);

const OF_MESH: [Question; 2] = [
    ("distinct ends in a mesh of 50", "MATCH (a:N {id: 1})-[:E*]->(b) RETURN count(DISTINCT b)", 50),
    ("ends of all its vertices", "MATCH (a:N)-[:E*1..30]->(b) WITH DISTINCT a, b RETURN count(*)", 2_500),
];
const OF_CYCLE: [Question; 2] = [
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
    ask(&Subject { name: "cycle".into(), vertices: CYCLE, edges }, &OF_CYCLE, report)
}

fn ask(subject: &Subject, questions: &[Question], report: &mut Report) -> Result<(), String> {
    let ours = Ours::load(subject)?;
    let mut session = ours.session();
    for (name, text, right) in questions {
        let (answer, time_ms) = timed(|| asked(&mut session, text));
        let is_right = matches!(&answer, Ok(Value::Int(found)) if found == right);
        let target = format!("{right} within {}", shown_ms(TIME_MS_MAX));
        report.figure(name, &shown_ms(time_ms), &target, is_right && time_ms < TIME_MS_MAX);
        if !is_right {
            report.note(format!("  {answer:?}"));
        }
    }
    Ok(())
}

fn asked(session: &mut Session, text: &str) -> Result<Value, String> {
    session.query(text, Params::new()).and_then(|result| result.single()).map_err(|error| told(&error))
}
