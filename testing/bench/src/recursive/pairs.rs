//! One shortest path between two vertices drawn by chance, from both ends: how long is it, from text to row?

use super::ours::{Ours, told};
use super::subject::Subject;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Value, params};
use world::chance::Chance;

/// The number of pairs, the seed that draws them, and calls of each.
const PAIRS: usize = 60;
const PAIRS_SEED: u64 = 10;
const ROUNDS: usize = 3;
/// Half of all calls take less.
const P50_MS_MAX: f64 = 2.0;

const TEXT: &str =
    "MATCH (a:N {id: $a}), (b:N {id: $b}) MATCH p = ANY SHORTEST (a)-[:E]->+(b) RETURN length(p)";

/// Draws pairs, runs the queries, and verifies the answers.
///
/// # Errors
/// A query failed.
pub fn run(subject: &Subject, ours: &Ours, report: &mut Report) -> Result<(), String> {
    report.section(&format!("{}: shortest paths between {PAIRS} pairs", subject.name));
    let bare = subject.bare();
    let mut chance = Chance::seeded(PAIRS_SEED);
    let mut draw = || loop {
        let vertex = chance.below(u64::from(subject.vertices)) as u32;
        if bare.degree(vertex) > 0 {
            return vertex;
        }
    };
    let (mut samples, mut session, mut wrong) = (Samples::default(), ours.session(), Vec::new());
    for _ in 0..PAIRS {
        let (from, to) = (draw(), draw());
        let right = bare.distance(from, to).filter(|_| from != to);
        for round in 0..=ROUNDS {
            let params = params! { "a" => i64::from(from), "b" => i64::from(to) };
            let (rows, time_ms) = timed(|| session.query(TEXT, params).and_then(|result| result.rows()));
            let rows = rows.map_err(|error| told(&error))?;
            let found = rows.first().and_then(|row| row.first()).and_then(Value::as_int);
            if found != right && from != to {
                wrong.push(format!("{from} to {to}: {found:?}, right is {right:?}"));
            }
            if round > 0 {
                samples.push(time_ms);
            }
        }
    }
    let (p50, p99) = (samples.median_ms(), samples.quantile_ms(0.99));
    let reached = wrong.is_empty() && p50 < P50_MS_MAX;
    let measured = format!("{} (p99 {})", shown_ms(p50), shown_ms(p99));
    report.figure("half of the pairs", &measured, &format!("under {}", shown_ms(P50_MS_MAX)), reached);
    wrong.iter().for_each(|fault| report.note(fault));
    Ok(())
}
