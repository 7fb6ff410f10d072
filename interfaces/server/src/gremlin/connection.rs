//! One client of the Gremlin interface over WebSocket, without its socket: frames in, frames out.
//!
//! A request stands alone, or belongs to a session: then a transaction is open from its first traversal until `tx("commit")`, `tx("rollback")` or its
//! end. An answer is sent in parts of the client's batch size, each sent before the next is fetched: a slow client holds its traversal back.

use super::asking::{Asking, Outlet, Part, Refusal, Stop, invalid};
use super::message::{self, Format, Frame, Request, Status};
use crate::listener::crowd::{Crowd, Origin};
use crate::users::Gate;
use database::{Credential, Database, Error, Interrupter, Session, Value};
use gremlin::Object;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use world::failpoint;
use world::panics::caught;

/// Sessions that one connection may have.
pub const SESSIONS_MAX: usize = 64;
/// The class that drivers look for in the attributes of an error.
const EXCEPTION: &str = "org.apache.tinkerpop.gremlin.groovy.engine.GremlinExecutorException";

/// The graphs a client may use, by the names of their traversal sources.
pub type Sources = BTreeMap<String, Database>;

/// Where answers go; returns when the client has room for more.
pub type Sink<'s> = dyn FnMut(Frame) -> io::Result<()> + 's;

/// What happens to the connection after a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More frames are read.
    Read,
    /// The client said goodbye, or may not stay.
    Close,
}

/// How the interface behaves towards all its clients.
#[derive(Clone)]
pub struct Manner {
    /// The graphs.
    pub sources: Arc<Sources>,
    /// Authenticates clients.
    pub gate: Arc<Gate>,
    /// Time limit of a traversal whose client sets none.
    pub timeout: Option<Duration>,
}

impl Manner {
    /// The graph of a name.
    pub(super) fn database(&self, source: &str) -> Result<&Database, Refusal> {
        let known: Vec<&str> = self.sources.keys().map(String::as_str).collect();
        self.sources.get(source).ok_or_else(|| {
            invalid(format!("there is no traversal source `{source}`; there are: {}", known.join(", ")))
        })
    }
    /// The refusal without folders of this machine, for remote clients.
    pub(super) fn without_paths(&self, mut refusal: Refusal) -> Refusal {
        for database in self.sources.values() {
            refusal.message = database.without_paths_in(refusal.message);
        }
        refusal
    }
    /// Lets someone in by name and password.
    pub(super) fn admit(
        &self,
        name: &str,
        password: &str,
        from: IpAddr,
    ) -> Result<Option<Credential>, Error> {
        let pair = |key: &str, value: &str| (Arc::from(key), Value::string(value));
        let token = [pair("scheme", "basic"), pair("principal", name), pair("credentials", password)];
        self.gate.admit(&token.into_iter().collect(), from)
    }
}

/// Called with the interrupter of a running request, so that it can be ended when the client goes.
pub type Watch = dyn Fn(Option<Interrupter>) + Send;

/// One client.
pub struct Connection {
    manner: Manner,
    peer: IpAddr,
    /// All connected clients, and this client's address.
    crowd: Option<(Arc<Crowd>, Origin)>,
    user: Option<Credential>,
    is_known: bool,
    /// A request that came before authentication.
    pending: Option<Request>,
    /// Open sessions, by their ids and sources.
    sessions: HashMap<(String, String), Session>,
    watch: Box<Watch>,
}

/// Parts of one answer as frames.
struct Frames<'f, 's> {
    format: Format,
    id: u128,
    sink: &'f mut Sink<'s>,
}

impl Outlet for Frames<'_, '_> {
    fn part(&mut self, part: &Part<'_>) -> Result<(), Stop> {
        failpoint::visit("frame of Gremlin");
        let frame = message::response(self.format, self.id, part)?;
        Ok((self.sink)(frame)?)
    }
}

impl Connection {
    /// A client that has said nothing yet.
    pub fn new(manner: Manner, peer: IpAddr, watch: Box<Watch>) -> Connection {
        let is_known = !manner.gate.asks_now();
        let sessions = HashMap::new();
        Connection { manner, peer, crowd: None, user: None, is_known, pending: None, sessions, watch }
    }
    /// Waits for its turn among clients of the same address when it logs on.
    pub(crate) fn join(&mut self, crowd: Arc<Crowd>, origin: Origin) {
        self.crowd = Some((crowd, origin));
    }
    /// Has the client authenticated?
    pub fn is_known(&self) -> bool {
        self.is_known
    }
    /// The user, where the gate knows users.
    pub fn user(&self) -> Option<&str> {
        self.user.as_ref().map(Credential::name)
    }
    /// Is a transaction open, so that others may wait for this client?
    pub fn has_open_work(&self) -> bool {
        self.sessions.values().any(Session::in_transaction)
    }
    /// Answers a frame.
    ///
    /// # Errors
    /// The answer cannot be handed on.
    pub fn handle(&mut self, frame: &[u8], is_text: bool, sink: &mut Sink<'_>) -> io::Result<Next> {
        // The values of a request are on an account until it is answered.
        let mut values = self.crowd.as_ref().map(|(crowd, origin)| crowd.values(*origin));
        let mut room = |bytes| values.as_mut().map_or(Ok(()), |values| values.grow(bytes));
        let read = caught(|| match is_text {
            true => Request::read_text_within(frame, &mut room),
            false => Request::read_within(frame, &mut room),
        });
        // What cannot be read has no id to be answered by.
        let read = read.map_err(|panicked| io::Error::other(panicked.to_string()))?;
        let request = match read {
            Ok(request) => request,
            Err(unread) => {
                let refusal = Refusal::from(unread.why);
                sink(message::failure(unread.format, unread.id, &refusal, "SerializationException"))?;
                return Ok(Next::Read);
            }
        };
        if request.operation == "authentication" {
            return self.authenticate(&request, sink);
        }
        if !self.is_known {
            sink(message::challenge(request.format, request.id))?;
            self.pending = Some(request);
            return Ok(Next::Read);
        }
        self.answer_within_net(&request, sink)
    }
    /// A panic is an error of that request alone; the session that it ran in is dropped with its transaction, since its state is unknown.
    fn answer_within_net(&mut self, request: &Request, sink: &mut Sink<'_>) -> io::Result<Next> {
        caught(|| self.answer(request, sink)).unwrap_or_else(|panicked| {
            (self.watch)(None);
            self.close_session(request);
            let refusal = self.manner.without_paths(Error::internal(&panicked).into());
            sink(message::failure(request.format, Some(request.id), &refusal, EXCEPTION))?;
            Ok(Next::Read)
        })
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
        let admit = || self.manner.admit(&name, &password, self.peer);
        let admitted = match &self.crowd {
            Some((crowd, origin)) => crowd.in_turn(*origin, admit),
            None => admit(),
        };
        match admitted {
            Ok(user) => {
                (self.user, self.is_known) = (user, true);
                match self.pending.take() {
                    Some(pending) => self.answer_within_net(&pending, sink),
                    None => {
                        sink(message::nothing(request.format, request.id))?;
                        Ok(Next::Read)
                    }
                }
            }
            Err(error) => {
                let id = self.pending.take().map_or(request.id, |pending| pending.id);
                let refusal = Refusal { status: Status::Unauthorized, message: error.to_string() };
                sink(message::failure(request.format, Some(id), &refusal, "SaslException"))?;
                Ok(Next::Close)
            }
        }
    }
    fn answer(&mut self, request: &Request, sink: &mut Sink<'_>) -> io::Result<Next> {
        failpoint::visit("request of Gremlin");
        let outcome = match request.operation.as_str() {
            "bytecode" | "eval" => self.run(request, sink),
            "close" => {
                self.close_session(request);
                sink(message::nothing(request.format, request.id)).map_err(Stop::Gone)
            }
            other => Err(Stop::Refused(Refusal {
                status: Status::MalformedRequest,
                message: format!(
                    "the operation `{other}` is not known; bytecode, eval, authentication and close are"
                ),
            })),
        };
        (self.watch)(None);
        match outcome {
            Ok(()) => {}
            Err(Stop::Gone(error)) => return Err(error),
            Err(Stop::Refused(refusal)) => {
                let refusal = self.manner.without_paths(refusal);
                sink(message::failure(request.format, Some(request.id), &refusal, EXCEPTION))?;
            }
        }
        Ok(Next::Read)
    }

    fn run(&mut self, request: &Request, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let asking = Asking::of(request, &self.manner)?;
        let database = self.manner.database(&asking.source)?.clone();
        let session_id = request.value("session").map(|id| match id {
            Object::String(text) => text.to_string(),
            Object::Uuid(uuid) => gremlin::object::uuid_text(**uuid),
            other => format!("{other:?}"),
        });
        let mut alone;
        let (session, stays_open) = match session_id.filter(|_| request.processor == "session") {
            Some(id) => {
                let key = (id, asking.source.clone());
                if self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(&key) {
                    let full = format!("{SESSIONS_MAX} sessions are open; close one first");
                    return Err(invalid(full).into());
                }
                (self.sessions.entry(key).or_insert_with(|| database.session()), true)
            }
            None => {
                alone = database.session();
                (&mut alone, false)
            }
        };
        if let Some(user) = &self.user {
            session.log_on(user.clone());
        }
        (self.watch)(Some(session.interrupter()));
        asking.run(session, stays_open, &mut Frames { format: request.format, id: request.id, sink })
    }
    fn close_session(&mut self, request: &Request) {
        let id = match request.value("session") {
            Some(Object::String(id)) => id.to_string(),
            Some(Object::Uuid(uuid)) => gremlin::object::uuid_text(**uuid),
            _ => return,
        };
        // What was not committed is gone with the session.
        self.sessions.retain(|(known, _), _| *known != id);
    }
}
