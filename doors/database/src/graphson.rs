//! Graphs in TinkerPop's files, read into the database.

use crate::{Database, Error, ImportReport};
use std::path::PathBuf;
use world::clock::monotonic_ns;

/// What to read, and how.
#[derive(Clone, Debug)]
pub struct GraphsonImport {
    /// The file.
    pub from: PathBuf,
}

impl Database {
    /// Reads a file of GraphSON into the database, all of it or nothing.
    ///
    /// # Errors
    /// The file cannot be read, a line is no vertex, an edge leads nowhere, a value cannot be kept; or another's commit came between.
    pub fn import_graphson(&self, import: &GraphsonImport) -> Result<ImportReport, Error> {
        let began_ns = monotonic_ns();
        let loaded = traverse::load(self.engine(), &import.from)?;
        self.after_commit();
        Ok(ImportReport {
            vertices: loaded.vertices,
            edges: loaded.edges,
            bytes: loaded.bytes,
            files: 1,
            seconds: (monotonic_ns() - began_ns) as f64 / 1e9,
            ..ImportReport::default()
        })
    }
}
