//! The answers of the interactive workload through gates over three shards: the rows that others found right; then the benchmark's own updates through another gate,
//! each counted, and all questions once more, beside one machine with the same updates.

use super::processes::Cluster;
use super::{client, told};
use crate::first::rows::{SMALL, Set, TEST_DATA};
use crate::first::{Asks, rows, stream};
use crate::ldbc::expected::Expected;
use crate::report::Report;
use database::{Database, ImportOptions, Options, Session};
use std::path::Path;

/// Gates and shards.
const SIZE: (u16, u16) = (2, 3);
/// The part's name in `--only`.
pub const NAME: &str = "ldbc";

/// Runs the sets that the data folder holds; `place` is a folder for temporary files.
pub fn run(folder: Option<&Path>, place: &Path, report: &mut Report) -> Result<(), String> {
    report.section(&format!("answers of the interactive workload, {} gates, {} shards", SIZE.0, SIZE.1));
    for set in [TEST_DATA, SMALL] {
        match folder.filter(|folder| set.is_in(folder)) {
            Some(folder) => check(folder, &set, place, report)?,
            None => report.skipped(set.name, "no folder of data holds it"),
        }
    }
    Ok(())
}

fn check(folder: &Path, set: &Set, place: &Path, report: &mut Report) -> Result<(), String> {
    let (network, asked) = set.open(folder)?;
    let path = place.join(set.name);
    let database = Database::open(&path, Options::default()).map_err(|error| told(&error))?;
    let options = ImportOptions { from: network.clone(), ..ImportOptions::default() };
    let imported = database.import(&options).map_err(|error| told(&error))?;
    database.close().map_err(|error| told(&error))?;
    let Some(cluster) = Cluster::up(place.join(format!("{}-cluster", set.name)), SIZE, &path, &[])? else {
        report.skipped(set.name, super::NO_POSTGRES);
        return Ok(());
    };
    report.note(format!(
        "{}: {} vertices and {} edges; the cluster served them after {:.1} s",
        set.name, imported.vertices, imported.edges, cluster.up_seconds
    ));
    let urls = cluster.gates();
    let mut reader = client::connect(&urls[0])?;
    rows::right(&mut reader, &asked, set.name, report);
    if !stream::is_in(&network) {
        return Ok(());
    }
    // The same updates on one machine, where a bench of its own holds them against what they must do.
    let database = Database::open(&path, Options::default()).map_err(|error| told(&error))?;
    let mut one = database.session();
    stream::follow(&mut one, &network)?;
    stream::run(&mut client::connect(&urls[urls.len() - 1])?, &network, report)?;
    alike(&mut one, &mut reader, &asked, report)
}

/// All questions after the updates, at both.
fn alike(
    one: &mut Session,
    cluster: &mut impl Asks,
    asked: &[Expected],
    report: &mut Report,
) -> Result<(), String> {
    let mut other = 0;
    for question in asked {
        let Some(query) = rows::query(&question.query) else { continue };
        let found = [one.rows(query.text, &question.params)?, cluster.rows(query.text, &question.params)?];
        if let Err(why) = rows::same(query.name, &found) {
            other += 1;
            report.note(format!("{} {:?}: {why}", query.name, question.params));
        }
    }
    let measured = format!("{} of {}", asked.len() - other, asked.len());
    report.figure("after the updates", &measured, "every row as on one machine", other == 0);
    Ok(())
}
