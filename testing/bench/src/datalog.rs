//! Datalog: full answers, what single facts cost that go, questions with bound values, programs kept over a graph; each beside a plain
//! search.
//!
//! The shapes are those of K-Pg's tables 2, 3, 4 and 11. Programs written by hand on `timely` and `differential-dataflow` are the example
//! `datalog_twins` of this crate; where it is built, it is run.

mod analysis;
mod closure;
mod kept;
mod questions;
mod twin;

use crate::report::Report;
use crate::timing::timed;
use datalog::RelationNo;
use model::Value;
use rules::{Bounds, Change, Evaluation};
use std::path::Path;

/// Parts by name.
const PARTS: [&str; 6] = ["closure", "large", "questions", "kept", "graspan", "polonius"];

/// Measures all of it, or the parts that were named.
pub fn run(folder: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let parts = report.choice.among(&PARTS);
    let has = |part: &str| parts.contains(&part);
    if has("closure") {
        closure::run(report)?;
    }
    if has("large") {
        closure::large(report)?;
    }
    if has("questions") {
        questions::run(report)?;
    }
    if has("kept") {
        kept::run(report)?;
    }
    if has("graspan") {
        analysis::graspan(report)?;
    }
    match folder {
        Some(folder) if has("polonius") => analysis::polonius(folder, report)?,
        None if has("polonius") => report.skipped("borrow checking", "it needs --data"),
        _ => {}
    }
    Ok(())
}

fn fault(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn pair((a, b): (u32, u32)) -> Vec<Value> {
    vec![Value::Int(i64::from(a)), Value::Int(i64::from(b))]
}

/// A program over given facts, answered, and the time that took.
fn answered(text: &str, facts: &[(&str, Vec<Vec<Value>>)]) -> Result<(Evaluation<'static>, f64), String> {
    let program = datalog::compile(text).map_err(fault)?;
    // Relations that `.input` declares wait for their facts.
    let nothing = |_: &str| Some(Value::list(Vec::new()));
    let (evaluation, time_ms) = timed(|| {
        let mut evaluation = Evaluation::new(program, nothing, Bounds::default())?;
        for (name, facts) in facts {
            let Some(relation) = evaluation.program().relation(name) else { continue };
            facts.iter().try_for_each(|fact| evaluation.give(relation, fact))?;
        }
        evaluation.evaluate()?;
        Ok::<_, rules::RulesError>(evaluation)
    });
    Ok((evaluation.map_err(fault)?, time_ms))
}

fn relation(evaluation: &Evaluation<'_>, name: &str) -> Result<RelationNo, String> {
    evaluation.program().relation(name).ok_or_else(|| format!("the program has no relation {name}"))
}

/// One fact goes or comes; the time that took.
fn moved(
    evaluation: &mut Evaluation<'_>,
    relation: RelationNo,
    fact: &[Value],
    comes: bool,
) -> Result<f64, String> {
    let change = [Change { relation, fact: fact.to_vec(), comes }];
    let (outcome, time_ms) = timed(|| evaluation.change(&change).and_then(|()| evaluation.settle()));
    outcome.map_err(fault)?;
    Ok(time_ms)
}

/// All facts of a relation of two columns, added up: equal sums, equal answers.
fn digest(evaluation: &Evaluation<'_>, relation: RelationNo) -> (usize, u64) {
    let facts = evaluation.fact_words(relation).map(|words| twin::mixed(words[0], words[1]));
    (evaluation.len(relation), facts.fold(0, u64::wrapping_add))
}
