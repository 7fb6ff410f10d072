//! The short reads, each row compared with a second engine's.

use super::told;
use crate::ldbc::{Query, SHORT, answers};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Params, Session, Value};
use serde_json::Value as Json;

/// Runs of each short read.
const ROUNDS: usize = 5;

/// Runs every short read for all ids; `kuzu` has the second engine's answers, if it is installed.
pub fn run(session: &mut Session, ids: &Json, kuzu: Option<&Json>, report: &mut Report) {
    for (at, query) in SHORT.into_iter().enumerate() {
        let (parameter, kind) = if at < 3 { ("personId", "persons") } else { ("messageId", "messages") };
        let asked: Vec<i64> = ids[kind].as_array().into_iter().flatten().filter_map(Json::as_i64).collect();
        let theirs = kuzu.map(|answer| &answer["short"][query.name]);
        one(query, parameter, &asked, theirs, session, report);
    }
}

fn one(
    query: Query,
    parameter: &str,
    ids: &[i64],
    theirs: Option<&Json>,
    session: &mut Session,
    report: &mut Report,
) {
    let (mut samples, mut right, mut first_fault) = (Samples::default(), 0, None);
    for id in ids {
        let mut verdict = Ok(());
        for _ in 0..ROUNDS {
            let params = Params::from([(parameter.into(), Value::Int(*id))]);
            let (rows, time_ms) =
                timed(|| session.query(query.text, params).and_then(|result| result.rows()));
            samples.push(time_ms);
            verdict = verdict.and(match (rows, theirs) {
                (Err(error), _) => Err(told(&error)),
                (Ok(rows), Some(theirs)) => {
                    let expected = theirs[id.to_string()].as_array().cloned().unwrap_or_default();
                    let expected: Vec<Vec<Json>> =
                        expected.into_iter().map(|row| row.as_array().cloned().unwrap_or_default()).collect();
                    answers::compare(query.name, &rows, &expected)
                }
                (Ok(_), None) => Ok(()),
            });
        }
        match verdict {
            Ok(()) => right += 1,
            Err(fault) => _ = first_fault.get_or_insert(format!("{parameter} {id}: {fault}")),
        }
    }
    let measured = format!("{right} of {}, median {}", ids.len(), shown_ms(samples.median_ms()));
    if theirs.is_none() && right == ids.len() {
        report.skipped(query.name, &format!("{measured}, but no Kuzu here to compare rows with"));
        return;
    }
    report.figure(query.name, &measured, "every row as Kuzu's", right == ids.len() && right > 0);
    if let Some(fault) = first_fault {
        report.note(format!("first fault with {fault}"));
    }
}
