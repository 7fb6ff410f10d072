//! The updates: the benchmark's own stream in order of time, each update's effect counted when it runs and all of them read back.

use super::Asks;
use crate::ldbc::{UPDATES, updates};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use std::path::Path;
use world::files;

/// Updates that are run.
const UPDATES_RUN: usize = 4_000;

/// The query for each kind of update whose count grows by one with every update.
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

/// The files of the stream.
const STREAMS: [&str; 2] = ["updateStream_0_0_person.csv", "updateStream_0_0_forum.csv"];

/// Does the network have a stream of updates?
pub(crate) fn is_in(network: &Path) -> bool {
    STREAMS.iter().all(|name| files::exists(&network.join(name)))
}

fn first(network: &Path) -> Result<Vec<updates::Update>, String> {
    let text = |name: &str| files::read_text(&network.join(name)).map_err(|error| error.to_string());
    updates::read(&[text(STREAMS[0])?, text(STREAMS[1])?], UPDATES_RUN)
}

/// Runs the same updates and measures nothing.
pub(crate) fn follow(asked: &mut impl Asks, network: &Path) -> Result<(), String> {
    first(network)?.iter().try_for_each(|update| asked.changes(update.query().text, &update.params).map(drop))
}

/// Runs the first updates of the stream.
pub fn run(asked: &mut impl Asks, network: &Path, report: &mut Report) -> Result<(), String> {
    let before = counts(asked)?;
    let mut kinds: [Kind; 8] = Default::default();
    for update in first(network)? {
        let kind = &mut kinds[update.kind];
        let (outcome, time_ms) = timed(|| asked.changes(update.query().text, &update.params));
        kind.samples.push(time_ms);
        kind.run += 1;
        let fault = match outcome {
            Err(error) => error,
            Ok(counters) => {
                let made = (counters.nodes_created, counters.relationships_created);
                if made == (update.vertices, update.edges) {
                    kind.right += 1;
                    continue;
                }
                format!("created {made:?} vertices and edges, expected {:?}", (update.vertices, update.edges))
            }
        };
        kind.first_fault.get_or_insert(format!("{:?}: {fault}", update.params));
    }
    let after = counts(asked)?;
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

fn counts(asked: &mut impl Asks) -> Result<Vec<i64>, String> {
    READ_BACK.iter().map(|text| asked.number(text)).collect()
}
