//! # ingest: other people's files into a bulk build
//!
//! LDBC SNB folders, CSV with Neo4j-style headers, bare edge lists; plain, gzip or zstd.

mod options;

pub use options::{ImportError, ImportOptions, ImportReport, Layout, Progress, Rejected};

use transact::Engine;

/// Reads the files that `options` names into the database. Nothing is visible before all of it is durable.
pub fn import(_engine: &Engine, options: &ImportOptions) -> Result<ImportReport, ImportError> {
    Err(ImportError::Nothing { path: options.from.clone() })
}
