//! Why an evaluation ends without an answer.

use std::fmt;
use store::StoreError;

/// Why an evaluation ends without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulesError {
    /// A named limit is passed.
    TooLarge {
        /// The limit that would be passed.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// It was cancelled, for this reason.
    Cancelled(String),
    /// The facts could not be read.
    Source(StoreError),
    /// A parameter is missing.
    MissingParameter(String),
    /// A parameter or a file has no valid facts of the relation.
    BadInput(String),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::TooLarge { what, limit } => write!(f, "{what} would pass the limit of {limit}"),
            RulesError::Cancelled(why) | RulesError::BadInput(why) => f.write_str(why),
            RulesError::Source(error) => error.fmt(f),
            RulesError::MissingParameter(name) => write!(f, "the program needs the parameter ${name}"),
        }
    }
}

impl std::error::Error for RulesError {}
