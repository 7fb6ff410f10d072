//! Inputs and outputs of a traversal, and its errors.

use crate::TraverseError;
use execute::ExecuteError;
use gremlin::{GremlinError, Object};
use plan::PlanError;
use std::sync::Arc;
use store::StoreError;
use transact::TransactError;

/// Values by the names that a plan uses for its parameters.
pub type Params = std::collections::HashMap<Arc<str>, model::Value>;

/// Objects, each with its multiplicity.
pub type Objects = Vec<(Object, u64)>;

/// Why there is no answer.
#[derive(Debug)]
pub enum AnswerError {
    /// The traversal is wrong, or fails.
    Traverse(TraverseError),
    /// It cannot be planned.
    Plan(PlanError),
    /// Its run failed, or was ended.
    Execute(ExecuteError),
    /// The graph cannot be read, or refuses a change.
    Transact(TransactError),
    /// A file cannot be read, or is not as it should be.
    File {
        /// A stable code.
        code: &'static str,
        /// The message.
        message: String,
        /// Advice for the user.
        hint: Option<&'static str>,
    },
}

impl From<TraverseError> for AnswerError {
    fn from(error: TraverseError) -> AnswerError {
        AnswerError::Traverse(error)
    }
}

impl From<GremlinError> for AnswerError {
    fn from(error: GremlinError) -> AnswerError {
        AnswerError::Traverse(error.into())
    }
}

impl From<PlanError> for AnswerError {
    fn from(error: PlanError) -> AnswerError {
        AnswerError::Plan(error)
    }
}

impl From<ExecuteError> for AnswerError {
    fn from(error: ExecuteError) -> AnswerError {
        AnswerError::Execute(error)
    }
}

impl From<TransactError> for AnswerError {
    fn from(error: TransactError) -> AnswerError {
        AnswerError::Transact(error)
    }
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> AnswerError {
        AnswerError::Transact(error.into())
    }
}
