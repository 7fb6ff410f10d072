//! Options and reports of imports.

use crate::{Mapping, Understood};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Default label of vertices of an edge list.
pub const DEFAULT_VERTEX_LABEL: &str = "Node";
/// Default type of edges of an edge list.
pub const DEFAULT_EDGE_TYPE: &str = "EDGE";
/// Rejected lines that a report shows; the others are only counted.
pub const REJECTED_SHOWN_MAX: usize = 10;

/// How files are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Decided by looking at names and first lines.
    #[default]
    Auto,
    /// LDBC SNB CSV folders.
    Ldbc,
    /// CSV with headers such as `:ID`, `:START_ID`.
    Headers,
    /// Edge lists.
    Edges,
    /// Ordinary CSV, whose first line names the columns; the columns decide the kind of rows.
    Csv,
}

/// How vertices and edges that the database has already are treated.
///
/// A vertex is there if the database has one with the id, under one of the labels of the row. An edge is there if the database has one of the
/// same type between the same two vertices with the same properties and no others; each of the database counts for one of the files. Vertices of
/// edge lists are no rows of their own: they may be there, whatever is said here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingPolicy {
    /// The import fails, and changes nothing.
    #[default]
    Fail,
    /// They stay as they are.
    Skip,
    /// The properties of the row are set at vertices; edges stay as they are.
    Merge,
}

/// How far an import is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read, as they lie on disk.
    pub bytes_done: u64,
    /// Bytes of all files, as they lie on disk.
    pub bytes_total: u64,
    /// Vertices so far.
    pub vertices: u64,
    /// Edges so far.
    pub edges: u64,
    /// The current phase.
    pub phase: &'static str,
}

/// Called with the progress of an import.
pub type ProgressListener = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Called with the detected meaning of a file, before it is used.
pub type UnderstoodListener = Arc<dyn Fn(&Understood) + Send + Sync>;

/// Options of an import.
#[derive(Clone, Default)]
pub struct ImportOptions {
    /// A folder, a file, or a tar archive of a folder, each plain or compressed by gzip or zstd; `-` is standard input. Left alone where there
    /// is a mapping. It may be a URL, and so may each file of a mapping: see [`crate::remote`].
    pub from: PathBuf,
    /// Paths with other names in messages: of downloaded files, with their origins.
    pub told_as: Vec<(PathBuf, PathBuf)>,
    /// The meaning of ordinary files; nothing else is read then.
    pub mapping: Mapping,
    /// Words that stand for no value in ordinary files, beside an empty field and `\N`.
    pub nulls: Vec<String>,
    /// Read and count everything, and change nothing.
    pub dry_run: bool,
    /// Called with the detected meaning of ordinary files.
    pub understood: Option<UnderstoodListener>,
    /// How it is laid out.
    pub layout: Layout,
    /// Stop at the first malformed line, and change nothing.
    pub strict: bool,
    /// How vertices and edges that exist already are treated.
    pub existing: ExistingPolicy,
    /// Threads; one a core where absent.
    pub threads: Option<usize>,
    /// Called now and then, at most some ten times a second, from any thread.
    pub progress: Option<ProgressListener>,
    /// Label of the vertices of edge lists; [`DEFAULT_VERTEX_LABEL`] where absent.
    pub vertex_label: Option<String>,
    /// Type of the edges of edge lists; [`DEFAULT_EDGE_TYPE`] where absent.
    pub edge_type: Option<String>,
    /// The separator of fields; detected from the first line if absent.
    pub delimiter: Option<u8>,
    /// Bytes of memory that the import may take, beside the ids of the vertices; the rest is spilled to a temporary file. About twice the graph if
    /// absent.
    pub memory_bytes: Option<u64>,
    /// Once it is true, the import ends soon with an error, and has changed nothing.
    pub stop: Option<Arc<AtomicBool>>,
    /// Where that file is made; where the system keeps temporary files, if absent.
    pub spill_folder: Option<PathBuf>,
}

impl ImportOptions {
    /// The name of a path in messages.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        let known = self.told_as.iter().find_map(|(here, told)| Some((path.strip_prefix(here).ok()?, told)));
        match known {
            Some((rest, told)) if rest.as_os_str().is_empty() => told.clone(),
            Some((rest, told)) => told.join(rest),
            None => path.to_path_buf(),
        }
    }
}

/// A line that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// In which file.
    pub file: PathBuf,
    /// Which line, from 1.
    pub line: u64,
    /// Why.
    pub what: String,
}

/// The report of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// Vertices added.
    pub vertices: u64,
    /// Edges added.
    pub edges: u64,
    /// Vertices and edges of the files that the database had already; at the vertices properties may have been set.
    pub existing: u64,
    /// Bytes read, as they lie on disk.
    pub bytes: u64,
    /// Files read.
    pub files: usize,
    /// Files seen that belong to no layout, and were left alone.
    pub skipped: Vec<PathBuf>,
    /// Wall time.
    pub seconds: f64,
    /// Lines left out.
    pub rejected: u64,
    /// The first of them, by file and line, at most [`REJECTED_SHOWN_MAX`].
    pub rejected_first: Vec<Rejected>,
    /// Vertices by label set (`Message:Post`), sorted by name.
    pub by_label: Vec<(String, u64)>,
    /// Edges by type, sorted by name.
    pub by_type: Vec<(String, u64)>,
    /// How vertices are identified in a later import.
    pub known_by: Vec<KnownBy>,
}

/// Vertices that are known by the ids of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownBy {
    /// A label that they have.
    pub label: String,
    /// The property that keeps their ids.
    pub property: String,
    /// Do the files name them as ends of edges alone? Then they may exist already under any policy.
    pub is_implied: bool,
}
