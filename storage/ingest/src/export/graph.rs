//! The graph of an export, and the walk over it.

use crate::ImportError;
use model::{Direction, EdgeId, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{EdgeScratch, LabelFilter, Snapshot};
use world::files;

/// The statements that make the indexes and constraints of an exported graph, beside its files.
pub(crate) const SCHEMA_FILE: &str = "schema.cypher";
/// The separator of statements there.
pub(crate) const BETWEEN_STATEMENTS: &str = ";\n";

/// How an exported graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// CSV with typed headers, a file for each set of labels and each relationship type.
    Csv,
    /// One object of JSON a line.
    Jsonl,
    /// Parquet, a file for each set of labels and each relationship type.
    #[cfg(feature = "columnar")]
    Parquet,
    /// A script of Cypher.
    Cypher,
}

/// Polled for an early end of the export.
pub type ExportStopped = Arc<dyn Fn() -> bool + Send + Sync>;

/// Options of an export.
#[derive(Clone)]
pub struct ExportOptions {
    /// The folder; it must be missing or empty.
    pub to: PathBuf,
    /// How it is written.
    pub format: ExportFormat,
    /// Statements that make the indexes and constraints again.
    pub schema: Vec<String>,
    /// Once it says true, the export ends soon with an error, and leaves nothing.
    pub stopped: Option<ExportStopped>,
}

/// The report of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Nodes.
    pub vertices: u64,
    /// Relationships.
    pub edges: u64,
    /// Files.
    pub files: usize,
}

pub(crate) fn refusal(what: String) -> ImportError {
    ImportError::Export { what }
}

/// The error of writing to a file.
pub(crate) fn unwritten(path: &Path) -> impl Fn(std::io::Error) -> ImportError {
    move |error| ImportError::Read { path: path.to_path_buf(), what: error.to_string() }
}

/// A graph to be walked over.
pub(crate) struct Graph<'s> {
    pub snapshot: &'s Snapshot,
    pub stopped: Option<&'s (dyn Fn() -> bool + Send + Sync)>,
}

/// A relationship: where it begins and ends, and its type.
pub(crate) struct Between {
    pub source: VertexId,
    pub target: VertexId,
    pub edge_type: EdgeTypeId,
}

impl Graph<'_> {
    /// Calls `found` with every node.
    pub fn nodes(
        &self,
        mut found: impl FnMut(VertexId, Vec<(KeyId, Value)>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        for chunk in self.snapshot.scan_chunks(&LabelFilter::Any) {
            self.check_stop()?;
            let mut vertices = Vec::new();
            self.snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
            for vertex in vertices {
                found(vertex, self.snapshot.properties(vertex)?)?;
            }
        }
        Ok(())
    }
    /// Calls `found` with every relationship.
    pub fn edges(
        &self,
        mut found: impl FnMut(Between, Vec<(KeyId, Value)>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let view = self.snapshot.adjacency(&[], Direction::Out);
        let mut scratch = EdgeScratch::default();
        for chunk in self.snapshot.scan_chunks(&LabelFilter::Any) {
            self.check_stop()?;
            let mut vertices = Vec::new();
            self.snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
            for source in vertices {
                let (targets, edges) = view.edges(source.dense(), &mut scratch)?;
                for (target, edge) in targets.iter().zip(edges) {
                    let (target, edge) = (VertexId::from_dense(*target), EdgeId(*edge));
                    let between = Between { source, target, edge_type: edge.edge_type() };
                    found(between, self.snapshot.edge_properties(edge)?)?;
                }
            }
        }
        Ok(())
    }
    fn check_stop(&self) -> Result<(), ImportError> {
        match self.stopped.is_some_and(|stopped| stopped()) {
            true => Err(ImportError::Stopped),
            false => Ok(()),
        }
    }
    /// Names of the labels of a set, in alphabetical order.
    pub fn labels(&self, set: LabelSetId) -> Vec<String> {
        let catalog = self.snapshot.catalog();
        let labels = catalog.labels_of(set);
        let named = labels.iter().filter_map(|label| catalog.label_name(*label));
        let mut names: Vec<String> = named.map(|name| name.to_string()).collect();
        names.sort_unstable();
        names
    }
    pub fn type_name(&self, edge_type: EdgeTypeId) -> String {
        self.snapshot.catalog().edge_type_name(edge_type).map_or(String::new(), |name| name.to_string())
    }
    pub fn key_name(&self, key: KeyId) -> String {
        self.snapshot.catalog().key_name(key).map_or(String::new(), |name| name.to_string())
    }
}

/// Writes the statements of a schema into a folder; the number of files.
///
/// # Errors
/// A statement cannot be separated from the next; the disk refuses.
pub fn write_schema(folder: &Path, schema: &[String]) -> Result<usize, ImportError> {
    if schema.is_empty() {
        return Ok(0);
    }
    if let Some(odd) = schema.iter().find(|text| text.contains(BETWEEN_STATEMENTS)) {
        return Err(refusal(format!("a name of the schema holds a semicolon and a line end: {odd}")));
    }
    let text: String = schema.iter().flat_map(|text| [text.as_str(), BETWEEN_STATEMENTS]).collect();
    files::write_bytes(&folder.join(SCHEMA_FILE), text.as_bytes())?;
    Ok(1)
}

/// Statements of a schema's file.
pub(crate) fn statements(text: &str) -> Vec<String> {
    let found = text.split(BETWEEN_STATEMENTS).map(|text| text.trim().trim_end_matches(';').to_string());
    found.filter(|text| !text.is_empty()).collect()
}
