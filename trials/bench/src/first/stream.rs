//! The updates: the benchmark's own stream in order of time, each update's effect counted when it runs and all of them read back.

use super::told;
use crate::ldbc::{UPDATES, answers, updates};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Session, Value, params};
use std::path::Path;
use world::files;

/// Updates that are run.
const UPDATES_RUN: usize = 4_000;

/// What is read back for each kind: a count that grows by one with every update.
const READ_BACK: [&str; 8] = [
    "MATCH (n:Person) RETURN count(n)",
    "MATCH (:Person)-[e:LIKES]->(:Post) RETURN count(e)",
    "MATCH (:Person)-[e:LIKES]->(:Comment) RETURN count(e)",
    "MATCH (n:Forum) RETURN count(n)",
    "MATCH (:Forum)-[e:HAS_MEMBER]->(:Person) RETURN count(e)",
    "MATCH (n:Post) RETURN count(n)",
    "MATCH (n:Comment) RETURN count(n)",
    "MATCH (:Person)-[e:KNOWS]->(:Person) RETURN count(e)",
];

#[derive(Default)]
struct Kind {
    samples: Samples,
    run: i64,
    right: i64,
    first_fault: Option<String>,
}

/// Runs the first updates of the stream.
pub fn run(session: &mut Session, network: &Path, report: &mut Report) -> Result<(), String> {
    let text = |name: &str| files::read_text(&network.join(name)).map_err(|error| error.to_string());
    let streams = [text("updateStream_0_0_person.csv")?, text("updateStream_0_0_forum.csv")?];
    let before = counts(session)?;
    let mut kinds: [Kind; 8] = Default::default();
    for update in updates::read(&streams, UPDATES_RUN)? {
        let kind = &mut kinds[update.kind];
        let (outcome, time_ms) = timed(|| {
            session.query(update.query().text, update.params.clone()).and_then(|result| result.finish())
        });
        kind.samples.push(time_ms);
        kind.run += 1;
        let fault = match outcome {
            Err(error) => told(&error),
            Ok(summary) => {
                let made = (summary.counters.nodes_created, summary.counters.relationships_created);
                if made == (update.vertices, update.edges) {
                    kind.right += 1;
                    continue;
                }
                format!("created {made:?} vertices and edges, expected {:?}", (update.vertices, update.edges))
            }
        };
        kind.first_fault.get_or_insert(format!("{:?}: {fault}", update.params));
    }
    let after = counts(session)?;
    for (at, kind) in kinds.iter().enumerate() {
        let grown = after[at] - before[at];
        let measured =
            format!("{} of {}, median {}", kind.right, kind.run, shown_ms(kind.samples.median_ms()));
        let target = format!("each counted, {} read back", kind.run);
        report.figure(UPDATES[at].name, &measured, &target, kind.right == kind.run && grown == kind.run);
        if grown != kind.run {
            report.note(format!("read back: `{}` grew by {grown}", READ_BACK[at]));
        }
        if let Some(fault) = &kind.first_fault {
            report.note(format!("first fault with {fault}"));
        }
    }
    Ok(())
}

fn counts(session: &mut Session) -> Result<Vec<i64>, String> {
    READ_BACK
        .iter()
        .map(|text| match session.query(text, params! {}).and_then(|result| result.single()) {
            Ok(Value::Int(count)) => Ok(count),
            Ok(other) => Err(format!("{text}: {}", answers::plain(&other))),
            Err(error) => Err(told(&error)),
        })
        .collect()
}
