//! Errors of procedures; `execute` gives each its code and its hint.

use std::fmt;
use store::StoreError;

/// A procedure ended before its rows did.
#[derive(Debug)]
pub enum ProcedureError {
    /// The call is wrong, or its arguments name something that does not exist.
    Call(String),
    /// The graph could not be read.
    Store(StoreError),
    /// A fault of the engine.
    Internal(String),
}

impl fmt::Display for ProcedureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcedureError::Call(what) | ProcedureError::Internal(what) => f.write_str(what),
            ProcedureError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProcedureError {}

impl From<StoreError> for ProcedureError {
    fn from(error: StoreError) -> ProcedureError {
        ProcedureError::Store(error)
    }
}
