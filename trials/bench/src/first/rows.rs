//! Further sets with expected rows: every answer is checked, no time is a figure.

use super::told;
use crate::data;
use crate::ldbc::{COMPLEX, SHORT, answers, expected};
use crate::report::Report;
use crate::timing::{shown_ms, timed};
use database::{Database, ImportOptions, MEMORY, Options, Session};
use std::collections::BTreeMap;
use std::path::Path;

/// A packed set, and where its expected rows are: beside it, or in this folder and file inside it.
struct Set {
    name: &'static str,
    network: &'static str,
    expected: Place,
}

enum Place {
    Beside(&'static str),
    Inside(&'static str, &'static str),
}

const SETS: [Set; 2] = [
    Set {
        name: "ldbc-test-data",
        network: "vanilla",
        expected: Place::Inside("cypher", "expected_python.jsonl"),
    },
    Set {
        name: "snb-like-sf0.3",
        network: "social_network",
        expected: Place::Beside("snb-like-sf0.3-expected.jsonl"),
    },
];

/// Checks the sets that the folder holds.
pub fn run(folder: &Path, report: &mut Report) -> Result<(), String> {
    report.section("rows of further social networks");
    for set in SETS {
        if !world::files::exists(&folder.join(format!("{}.tar.zst", set.name))) {
            report.skipped(set.name, "not in the data folder");
            continue;
        }
        check(folder, &set, report)?;
    }
    Ok(())
}

fn check(folder: &Path, set: &Set, report: &mut Report) -> Result<(), String> {
    let (unpacked, _) = data::unpacked(folder, set.name)?;
    let inside = |name: &str| {
        data::find_folder(&unpacked, name).ok_or_else(|| format!("{} holds no folder `{name}`", set.name))
    };
    let text = match set.expected {
        Place::Beside(file) => data::text(folder, file)?,
        Place::Inside(place, file) => data::text(&inside(place)?, file)?,
    };
    let database = Database::open(MEMORY, Options::default()).map_err(|error| told(&error))?;
    let options = ImportOptions { from: inside(set.network)?, ..ImportOptions::default() };
    let (imported, import_ms) = timed(|| database.import(&options));
    let imported = imported.map_err(|error| told(&error))?;
    let asked = expected::read(&text)?;
    let mut session = database.session();
    let (faults, asked_ms) = timed(|| faults(&mut session, &asked));
    report.note(format!(
        "{}: {} vertices and {} edges imported in {}, asked for {}",
        set.name,
        imported.vertices,
        imported.edges,
        shown_ms(import_ms),
        shown_ms(asked_ms)
    ));
    let wrong: usize = faults.values().map(|(count, _)| count).sum();
    let measured = format!("{} of {}", asked.len() - wrong, asked.len());
    report.figure(set.name, &measured, "every row right", wrong == 0 && !asked.is_empty());
    for (query, (count, first)) in &faults {
        report.note(format!("{query}: {count} wrong, first with {first}"));
    }
    Ok(())
}

/// Wrong answers by query: how many, and the first.
fn faults(session: &mut Session, asked: &[expected::Expected]) -> BTreeMap<String, (usize, String)> {
    let mut faults = BTreeMap::new();
    for expected in asked {
        let Some(query) = COMPLEX.iter().chain(&SHORT).find(|query| query.name == expected.query) else {
            let unknown = || (0, "there is no such query".to_string());
            faults.entry(expected.query.clone()).or_insert_with(unknown).0 += 1;
            continue;
        };
        let rows = session.query(query.text, expected.params.clone()).and_then(|result| result.rows());
        let verdict = match rows {
            Ok(rows) => answers::compare(query.name, &rows, &expected.rows),
            Err(error) => Err(told(&error)),
        };
        if let Err(fault) = verdict {
            let first = || (0, format!("{:?}: {fault}", expected.params));
            faults.entry(expected.query.clone()).or_insert_with(first).0 += 1;
        }
    }
    faults
}
