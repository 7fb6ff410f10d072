//! What can go wrong with what is durable. A damaged byte always ends here, never as wrong data and never as a panic.

use std::fmt;
use std::path::PathBuf;

use world::disk::DiskError;

/// Result of an operation of this crate.
pub type DurableResult<T> = Result<T, DurableError>;

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurableError {
    /// The disk refused.
    Disk(DiskError),
    /// A file does not hold what was written to it.
    Corrupt {
        /// The file.
        file: PathBuf,
        /// Where in it, in bytes.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// The files were written by a later Tanglewood.
    NewerFormat {
        /// The file.
        file: PathBuf,
        /// The version of its format.
        found: u32,
        /// The latest version this program reads.
        supported: u32,
    },
    /// The folder holds something else.
    NotADatabase {
        /// The folder.
        path: PathBuf,
    },
    /// There is no database in the folder, and none was to be created.
    NoDatabase {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds a backup, not a database.
    IsBackup {
        /// The folder.
        path: PathBuf,
    },
    /// There is no backup in the folder.
    NoBackup {
        /// The folder.
        path: PathBuf,
    },
    /// Something is there where a folder was to be made.
    InTheWay {
        /// The folder.
        path: PathBuf,
    },
    /// The database is open already, here or in another process.
    AlreadyOpen {
        /// The folder.
        path: PathBuf,
        /// The process that has it open, where known.
        pid: Option<u32>,
    },
    /// An earlier write or sync failed, so nobody knows what is on disk; only opening again tells.
    Poisoned {
        /// The failure, in words.
        cause: String,
    },
    /// Records were written, and the disk failed before it confirmed them: whether they are there shows when the database is opened
    /// again.
    Unconfirmed {
        /// The failure.
        cause: DiskError,
    },
    /// A record or blob is longer than the format allows.
    TooLarge {
        /// Its length.
        length_bytes: u64,
        /// The longest allowed.
        length_bytes_max: u64,
    },
    /// A commit version does not follow the one before it.
    OutOfOrder {
        /// The commit version given.
        commit_version: u64,
        /// The last commit version before it.
        last: u64,
    },
    /// Another checkpoint is being written.
    CheckpointRunning,
    /// This store keeps nothing, so it has no checkpoints.
    Volatile,
}

impl DurableError {
    /// A stable name for programs, never changed once released.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Disk(DiskError::Full { .. }) => "durable.disk_full",
            Self::Disk(_) => "durable.disk",
            Self::Corrupt { .. } => "durable.corrupt",
            Self::NewerFormat { .. } => "durable.newer_format",
            Self::NotADatabase { .. } => "durable.not_a_database",
            Self::NoDatabase { .. } => "durable.no_database",
            Self::IsBackup { .. } => "durable.is_backup",
            Self::NoBackup { .. } => "durable.no_backup",
            Self::InTheWay { .. } => "durable.in_the_way",
            Self::AlreadyOpen { .. } => "durable.already_open",
            Self::Poisoned { .. } => "durable.poisoned",
            Self::Unconfirmed { .. } => "durable.unconfirmed",
            Self::TooLarge { .. } => "durable.too_large",
            Self::OutOfOrder { .. } => "durable.out_of_order",
            Self::CheckpointRunning => "durable.checkpoint_running",
            Self::Volatile => "durable.volatile",
        }
    }

    /// What the user may do about it, if anything is known to help.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Disk(DiskError::Full { .. }) => Some("free some space; the database can still be read"),
            Self::Corrupt { .. } => {
                Some("run `tanglewood check` for the full list of damage, and restore from a backup")
            }
            Self::NewerFormat { .. } => Some("open it with a newer Tanglewood"),
            Self::NotADatabase { .. } => Some("choose an empty or a new folder"),
            Self::NoDatabase { .. } => Some("check the path, or create the database first"),
            Self::IsBackup { .. } => Some("make a database of it with `tanglewood restore`"),
            Self::NoBackup { .. } => Some("`tanglewood backup` makes one; a database needs no restoring"),
            Self::InTheWay { .. } => Some("name a folder that does not exist yet"),
            Self::AlreadyOpen { .. } => Some("close it there, or connect to the server that has it open"),
            Self::Poisoned { .. } => {
                Some("close the database and open it again; every confirmed commit is safe")
            }
            Self::Unconfirmed { .. } => {
                Some("close the database and open it again; that tells whether the last commits happened")
            }
            Self::TooLarge { .. } => Some("split the transaction into smaller ones"),
            Self::CheckpointRunning => Some("wait for it to end"),
            Self::Disk(_) | Self::OutOfOrder { .. } | Self::Volatile => None,
        }
    }

    pub(crate) fn corrupt(file: &std::path::Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { file: file.to_path_buf(), offset, what: what.into() }
    }
}

impl From<DiskError> for DurableError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

impl fmt::Display for DurableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(error) => error.fmt(f),
            Self::Corrupt { file, offset, what } => {
                write!(f, "{} is damaged at byte {offset}: {what}", file.display())
            }
            Self::NewerFormat { file, found, supported } => {
                let name = file.display();
                write!(
                    f,
                    "{name} has format version {found}, and this program reads up to version {supported}"
                )
            }
            Self::NotADatabase { path } => write!(f, "{} is not a Tanglewood database", path.display()),
            Self::NoDatabase { path } => write!(f, "there is no database at {}", path.display()),
            Self::IsBackup { path } => write!(f, "{} is a backup, not a database", path.display()),
            Self::NoBackup { path } => write!(f, "{} is not a backup", path.display()),
            Self::InTheWay { path } => write!(f, "{} is there already, and is not empty", path.display()),
            Self::AlreadyOpen { path, pid: Some(pid) } => {
                write!(f, "the database {} is already open in process {pid}", path.display())
            }
            Self::AlreadyOpen { path, pid: None } => {
                write!(f, "the database {} is already open in another process", path.display())
            }
            Self::Poisoned { cause } => {
                write!(f, "the log takes no more commits since an earlier failure: {cause}")
            }
            Self::Unconfirmed { cause } => write!(f, "what was written is not confirmed: {cause}"),
            Self::TooLarge { length_bytes, length_bytes_max } => {
                write!(f, "{length_bytes} bytes at once are too many; the most is {length_bytes_max}")
            }
            Self::OutOfOrder { commit_version, last } => {
                write!(f, "version {commit_version} does not follow version {last}")
            }
            Self::CheckpointRunning => write!(f, "a checkpoint is already being written"),
            Self::Volatile => write!(f, "a database in memory has no checkpoints"),
        }
    }
}

impl std::error::Error for DurableError {}
