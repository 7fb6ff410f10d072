//! One client of the Gremlin door, without its socket: frames in, frames out.
//!
//! A request stands alone, or belongs to a session: then a transaction is open from its first traversal until `tx("commit")`,
//! `tx("rollback")` or its end. An answer goes out in parts of as many objects as the client asked for, each handed on before the next is
//! fetched: a slow client holds its traversal back.

use super::message::{self, Request, Status, Wrapping};
use super::reading::Malformed;
use crate::users::Gate;
use database::gremlin::{GremlinAnswer, GremlinOptions};
use database::{Database, Error, Interrupter, Mode, Session, Value};
use gremlin::{Argument, Bindings, Object, Terminal, Traversal};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Objects of one part of an answer where the client does not say.
pub const BATCH_OBJECTS: usize = 64;
/// Most that a client may ask for.
pub const BATCH_OBJECTS_MAX: usize = 10_000;
/// Sessions that one connection may have.
pub const SESSIONS_MAX: usize = 64;
/// The name of the graph that is asked where no alias says otherwise.
pub const DEFAULT_SOURCE: &str = "g";

/// The graphs a client may ask, by the names of their traversal sources.
pub type Sources = BTreeMap<String, Database>;

/// Where answers go; returns when the client has room for more.
pub type Sink<'s> = dyn FnMut(Vec<u8>) -> io::Result<()> + 's;

/// What happens to the connection after a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More frames are read.
    Read,
    /// The client said goodbye, or may not stay.
    Close,
}

/// How the door behaves towards all its clients.
#[derive(Clone)]
pub struct Manner {
    /// The graphs.
    pub sources: Arc<Sources>,
    /// Who may come in.
    pub gate: Arc<Gate>,
    /// See [`GremlinOptions::keeps_many`].
    pub keeps_many: bool,
}

/// One client.
pub struct Connection {
    manner: Manner,
    peer: IpAddr,
    user: Option<String>,
    is_known: bool,
    /// What a client asked before it said who it is.
    pending: Option<Request>,
    /// Open sessions, by their ids and sources.
    sessions: HashMap<(String, String), Session>,
    /// Ends what runs when the client is gone.
    watch: Box<dyn Fn(Option<Interrupter>) + Send>,
}

/// What went wrong, as the client is told.
struct Refusal {
    status: Status,
    message: String,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let status = match error.code.as_str() {
            "Neo.ClientError.Transaction.TransactionTimedOut" => Status::Timeout,
            "Neo.ClientError.Statement.SyntaxError" | "Neo.ClientError.Statement.NotSupported" => {
                Status::ScriptError
            }
            "Tanglewood.ClientError.Gremlin.Fail" => Status::FailStep,
            _ => Status::ServerError,
        };
        Refusal { status, message: error.to_string() }
    }
}

impl From<Malformed> for Refusal {
    fn from(error: Malformed) -> Refusal {
        Refusal { status: Status::MalformedRequest, message: error.to_string() }
    }
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal { status: Status::InvalidArguments, message: message.into() }
}

/// What is asked of one graph.
enum Asked {
    Traversal(Traversal, Terminal),
    Transaction(Arc<str>),
    Value(Object),
}

impl Connection {
    /// A client that has said nothing yet. `watch` is told what to interrupt when the client goes, while something runs.
    pub fn new(manner: Manner, peer: IpAddr, watch: Box<dyn Fn(Option<Interrupter>) + Send>) -> Connection {
        let is_known = !manner.gate.asks();
        Connection { manner, peer, user: None, is_known, pending: None, sessions: HashMap::new(), watch }
    }
    /// Has the client said who it is?
    pub fn is_known(&self) -> bool {
        self.is_known
    }
    /// Answers a frame.
    ///
    /// # Errors
    /// The answer cannot be handed on.
    pub fn handle(&mut self, frame: &[u8], sink: &mut Sink<'_>) -> io::Result<Next> {
        let request = match Request::read(frame) {
            Ok(request) => request,
            Err(error) => {
                let text = error.to_string();
                sink(message::failure(None, Status::MalformedRequest, &text, "SerializationException"))?;
                return Ok(Next::Read);
            }
        };
        if request.operation == "authentication" {
            return self.authenticate(&request, sink);
        }
        if !self.is_known {
            sink(message::challenge(request.id))?;
            self.pending = Some(request);
            return Ok(Next::Read);
        }
        self.answer(&request, sink)
    }
    fn authenticate(&mut self, request: &Request, sink: &mut Sink<'_>) -> io::Result<Next> {
        let token = match request.value("sasl") {
            Some(Object::String(text)) => data_encoding::BASE64.decode(text.as_bytes()).unwrap_or_default(),
            Some(Object::Binary(bytes)) => bytes.to_vec(),
            _ => Vec::new(),
        };
        // SASL PLAIN (RFC 4616): on whose behalf, name, password, parted by zeros.
        let mut parts =
            token.split(|byte| *byte == 0).skip(1).map(|part| String::from_utf8_lossy(part).to_string());
        let (name, password) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let pair = |key: &str, value: &str| (Arc::from(key), Value::string(value));
        let token = [pair("scheme", "basic"), pair("principal", &name), pair("credentials", &password)];
        match self.manner.gate.admit(&token.into_iter().collect(), self.peer) {
            Ok(user) => {
                (self.user, self.is_known) = (user, true);
                match self.pending.take() {
                    Some(pending) => self.answer(&pending, sink),
                    None => {
                        sink(
                            message::response(request.id, Status::NoContent, &[], Wrapping::Plain, None)
                                .unwrap_or_default(),
                        )?;
                        Ok(Next::Read)
                    }
                }
            }
            Err(error) => {
                let id = self.pending.take().map_or(request.id, |pending| pending.id);
                sink(message::failure(Some(id), Status::Unauthorized, &error.to_string(), "SaslException"))?;
                Ok(Next::Close)
            }
        }
    }
    fn answer(&mut self, request: &Request, sink: &mut Sink<'_>) -> io::Result<Next> {
        let outcome = match request.operation.as_str() {
            "bytecode" | "eval" => self.run(request, sink),
            "close" => {
                self.close_session(request);
                Ok(sink(nothing(request.id)))
            }
            other => Err(Refusal {
                status: Status::MalformedRequest,
                message: format!(
                    "the operation `{other}` is not known; bytecode, eval, authentication and close are"
                ),
            }),
        };
        (self.watch)(None);
        match outcome {
            Ok(sent) => sent?,
            Err(refusal) => {
                let exception = "org.apache.tinkerpop.gremlin.groovy.engine.GremlinExecutorException";
                sink(message::failure(Some(request.id), refusal.status, &refusal.message, exception))?;
            }
        }
        Ok(Next::Read)
    }

    fn run(&mut self, request: &Request, sink: &mut Sink<'_>) -> Result<io::Result<()>, Refusal> {
        let batch = request.value("batchSize").and_then(Object::as_long);
        let batch = batch.map_or(BATCH_OBJECTS, |size| size.clamp(1, BATCH_OBJECTS_MAX as i64) as usize);
        let timeout = request.value("evaluationTimeout").and_then(Object::as_long);
        // Zero and less mean that there is none.
        let timeout = timeout.filter(|millis| *millis > 0).map(|millis| Duration::from_millis(millis as u64));
        let options =
            GremlinOptions { keeps_many: self.manner.keeps_many, timeout, ..GremlinOptions::default() };
        let (asked, wrapping) = asked(request)?;
        let source = source(request);
        let database = self.manner.sources.get(&source);
        let database = database.ok_or_else(|| invalid(self.no_source(&source)))?.clone();
        let session_id = request.value("session").map(|id| match id {
            Object::String(text) => text.to_string(),
            Object::Uuid(uuid) => format!("{:032x}", **uuid),
            other => format!("{other:?}"),
        });
        let mut alone;
        let (session, is_open) = match session_id.filter(|_| request.processor == "session") {
            Some(id) => {
                if self.sessions.len() >= SESSIONS_MAX
                    && !self.sessions.contains_key(&(id.clone(), source.clone()))
                {
                    return Err(invalid(format!("{SESSIONS_MAX} sessions are open; close one first")));
                }
                let session = self.sessions.entry((id, source)).or_insert_with(|| database.session());
                (session, true)
            }
            None => {
                alone = database.session();
                (&mut alone, false)
            }
        };
        if let Some(user) = &self.user {
            session.set_user(user.clone());
        }
        (self.watch)(Some(session.interrupter()));
        let mut last = Ok(());
        let count = asked.len();
        for (number, one) in asked.into_iter().enumerate() {
            let (traversal, terminal) = match one {
                Asked::Traversal(traversal, terminal) => (traversal, terminal),
                Asked::Transaction(word) => {
                    transact(session, &word)?;
                    last = sink(nothing(request.id));
                    continue;
                }
                Asked::Value(value) => {
                    let objects = [(value, 1)];
                    last = sink(message::response(request.id, Status::Success, &objects, wrapping, None)?);
                    continue;
                }
            };
            if is_open && !session.in_transaction() {
                session.begin(Mode::Write)?;
            }
            let answer = session.gremlin(&traversal, &options)?;
            if number + 1 < count {
                // Of several traversals of a script the last one's objects are the answer.
                answer.all()?;
                continue;
            }
            last = send(request.id, answer, terminal, batch, wrapping, sink)?;
        }
        Ok(last)
    }
    fn no_source(&self, source: &str) -> String {
        let known: Vec<&str> = self.manner.sources.keys().map(String::as_str).collect();
        format!("there is no traversal source `{source}`; there are: {}", known.join(", "))
    }
    fn close_session(&mut self, request: &Request) {
        if let Some(Object::String(id)) = request.value("session") {
            // What was not committed is gone with the session.
            self.sessions.retain(|(known, _), _| *known != **id);
        }
    }
}

fn nothing(id: u128) -> Vec<u8> {
    message::response(id, Status::NoContent, &[], Wrapping::Plain, None).unwrap_or_default()
}

/// The name of the graph that is asked.
fn source(request: &Request) -> String {
    let Some(Object::Map(aliases)) = request.value("aliases") else { return DEFAULT_SOURCE.to_string() };
    let named = aliases.iter().find(|(key, _)| key.as_str() == Some(DEFAULT_SOURCE));
    named.and_then(|(_, name)| name.as_str()).unwrap_or(DEFAULT_SOURCE).to_string()
}

fn asked(request: &Request) -> Result<(Vec<Asked>, Wrapping), Refusal> {
    match (request.operation.as_str(), request.argument("gremlin")) {
        ("bytecode", Some(Argument::Traversal(traversal))) => {
            let word = traversal.source.iter().find(|instruction| &*instruction.name == "tx");
            let word = word.and_then(|instruction| instruction.arguments.first()).and_then(Argument::value);
            let asked = match word.and_then(Object::as_str) {
                Some(word) => Asked::Transaction(word.into()),
                None => Asked::Traversal(traversal.clone(), Terminal::ToList),
            };
            Ok((vec![asked], Wrapping::Traversers))
        }
        ("eval", Some(Argument::Value(Object::String(text)))) => {
            let mut bindings = Bindings::default();
            if let Some(Object::Map(given)) = request.value("bindings") {
                for (name, value) in given.iter() {
                    let name = name.as_str().ok_or_else(|| invalid("a binding has no name"))?;
                    bindings.insert(name.to_string(), value.clone().into());
                }
            }
            let requests = gremlin::parse(text, &bindings).map_err(Error::from)?;
            let asked = requests.into_iter().map(|request| match request {
                gremlin::Request::Traversal(traversal, terminal) => Asked::Traversal(traversal, terminal),
                gremlin::Request::Transaction(word) => Asked::Transaction(word),
                gremlin::Request::Value(value) => Asked::Value(value),
            });
            Ok((asked.collect(), Wrapping::Plain))
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

/// Sends an answer in parts; the last one says that it is.
fn send(
    id: u128,
    mut answer: GremlinAnswer,
    terminal: Terminal,
    batch: usize,
    wrapping: Wrapping,
    sink: &mut Sink<'_>,
) -> Result<io::Result<()>, Refusal> {
    let mut left = match terminal {
        Terminal::Next(count) => count,
        Terminal::TryNext | Terminal::HasNext => 1,
        _ => u64::MAX,
    };
    let mut part: Vec<(Object, u64)> = Vec::new();
    let mut sent_any = false;
    while left > 0 {
        let Some(objects) = answer.next_objects()? else { break };
        for (object, bulk) in objects {
            let bulk = bulk.min(left);
            left -= bulk;
            if bulk == 0 || terminal == Terminal::Iterate {
                continue;
            }
            if part.len() == batch {
                let frame = message::response(id, Status::PartialContent, &part, wrapping, Some(&answer))?;
                if let Err(error) = sink(frame) {
                    return Ok(Err(error));
                }
                sent_any = true;
                part.clear();
            }
            part.push((object, bulk));
        }
    }
    if terminal == Terminal::HasNext {
        part = vec![(Object::Bool(!part.is_empty()), 1)];
    }
    let status = if part.is_empty() && !sent_any { Status::NoContent } else { Status::Success };
    Ok(sink(message::response(id, status, &part, wrapping, Some(&answer))?))
}
