//! What is imported and how, and what came of it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

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
}

/// How far an import is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Bytes read.
    pub bytes_done: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
    /// Vertices so far.
    pub vertices: u64,
    /// Edges so far.
    pub edges: u64,
    /// What is being done.
    pub phase: &'static str,
}

/// What to import.
#[derive(Clone, Default)]
pub struct ImportOptions {
    /// A folder or a file.
    pub from: PathBuf,
    /// How it is laid out.
    pub layout: Layout,
    /// Stop at the first malformed line, and change nothing.
    pub strict: bool,
    /// Threads; one a core where absent.
    pub threads: Option<usize>,
    /// Called now and then.
    pub progress: Option<Arc<dyn Fn(&Progress) + Send + Sync>>,
    /// Label of the vertices of edge lists.
    pub vertex_label: Option<String>,
    /// Type of the edges of edge lists.
    pub edge_type: Option<String>,
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

/// What an import did.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// Vertices added.
    pub vertices: u64,
    /// Edges added.
    pub edges: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Files read.
    pub files: usize,
    /// Wall time.
    pub seconds: f64,
    /// Lines left out.
    pub rejected: u64,
    /// The first of them.
    pub rejected_first: Vec<Rejected>,
    /// Vertices by label set, as text.
    pub by_label: Vec<(String, u64)>,
    /// Edges by type.
    pub by_type: Vec<(String, u64)>,
}

/// Why nothing was imported.
#[derive(Clone, Debug)]
pub enum ImportError {
    /// Nothing recognised.
    Nothing {
        /// Where.
        path: PathBuf,
    },
}

impl ImportError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        "Tanglewood.ClientError.Import.Nothing"
    }
    /// What may help.
    pub fn hint(&self) -> Option<String> {
        None
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing to import at {self:?}")
    }
}

impl std::error::Error for ImportError {}
