//! Errors of the façade as exceptions: the Python side chooses the class by the code.

use crate::imported::Imported;
use database::Error;
use pyo3::prelude::*;

static OF: Imported = Imported::new("tanglewood.errors", "of");

/// The exception for an error.
pub fn raised(py: Python<'_>, error: Error) -> PyErr {
    let parts = (error.code, error.message, error.hint, error.excerpt, error.retryable);
    match OF.get(py).and_then(|of| of.call1(parts)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(other) => other,
    }
}

/// The package was used in a way that has no meaning.
pub fn misused(message: &str, hint: &str) -> Error {
    Error::new("Tanglewood.ClientError.Interface.Misused", message).hint(hint)
}

/// The object is closed.
pub fn closed(what: &str) -> Error {
    misused(&format!("the {what} is closed"), "open another one")
}

/// A value cannot be a parameter.
pub fn unfit(message: String, hint: Option<String>) -> Error {
    Error { hint, ..Error::new("Tanglewood.ClientError.Interface.Parameter", message) }
}

/// It was ended before it was whole.
pub fn ended(reason: &str) -> Error {
    Error::new("Neo.ClientError.Transaction.Terminated", reason)
}

/// Why a call of Python does not return a value.
pub enum Stop {
    Error(Box<Error>),
    /// A handler of a signal raised it.
    Raised(PyErr),
}

impl Stop {
    pub fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Stop::Error(error) => raised(py, *error),
            Stop::Raised(error) => error,
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(Box::new(error))
    }
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Stop {
        Stop::Raised(error)
    }
}
