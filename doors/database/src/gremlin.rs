//! Gremlin through a session: a traversal in, objects out.
//!
//! What the algebra can say is planned and runs as Cypher does; any other traversal runs as a program on the executors, over a snapshot or a transaction, charged to whoever asks. Its objects name
//! vertices and edges by number; [`Shown`] tells a door what stands behind a number when it writes one out.

pub(crate) mod kept;
mod lowered;
pub(crate) mod own_ids;
mod planned;
mod running;
mod shown;
mod terminal;
pub(crate) mod texts;
pub(crate) mod told;
mod walked;

pub use crate::session::gremlin_script::Script;
pub(crate) use own_ids::OwnIds;
pub(crate) use planned::{PlannedTraversal, Plans, params};
pub(crate) use running::{Found, Measures, Started};
pub use shown::{ShownEdge, ShownVertex};
pub use terminal::Ended;
pub(crate) use walked::{Bounds, Walked};

use crate::Error;
use crate::interrupt::Ticket;
use execute::ResultStream;
use gremlin::{GremlinError, Object, ResultKind, TraversalMetrics};
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::Transaction;
use traverse::TraverseError;
use world::failpoint;
use world::panics::caught;

/// How a traversal is asked.
#[derive(Clone, Debug, Default)]
pub struct GremlinOptions {
    /// Time it may take.
    pub timeout: Option<Duration>,
    /// Leave it to the traverser machine even where the algebra could say it: for tests that compare the two.
    pub machine_only: bool,
}

/// What a traversal gives, in parts.
pub struct GremlinAnswer {
    pub(crate) source: Source,
    pub(crate) view: Snapshot,
    /// Place of the commit it made, if it made one.
    pub place: Option<u64>,
}

pub(crate) enum Source {
    /// It has ended.
    Ended(Option<Vec<(Object, u64)>>),
    /// A query of the algebra runs.
    Lowered {
        stream: ResultStream,
        result: Arc<ResultKind>,
        answered: bool,
        transaction: Option<Arc<Transaction>>,
        _ticket: Option<Ticket>,
    },
    /// It runs.
    Running { stream: ResultStream, found: Found, _ticket: Option<Ticket> },
}

impl GremlinAnswer {
    /// Waits for more objects, each with how often it is there; none at the end.
    pub fn next_objects(&mut self) -> Result<Option<Vec<(Object, u64)>>, Error> {
        caught(|| self.more_objects()).unwrap_or_else(|panicked| Err(Error::internal(&panicked)))
    }
    fn more_objects(&mut self) -> Result<Option<Vec<(Object, u64)>>, Error> {
        failpoint::visit("objects of an answer");
        match &mut self.source {
            Source::Ended(objects) => Ok(objects.take()),
            Source::Lowered { stream, result, answered, transaction, .. } => {
                let transaction = transaction.as_deref();
                let found = lowered::next(stream, result, transaction)?;
                // a map is there even of nothing
                let nothing = found.is_none() && matches!(**result, ResultKind::Map(..)) && !*answered;
                *answered = true;
                Ok(if nothing { Some(vec![(Object::map(Vec::new()), 1)]) } else { found })
            }
            Source::Running { stream, found, .. } => running::wait(stream, found),
        }
    }
    /// How a traversal ran as the answer.
    pub(crate) fn of_metrics(metrics: TraversalMetrics, view: Snapshot) -> GremlinAnswer {
        let objects = vec![(Object::Metrics(Arc::new(metrics)), 1)];
        GremlinAnswer { source: Source::Ended(Some(objects)), view, place: None }
    }
    /// Text as the answer.
    pub(crate) fn of_text(text: String, view: Snapshot) -> GremlinAnswer {
        let objects = vec![(Object::string(text), 1)];
        GremlinAnswer { source: Source::Ended(Some(objects)), view, place: None }
    }
    /// All objects, each as often as it is there.
    pub fn all(mut self) -> Result<Vec<Object>, Error> {
        let mut all = Vec::new();
        while let Some(some) = self.next_objects()? {
            all.extend(
                some.into_iter().flat_map(|(object, bulk)| std::iter::repeat_n(object, bulk as usize)),
            );
        }
        Ok(all)
    }
}

impl From<TraverseError> for Error {
    fn from(error: TraverseError) -> Error {
        let message = error.to_string();
        match error {
            TraverseError::Request(error) => error.into(),
            TraverseError::Graph { code, message, retryable } => {
                Error { retryable, ..Error::new(&code, message) }
            }
            TraverseError::Failed(_) => Error::new("Tanglewood.ClientError.Gremlin.Fail", message),
            TraverseError::Limit(_) => Error::new("Neo.ClientError.General.LimitExceeded", message),
            _ => Error::new("Neo.ClientError.Statement.ArgumentError", message),
        }
    }
}

impl From<GremlinError> for Error {
    fn from(error: GremlinError) -> Error {
        let code = match error.kind {
            gremlin::ErrorKind::Unsupported => "Neo.ClientError.Statement.NotSupported",
            gremlin::ErrorKind::Binding => "Neo.ClientError.Statement.ParameterMissing",
            _ => "Neo.ClientError.Statement.SyntaxError",
        };
        Error { hint: error.hint, ..Error::new(code, error.message) }
    }
}
