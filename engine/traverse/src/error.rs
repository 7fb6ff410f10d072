//! Errors of traversals.

use gremlin::{GremlinError, Span};
use std::fmt;

/// Why a traversal ended without its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TraverseError {
    /// It cannot be run: an unknown step, arguments that do not fit, something not supported.
    Request(GremlinError),
    /// A step met an object it cannot work on.
    Step {
        /// Which step.
        step: &'static str,
        /// The message.
        message: String,
    },
    /// The step `fail` was reached.
    Failed(String),
    /// A named limit was reached.
    Limit(String),
    /// An error of the graph.
    Graph {
        /// A stable code.
        code: String,
        /// The message.
        message: String,
        /// Advice for the user.
        hint: Option<String>,
        /// May the same succeed when tried again?
        retryable: bool,
    },
}

/// The outcome of a part of a traversal.
pub type Outcome<T> = Result<T, TraverseError>;

impl TraverseError {
    /// A step met an object it cannot work on.
    pub fn step(step: &'static str, message: impl Into<String>) -> TraverseError {
        TraverseError::Step { step, message: message.into() }
    }
    /// Arguments of a step do not fit.
    pub fn arguments(message: impl Into<String>, span: Span) -> TraverseError {
        TraverseError::Request(GremlinError::new(gremlin::ErrorKind::Arguments, message, span))
    }
    /// Valid Gremlin that is not carried out.
    pub fn unsupported(message: impl Into<String>, span: Span) -> TraverseError {
        TraverseError::Request(GremlinError::new(gremlin::ErrorKind::Unsupported, message, span))
    }
}

impl From<execute::watch::Stopped> for TraverseError {
    fn from(stopped: execute::watch::Stopped) -> TraverseError {
        use execute::watch::Stopped;
        // Who ended the query knows more, and says it in place of this.
        let code = match stopped {
            Stopped::Time => "Neo.TransientError.Transaction.Terminated",
            Stopped::Bytes => "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        };
        let (code, message) = (code.to_string(), stopped.to_string());
        TraverseError::Graph { code, message, hint: None, retryable: false }
    }
}

impl From<GremlinError> for TraverseError {
    fn from(error: GremlinError) -> TraverseError {
        TraverseError::Request(error)
    }
}

impl fmt::Display for TraverseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraverseError::Request(error) => write!(f, "{error}"),
            TraverseError::Step { step, message } => write!(f, "{step}: {message}"),
            TraverseError::Failed(message) => write!(f, "fail() step triggered: {message}"),
            TraverseError::Limit(message) | TraverseError::Graph { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for TraverseError {}
