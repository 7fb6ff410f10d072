//! One connection: which messages may come when (Bolt specification, "Server state"), without a socket.
//!
//! ```text
//!   negotiated -HELLO-> [authentication -LOGON->] ready -RUN-> streaming -PULL/DISCARD-> ready
//!                                                 ready -BEGIN-> transaction -RUN-> its results -COMMIT/ROLLBACK-> ready
//!   any failure -> failed: everything is IGNORED until RESET
//! ```
//!
//! Invariant: a result is read only as far as the client pulled, so a slow client holds back its query and costs bounded memory. The thread that
//! reads the socket notices RESET ([`Interrupt`]) while this side is busy: it cancels the running query, and earlier queued messages are ignored.
//! Answers are buffered until [`Connection::flush`], which is called when no more messages are queued: a client that sends BEGIN, RUN and PULL at
//! once is answered at once.

mod rows;

use super::answer::{self, DATABASE, map};
use super::message::{self, Request};
use super::notices::Filter;
use super::packstream::{Packer, Unreadable};
use super::{Version, bookmark};
use crate::Limits as ServerLimits;
use crate::allowance::by_whose_clock;
use crate::listener::crowd::{Crowd, Origin, Share, ValueAccount};
use crate::users::Gate;
use database::{Credential, Database, Error, Limits, Mode, Params, QueryResult, Session};
use model::{Map, Value};
use rows::{FLUSH_BYTES, Leftover};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use world::failpoint;
use world::panics::caught;

/// Results open at once in one transaction.
pub const RESULTS_OPEN_MAX: usize = 1_024;
/// Bytes of an address that a routing table repeats.
const ADDRESS_BYTES_MAX: usize = 300;
/// Pause between two looks whether a bookmark's commit is there.
const BOOKMARK_PAUSE: Duration = Duration::from_millis(1);
/// A buffer that one huge row made longer is given back.
const BUFFER_KEPT_BYTES_MAX: usize = 1 << 20;
/// Seconds of silence after which a driver may think the server gone; it says something every [`crate::Limits::keep_alive`].
const RECEIVE_TIMEOUT_SECONDS: i64 = 120;
/// The server's agent string; drivers look for the name of Neo4j to enable their features.
pub const AGENT: &str = "Neo4j/5.26.0-tanglewood";

/// Where messages go. A send blocks while the client does not read.
pub trait Sink {
    /// Hands on chunked bytes.
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()>;
    /// A moment in which the conversation waits for the database: the client may be looked after.
    fn look(&mut self) {}
}

/// RESETs that were read but not yet answered.
#[derive(Debug, Default)]
pub struct Interrupt {
    pending: AtomicUsize,
}

impl Interrupt {
    /// The reader met a RESET.
    pub fn raise(&self) {
        self.pending.fetch_add(1, Ordering::AcqRel);
    }
    fn is_raised(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }
    /// One RESET was answered; true where no other is pending.
    fn settle(&self) -> bool {
        let settle = |pending: usize| Some(pending.saturating_sub(1));
        self.pending.fetch_update(Ordering::AcqRel, Ordering::Acquire, settle).is_ok_and(|before| before <= 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Negotiated,
    Authentication,
    Ready,
    Failed,
    /// Not let in; the connection ends.
    Refused,
}

/// The next step after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next message.
    Go,
    /// The end of the connection.
    Close,
}

/// One client's connection.
pub struct Connection {
    version: Version,
    state: State,
    session: Session,
    interrupt: Arc<Interrupt>,
    gate: Arc<Gate>,
    peer: SocketAddr,
    /// All connected clients, and this client's address.
    crowd: Option<(Arc<Crowd>, Origin)>,
    user_place: Option<Share<String>>,
    filter: Filter,
    /// Of the open transaction, where it said more than the connection.
    transaction_filter: Option<Filter>,
    bookmark_timeout: Duration,
    /// The end of the client's own time limit for the running statement.
    client_deadline_ns: Option<u64>,
    // Boxed, as a node of the map has room for eleven of them, and most often there is one.
    results: BTreeMap<i64, Box<OpenResult>>,
    next_qid: i64,
    last_qid: i64,
    connection_id: u64,
    address: String,
    peers: Arc<[String]>,
    out: Vec<u8>,
}

/// A result that the client has not read to its end.
struct OpenResult {
    result: QueryResult,
    leftover: Option<Leftover>,
    has_sent: bool,
    filter: Filter,
    /// Its parameters are on this account.
    values: Option<ValueAccount>,
}

impl Connection {
    /// A connection that has agreed on a version.
    pub fn new(database: &Database, version: Version, connection_id: u64, address: String) -> Connection {
        Connection {
            version,
            state: State::Negotiated,
            session: database.session(),
            interrupt: Arc::default(),
            gate: Gate::open(),
            peer: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            crowd: None,
            user_place: None,
            filter: Filter::default(),
            transaction_filter: None,
            bookmark_timeout: ServerLimits::default().bookmark_timeout,
            client_deadline_ns: None,
            results: BTreeMap::new(),
            next_qid: 0,
            last_qid: 0,
            connection_id,
            address,
            peers: Arc::default(),
            out: Vec::new(),
        }
    }
    /// Sets the gate that authenticates the client.
    pub fn guard(&mut self, gate: Arc<Gate>, peer: SocketAddr) {
        (self.gate, self.peer) = (gate, peer);
        self.session.set_client(&format!("bolt-{}", self.connection_id), &peer.to_string());
    }
    /// Sets the addresses that serve the same graph, for routing.
    pub fn route_to(&mut self, peers: Arc<[String]>) {
        self.peers = peers;
    }
    /// Counts it among all connected clients.
    pub(crate) fn join(&mut self, crowd: Arc<Crowd>, origin: Origin) {
        self.crowd = Some((crowd, origin));
    }
    /// Has the client got the reason why the connection ends?
    pub fn was_refused(&self) -> bool {
        matches!(self.state, State::Failed | State::Refused)
    }
    /// Sets its limits.
    pub fn set_limits(&mut self, limits: &ServerLimits) {
        self.bookmark_timeout = limits.bookmark_timeout;
    }
    /// Called every few milliseconds while a writing statement runs.
    pub fn set_meanwhile(&mut self, meanwhile: impl Fn() + Send + Sync + 'static) {
        self.session.set_meanwhile(meanwhile);
    }
    /// Has the client authenticated?
    pub fn is_known(&self) -> bool {
        !matches!(self.state, State::Negotiated | State::Authentication | State::Refused)
    }
    /// Does the client keep a transaction or a result open?
    pub fn has_open_work(&self) -> bool {
        self.session.in_transaction() || !self.results.is_empty()
    }
    /// Says why the connection ends.
    pub fn refuse(&mut self, what: &str) {
        self.clear();
        self.fail(&invalid(what));
    }
    /// Interrupts running statements, for the thread that reads the socket.
    pub fn interrupter(&self) -> (Arc<Interrupt>, database::Interrupter) {
        (self.interrupt.clone(), self.session.interrupter())
    }

    /// Answers one message; the rest of the answer is sent by [`Connection::flush`]. A panic is a failure of that message alone: its open transaction
    /// is gone, as after any failure.
    pub fn handle(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> std::io::Result<Next> {
        caught(|| self.answer(bytes, sink)).unwrap_or_else(|panicked| {
            self.session.break_transaction();
            self.fail(&Error::internal(&panicked));
            Ok(Next::Go)
        })
    }

    fn answer(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> std::io::Result<Next> {
        failpoint::visit("message of Bolt");
        let mut values = self.crowd.as_ref().map(|(crowd, origin)| crowd.values(*origin));
        let next = match Request::parse_within(bytes, values.as_mut()) {
            Err(Unreadable::Malformed(what)) => {
                self.fail(&invalid(format!("malformed message: {what}")));
                Next::Close
            }
            Err(Unreadable::Refused(_)) if self.is_ignoring() => {
                self.say(message::ignored);
                Next::Go
            }
            Err(Unreadable::Refused(what)) => {
                self.session.break_transaction();
                self.fail(&invalid(what));
                Next::Go
            }
            Ok(request) => self.dispatch(request, values, sink)?,
        };
        if self.out.len() >= FLUSH_BYTES {
            self.flush(sink)?;
        }
        Ok(next)
    }

    fn dispatch(
        &mut self,
        request: Request,
        values: Option<ValueAccount>,
        sink: &mut dyn Sink,
    ) -> std::io::Result<Next> {
        match request {
            Request::Goodbye => return Ok(Next::Close),
            Request::Reset if self.is_known() => {
                if self.interrupt.settle() {
                    self.session.settle_interrupt();
                }
                self.clear();
                self.state = State::Ready;
                self.succeed(Map::new());
            }
            _ if self.is_ignoring() => self.say(message::ignored),
            request => match (self.state, request) {
                (State::Negotiated, Request::Hello(extra)) => return Ok(self.hello(&extra)),
                (State::Authentication, Request::Logon(token)) => return Ok(self.logon(&token)),
                (State::Ready, request) => return self.serve(request, values, sink),
                _ => {
                    self.fail(&unexpected());
                    return Ok(Next::Close);
                }
            },
        }
        Ok(Next::Go)
    }

    fn is_ignoring(&self) -> bool {
        self.interrupt.is_raised() || self.state == State::Failed
    }

    fn hello(&mut self, extra: &Map) -> Next {
        self.filter = Filter::from(extra, &self.filter);
        let routed = match extra.get("routing") {
            Some(Value::Map(routing)) => routing.get("address").and_then(Value::as_str),
            _ => None,
        };
        if let Some(address) = routed.filter(|address| address.len() <= ADDRESS_BYTES_MAX) {
            // Under this name the client reached the server, and so it will again.
            self.address = address.into();
        }
        self.state = State::Authentication;
        if !self.version.has_logon() && self.admit(extra).is_err() {
            return Next::Close;
        }
        let hints = Value::map([
            ("connection.recv_timeout_seconds", Value::Int(RECEIVE_TIMEOUT_SECONDS)),
            ("telemetry.enabled", false.into()),
        ]);
        self.succeed(map([
            ("server", AGENT.into()),
            ("connection_id", format!("bolt-{}", self.connection_id).into()),
            ("hints", hints),
        ]));
        Next::Go
    }

    fn logon(&mut self, token: &Map) -> Next {
        if self.admit(token).is_err() {
            return Next::Close;
        }
        self.succeed(Map::new());
        Next::Go
    }

    /// Authenticates at the gate; the session is charged to the user. A refusal has been answered.
    fn admit(&mut self, token: &Map) -> Result<(), ()> {
        match self.place_of(token) {
            Ok((user, place)) => {
                self.user_place = place;
                user.into_iter().for_each(|user| self.session.log_on(user));
                self.state = State::Ready;
                Ok(())
            }
            Err(error) => {
                self.fail(&error);
                self.state = State::Refused;
                Err(())
            }
        }
    }

    /// Authenticates the token, and takes a place among the user's connections. One address authenticates at a time.
    fn place_of(&self, token: &Map) -> Result<(Option<Credential>, Option<Share<String>>), Error> {
        let Some((crowd, origin)) = &self.crowd else {
            return Ok((self.gate.admit(token, self.peer.ip())?, None));
        };
        let user = crowd.in_turn(*origin, || self.gate.admit(token, self.peer.ip()))?;
        let place = user.as_ref().map(|user| crowd.user(user.name())).transpose();
        let place = place.map_err(|why| Error::new("Neo.TransientError.Request.NoThreadsAvailable", why))?;
        Ok((user, place))
    }

    fn serve(
        &mut self,
        request: Request,
        values: Option<ValueAccount>,
        sink: &mut dyn Sink,
    ) -> std::io::Result<Next> {
        let outcome = match request {
            Request::Run(text, params, extra) => {
                self.run(&text, params, &extra, sink).map(|(mut result, metadata)| {
                    result.values = values;
                    self.results.insert(self.last_qid, result);
                    metadata
                })
            }
            Request::Pull(extra) => return self.pull(&extra, true, sink),
            Request::Discard(extra) => return self.pull(&extra, false, sink),
            Request::Begin(extra) => self.begin(&extra, sink),
            Request::Commit => self.end(true),
            Request::Rollback => self.end(false),
            Request::Route(extra) => self.route(&extra, sink),
            Request::Telemetry => Ok(Map::new()),
            Request::Logoff if self.version.has_logon() => {
                self.clear();
                self.user_place = None;
                self.state = State::Authentication;
                Ok(Map::new())
            }
            _ => {
                self.fail(&unexpected());
                return Ok(Next::Close);
            }
        };
        match outcome {
            Ok(metadata) => self.succeed(metadata),
            Err(error) => self.fail(&error),
        }
        Ok(Next::Go)
    }

    fn run(
        &mut self,
        text: &str,
        params: Arc<Map>,
        extra: &Map,
        sink: &mut dyn Sink,
    ) -> Result<(Box<OpenResult>, Map), Error> {
        let in_transaction = self.session.in_transaction();
        if self.results.len() >= RESULTS_OPEN_MAX || (!in_transaction && !self.results.is_empty()) {
            return Err(invalid("too many results are open; read or discard them first"));
        }
        if !in_transaction {
            self.prepare(extra, sink)?;
            self.note(extra)?;
        }
        let params = Arc::try_unwrap(params).unwrap_or_else(|shared| (*shared).clone());
        let params: Params = params.into_iter().collect();
        let limits = Limits { timeout: timeout(extra), bytes_max: None };
        let reads_only = !in_transaction && is_read(extra);
        let result = match reads_only {
            true => self.session.query_reading(text, params, &limits)?,
            false => self.session.query_within(text, params, &limits)?,
        };
        let fields = result.columns().iter().map(|title| title.clone().into()).collect();
        let mut metadata = map([("fields", Value::list(fields)), ("t_first", Value::Int(0))]);
        let qid = self.next_qid;
        if in_transaction {
            metadata.insert("qid".into(), Value::Int(qid));
        } else if self.version.tells_home() {
            metadata.insert("db".into(), DATABASE.into());
        }
        self.next_qid += 1;
        self.last_qid = qid;
        let filter = match (in_transaction, &self.transaction_filter) {
            (true, Some(filter)) => filter.clone(),
            _ => Filter::from(extra, &self.filter),
        };
        let open = OpenResult { result, leftover: None, has_sent: false, filter, values: None };
        Ok((Box::new(open), metadata))
    }

    fn begin(&mut self, extra: &Map, sink: &mut dyn Sink) -> Result<Map, Error> {
        self.prepare(extra, sink)?;
        self.note(extra)?;
        let mode = if is_read(extra) { Mode::Read } else { Mode::Write };
        self.session.begin_within(mode, timeout(extra))?;
        self.transaction_filter = Some(Filter::from(extra, &self.filter));
        self.next_qid = 0;
        let home = self.version.tells_home().then(|| ("db".into(), DATABASE.into()));
        Ok(home.into_iter().collect())
    }

    /// The client's metadata and time limit for the statement or transaction that it begins.
    fn note(&mut self, extra: &Map) -> Result<(), Error> {
        let deadline = |timeout: Duration| world::clock::after_ns(timeout);
        self.client_deadline_ns = timeout(extra).map(deadline);
        let metadata = extra.get("tx_metadata").filter(|told| matches!(told, Value::Map(_))).cloned();
        self.session.set_metadata(metadata)
    }

    /// The demands of a transaction before it begins: a database, a user, bookmarks to wait for.
    fn prepare(&mut self, extra: &Map, sink: &mut dyn Sink) -> Result<(), Error> {
        check_database(extra)?;
        self.session.act_as(extra.get("imp_user").and_then(Value::as_str))?;
        let commit_version = bookmark::latest(extra)?;
        let interrupt = self.interrupt.clone();
        let go_on = || {
            world::threads::sleep(BOOKMARK_PAUSE);
            sink.look();
            !interrupt.is_raised()
        };
        bookmark::wait(self.session.database(), commit_version, self.bookmark_timeout, go_on)
    }

    /// A table of this server, under the name by which the client reached it, or of all gates of the cluster.
    fn route(&mut self, extra: &super::message::Routing, sink: &mut dyn Sink) -> Result<Map, Error> {
        let wanted: Map = [("bookmarks".into(), Value::list(extra.bookmarks.clone()))].into_iter().collect();
        self.prepare(&wanted, sink)?;
        check_database(&extra.extra)?;
        let address = extra.context.get("address").and_then(Value::as_str);
        let address = address.filter(|address| address.len() <= ADDRESS_BYTES_MAX).unwrap_or(&self.address);
        let peers: Vec<&str> = self.peers.iter().map(String::as_str).collect();
        Ok(answer::routes(if peers.is_empty() { std::slice::from_ref(&address) } else { &peers }))
    }

    fn end(&mut self, commit: bool) -> Result<Map, Error> {
        self.drop_results();
        if commit {
            let commit_version = self.session.commit()?;
            return Ok(map([("bookmark", bookmark::of(commit_version))]));
        }
        self.session.rollback()?;
        Ok(Map::new())
    }

    fn drop_results(&mut self) {
        self.results.clear();
    }

    fn clear(&mut self) {
        self.drop_results();
        if self.session.in_transaction() {
            // Nothing is lost by a rollback that finds nothing to roll back.
            let _ = self.session.rollback();
        }
    }

    fn succeed(&mut self, metadata: Map) {
        self.say(|packer| message::success(packer, &metadata));
    }

    fn fail(&mut self, error: &Error) {
        self.state = State::Failed;
        self.drop_results();
        let version = self.version;
        let database = self.session.database();
        let error = &database
            .without_paths(database.while_ending(by_whose_clock(error.clone(), self.client_deadline_ns)));
        self.say(|packer| message::failure(packer, error, version));
    }

    fn say(&mut self, pack: impl FnOnce(&mut Packer)) {
        super::chunks::write_with(&mut self.out, pack);
    }

    /// Sends the buffered answers.
    pub fn flush(&mut self, sink: &mut dyn Sink) -> std::io::Result<()> {
        if !self.out.is_empty() {
            sink.send(&self.out)?;
            self.out.clear();
            self.out.shrink_to(BUFFER_KEPT_BYTES_MAX);
        }
        Ok(())
    }
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new("Neo.ClientError.Request.Invalid", what)
}

fn unexpected() -> Error {
    invalid("this message is not allowed in the connection's state")
}

/// There is one database; drivers may name it, or not.
fn check_database(extra: &Map) -> Result<(), Error> {
    match extra.get("db").and_then(Value::as_str) {
        // Drivers look up routes of `system`, and tools may ask there.
        None | Some("" | DATABASE | "system") => Ok(()),
        Some(other) => {
            let message = format!("there is no database `{}`; the only one is `{DATABASE}`", brief(other));
            Err(Error::new("Neo.ClientError.Database.DatabaseNotFound", message))
        }
    }
}

/// A name from outside, cut where it becomes long.
fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

fn is_read(extra: &Map) -> bool {
    extra.get("mode").and_then(Value::as_str) == Some("r")
}

fn timeout(extra: &Map) -> Option<Duration> {
    let millis = extra.get("tx_timeout").and_then(Value::as_int)?;
    u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis)
}
