//! Running queries, as sessions start them and lists show them.

use crate::accounts::Payer;
use std::time::Duration;

/// Prefix of the ids of queries.
pub(crate) const OWN_QUERY: &str = "query-";
/// Prefix of the ids of queries that run in the replica of a gate.
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
    /// The tenant that pays for it.
    pub tenant: String,
    /// The user, if known.
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
    /// A statement that lists running queries, and has no number yet itself.
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

/// The description of a request that a session starts.
pub(crate) struct Running<'a> {
    pub text: &'a str,
    pub payer: Payer,
    pub timeout: Option<Duration>,
    pub bytes_max: u64,
    /// The query that it is a part of.
    pub part_of: Option<execute::QueryId>,
}

/// What is shown, as lists of running queries show it: no more of it is written than they show.
pub(crate) fn label(shown: &dyn std::fmt::Display) -> String {
    struct Label(String);
    impl std::fmt::Write for Label {
        fn write_str(&mut self, part: &str) -> std::fmt::Result {
            self.0.push_str(shortened(part));
            if self.0.len() < LABEL_BYTES_MAX { Ok(()) } else { Err(std::fmt::Error) }
        }
    }
    let mut label = Label(String::new());
    // An error says that it is full.
    let _ = std::fmt::Write::write_fmt(&mut label, format_args!("{shown}"));
    shortened(&label.0).to_string()
}

/// A text as lists of running queries show it.
pub(crate) fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(LABEL_BYTES_MAX)]
}
