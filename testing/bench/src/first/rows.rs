//! Sets with expected rows: every answer is checked, no time is a figure.

use super::{Asks, told};
use crate::data;
use crate::ldbc::{COMPLEX, Query, SHORT, answers, expected};
use crate::report::Report;
use crate::timing::{shown_ms, timed};
use database::{Database, ImportOptions, MEMORY, Options, Value};
use expected::Expected;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A packed set, and where its expected rows are: beside it, in this folder and file inside it, or beside the network's folder.
pub(crate) struct Set {
    pub name: &'static str,
    network: &'static str,
    expected: Place,
}

enum Place {
    Beside(&'static str),
    Inside(&'static str, &'static str),
    BesideNetwork(&'static str),
}

pub(crate) const TEST_DATA: Set = Set {
    name: "ldbc-test-data",
    network: "vanilla",
    expected: Place::Inside("cypher", "expected_python.jsonl"),
};
pub(crate) const SMALL: Set = Set {
    name: "snb-like-sf0.1",
    network: "social_network",
    expected: Place::BesideNetwork("expected.jsonl"),
};

/// Those that are checked behind [`SMALL`], which is measured.
const SETS: [Set; 2] = [
    TEST_DATA,
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
        if set.is_in(folder) {
            check(folder, &set, report)?;
        } else {
            report.skipped(set.name, "not in the data folder");
        }
    }
    Ok(())
}

impl Set {
    /// Does the folder of data sets hold it?
    pub fn is_in(&self, folder: &Path) -> bool {
        world::files::exists(&folder.join(format!("{}.tar.zst", self.name)))
    }
    /// Unpacks the network to a folder; the folder, and the queries with their right rows.
    pub fn open(&self, folder: &Path) -> Result<(PathBuf, Vec<Expected>), String> {
        let (unpacked, _) = data::unpacked(folder, self.name)?;
        let inside = |name: &str| {
            data::find_folder(&unpacked, name)
                .ok_or_else(|| format!("{} holds no folder `{name}`", self.name))
        };
        let network = inside(self.network)?;
        let text = match self.expected {
            Place::Beside(file) => data::text(folder, file)?,
            Place::Inside(place, file) => data::text(&inside(place)?, file)?,
            Place::BesideNetwork(file) => data::text(&network.with_file_name(""), file)?,
        };
        Ok((network, expected::read(&text)?))
    }
}

fn check(folder: &Path, set: &Set, report: &mut Report) -> Result<(), String> {
    let (network, asked) = set.open(folder)?;
    let database = Database::open(MEMORY, Options::default()).map_err(|error| told(&error))?;
    let options = ImportOptions { from: network, ..ImportOptions::default() };
    let (imported, import_ms) = timed(|| database.import(&options));
    let imported = imported.map_err(|error| told(&error))?;
    report.note(format!(
        "{}: {} vertices and {} edges imported in {}",
        set.name,
        imported.vertices,
        imported.edges,
        shown_ms(import_ms)
    ));
    right(&mut database.session(), &asked, set.name, report);
    Ok(())
}

/// The figure: every row right.
pub(crate) fn right(by: &mut impl Asks, asked: &[Expected], name: &str, report: &mut Report) {
    let (faults, asked_ms) = timed(|| faults(by, asked));
    report.note(format!("{name}: {} questions in {}", asked.len(), shown_ms(asked_ms)));
    let wrong: usize = faults.values().map(|(count, _)| count).sum();
    let measured = format!("{} of {}", asked.len() - wrong, asked.len());
    report.figure(name, &measured, "every row right", wrong == 0 && !asked.is_empty());
    for (query, (count, first)) in &faults {
        report.note(format!("{query}: {count} wrong, first with {first}"));
    }
}

/// The read of this name.
pub(crate) fn query(name: &str) -> Option<&'static Query> {
    COMPLEX.iter().chain(&SHORT).find(|query| query.name == name)
}

/// Are two answers the same, as far as the query says?
pub(crate) fn same(query: &str, [found, other]: &[Vec<Vec<Value>>; 2]) -> Result<(), String> {
    let other: Vec<Vec<Json>> = other.iter().map(|row| row.iter().map(answers::plain).collect()).collect();
    answers::compare(query, found, &other)
}

/// Wrong answers by query: how many, and the first.
fn faults(by: &mut impl Asks, asked: &[Expected]) -> BTreeMap<String, (usize, String)> {
    let mut faults = BTreeMap::new();
    for expected in asked {
        let Some(query) = query(&expected.query) else {
            let unknown = || (0, "there is no such query".to_string());
            faults.entry(expected.query.clone()).or_insert_with(unknown).0 += 1;
            continue;
        };
        let rows = by.rows(query.text, &expected.params);
        let verdict = rows.and_then(|rows| answers::compare(query.name, &rows, &expected.rows));
        if let Err(fault) = verdict {
            let first = || (0, format!("{:?}: {fault}", expected.params));
            faults.entry(expected.query.clone()).or_insert_with(first).0 += 1;
        }
    }
    faults
}
