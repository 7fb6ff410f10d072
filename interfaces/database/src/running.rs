//! Queries that run: as lists show them, and as a session starts them.

use crate::accounts::Payer;
use std::time::Duration;

/// What ids of queries begin with.
pub(crate) const OWN_QUERY: &str = "query-";
/// What ids of queries begin with that run in the replica of a gate.
pub(crate) const REPLICA_QUERY: &str = "replica-query-";

/// Bytes of a query's text that lists of running queries show.
const LABEL_BYTES_MAX: usize = 2_000;

/// A running query.
#[derive(Clone, Debug)]
pub struct RunningQuery {
    /// Its id, for KILL QUERY.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Who pays for it.
    pub tenant: String,
    /// Who asked, where that is known.
    pub user: Option<String>,
    /// False while it waits to be let in.
    pub running: bool,
    /// Time since it began.
    pub elapsed_ms: u64,
    /// Processor time it used on all executors.
    pub cpu_ms: u64,
    /// Rows that its operators passed on.
    pub rows: u64,
    /// Bytes it holds.
    pub bytes: u64,
}

impl RunningQuery {
    /// A statement that asks who runs, and has no number yet.
    pub(crate) fn asking(text: &str) -> RunningQuery {
        RunningQuery {
            id: String::new(),
            text: shortened(text).to_string(),
            tenant: String::new(),
            user: None,
            running: true,
            elapsed_ms: 0,
            cpu_ms: 0,
            rows: 0,
            bytes: 0,
        }
    }
}

/// What a session tells of a request that it starts.
pub(crate) struct Running<'a> {
    pub text: &'a str,
    pub payer: Payer,
    pub timeout: Option<Duration>,
    pub bytes_max: u64,
    /// The query that it is a part of.
    pub part_of: Option<execute::QueryId>,
}

/// A text as lists of running queries show it.
pub(crate) fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LABEL_BYTES_MAX)]
}
