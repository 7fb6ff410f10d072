//! Why a query cannot be maintained, or no longer.

use dataflow::Level;
use dataflow::watch::Stopped;
use std::fmt;
use std::time::Duration;
use world::panics::{self, Panicked};

/// Why a standing query was refused, or ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StandingError {
    /// Its answer cannot be maintained; with the reason and a hint.
    Unsupported {
        /// The part that cannot be maintained.
        what: String,
        /// An alternative, where there is one.
        hint: Option<&'static str>,
    },
    /// It was set aside when the database was opened; the text says why.
    SetAside(String),
    /// Its first answer took longer than it may.
    TooSlow,
    /// An expression failed on a row.
    Failed(String),
    /// It panicked: a defect of the engine.
    Internal(Panicked),
    /// Its upkeep was ended, for this reason.
    Ended(String),
    /// The upkeep for one turn took longer than its tenant allows, in nanoseconds.
    TimedOut(u64),
    /// It was stopped: its time is over, or it takes more memory than it may.
    Stopped(Stopped),
    /// The answer, or the state for it, passed a limit.
    TooLarge {
        /// Which.
        what: &'static str,
        /// Its value.
        limit: usize,
    },
    /// There are [`crate::QUERIES_MAX`] queries.
    TooMany,
    /// The graph could not be read.
    Storage(String),
    /// There is no standing query of this name.
    NoSuchQuery(String),
    /// There is one of this name already.
    NameTaken(String),
    /// The answer has no column of this name.
    NoSuchColumn {
        /// The name.
        name: String,
        /// The columns there are.
        known: Vec<String>,
    },
    /// An argument is missing.
    MissingArgument(String),
    /// The commit to resume from lies ahead of the newest one.
    Unreached {
        /// Where the subscriber wants to go on.
        from: u64,
        /// The newest commit.
        newest: u64,
    },
    /// The changes since then are no longer known.
    Forgotten {
        /// Where the subscriber wants to go on.
        from: u64,
        /// The earliest commit to resume from; none where nothing is on disk.
        oldest: Option<u64>,
    },
    /// The mark to go on from is of another standing query, of other arguments, or of another database.
    ForeignMark,
    /// Too many readers resume at this moment.
    Busy,
}

/// The advice for a query that does not run.
const RETRY: &str = "DROP STANDING QUERY removes it; ALTER STANDING QUERY … RETRY tries it again";

/// There is no room for a query's state.
pub(crate) fn too_large((level, limit): (Level, u64)) -> StandingError {
    let what = match level {
        Level::Machine => "memory of all queries, in bytes,",
        _ => "memory of the tenant, in bytes,",
    };
    StandingError::TooLarge { what, limit: usize::try_from(limit).unwrap_or(usize::MAX) }
}

/// What `work` returns; a panic in it is an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, StandingError>) -> Result<T, StandingError> {
    panics::caught(work).unwrap_or_else(|panicked| Err(panicked.into()))
}

impl StandingError {
    pub(crate) fn unsupported(what: impl Into<String>) -> StandingError {
        StandingError::Unsupported { what: what.into(), hint: None }
    }
    pub(crate) fn unsupported_but(what: impl Into<String>, hint: &'static str) -> StandingError {
        StandingError::Unsupported { what: what.into(), hint: Some(hint) }
    }
    /// Advice for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StandingError::Unsupported { hint, .. } => *hint,
            StandingError::TooLarge { .. } => {
                Some("ask for less: an aggregate, or the top rows by ORDER BY and LIMIT")
            }
            StandingError::TooMany => {
                Some("drop standing queries that nobody reads; SHOW STANDING QUERIES lists them")
            }
            StandingError::Internal(_) => Some("this is a defect of the engine: please report it"),
            StandingError::Ended(_) => Some(RETRY),
            StandingError::TimedOut(_) => {
                Some("raise the tenant's TIME, then ALTER STANDING QUERY … RETRY; or ask for less")
            }
            StandingError::Stopped(_) => Some("ask for less, or raise the limits of the account"),
            StandingError::Failed(_) => {
                Some("drop it, and create it again with a condition that keeps such rows out")
            }
            StandingError::NoSuchQuery(_) => Some("SHOW STANDING QUERIES lists those there are"),
            StandingError::NameTaken(_) => Some("choose another name, or DROP STANDING QUERY first"),
            StandingError::MissingArgument(_) => Some("give it as a parameter of the SUBSCRIBE statement"),
            StandingError::Unreached { .. } => Some("resume from a mark that this database handed out"),
            StandingError::Forgotten { oldest: Some(_), .. } => {
                Some("subscribe with SNAPSHOT; a standing query that is created with RETAIN 1h keeps more")
            }
            StandingError::Forgotten { oldest: None, .. } => {
                Some("subscribe with SNAPSHOT; a database in a folder keeps more than one in memory")
            }
            StandingError::ForeignMark => {
                Some("resume from a mark of this very query and its arguments, or subscribe with SNAPSHOT")
            }
            StandingError::Busy => Some("try again later"),
            StandingError::NoSuchColumn { .. } => Some("a key is made of columns that the query returns"),
            StandingError::SetAside(_) => Some(RETRY),
            StandingError::TooSlow => Some("ask for less, or try it again when the machine is idle"),
            StandingError::Storage(_) => None,
        }
    }
}

impl fmt::Display for StandingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StandingError::Unsupported { what, .. } => write!(f, "{what} cannot be kept up to date"),
            StandingError::SetAside(why) => write!(f, "it is set aside: {why}"),
            StandingError::TooSlow => write!(f, "its first answer took longer than it may"),
            StandingError::Internal(panicked) => panicked.fmt(f),
            StandingError::Ended(why) => write!(f, "its upkeep was ended: {why}"),
            StandingError::TimedOut(time_ns) => {
                let time = Duration::from_nanos(*time_ns);
                write!(f, "bringing it up to date took longer than its tenant allows ({time:?})")
            }
            StandingError::Stopped(stopped) => stopped.fmt(f),
            StandingError::Failed(why) => write!(f, "an expression failed: {why}"),
            StandingError::TooLarge { what, limit } => write!(f, "{what} would pass the limit of {limit}"),
            StandingError::NoSuchColumn { name, known } => {
                write!(f, "there is no column `{name}`; there are: {}", known.join(", "))
            }
            StandingError::TooMany => {
                write!(f, "there are {} standing queries, no more are allowed", crate::QUERIES_MAX)
            }
            StandingError::Storage(why) => write!(f, "the graph could not be read: {why}"),
            StandingError::NoSuchQuery(name) => write!(f, "there is no standing query named {name}"),
            StandingError::NameTaken(name) => write!(f, "there is a standing query named {name} already"),
            StandingError::MissingArgument(name) => {
                write!(f, "the standing query needs the argument ${name}")
            }
            StandingError::Unreached { from, newest } => {
                write!(f, "commit {from} has not happened: the newest is {newest}")
            }
            StandingError::Forgotten { from, oldest: Some(oldest) } => {
                write!(
                    f,
                    "what changed since commit {from} is not kept any more: changes are kept from commit {oldest} on"
                )
            }
            StandingError::Forgotten { from, oldest: None } => {
                write!(f, "what changed since commit {from} is not kept any more")
            }
            StandingError::ForeignMark => {
                write!(f, "the mark is of another standing query, of other arguments, or of another database")
            }
            StandingError::Busy => write!(f, "other readers look up what they missed at this moment"),
        }
    }
}

impl std::error::Error for StandingError {}

impl From<store::StoreError> for StandingError {
    fn from(error: store::StoreError) -> StandingError {
        StandingError::Storage(error.to_string())
    }
}

impl From<Panicked> for StandingError {
    fn from(panicked: Panicked) -> StandingError {
        StandingError::Internal(panicked)
    }
}

impl From<Stopped> for StandingError {
    fn from(stopped: Stopped) -> StandingError {
        StandingError::Stopped(stopped)
    }
}

impl From<expression::EvalError> for StandingError {
    fn from(error: expression::EvalError) -> StandingError {
        StandingError::Failed(error.to_string())
    }
}
