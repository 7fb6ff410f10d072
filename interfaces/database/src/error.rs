//! The public error: a stable code, a message, a hint, and where in the text it happened.
//!
//! The table from inner errors to classes stands here and nowhere else.

use execute::ExecuteError;
use plan::PlanError;
use std::fmt;
use store::StoreError;
use text::{Coded, TextError};
use transact::TransactError;
use world::panics::Panicked;

/// Bytes of a message.
const MESSAGE_BYTES_MAX: usize = 2_000;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Stable, in the manner of Neo4j's codes: `Neo.ClientError.Statement.SyntaxError`.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// Advice on how to mend it.
    pub hint: Option<String>,
    /// The query's line with the position underlined, if known.
    pub excerpt: Option<String>,
    /// May the same request succeed if it is sent again?
    pub retryable: bool,
}

/// Classes of errors that interfaces treat differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request was at fault.
    Client,
    /// It may succeed if it is sent again.
    Transient,
    /// The database was at fault.
    Database,
}

impl Error {
    /// An error with a code and a message, which is cut where it repeats something long.
    pub fn new(code: &str, message: impl Into<String>) -> Error {
        let mut message = message.into();
        if message.len() > MESSAGE_BYTES_MAX {
            message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
            message.push('…');
        }
        Error { code: code.into(), message, hint: None, excerpt: None, retryable: false }
    }
    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
    /// A panic in a request: it ends that request alone.
    pub fn internal(panicked: &Panicked) -> Error {
        Error::new("Neo.DatabaseError.General.UnknownError", panicked.to_string())
            .hint("this is a fault of the database, not of the request; please report it with the statement")
    }
    /// The class of the error.
    pub fn class(&self) -> ErrorClass {
        match self.code.split('.').nth(1) {
            Some("TransientError") => ErrorClass::Transient,
            Some("DatabaseError") => ErrorClass::Database,
            _ => ErrorClass::Client,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{excerpt}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<ingest::ImportError> for Error {
    fn from(error: ingest::ImportError) -> Error {
        Error { hint: error.hint(), ..Error::new(error.code(), error.to_string()) }
    }
}

impl From<TransactError> for Error {
    fn from(error: TransactError) -> Error {
        let (hint, retryable) = (error.hint(), error.is_retryable());
        Error { hint, retryable, ..Error::new(error.code(), error.to_string()) }
    }
}

impl From<ExecuteError> for Error {
    fn from(error: ExecuteError) -> Error {
        match error {
            ExecuteError::Transact(error) => error.into(),
            error => {
                let (hint, retryable) = (error.hint(), error.is_retryable());
                Error { hint, retryable, ..Error::new(error.code(), error.to_string()) }
            }
        }
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Error {
        let hint = Some(error.hint).filter(|hint| !hint.is_empty());
        Error { hint, ..Error::new(&format!("Neo.ClientError.Statement.{}", error.code), error.message) }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        TransactError::Store(error).into()
    }
}

/// A fault in the text, with the text it points into.
pub(crate) fn in_text<K: Coded>(error: TextError<K>, text: &str) -> Error {
    let excerpt = Some(error.excerpt(text));
    Error { excerpt, ..Error::from(error) }
}

impl<K: Coded> From<TextError<K>> for Error {
    fn from(error: TextError<K>) -> Error {
        Error { hint: error.hint, ..Error::new(error.kind.code(), error.message) }
    }
}
