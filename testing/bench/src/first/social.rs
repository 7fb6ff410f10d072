//! The social network: import against Kuzu, memory, reopening, the interactive reads and updates with every row checked.

use super::{rows, short, stream, told};
use crate::data;
use crate::ldbc::{COMPLEX, Query, answers, expected};
use crate::peers::KUZU_SOCIAL;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, ImportOptions, Options, Session};
use serde_json::{Value as Json, json};
use std::path::Path;
use world::files::TemporaryFolder;

/// The packed data set.
const SET: &str = "snb-like-sf0.1";
/// Import must end within this time.
const IMPORT_SECONDS_MAX: f64 = 8.0;
/// Import must take less than this part of Kuzu's COPY.
const IMPORT_PART_MAX: f64 = 0.5;
/// Resident memory after import.
const RESIDENT_MB_MAX: f64 = 400.0;
/// Time to open an existing database and answer a first look-up.
const REOPEN_MS_MAX: f64 = 100.0;
/// Times the database is reopened.
const REOPEN_ROUNDS: usize = 5;
/// Runs of each query with each set of parameters.
const ROUNDS: usize = 3;
/// Persons and messages that the short reads ask about.
const SHORT_IDS: usize = 30;

/// Runs all parts on the social network.
pub fn run(folder: &Path, report: &mut Report) -> Result<(), String> {
    report.section(&format!("social network, {SET}"));
    let (unpacked, now) = data::unpacked(folder, SET)?;
    report.note(format!(
        "{} {}",
        if now { "unpacked into" } else { "unpacked earlier:" },
        unpacked.display()
    ));
    let network =
        data::find_folder(&unpacked, "social_network").ok_or("the archive holds no social_network")?;
    let place = TemporaryFolder::inside(&unpacked, "first").map_err(|error| error.to_string())?;
    let path = place.path().join("social");

    let seconds = import(&path, &network, report)?;
    let database = reopen(&path, report)?;
    let mut session = database.session();
    let ids = ids(&mut session).map_err(|error| told(&error))?;
    let kuzu = kuzu(&network, &ids, seconds, report);
    let asked = expected::read(&data::text(&network.with_file_name(""), "expected.jsonl")?)?;
    for query in COMPLEX {
        complex(query, &mut session, &asked, report);
    }
    short::run(&mut session, &ids, kuzu.as_ref(), report);
    stream::run(&mut session, &network, report)?;
    rows::run(folder, report)
}

fn import(path: &Path, network: &Path, report: &mut Report) -> Result<f64, String> {
    let database = Database::open(path, Options::default()).map_err(|error| told(&error))?;
    let options = ImportOptions { from: network.to_path_buf(), ..ImportOptions::default() };
    let (imported, time_ms) = timed(|| database.import(&options));
    let imported = imported.map_err(|error| told(&error))?;
    let seconds = time_ms / 1e3;
    report.note(format!(
        "{} vertices, {} edges, {} rejected",
        imported.vertices, imported.edges, imported.rejected
    ));
    let measured = format!("{seconds:.2} s");
    report.figure(
        "import",
        &measured,
        &format!("under {IMPORT_SECONDS_MAX} s"),
        seconds < IMPORT_SECONDS_MAX,
    );
    if imported.rejected > 0 {
        report.figure(
            "import takes every line",
            &format!("{} rejected", imported.rejected),
            "none rejected",
            false,
        );
    }
    match world::memory::resident_bytes() {
        Some(bytes) => {
            let resident = bytes as f64 / 1e6;
            let reached = resident < RESIDENT_MB_MAX;
            let target = format!("under {RESIDENT_MB_MAX} MB");
            report.figure("memory after import", &format!("{resident:.0} MB"), &target, reached);
        }
        None => report.skipped("memory after import", "the system does not say"),
    }
    database.close().map_err(|error| told(&error))?;
    Ok(seconds)
}

fn reopen(path: &Path, report: &mut Report) -> Result<Database, String> {
    let mut samples = Samples::default();
    let open = || {
        let database = Database::open(path, Options::default())?;
        database
            .session()
            .query("MATCH (person:Person {id: 933}) RETURN person.firstName", database::params! {})?
            .rows()?;
        Ok(database)
    };
    for _ in 0..REOPEN_ROUNDS {
        let (opened, time_ms) = timed(open);
        opened.map_err(|error| told(&error))?;
        samples.push(time_ms);
    }
    let median = samples.median_ms();
    let target = format!("under {REOPEN_MS_MAX} ms");
    report.figure("reopen and first look-up", &shown_ms(median), &target, median < REOPEN_MS_MAX);
    open().map_err(|error| told(&error))
}

/// Persons and messages spread over the whole set, the latest messages among them.
fn ids(session: &mut Session) -> Result<Json, database::Error> {
    let mut spread = |label: &str| -> Result<Vec<Json>, database::Error> {
        let text = format!("MATCH (n:{label}) RETURN n.id ORDER BY n.id");
        let rows = session.query(&text, database::params! {})?.rows()?;
        let step = (rows.len() / SHORT_IDS).max(1);
        Ok(rows.iter().rev().step_by(step).take(SHORT_IDS).map(|row| answers::plain(&row[0])).collect())
    };
    let (persons, mut messages) = (spread("Person")?, spread("Post")?);
    messages.extend(spread("Comment")?);
    Ok(json!({ "persons": persons, "messages": messages }))
}

fn kuzu(network: &Path, ids: &Json, seconds: f64, report: &mut Report) -> Option<Json> {
    let name = "import against Kuzu's COPY";
    match KUZU_SOCIAL.run(network, &[&ids.to_string()]) {
        Ok(answer) => {
            let copy = answer["copy_seconds"].as_f64().unwrap_or(f64::NAN);
            let measured = format!("{seconds:.2} s, {:.2} of Kuzu's", seconds / copy);
            let version = answer["version"].as_str().unwrap_or("?");
            let target = format!("under {IMPORT_PART_MAX} of {copy:.2} s (Kuzu {version})");
            report.figure(name, &measured, &target, seconds < copy * IMPORT_PART_MAX);
            Some(answer)
        }
        Err(why) => {
            report.skipped(name, &why);
            None
        }
    }
}

/// One complex read with all its parameter sets: every row is checked in the first round, the others are timed too.
fn complex(query: Query, session: &mut Session, asked: &[expected::Expected], report: &mut Report) {
    let sets: Vec<_> = asked.iter().filter(|expected| expected.query == query.name).collect();
    let (mut samples, mut right, mut first_fault) = (Samples::default(), 0, None);
    for expected in &sets {
        for round in 0..ROUNDS {
            let (rows, time_ms) =
                timed(|| session.query(query.text, expected.params.clone()).and_then(|result| result.rows()));
            samples.push(time_ms);
            let verdict = match rows {
                Ok(rows) => answers::compare(query.name, &rows, &expected.rows),
                Err(error) => Err(told(&error)),
            };
            match verdict {
                Ok(()) => right += usize::from(round == 0),
                Err(fault) => {
                    first_fault.get_or_insert(format!("{:?}: {fault}", expected.params));
                    break;
                }
            }
        }
    }
    let measured = format!("{right} of {}, median {}", sets.len(), shown_ms(samples.median_ms()));
    let reached = right == sets.len() && first_fault.is_none() && right > 0;
    report.figure(query.name, &measured, "every row right", reached);
    if let Some(fault) = first_fault {
        report.note(format!("first fault with {fault}"));
    }
}
