//! `store`: the store at full strength. Many clients on a real network, readers beside writers, bulk load, memory, recovery, size.
//!
//! Each part is a bench of its own name too (`store-tao`), so that one figure can be measured without the others.

mod bare;
pub mod bulk;
pub mod memory;
pub mod readers;
pub mod recovery;
pub mod size;
pub mod social_graph;
pub mod stalls;
pub mod tao;

use crate::data;
use crate::report::Report;
use std::path::Path;
use world::files::{self, TemporaryFolder};

/// Runs all parts.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    // First, while the process is small: its memory is one of the figures.
    bulk::run(data, report)?;
    memory::run(data, report)?;
    tao::run(data, report)?;
    tao::commits(data, report)?;
    stalls::run(data, report)?;
    readers::run(data, report)?;
    recovery::run(data, report)?;
    size::run(data, report)?;
    report.section("kill -9 over a mixed workload: a test of its own");
    report.note("TANGLEWOOD_KILL_ROUNDS=50 cargo test --release --test kill -- --nocapture");
    Ok(())
}

/// A failure of the database in one line.
pub(crate) fn told(error: &database::Error) -> String {
    format!("{}: {}", error.code, error.to_string().replace('\n', " / "))
}

/// A folder for a part's databases, gone with it.
pub(crate) fn scratch(purpose: &str) -> Result<TemporaryFolder, String> {
    let cache = data::cache_folder();
    files::create_folder(&cache)
        .and_then(|()| TemporaryFolder::inside(&cache, purpose))
        .map_err(|error| error.to_string())
}
