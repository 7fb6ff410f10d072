//! From a traversal to its objects, over the store.
//!
//! What the algebra can say is planned and runs as a query of Cypher does; any other traversal runs as a program on the executors, over a
//! snapshot or a transaction. Its objects name vertices and edges by number; the answer tells a door what stands behind a number when it
//! writes one out.
//!
//! Reading order: [`kept`] (objects as values of the graph), [`own_ids`], [`planned`] and [`texts`] (what was asked before), [`walked`] and
//! [`running`] (the machine over the store), `lowered` (rows as objects), `shown` and [`ending`] (what a door is given), [`told`].

pub mod ending;
pub mod kept;
mod lowered;
pub mod own_ids;
pub mod planned;
pub mod running;
mod shown;
pub mod texts;
pub mod told;
pub mod walked;

use crate::TraverseError;
use execute::{ExecuteError, NodeProfile, ResultStream};
use gremlin::{GremlinError, Object, ResultKind, TraversalMetrics};
use plan::PlanError;
use running::Found;
use std::sync::Arc;
use store::{Snapshot, StoreError};
use transact::{TransactError, Transaction};

/// Values by the names that a plan uses for its parameters.
pub type Params = std::collections::HashMap<Arc<str>, model::Value>;

/// Objects, each with how often it is there.
pub type Objects = Vec<(Object, u64)>;

/// What a traversal gives, in parts.
pub struct Answer {
    source: Source,
    view: Snapshot,
}

enum Source {
    /// It has ended.
    Ended(Option<Objects>),
    /// A query of the algebra runs.
    Lowered {
        stream: ResultStream,
        result: Arc<ResultKind>,
        answered: bool,
        transaction: Option<Arc<Transaction>>,
    },
    /// The machine runs.
    Running { stream: ResultStream, found: Found },
}

impl Answer {
    /// Of a traversal that has ended.
    pub fn ended(objects: Objects, view: Snapshot) -> Answer {
        Answer { source: Source::Ended(Some(objects)), view }
    }
    /// Of a query of the algebra that runs. What it shows in a transaction that may write is recorded there.
    pub fn lowered(
        stream: ResultStream,
        result: Arc<ResultKind>,
        transaction: Option<Arc<Transaction>>,
        view: Snapshot,
    ) -> Answer {
        Answer { source: Source::Lowered { stream, result, answered: false, transaction }, view }
    }
    /// Of the machine that runs.
    pub fn running(stream: ResultStream, found: Found, view: Snapshot) -> Answer {
        Answer { source: Source::Running { stream, found }, view }
    }
    /// How a traversal ran, as the answer.
    pub fn of_metrics(metrics: TraversalMetrics, view: Snapshot) -> Answer {
        Answer::ended(vec![(Object::Metrics(Arc::new(metrics)), 1)], view)
    }
    /// Text as the answer.
    pub fn of_text(text: String, view: Snapshot) -> Answer {
        Answer::ended(vec![(Object::string(text), 1)], view)
    }
    /// The graph in which its numbers mean something.
    pub fn view(&self) -> &Snapshot {
        &self.view
    }
    /// What each node of its plan did, where it has one.
    pub fn profile(&self) -> Option<Vec<NodeProfile>> {
        match &self.source {
            Source::Lowered { stream, .. } => Some(stream.profile()),
            _ => None,
        }
    }
    /// Waits for more objects, each with how often it is there; none at the end.
    ///
    /// # Errors
    /// The traversal fails, or was ended.
    pub fn next_objects(&mut self) -> Result<Option<Objects>, AnswerError> {
        match &mut self.source {
            Source::Ended(objects) => Ok(objects.take()),
            Source::Lowered { stream, result, answered, transaction } => {
                let transaction = transaction.as_deref();
                let found = lowered::next(stream, result, transaction)?;
                // a map is there even of nothing
                let nothing = found.is_none() && matches!(**result, ResultKind::Map(..)) && !*answered;
                *answered = true;
                Ok(if nothing { Some(vec![(Object::map(Vec::new()), 1)]) } else { found })
            }
            Source::Running { stream, found } => running::wait(stream, found),
        }
    }
}

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
        /// What is wrong.
        message: String,
        /// What may help.
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
