//! `first`: one real path from end to end. Imports a social network, asks and changes it, and walks a power-law graph beside other engines.

mod asks;
mod hops;
pub(crate) mod rows;
mod short;
mod social;
pub(crate) mod stream;

use crate::report::Report;
pub(crate) use asks::Asks;
use std::path::Path;

/// Runs the bench. The social network comes first, while the process is small: its memory after import is one of the figures.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    match data {
        Some(folder) => social::run(folder, report)?,
        None => report
            .skipped("social network", "it needs --data with a folder that holds snb-like-sf0.1.tar.zst"),
    }
    hops::run(report)?;
    report.section("kill -9 during import and during commits: a test of its own");
    report.note("TANGLEWOOD_KILL_ROUNDS=50 cargo test --release --test kill -- --nocapture");
    Ok(())
}

/// A failure of the database in one line.
pub(crate) fn told(error: &database::Error) -> String {
    format!("{}: {}", error.code, error.to_string().replace('\n', " / "))
}
