//! How a database is opened. Every limit has a default that a newcomer can live with.

use crate::Error;
use ingest::UrlRules;
use std::path::PathBuf;
use std::time::Duration;
use transact::History;
use world::disk::{Disk, RealDisk};

/// The least number of characters of a password, whatever the options say.
pub(crate) const PASSWORD_CHARS_MIN: usize = 8;

/// Bytes that queries put aside on disk unless something else is said.
const SPILL_BYTES_MAX: u64 = 32 << 30;

/// Options of [`crate::Database::open`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Create the database if the folder is missing or empty.
    pub create: bool,
    /// Executor threads; one a core where absent.
    pub executors: Option<usize>,
    /// Bytes one query may hold before it ends with an error.
    pub query_bytes_max: u64,
    /// Time one query may run before it ends with an error; no limit where absent.
    pub query_timeout: Option<Duration>,
    /// Upper bound of the timeout of any query, whatever its client or its session sets; no limit where absent.
    pub query_timeout_max: Option<Duration>,
    /// Rows that one query may answer before it ends with an error; no limit where absent.
    pub query_rows_max: Option<u64>,
    /// Bytes that all queries together may hold; a query that asks for more ends with an error. No limit where absent.
    pub queries_bytes_max: Option<u64>,
    /// Bytes that all queries together may put aside on disk, where they keep more rows than they have memory for; 0 for none.
    pub spill_bytes_max: u64,
    /// Folder for rows that queries spill; it belongs to this database alone. Where absent, one inside of the database; a database in memory then
    /// spills nothing.
    pub spill_folder: Option<PathBuf>,
    /// Queries that run on the executors at once; further ones wait. No limit where absent.
    pub queries_max: Option<u64>,
    /// Times a single statement is tried before a conflict is reported.
    pub attempts_max: u32,
    /// Bytes of log after which a checkpoint is made in the background.
    pub checkpoint_log_bytes: u64,
    /// Gatekeepers that stamp commits, assigned to sessions round-robin; at most 64.
    pub gatekeepers: usize,
    /// Bytes that the graph may hold in memory: its chunks, indexes and versions. The rest is read from disk on demand; no bound where absent.
    pub memory_bytes: Option<u64>,
    /// Folder below which LOAD CSV may read; it reads nothing where absent.
    pub import_folder: Option<PathBuf>,
    /// Hosts of which LOAD may read URLs; none where the list is empty.
    pub import_urls: UrlRules,
    /// Folder below which `CALL dbms.backup` may make backups; it makes none where absent.
    pub backup_folder: Option<PathBuf>,
    /// Characters that a new password has at least, without the name of its user; 8 where less is said.
    pub password_chars_min: usize,
    /// No session may write.
    pub read_only: bool,
    /// How much history is kept; where absent, the setting stored in the database.
    pub history: Option<History>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            create: true,
            executors: None,
            query_bytes_max: 2 << 30,
            query_timeout: None,
            query_timeout_max: None,
            query_rows_max: None,
            queries_bytes_max: None,
            spill_bytes_max: SPILL_BYTES_MAX,
            spill_folder: None,
            queries_max: None,
            attempts_max: 32,
            checkpoint_log_bytes: 256 << 20,
            gatekeepers: 1,
            memory_bytes: None,
            import_folder: None,
            import_urls: UrlRules::default(),
            backup_folder: None,
            password_chars_min: PASSWORD_CHARS_MIN,
            read_only: false,
            history: None,
        }
    }
}

impl Options {
    /// Checks options before a database is opened with them; creates nothing.
    ///
    /// # Errors
    /// The folder for spilled rows is no folder, and cannot be created.
    pub fn check(&self) -> Result<(), Error> {
        let named = self.spill_folder.as_ref().filter(|_| self.spill_bytes_max > 0);
        let Some(named) = named else { return Ok(()) };
        RealDisk.exists(named).map_err(|error| spill_folder(&error))?;
        match named.ancestors().find(|part| part.exists()) {
            Some(part) if !part.is_dir() => Err(spill_folder(&format!("{} is no folder", part.display()))),
            _ => Ok(()),
        }
    }
}

/// The folder for spilled rows cannot be used.
pub(crate) fn spill_folder(why: &dyn std::fmt::Display) -> Error {
    let message = format!("the folder for what queries put aside cannot be used: {why}");
    Error::new("Tanglewood.ClientError.Database.SpillFolder", message)
        .hint("name a folder of its own by the option spill_folder, or set spill_bytes_max to 0")
}
