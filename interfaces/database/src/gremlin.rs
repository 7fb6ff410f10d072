//! Gremlin through a session: a traversal in, objects out. `traverse` executes it; this file runs it, ends it and accounts for it.

pub use crate::session::gremlin_script::Script;
pub use gremlin::{ShownEdge, ShownVertex};

use crate::Error;
use crate::interrupt::Ticket;
use crate::query_log::{OpenQuery, QueryRecord};
use crate::result::too_many_rows;
use gremlin::graphson::BagTooLarge;
use gremlin::{Elements, Object, Terminal, VertexProperty};
use model::{EdgeRef, VertexId};
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use traverse::TraverseError;
use traverse::answer::ending::Ending;
use traverse::answer::{Answer, AnswerError, Objects};
use world::failpoint;
use world::panics::caught;

/// Options of a traversal.
#[derive(Clone, Debug, Default)]
pub struct GremlinOptions {
    /// Time it may take.
    pub timeout: Option<Duration>,
    /// Leave it to the traverser machine even where the algebra could say it: for tests that compare the two.
    pub machine_only: bool,
}

/// The answer of a traversal, in batches of objects.
pub struct GremlinAnswer {
    answer: Answer,
    /// Version of the commit it made, if it made one.
    pub commit_version: Option<u64>,
    ticket: Option<Ticket>,
    counted: Option<Box<AnswerCount>>,
}

/// Counters of an answer while it is read.
struct AnswerCount {
    record: QueryRecord,
    /// Keeps a server that shuts down waiting until the answer is read.
    open: Option<OpenQuery>,
    /// Objects that may still be returned, and the limit.
    rows_left: u64,
    rows_max: u64,
}

/// Number of objects, with multiplicities.
fn told(objects: &Objects) -> u64 {
    objects.iter().fold(0, |rows, (_, bulk)| bulk.saturating_add(rows))
}

impl GremlinAnswer {
    pub(crate) fn new(answer: Answer, ticket: Option<Ticket>) -> GremlinAnswer {
        GremlinAnswer { answer, commit_version: None, ticket, counted: None }
    }
    pub(crate) fn committed(answer: Answer, commit_version: u64) -> GremlinAnswer {
        GremlinAnswer { answer, commit_version: Some(commit_version), ticket: None, counted: None }
    }
    /// Do its objects come from executors that still work?
    pub(crate) fn is_running(&self) -> bool {
        self.ticket.is_some()
    }
    /// Records the query when its last object was returned.
    pub(crate) fn recorded(self, record: QueryRecord, rows_max: Option<u64>) -> GremlinAnswer {
        let open = Some(OpenQuery::begin(record.log()));
        let rows_max = rows_max.unwrap_or(u64::MAX);
        let counted = AnswerCount { record, open, rows_left: rows_max, rows_max };
        GremlinAnswer { counted: Some(Box::new(counted)), ..self }
    }
    pub(crate) fn view(&self) -> &Snapshot {
        self.answer.view()
    }
    /// Counters of each node of its plan, if it has one.
    pub(crate) fn profile(&self) -> Option<Vec<execute::NodeProfile>> {
        self.answer.profile()
    }
    /// Waits for more objects, each with its multiplicity; none at the end.
    pub fn next_objects(&mut self) -> Result<Option<Objects>, Error> {
        let more = || {
            failpoint::visit("objects of an answer");
            Ok(self.answer.next_objects()?)
        };
        let next = caught(more).unwrap_or_else(|panicked| Err(Error::internal(&panicked)));
        let next = next.and_then(|objects| self.within_rows(objects));
        if let Some(counted) = &mut self.counted {
            match &next {
                Ok(Some(objects)) => counted.record.add_rows(told(objects), world::clock::monotonic_ns()),
                Ok(None) => counted.record.end(Ok(())),
                Err(error) => counted.record.end(Err(error)),
            }
            if !matches!(next, Ok(Some(_))) {
                counted.open = None;
            }
        }
        next
    }
    /// Fails when more objects are returned than one query may.
    fn within_rows(&mut self, objects: Option<Objects>) -> Result<Option<Objects>, Error> {
        if let (Some(objects), Some(counted)) = (&objects, &mut self.counted) {
            let left = counted.rows_left.checked_sub(told(objects));
            counted.rows_left = left.ok_or_else(|| too_many_rows(counted.rows_max))?;
        }
        Ok(objects)
    }
    /// All objects, repeated by their multiplicities.
    pub fn all(mut self) -> Result<Vec<Object>, Error> {
        let mut all = Vec::new();
        while let Some(some) = self.next_objects()? {
            all.extend(
                some.into_iter().flat_map(|(object, bulk)| std::iter::repeat_n(object, bulk as usize)),
            );
        }
        Ok(all)
    }
    /// Ends it as a text says.
    pub fn ended_by(self, terminal: Terminal) -> Ended {
        Ended { answer: self, ending: Ending::new(terminal) }
    }
}

impl Elements for GremlinAnswer {
    type Error = Error;
    fn vertex(&self, vertex: VertexId) -> Result<ShownVertex, Error> {
        Ok(self.answer.vertex(vertex)?)
    }
    fn vertex_name(&self, vertex: VertexId) -> Result<(Object, Arc<str>), Error> {
        Ok(self.answer.vertex_name(vertex)?)
    }
    fn edge(&self, edge: &EdgeRef) -> Result<ShownEdge, Error> {
        Ok(self.answer.edge(edge)?)
    }
    fn property_id(&self, property: &VertexProperty) -> Object {
        traverse::property_id(property)
    }
}

/// The part of an answer that the terminal step asks for.
pub struct Ended {
    /// The answer; resolves vertices and edges of its objects.
    pub answer: GremlinAnswer,
    ending: Ending,
}

impl Ended {
    /// Does the terminal step ask for no objects?
    pub fn is_silent(&self) -> bool {
        self.ending.is_silent()
    }
    /// Waits for more objects, each with its multiplicity; none at the end.
    ///
    /// # Errors
    /// The traversal fails.
    pub fn next_objects(&mut self) -> Result<Option<Objects>, Error> {
        let next = self.ending.next_of(|| self.answer.next_objects());
        if self.ending.is_over() && next.is_ok() {
            self.answer.counted.iter_mut().for_each(|counted| counted.record.end(Ok(())));
        }
        next
    }
}

impl From<AnswerError> for Error {
    fn from(error: AnswerError) -> Error {
        match error {
            AnswerError::Traverse(error) => error.into(),
            AnswerError::Plan(error) => error.into(),
            AnswerError::Execute(error) => error.into(),
            AnswerError::Transact(error) => error.into(),
            AnswerError::File { code, message, hint } => {
                Error { hint: hint.map(str::to_string), ..Error::new(code, message) }
            }
        }
    }
}

impl From<TraverseError> for Error {
    fn from(error: TraverseError) -> Error {
        let message = error.to_string();
        match error {
            TraverseError::Request(error) => error.into(),
            TraverseError::Graph { code, message, hint, retryable } => {
                Error { retryable, hint, ..Error::new(&code, message) }
            }
            TraverseError::Failed(_) => Error::new("Tanglewood.ClientError.Gremlin.Fail", message),
            TraverseError::Limit(_) => Error::new("Neo.ClientError.General.LimitExceeded", message),
            _ => Error::new("Neo.ClientError.Statement.ArgumentError", message),
        }
    }
}

impl From<BagTooLarge> for Error {
    fn from(error: BagTooLarge) -> Error {
        Error::new("Neo.ClientError.General.LimitExceeded", error.to_string()).hint(BagTooLarge::HINT)
    }
}
