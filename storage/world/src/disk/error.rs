//! Errors of a disk, as far as a caller can act on them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of a disk operation.
pub type DiskResult<T> = Result<T, DiskError>;

/// Why a disk operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskError {
    /// No file or folder has this name.
    NotFound {
        /// The name.
        path: PathBuf,
    },
    /// No space is left (or the quota is used up).
    Full {
        /// The file that was being written.
        path: PathBuf,
    },
    /// Another process, or another opening in this one, holds the lock.
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, where known.
        pid: Option<u32>,
    },
    /// Anything else the operating system reported.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation, as a verb: "open", "sync".
        operation: &'static str,
        /// The kind of error.
        kind: io::ErrorKind,
        /// The operating system's words.
        message: String,
    },
}

impl DiskError {
    /// Sorts an operating system error into this table.
    #[must_use]
    pub fn from_io(error: &io::Error, path: &Path, operation: &'static str) -> Self {
        let path = path.to_path_buf();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            kind => Self::Io { path, operation, kind, message: error.to_string() },
        }
    }

    /// The file or folder concerned.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::NotFound { path }
            | Self::Full { path }
            | Self::Locked { path, .. }
            | Self::Io { path, .. } => path,
        }
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path().display();
        match self {
            Self::NotFound { .. } => write!(f, "{name} does not exist"),
            Self::Full { .. } => write!(f, "no space left on the disk while writing {name}"),
            Self::Locked { pid: Some(pid), .. } => write!(f, "{name} is locked by process {pid}"),
            Self::Locked { pid: None, .. } => write!(f, "{name} is locked by another process"),
            Self::Io { operation, message, .. } => write!(f, "cannot {operation} {name}: {message}"),
        }
    }
}

impl std::error::Error for DiskError {}
