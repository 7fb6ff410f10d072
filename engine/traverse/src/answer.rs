//! From a traversal to its objects, over the store.
//!
//! A traversal that the algebra can express is planned and runs as a query of Cypher does; any other runs as a program on the executors, over a
//! snapshot or a transaction. Its objects name vertices and edges by number; the answer resolves a number when an interface writes the element out.
//!
//! Reading order: [`stored_value`] (objects as values of the graph), [`own_ids`], [`planned`] and [`texts`] (caches of plans), [`graph_adapter`] and
//! [`running`] (the machine over the store), `elements` (names of vertices and edges), `lowered` (rows as objects), `shown` and [`ending`] (the
//! answer for an interface), [`report`].

mod elements;
pub mod ending;
pub mod graph_adapter;
mod lowered;
mod outcome;
pub mod own_ids;
pub mod planned;
mod programs;
pub mod report;
pub mod running;
mod shown;
pub mod stored_value;
pub mod texts;

pub use graph_adapter::MayCall;
pub use outcome::{AnswerError, Objects, Params};

use execute::{NodeProfile, ResultStream};
use gremlin::{Object, ResultKind, TraversalMetrics};
use running::Found;
use std::sync::Arc;
use store::Snapshot;
use transact::Transaction;

/// The answer of a traversal, in batches.
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
    /// The answer of a plan that runs. In a transaction that may write, elements that it shows are recorded as read.
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
    /// Counters of each node of its plan, if it has one.
    pub fn profile(&self) -> Option<Vec<NodeProfile>> {
        match &self.source {
            Source::Lowered { stream, .. } => Some(stream.profile()),
            _ => None,
        }
    }
    /// Waits for more objects, each with its multiplicity; none at the end.
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
