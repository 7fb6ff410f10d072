//! Runs a request on a graph, independent of its transport and of where its objects go.

use super::connection::Manner;
use super::message::{Request, Status, Wrapping};
use super::reading::Malformed;
use database::gremlin::{Ended, GremlinAnswer, GremlinOptions, Script};
use database::{Error, Mode, Session};
use gremlin::{Argument, Bindings, Object, Terminal, Traversal};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Objects of one part of an answer where the client does not say.
pub const BATCH_OBJECTS: usize = 64;
/// Upper bound of a client's batch size.
pub const BATCH_OBJECTS_MAX: usize = 10_000;
/// The name of the graph that is used unless an alias names another.
pub const DEFAULT_SOURCE: &str = "g";

/// A part of an answer.
pub struct Part<'p> {
    /// Is it the last one, and is there anything?
    pub status: Status,
    /// Objects, each with its multiplicity.
    pub objects: &'p [(Object, u64)],
    /// How they are wrapped.
    pub wrapping: Wrapping,
    /// Resolves the numbers of vertices and edges.
    pub answer: Option<&'p GremlinAnswer>,
}

/// Where the parts of an answer go; returns when there is room for more.
pub trait Outlet {
    /// Takes a part.
    ///
    /// # Errors
    /// It cannot be written, or the client is gone.
    fn part(&mut self, part: &Part<'_>) -> Result<(), Stop>;
}

/// Why no more of an answer is sent.
#[derive(Debug)]
pub enum Stop {
    /// The client gets an error.
    Refused(Refusal),
    /// The client is gone.
    Gone(io::Error),
}

/// An error as the client gets it.
#[derive(Debug)]
pub struct Refusal {
    /// The code of the protocol.
    pub status: Status,
    /// The message.
    pub message: String,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Gone(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Refused(error.into())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match error.code.as_str() {
            "Neo.ClientError.Transaction.TransactionTimedOut" => Status::Timeout,
            "Neo.ClientError.Statement.SyntaxError"
            | "Neo.ClientError.Statement.NotSupported"
            | "Neo.ClientError.Statement.ParameterMissing" => Status::ScriptError,
            "Tanglewood.ClientError.Gremlin.Fail" => Status::FailStep,
            code if code.starts_with("Neo.ClientError.Security.") => Status::Unauthorized,
            _ if error.retryable => Status::Temporary,
            _ => Status::ServerError,
        };
        Refusal { status, message: error.to_string() }
    }
}

impl From<Malformed> for Refusal {
    fn from(error: Malformed) -> Refusal {
        Refusal { status: error.status, message: error.to_string() }
    }
}

/// The arguments do not fit.
pub fn invalid(message: impl Into<String>) -> Refusal {
    Refusal { status: Status::InvalidArguments, message: message.into() }
}

/// A request to one graph.
enum GraphRequest {
    Script(Arc<str>, Bindings),
    Traversal(Traversal, Terminal),
    Transaction(Arc<str>),
}

/// A request, understood.
pub struct Asking {
    asked: GraphRequest,
    wrapping: Wrapping,
    batch: usize,
    options: GremlinOptions,
    /// The name of the graph.
    pub source: String,
}

impl Asking {
    /// Interprets a request.
    ///
    /// # Errors
    /// It has nothing that can be run.
    pub fn of(request: &Request, manner: &Manner) -> Result<Asking, Refusal> {
        let batch = request.value("batchSize").and_then(Object::as_long);
        let batch = batch.map_or(BATCH_OBJECTS, |size| size.clamp(1, BATCH_OBJECTS_MAX as i64) as usize);
        // The second is what drivers before 3.5 call it.
        let timeout = request.value("evaluationTimeout").or_else(|| request.value("scriptEvaluationTimeout"));
        // Zero and less mean that there is none.
        let timeout = match timeout.and_then(Object::as_long) {
            Some(millis) => {
                u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis)
            }
            None => manner.timeout,
        };
        let (asked, wrapping) = asked(request)?;
        let options = GremlinOptions { timeout, ..GremlinOptions::default() };
        Ok(Asking { asked, wrapping, batch, options, source: source(request) })
    }

    /// Runs it. Where the session stays open, a transaction is begun with its first traversal.
    ///
    /// # Errors
    /// The request fails, or the client is gone.
    pub fn run(self, session: &mut Session, stays_open: bool, outlet: &mut dyn Outlet) -> Result<(), Stop> {
        let requests = match self.asked {
            GraphRequest::Traversal(traversal, terminal) => {
                vec![gremlin::Request::Traversal(traversal, terminal)]
            }
            GraphRequest::Transaction(word) => vec![gremlin::Request::Transaction(word)],
            // what it asks decides whether a transaction is to be begun
            GraphRequest::Script(text, bindings) if stays_open && !session.in_transaction() => {
                gremlin::parse(&text, &bindings).map_err(Error::from)?
            }
            GraphRequest::Script(text, bindings) => {
                match session.gremlin_script(&text, &bindings, &self.options)? {
                    Script::Answer(ended) => return send(ended, self.batch, self.wrapping, outlet),
                    Script::Requests(requests) => requests,
                }
            }
        };
        let count = requests.len();
        let mut told = false;
        for (number, one) in requests.into_iter().enumerate() {
            let is_last = number + 1 == count;
            match one {
                gremlin::Request::Transaction(word) => transact(session, &word)?,
                gremlin::Request::Value(value) if is_last => {
                    let objects = [(value, 1)];
                    let wrapping = self.wrapping;
                    outlet.part(&Part {
                        status: Status::Success,
                        objects: &objects,
                        wrapping,
                        answer: None,
                    })?;
                    told = true;
                }
                gremlin::Request::Value(_) => {}
                gremlin::Request::Traversal(traversal, terminal) => {
                    if stays_open && !session.in_transaction() {
                        session.begin(Mode::Write)?;
                    }
                    let answer = session.gremlin(&traversal, &self.options)?;
                    // Of several traversals of a script the last one's objects are the answer.
                    if is_last {
                        send(answer.ended_by(terminal), self.batch, self.wrapping, outlet)?;
                        told = true;
                    } else {
                        drain(answer)?;
                    }
                }
            }
        }
        if !told {
            outlet.part(&Part {
                status: Status::NoContent,
                objects: &[],
                wrapping: Wrapping::Plain,
                answer: None,
            })?;
        }
        Ok(())
    }
}

/// Runs a traversal whose objects are not wanted.
fn drain(mut answer: GremlinAnswer) -> Result<(), Error> {
    while answer.next_objects()?.is_some() {}
    Ok(())
}

/// The name of the request's graph.
fn source(request: &Request) -> String {
    let Some(Object::Map(aliases)) = request.value("aliases") else { return DEFAULT_SOURCE.to_string() };
    let named = aliases.iter().find(|(key, _)| key.as_str() == Some(DEFAULT_SOURCE));
    named.and_then(|(_, name)| name.as_str()).unwrap_or(DEFAULT_SOURCE).to_string()
}

fn asked(request: &Request) -> Result<(GraphRequest, Wrapping), Refusal> {
    match (request.operation.as_str(), request.argument("gremlin")) {
        ("bytecode", Some(Argument::Traversal(traversal))) => {
            let word = traversal.source.iter().find(|instruction| &*instruction.name == "tx");
            let word = word.and_then(|instruction| instruction.arguments.first()).and_then(Argument::value);
            let asked = match word.and_then(Object::as_str) {
                Some(word) => GraphRequest::Transaction(word.into()),
                None => GraphRequest::Traversal(traversal.clone(), Terminal::ToList),
            };
            Ok((asked, Wrapping::Traversers))
        }
        ("eval", Some(Argument::Value(Object::String(text)))) => {
            let mut bindings = Bindings::default();
            if let Some(Object::Map(given)) = request.value("bindings") {
                for (name, value) in given.iter() {
                    let name = name.as_str().ok_or_else(|| invalid("a binding has no name"))?;
                    bindings.insert(name.to_string(), value.clone().into());
                }
            }
            Ok((GraphRequest::Script(text.clone(), bindings), Wrapping::Plain))
        }
        (operation, _) => Err(invalid(format!("`{operation}` needs the argument `gremlin`"))),
    }
}

fn transact(session: &mut Session, word: &str) -> Result<(), Refusal> {
    match word.to_ascii_lowercase().as_str() {
        "commit" if session.in_transaction() => session.commit().map(drop)?,
        "rollback" if session.in_transaction() => session.rollback()?,
        // A transaction without a traversal has not begun here yet.
        "commit" | "rollback" | "begin" | "open" => {}
        other => return Err(invalid(format!("tx().{other}() is not known; commit and rollback are"))),
    }
    Ok(())
}

/// Sends an answer in parts; the last one is marked.
fn send(mut ended: Ended, batch: usize, wrapping: Wrapping, outlet: &mut dyn Outlet) -> Result<(), Stop> {
    let (mut objects, mut filled): (Vec<(Object, u64)>, u64) = (Vec::new(), 0);
    let mut sent_any = false;
    while let Some(found) = ended.next_objects()? {
        for (object, mut bulk) in found {
            while bulk > 0 {
                if filled == batch as u64 {
                    let (status, answer) = (Status::PartialContent, Some(&ended.answer));
                    outlet.part(&Part { status, objects: &objects, wrapping, answer })?;
                    (sent_any, filled) = (true, 0);
                    objects.clear();
                }
                // Plain objects are written as often as they are there, so that a large bulk is many parts; of traversers each is one.
                let (now, room) = match wrapping {
                    Wrapping::Traversers => (bulk, 1),
                    Wrapping::Plain => (bulk.min(batch as u64 - filled), bulk.min(batch as u64 - filled)),
                };
                objects.push((object.clone(), now));
                (bulk, filled) = (bulk - now, filled + room);
            }
        }
    }
    let status = if objects.is_empty() && !sent_any { Status::NoContent } else { Status::Success };
    outlet.part(&Part { status, objects: &objects, wrapping, answer: Some(&ended.answer) })
}
