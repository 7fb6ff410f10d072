//! Errors of JSON that should be GraphSON.

use std::fmt;

/// JSON that is no GraphSON, or contains unsupported types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphsonError(pub String);

impl fmt::Display for GraphsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GraphsonError {}

pub(super) type Outcome<T> = Result<T, GraphsonError>;

pub(super) fn wrong<T>(why: impl Into<String>) -> Outcome<T> {
    Err(GraphsonError(why.into()))
}
