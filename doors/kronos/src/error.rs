//! Why a server did not start, or stopped.

use replicate::ReplicateError;
use std::fmt;

/// What ends a server.
#[derive(Debug)]
pub enum KronosServerError {
    /// The address cannot be listened on.
    Listen(std::io::Error),
    /// Another process uses the data folder, or it cannot be made.
    Folder(String),
    /// The replica cannot go on.
    Replica(ReplicateError),
}

impl fmt::Display for KronosServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KronosServerError::Listen(error) => write!(f, "cannot listen: {error}"),
            KronosServerError::Folder(what) => write!(f, "{what}"),
            KronosServerError::Replica(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for KronosServerError {}

impl From<ReplicateError> for KronosServerError {
    fn from(error: ReplicateError) -> KronosServerError {
        KronosServerError::Replica(error)
    }
}
