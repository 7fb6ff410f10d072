//! How a database is opened.

use crate::limits::{ANCHOR_LOG_BYTES, RETAINED_LOG_BYTES_MAX};
use durable::LogOptions;
use std::sync::Arc;
use std::time::Duration;
use store::{Entries, StoreOptions};
use world::clock::{Clock, RealClock};

/// How a database is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// Create the database if the folder is missing or empty.
    pub create: bool,
    /// Options of the log.
    pub log: LogOptions,
    /// Options of the store.
    pub store: StoreOptions,
    /// Bytes of log between checkpoints kept for the past, see [`ANCHOR_LOG_BYTES`].
    pub anchor_log_bytes: u64,
    /// How long commits are retained for re-reading; without it only as far as history keeps them.
    pub retention: Option<Retention>,
    /// Bytes of log that are retained for that, see [`RETAINED_LOG_BYTES_MAX`].
    pub retained_log_bytes: u64,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Gatekeepers that stamp commits, at most [`order::GATEKEEPERS_MAX`]: one where all sessions live in one process.
    pub gatekeepers: usize,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            create: true,
            log: LogOptions::default(),
            store: StoreOptions::default(),
            anchor_log_bytes: ANCHOR_LOG_BYTES,
            retention: None,
            retained_log_bytes: RETAINED_LOG_BYTES_MAX,
            clock: Arc::new(RealClock),
            gatekeepers: 1,
        }
    }
}

/// How long commits are retained for re-reading, by the entries of the graph's catalogue; see [`crate::Since`].
pub type Retention = Arc<dyn Fn(&Entries) -> Duration + Send + Sync>;
