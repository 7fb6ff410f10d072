//! Counts, outcomes and latencies of queries; and a line in the log for each slow query.
//!
//! Idea: counters and a histogram for each language and kind of statement, read without a lock. A [`QueryRecord`] goes with a query from its text to
//! its last row, and is counted once, however the query ends. The log names the plan and the names of parameters, never their values; a statement
//! about users is not shown at all, since it holds passwords. Cost: two reads of the clock, four additions, and no copy of the text where the plan
//! was cached.

use crate::cache::Planned;
use crate::query_trace::{self, QueryTrace, Tracing};
use crate::running::shortened;
use crate::{Error, ErrorClass};
use plan::StatementKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use store::Snapshot;
use world::clock::monotonic_ns;

/// Upper bounds of the histogram's buckets, in microseconds; the last bucket has none.
pub const LATENCY_BOUNDS_US: [u64; 14] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    100_000,
    250_000,
    1_000_000,
    5_000_000,
    30_000_000,
    300_000_000,
];
/// The text that the log shows for a statement about users.
pub(crate) const HIDDEN_TEXT: &str = "a statement about users, which is not shown";
/// Bytes of a plan that a line of the log holds.
const PLAN_BYTES_MAX: usize = 8_000;

/// Languages of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryLanguage {
    /// Cypher.
    Cypher,
    /// Gremlin.
    Gremlin,
    /// Datalog.
    Datalog,
}

/// Kinds of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// It read.
    Read,
    /// It wrote.
    Write,
    /// It changed indexes, constraints, users, roles, tenants or standing queries, or ended others.
    Administration,
    /// It was refused before that was known.
    Unknown,
}

/// How a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryOutcome {
    /// All its rows were returned, or its client wanted no more.
    Completed,
    /// The request was at fault.
    ClientError,
    /// The same request may succeed if it is sent again.
    TransientError,
    /// The database was at fault.
    DatabaseError,
    /// It took too long.
    TimedOut,
    /// It was ended by a KILL, its client or a shutdown.
    Terminated,
}

const LANGUAGES: [(QueryLanguage, &str); 3] = [
    (QueryLanguage::Cypher, "cypher"),
    (QueryLanguage::Gremlin, "gremlin"),
    (QueryLanguage::Datalog, "datalog"),
];
const KINDS: [(QueryKind, &str); 4] = [
    (QueryKind::Read, "read"),
    (QueryKind::Write, "write"),
    (QueryKind::Administration, "administration"),
    (QueryKind::Unknown, "unknown"),
];
const OUTCOMES: [(QueryOutcome, &str); 6] = [
    (QueryOutcome::Completed, "completed"),
    (QueryOutcome::ClientError, "client_error"),
    (QueryOutcome::TransientError, "transient_error"),
    (QueryOutcome::DatabaseError, "database_error"),
    (QueryOutcome::TimedOut, "timed_out"),
    (QueryOutcome::Terminated, "terminated"),
];

/// The queries of one language and kind since the database was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryFigures {
    /// `cypher`, `gremlin` or `datalog`.
    pub language: &'static str,
    /// `read`, `write`, `administration` or `unknown`.
    pub kind: &'static str,
    /// How many ended how.
    pub outcomes: Vec<(&'static str, u64)>,
    /// How many took no longer than each of [`LATENCY_BOUNDS_US`] and longer than the bound before; one more bucket for all others.
    pub buckets: Vec<u64>,
    /// Time that all of them took.
    pub total: Duration,
}

#[derive(Default)]
struct KindCounters {
    outcomes: [AtomicU64; OUTCOMES.len()],
    buckets: [AtomicU64; LATENCY_BOUNDS_US.len() + 1],
    total_ns: AtomicU64,
}

/// The counters of a database.
pub(crate) struct QueryLog {
    stripes: Vec<Stripe>,
    /// Sessions so far: each counts in the next stripe.
    sessions: AtomicUsize,
    /// A query that took longer is logged, in nanoseconds; zero turns the log off.
    slow_ns: AtomicU64,
    executors: usize,
    tracing: Tracing,
}

/// Sessions share counters in so many groups: cores that count in the same memory wait for each other.
const STRIPES: usize = 16;

/// The counters of some sessions, in memory of their own.
#[derive(Default)]
#[repr(align(128))]
struct Stripe {
    kinds: [[KindCounters; KINDS.len()]; LANGUAGES.len()],
    /// Queries that have not ended, and answers that were not read.
    open: AtomicUsize,
}

/// The log as a session knows it. Copies are counted for the session alone.
#[derive(Clone)]
pub(crate) struct SessionLog(Arc<(Arc<QueryLog>, usize)>);

impl SessionLog {
    /// For a new session.
    pub fn new(log: &Arc<QueryLog>) -> SessionLog {
        let stripe = log.sessions.fetch_add(1, Ordering::Relaxed) % STRIPES;
        SessionLog(Arc::new((log.clone(), stripe)))
    }
    fn stripe(&self) -> &Stripe {
        let (log, stripe) = &*self.0;
        &log.stripes[*stripe]
    }
}

impl std::ops::Deref for SessionLog {
    type Target = QueryLog;

    fn deref(&self) -> &QueryLog {
        &self.0.0
    }
}

/// A query, or its answer, that a client still waits for or reads.
pub(crate) struct OpenQuery(SessionLog);

impl OpenQuery {
    pub fn begin(log: &SessionLog) -> OpenQuery {
        log.stripe().open.fetch_add(1, Ordering::AcqRel);
        OpenQuery(log.clone())
    }
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        self.0.stripe().open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl QueryLog {
    pub fn new(slow: Option<Duration>, executors: usize) -> Arc<QueryLog> {
        let log = QueryLog {
            stripes: (0..STRIPES).map(|_| Stripe::default()).collect(),
            sessions: AtomicUsize::new(0),
            slow_ns: AtomicU64::new(0),
            executors,
            tracing: Tracing::default(),
        };
        log.set_slow(slow);
        Arc::new(log)
    }
    /// The listener of traces.
    pub fn tracing(&self) -> &Tracing {
        &self.tracing
    }
    /// Queries that take longer are logged from now on; none where absent.
    pub fn set_slow(&self, slow: Option<Duration>) {
        self.slow_ns.store(slow.map_or(0, world::clock::span_ns), Ordering::Relaxed);
    }
    /// Queries that have not ended, and answers that were not read.
    pub fn open(&self) -> usize {
        self.stripes.iter().map(|stripe| stripe.open.load(Ordering::Acquire)).sum()
    }
    /// Would a query that took so long be logged?
    pub fn is_slow(&self, elapsed_ns: u64) -> bool {
        let slow_ns = self.slow_ns.load(Ordering::Relaxed);
        slow_ns > 0 && elapsed_ns >= slow_ns
    }
    fn count(record: &QueryRecord, outcome: QueryOutcome, elapsed_ns: u64) {
        let counters = &record.log.stripe().kinds[record.language as usize][record.kind as usize];
        let at = LATENCY_BOUNDS_US.partition_point(|bound_us| bound_us * 1_000 < elapsed_ns);
        counters.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
        counters.buckets[at].fetch_add(1, Ordering::Relaxed);
        counters.total_ns.fetch_add(elapsed_ns, Ordering::Relaxed);
    }
    /// The counters so far; languages and kinds without queries are left out.
    pub fn figures(&self) -> Vec<QueryFigures> {
        let mut figures = Vec::new();
        for (language, language_name) in LANGUAGES {
            for (kind, kind_name) in KINDS {
                let sum = |counter: &dyn Fn(&KindCounters) -> &AtomicU64| -> u64 {
                    let of = |stripe: &Stripe| {
                        counter(&stripe.kinds[language as usize][kind as usize]).load(Ordering::Relaxed)
                    };
                    self.stripes.iter().map(of).sum()
                };
                let buckets: Vec<u64> =
                    (0..=LATENCY_BOUNDS_US.len()).map(|at| sum(&|counters| &counters.buckets[at])).collect();
                if buckets.iter().all(|count| *count == 0) {
                    continue;
                }
                figures.push(QueryFigures {
                    language: language_name,
                    kind: kind_name,
                    outcomes: OUTCOMES
                        .map(|(outcome, name)| (name, sum(&|counters| &counters.outcomes[outcome as usize])))
                        .into(),
                    buckets,
                    total: Duration::from_nanos(sum(&|counters| &counters.total_ns)),
                });
            }
        }
        figures
    }
}

/// The query as the log shows it.
pub(crate) enum QuerySubject {
    /// A statement with a plan.
    Planned(Arc<Planned>),
    /// Another text.
    Text(Box<str>),
    /// A text that may not be shown, or was not kept.
    Hidden,
}

/// A query that is under way. One that is dropped before it ended was given up by its client.
pub(crate) struct QueryRecord {
    log: SessionLog,
    language: QueryLanguage,
    kind: QueryKind,
    subject: QuerySubject,
    user: Option<Box<str>>,
    started_ns: u64,
    first_ns: Option<u64>,
    rows: u64,
    snapshot: Option<Snapshot>,
    is_counted: bool,
    /// Present if the query is traced.
    trace: Option<Box<TraceParts>>,
}

/// Parts of a trace beside the record.
#[derive(Default)]
pub(crate) struct TraceParts {
    /// The trace that the client wants it to be a part of.
    pub parent: Option<String>,
    /// Counters of the nodes of its plan.
    pub nodes: Vec<execute::NodeProfile>,
}

impl QueryRecord {
    /// The record of a query that began at `started_ns`.
    pub fn new(
        log: &SessionLog,
        language: QueryLanguage,
        subject: QuerySubject,
        user: Option<&str>,
        started_ns: u64,
    ) -> QueryRecord {
        let kind = match &subject {
            QuerySubject::Planned(planned) => kind_of(planned),
            QuerySubject::Text(_) => QueryKind::Read,
            QuerySubject::Hidden => QueryKind::Unknown,
        };
        QueryRecord {
            log: log.clone(),
            language,
            kind,
            subject,
            user: user.map(Box::from),
            started_ns,
            first_ns: None,
            rows: 0,
            snapshot: None,
            is_counted: false,
            trace: None,
        }
    }
    /// Traces it, if there are parts.
    pub fn traced(mut self, parts: Option<TraceParts>) -> QueryRecord {
        self.trace = parts.map(Box::new);
        self
    }
    /// Adds the counters of the nodes of its plan, if it is traced.
    pub fn measure(&mut self, nodes: impl FnOnce() -> Vec<execute::NodeProfile>) {
        if let Some(trace) = &mut self.trace {
            trace.nodes = nodes();
        }
    }
    /// The log that counts it.
    pub fn log(&self) -> &SessionLog {
        &self.log
    }
    /// The same of another kind.
    pub fn of_kind(mut self, kind: QueryKind) -> QueryRecord {
        self.kind = kind;
        self
    }
    /// The snapshot whose names the log shows in its plan.
    pub fn seen_in(mut self, snapshot: &Snapshot) -> QueryRecord {
        self.snapshot = Some(snapshot.clone());
        self
    }
    /// More rows came.
    pub fn add_rows(&mut self, rows: u64, now_ns: u64) {
        self.rows = self.rows.saturating_add(rows);
        self.first_ns.get_or_insert(now_ns);
    }
    /// It ends now.
    pub fn end(&mut self, outcome: Result<(), &Error>) {
        self.end_at(monotonic_ns(), outcome);
    }
    /// It ended.
    pub fn end_at(&mut self, now_ns: u64, outcome: Result<(), &Error>) {
        let is_first = !std::mem::replace(&mut self.is_counted, true);
        if !is_first {
            return;
        }
        let elapsed_ns = now_ns.saturating_sub(self.started_ns);
        let ended = outcome.map_or_else(outcome_of, |()| QueryOutcome::Completed);
        QueryLog::count(self, ended, elapsed_ns);
        if let Some(parts) = self.trace.take() {
            self.log.tracing.tell(|| self.traced_as(*parts, ended, outcome.err(), elapsed_ns));
        }
        if self.log.is_slow(elapsed_ns) {
            self.write(ended, outcome.err(), elapsed_ns);
        } else if let Err(error) = outcome {
            tracing::debug!(target: "tanglewood::query", user = self.user.as_deref(), code = error.code, elapsed_ms = elapsed_ns / 1_000_000, "query failed");
        }
    }
    fn traced_as(
        &self,
        parts: TraceParts,
        outcome: QueryOutcome,
        error: Option<&Error>,
        elapsed_ns: u64,
    ) -> QueryTrace {
        let text = match &self.subject {
            QuerySubject::Planned(planned) => planned.text.to_string(),
            QuerySubject::Text(text) => text.to_string(),
            QuerySubject::Hidden => "not shown".to_string(),
        };
        QueryTrace {
            language: LANGUAGES[self.language as usize].1,
            kind: KINDS[self.kind as usize].1,
            outcome: OUTCOMES[outcome as usize].1,
            code: error.map(|error| error.code.to_string()),
            text,
            user: self.user.as_deref().map(str::to_string),
            started_ns: self.started_ns,
            first_ns: self.first_ns,
            ended_ns: self.started_ns.saturating_add(elapsed_ns),
            rows: self.rows,
            parent: parts.parent,
            operators: self.operators(&parts.nodes),
        }
    }
    fn operators(&self, nodes: &[execute::NodeProfile]) -> Vec<query_trace::OperatorTrace> {
        let (QuerySubject::Planned(planned), Some(snapshot)) = (&self.subject, &self.snapshot) else {
            return Vec::new();
        };
        if nodes.is_empty() {
            return Vec::new();
        }
        let (_, tree) = execute::profiling::Profiling::of(&planned.plan, snapshot).describe(nodes);
        query_trace::operators(&tree)
    }
    /// Writes the line of a slow query. Messages of errors may hold values, so the code stands for them.
    fn write(&self, outcome: QueryOutcome, error: Option<&Error>, elapsed_ns: u64) {
        if !tracing::enabled!(target: "tanglewood::query", tracing::Level::WARN) {
            return;
        }
        let (text, parameters, plan) = self.shown();
        tracing::warn!(
            target: "tanglewood::query",
            user = self.user.as_deref(),
            language = LANGUAGES[self.language as usize].1,
            outcome = OUTCOMES[outcome as usize].1,
            code = error.map(|error| error.code.as_str()),
            elapsed_ms = elapsed_ns / 1_000_000,
            first_row_ms = self.first_ns.map(|first_ns| first_ns.saturating_sub(self.started_ns) / 1_000_000),
            rows = self.rows,
            query = text,
            parameters,
            plan,
            "slow query"
        );
    }
    /// The text, the names of parameters, the plan.
    fn shown(&self) -> (&str, Option<String>, Option<String>) {
        let planned = match &self.subject {
            QuerySubject::Planned(planned) => planned,
            QuerySubject::Text(text) => return (text, None, None),
            QuerySubject::Hidden => return ("not shown", None, None),
        };
        let statement = &planned.plan.statement;
        let names = statement.parameters.iter().map(|name| format!("${name}")).collect::<Vec<_>>();
        let parameters = (!names.is_empty()).then(|| names.join(", "));
        let is_query = matches!(statement.kind, StatementKind::Query { .. });
        let plan = self.snapshot.as_ref().filter(|_| is_query).map(|snapshot| {
            let (mut plan, _) =
                execute::profiling::explain(statement, &planned.plan.planning(snapshot), self.log.executors);
            plan.truncate(plan.floor_char_boundary(PLAN_BYTES_MAX));
            plan
        });
        (&planned.text, parameters, plan)
    }
}

impl Drop for QueryRecord {
    fn drop(&mut self) {
        if !self.is_counted {
            let error = Error::new("Neo.ClientError.Transaction.Terminated", "its client gave it up");
            self.end(Err(&error));
        }
    }
}

/// The text as the log shows it.
pub(crate) fn shown_text(kind: &StatementKind, text: &str) -> Arc<str> {
    match kind {
        StatementKind::Users(_) => HIDDEN_TEXT.into(),
        _ => shortened(text).into(),
    }
}

fn kind_of(planned: &Planned) -> QueryKind {
    match &planned.plan.statement.kind {
        StatementKind::Query { .. } if planned.plan.writes => QueryKind::Write,
        StatementKind::Query { .. } => QueryKind::Read,
        _ => QueryKind::Administration,
    }
}

fn outcome_of(error: &Error) -> QueryOutcome {
    match error.class() {
        _ if error.code.contains("TransactionTimedOut") => QueryOutcome::TimedOut,
        _ if error.code.ends_with("Transaction.Terminated") => QueryOutcome::Terminated,
        ErrorClass::Client => QueryOutcome::ClientError,
        ErrorClass::Transient => QueryOutcome::TransientError,
        ErrorClass::Database => QueryOutcome::DatabaseError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn names_stand_at_the_numbers_of_what_they_name() {
        assert!(LANGUAGES.iter().enumerate().all(|(at, (language, _))| *language as usize == at));
        assert!(KINDS.iter().enumerate().all(|(at, (kind, _))| *kind as usize == at));
        assert!(OUTCOMES.iter().enumerate().all(|(at, (outcome, _))| *outcome as usize == at));
    }

    /// The obvious twin: a list of all queries.
    #[test]
    fn a_histogram_counts_like_a_list_does() {
        let (log, seed) = (QueryLog::new(None, 1), Chance::from_system().below(1 << 32));
        let (mut chance, mut all) = (Chance::seeded(seed), Vec::new());
        // More than there are stripes.
        let sessions: Vec<SessionLog> = (0..STRIPES + 3).map(|_| SessionLog::new(&log)).collect();
        let text = || QuerySubject::Text("x".into());
        for _ in 0..1_000 {
            let digits = chance.below(12) as u32;
            let elapsed_ns = match chance.below(3) {
                0 => LATENCY_BOUNDS_US[chance.below(14) as usize] * 1_000,
                1 => LATENCY_BOUNDS_US[chance.below(14) as usize] * 1_000 + 1,
                _ => chance.below(10_u64.pow(digits) + 1),
            };
            let session = &sessions[chance.index(sessions.len())];
            let open = OpenQuery::begin(session);
            assert_eq!(log.open(), 1);
            drop(open);
            let mut record = QueryRecord::new(session, QueryLanguage::Datalog, text(), None, 0);
            QueryLog::count(&record, QueryOutcome::Completed, elapsed_ns);
            record.is_counted = true;
            all.push(elapsed_ns);
        }
        let figures = log.figures();
        assert_eq!((figures.len(), figures[0].language, figures[0].kind), (1, "datalog", "read"));
        let mut below_ns = 0;
        for (at, count) in figures[0].buckets.iter().enumerate() {
            let upto_ns = LATENCY_BOUNDS_US.get(at).map_or(u64::MAX, |bound_us| bound_us * 1_000);
            let expected = all.iter().filter(|ns| (**ns > below_ns || at == 0) && **ns <= upto_ns).count();
            assert_eq!(*count, expected as u64, "bucket {at}, seed {seed}");
            below_ns = upto_ns;
        }
        assert_eq!(figures[0].total, Duration::from_nanos(all.iter().sum()));
    }

    #[test]
    fn a_query_is_counted_once_however_it_ends() {
        let log = QueryLog::new(None, 1);
        let session = SessionLog::new(&log);
        let record =
            || QueryRecord::new(&session, QueryLanguage::Gremlin, QuerySubject::Hidden, None, monotonic_ns());
        drop(record());
        let mut done = record().of_kind(QueryKind::Read);
        done.end(Ok(()));
        done.end(Err(&Error::new("Neo.ClientError.Statement.SyntaxError", "")));
        drop(done);
        for code in [
            "Neo.ClientError.Transaction.TransactionTimedOut",
            "Neo.TransientError.Transaction.Outdated",
            "Neo.DatabaseError.General.UnknownError",
            "Neo.ClientError.Statement.SyntaxError",
        ] {
            record().end(Err(&Error::new(code, "")));
        }
        let counts =
            |figures: &QueryFigures| figures.outcomes.iter().map(|(_, count)| *count).collect::<Vec<_>>();
        let figures = log.figures();
        assert_eq!(counts(&figures[0]), [1, 0, 0, 0, 0, 0]);
        assert_eq!(counts(&figures[1]), [0, 1, 1, 1, 1, 1]);
    }
}
