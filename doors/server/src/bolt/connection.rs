//! One connection: who may say what when (Bolt specification, "Server state"), without a socket.
//!
//! ```text
//!   negotiated -HELLO-> [authentication -LOGON->] ready -RUN-> streaming -PULL/DISCARD-> ready
//!                                                 ready -BEGIN-> transaction -RUN-> its results -COMMIT/ROLLBACK-> ready
//!   any failure -> failed: everything is IGNORED until RESET
//! ```
//!
//! Invariant: a result is read only as far as the client pulled, so a slow client holds back its query and costs bounded memory.
//! RESET is noticed by whoever reads the socket ([`Interrupt`]), while this side is busy: it cancels what runs, and what was
//! queued before it is ignored. Answers gather until [`Connection::flush`], which whoever feeds messages calls when it has no more of them:
//! a client that sends BEGIN, RUN and PULL at once is answered at once.

use super::Version;
use super::message::{self, Request};
use super::packstream::{Packer, Unreadable};
use super::structure::{pack, pack_hydrated};
use database::{Database, Error, Limits, Mode, Params, QueryResult, RequestKind, Session, Summary};
use model::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Results open at once in one transaction.
pub const RESULTS_OPEN_MAX: usize = 1_024;
/// Output is handed on whenever so much has gathered.
const FLUSH_BYTES: usize = 64 << 10;
/// Rows that wait for more rows are handed on after this long.
const FLUSH_AFTER: Duration = Duration::from_millis(5);
/// A buffer that one huge row made longer is given back.
const BUFFER_KEPT_BYTES_MAX: usize = 1 << 20;
/// What the server calls itself; drivers look for the name of Neo4j to enable their features.
pub const AGENT: &str = "Neo4j/5.26.0-tanglewood";

/// Where messages go. A send blocks while the client does not read.
pub trait Sink {
    /// Hands on chunked bytes.
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()>;
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
}

/// What follows a message.
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
    results: BTreeMap<i64, QueryResult>,
    rows: BTreeMap<i64, Leftover>,
    next_qid: i64,
    last_qid: i64,
    connection_id: u64,
    address: String,
    out: Vec<u8>,
}

/// Rows of a batch that the client has not pulled yet.
struct Leftover {
    batch: model::Batch,
    row: usize,
}

impl Connection {
    /// A connection that has agreed on a version.
    pub fn new(database: &Database, version: Version, connection_id: u64, address: String) -> Connection {
        Connection {
            version,
            state: State::Negotiated,
            session: database.session(),
            interrupt: Arc::default(),
            results: BTreeMap::new(),
            rows: BTreeMap::new(),
            next_qid: 0,
            last_qid: 0,
            connection_id,
            address,
            out: Vec::new(),
        }
    }
    /// For whoever reads the socket: how to interrupt what runs.
    pub fn interrupter(&self) -> (Arc<Interrupt>, database::Interrupter) {
        (self.interrupt.clone(), self.session.interrupter())
    }

    /// Answers one message; what is left of the answer goes out with [`Connection::flush`].
    pub fn handle(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> std::io::Result<Next> {
        let next = match Request::parse(bytes) {
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
            Ok(request) => self.dispatch(request, sink)?,
        };
        if self.out.len() >= FLUSH_BYTES {
            self.flush(sink)?;
        }
        Ok(next)
    }

    fn dispatch(&mut self, request: Request, sink: &mut dyn Sink) -> std::io::Result<Next> {
        match request {
            Request::Goodbye => return Ok(Next::Close),
            Request::Reset if !matches!(self.state, State::Negotiated | State::Authentication) => {
                if self.interrupt.settle() {
                    self.session.settle_interrupt();
                }
                self.clear();
                self.state = State::Ready;
                self.succeed(Map::new());
            }
            _ if self.is_ignoring() => self.say(message::ignored),
            request => match (self.state, request) {
                (State::Negotiated, Request::Hello(_)) => self.hello(),
                (State::Authentication, Request::Logon(_)) => {
                    self.state = State::Ready;
                    self.succeed(Map::new());
                }
                (State::Ready, request) => return self.serve(request, sink),
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

    fn hello(&mut self) {
        self.state = if self.version.has_logon() { State::Authentication } else { State::Ready };
        let hints = Value::map([
            ("connection.recv_timeout_seconds", Value::Int(120)),
            ("telemetry.enabled", false.into()),
        ]);
        self.succeed(map([
            ("server", AGENT.into()),
            ("connection_id", format!("bolt-{}", self.connection_id).into()),
            ("hints", hints),
        ]));
    }

    fn serve(&mut self, request: Request, sink: &mut dyn Sink) -> std::io::Result<Next> {
        let outcome = match request {
            Request::Run(text, params, extra) => self.run(&text, &params, &extra),
            Request::Pull(extra) => return self.pull(&extra, true, sink),
            Request::Discard(extra) => return self.pull(&extra, false, sink),
            Request::Begin(extra) => self.begin(&extra),
            Request::Commit => self.end(true),
            Request::Rollback => self.end(false),
            Request::Route => Ok(self.route()),
            Request::Telemetry => Ok(Map::new()),
            Request::Logoff if self.version.has_logon() => {
                self.clear();
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

    fn run(&mut self, text: &str, params: &Map, extra: &Map) -> Result<Map, Error> {
        if self.results.len() >= RESULTS_OPEN_MAX
            || (!self.session.in_transaction() && !self.results.is_empty())
        {
            return Err(invalid("too many results are open; read or discard them first"));
        }
        let params: Params = params.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let limits = Limits { timeout: timeout(extra), bytes_max: None };
        let reads_only = !self.session.in_transaction() && is_read(extra);
        let result = match reads_only {
            true => self.session.query_reading(text, params, &limits)?,
            false => self.session.query_within(text, params, &limits)?,
        };
        let fields = result.columns().iter().map(|title| title.clone().into()).collect();
        let mut metadata = map([("fields", Value::list(fields)), ("t_first", Value::Int(0))]);
        let qid = self.next_qid;
        if self.session.in_transaction() {
            metadata.insert("qid".into(), Value::Int(qid));
        }
        self.next_qid += 1;
        self.last_qid = qid;
        self.results.insert(qid, result);
        Ok(metadata)
    }

    /// Hands out up to `n` rows of a result, or drops them.
    fn pull(&mut self, extra: &Map, wanted: bool, sink: &mut dyn Sink) -> std::io::Result<Next> {
        let int = |name: &str| extra.get(name).and_then(Value::as_int);
        let qid = int("qid").filter(|qid| *qid >= 0).unwrap_or(self.last_qid);
        let count = int("n").unwrap_or(-1);
        let Some(mut result) = self.results.remove(&qid) else {
            self.session.break_transaction();
            self.fail(&invalid("there is no open result to read"));
            return Ok(Next::Go);
        };
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        let outcome = match wanted || count >= 0 {
            true => self.stream(qid, &mut result, limit, wanted, sink)?,
            false => self.discard_all(qid, &mut result),
        };
        match outcome {
            Ok(true) => {
                self.results.insert(qid, result);
                self.succeed(map([("has_more", true.into())]));
            }
            Ok(false) => {
                let metadata = self.finished(result.summary());
                self.succeed(metadata);
            }
            Err(error) => {
                self.session.break_transaction();
                self.fail(&error);
            }
        }
        Ok(Next::Go)
    }

    fn discard_all(&mut self, qid: i64, result: &mut QueryResult) -> Result<bool, Error> {
        self.rows.remove(&qid);
        result.discard().map(|()| false)
    }

    /// Sends rows; true where there are more.
    fn stream(
        &mut self,
        qid: i64,
        result: &mut QueryResult,
        limit: usize,
        wanted: bool,
        sink: &mut dyn Sink,
    ) -> std::io::Result<Result<bool, Error>> {
        let mut left = limit;
        loop {
            let leftover = match self.rows.remove(&qid) {
                Some(leftover) => leftover,
                None => match self.next_batch(result, sink)? {
                    Ok(None) => return Ok(Ok(false)),
                    Ok(Some(batch)) => Leftover { batch, row: 0 },
                    Err(error) => return Ok(Err(error)),
                },
            };
            let Leftover { batch, row } = leftover;
            let end = batch.len().min(row.saturating_add(left));
            if wanted {
                for row in row..end {
                    if let Err(error) = self.record(result, &batch, row) {
                        return Ok(Err(error));
                    }
                    if self.out.len() >= FLUSH_BYTES {
                        self.flush(sink)?;
                    }
                }
            }
            left -= end - row;
            if end < batch.len() {
                self.rows.insert(qid, Leftover { batch, row: end });
            }
            if left == 0 {
                return Ok(self.has_more(qid, result));
            }
        }
    }

    /// The next batch; if it keeps the client waiting, the rows before it go out first.
    fn next_batch(
        &mut self,
        result: &mut QueryResult,
        sink: &mut dyn Sink,
    ) -> std::io::Result<Result<Option<model::Batch>, Error>> {
        if self.out.is_empty() {
            return Ok(result.next_batch());
        }
        match result.next_batch_timeout(FLUSH_AFTER) {
            Ok(Some(next)) => Ok(Ok(next)),
            Err(error) => Ok(Err(error)),
            Ok(None) => {
                self.flush(sink)?;
                Ok(result.next_batch())
            }
        }
    }

    /// Whether a further row exists; looks one batch ahead, so that the last row of a result ends it.
    fn has_more(&mut self, qid: i64, result: &mut QueryResult) -> Result<bool, Error> {
        while !self.rows.contains_key(&qid) {
            match result.next_batch()? {
                None => return Ok(false),
                Some(batch) if batch.is_empty() => {}
                Some(batch) => {
                    self.rows.insert(qid, Leftover { batch, row: 0 });
                }
            }
        }
        Ok(true)
    }

    fn record(&mut self, result: &QueryResult, batch: &model::Batch, row: usize) -> Result<(), Error> {
        let (mut outcome, version, before) = (Ok(()), self.version, self.out.len());
        super::chunks::write_with(&mut self.out, |packer| {
            message::record(packer, batch.width());
            outcome = (0..batch.width()).try_for_each(|at| cell(packer, result, batch, row, at, version));
        });
        if outcome.is_err() {
            self.out.truncate(before);
        }
        outcome
    }

    fn begin(&mut self, extra: &Map) -> Result<Map, Error> {
        let mode = if is_read(extra) { Mode::Read } else { Mode::Write };
        self.session.begin_within(mode, timeout(extra))?;
        self.next_qid = 0;
        Ok(Map::new())
    }

    fn end(&mut self, commit: bool) -> Result<Map, Error> {
        self.drop_results();
        if commit {
            let place = self.session.commit()?;
            return Ok(map([("bookmark", bookmark(place))]));
        }
        self.session.rollback()?;
        Ok(Map::new())
    }

    /// A table of one server: this one, in every role.
    fn route(&self) -> Map {
        let server = |role: &str| {
            Value::map([("addresses", Value::list(vec![self.address.clone().into()])), ("role", role.into())])
        };
        let servers = ["WRITE", "READ", "ROUTE"].map(server).to_vec();
        map([(
            "rt",
            Value::map([("ttl", Value::Int(300)), ("db", "neo4j".into()), ("servers", Value::list(servers))]),
        )])
    }

    fn finished(&self, summary: &Summary) -> Map {
        let kind = match summary.kind {
            RequestKind::Read => "r",
            RequestKind::ReadWrite => "rw",
            RequestKind::Write => "w",
            RequestKind::Schema => "s",
        };
        let mut metadata = map([
            ("type", kind.into()),
            ("db", "neo4j".into()),
            ("t_last", Value::Int(summary.elapsed.as_millis() as i64)),
        ]);
        if !self.session.in_transaction() {
            metadata.insert("bookmark".into(), bookmark(summary.place));
        }
        let stats = statistics(summary);
        if !stats.is_empty() {
            metadata.insert("stats".into(), Value::Map(Arc::new(stats)));
        }
        if let Some(plan) = &summary.plan {
            metadata
                .insert(if summary.profiled { "profile" } else { "plan" }.into(), database::plan_value(plan));
        }
        metadata
    }

    fn drop_results(&mut self) {
        self.results.clear();
        self.rows.clear();
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
        self.say(|packer| message::failure(packer, &error.code, &error.to_string()));
    }

    fn say(&mut self, pack: impl FnOnce(&mut Packer)) {
        super::chunks::write_with(&mut self.out, pack);
    }

    /// Hands on what has gathered.
    pub fn flush(&mut self, sink: &mut dyn Sink) -> std::io::Result<()> {
        if !self.out.is_empty() {
            sink.send(&self.out)?;
            self.out.clear();
            self.out.shrink_to(BUFFER_KEPT_BYTES_MAX);
        }
        Ok(())
    }
}

/// Writes one value of a row, with everything about the entities in it.
fn cell(
    packer: &mut Packer,
    result: &QueryResult,
    batch: &model::Batch,
    row: usize,
    at: usize,
    version: Version,
) -> Result<(), Error> {
    match batch.get(row, at) {
        value @ (Value::Vertex(_) | Value::Edge(_) | Value::Path(_) | Value::List(_) | Value::Map(_)) => {
            let hydrated = database::entity::hydrate(&value, result.snapshot())?;
            pack_hydrated(packer, &hydrated, version);
        }
        value => pack(packer, &value, version.sends_utc()),
    }
    Ok(())
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new("Neo.ClientError.Request.Invalid", what)
}

fn unexpected() -> Error {
    invalid("this message is not allowed in the connection's state")
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map {
    pairs.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

fn bookmark(place: u64) -> Value {
    format!("tanglewood:{place}").into()
}

fn is_read(extra: &Map) -> bool {
    extra.get("mode").and_then(Value::as_str) == Some("r")
}

fn timeout(extra: &Map) -> Option<Duration> {
    let millis = extra.get("tx_timeout").and_then(Value::as_int)?;
    u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis)
}

fn statistics(summary: &Summary) -> Map {
    let counters = &summary.counters;
    let counts = [
        ("nodes-created", counters.nodes_created),
        ("nodes-deleted", counters.nodes_deleted),
        ("relationships-created", counters.relationships_created),
        ("relationships-deleted", counters.relationships_deleted),
        ("properties-set", counters.properties_set),
        ("labels-added", counters.labels_added),
        ("labels-removed", counters.labels_removed),
        ("indexes-added", summary.schema.indexes_added),
        ("indexes-removed", summary.schema.indexes_removed),
        ("constraints-added", summary.schema.constraints_added),
        ("constraints-removed", summary.schema.constraints_removed),
    ];
    let mut stats: Map = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (Arc::from(name), Value::Int(count as i64)))
        .collect();
    if !stats.is_empty() {
        stats.insert("contains-updates".into(), true.into());
    }
    stats
}
