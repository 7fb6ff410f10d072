//! The answer to a request: columns, batches or rows, and a summary.
//!
//! A reading query streams: batches arrive while it runs, and dropping the result cancels it. A writing query has run to its end and is committed
//! before its first row is returned, so every row that a client sees is durable.

use crate::Error;
use crate::interrupt::Ticket;
use crate::query_log::{OpenQuery, QueryRecord};
use crate::standing::SubscriptionRows;
use execute::{Counters, ResultStream};
use model::{Batch, Value};
use plan::explain::PlanDescription;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::Transaction;
use world::failpoint;
use world::panics::caught;

/// Whether a request read, wrote, or changed the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Read only.
    Read,
    /// Wrote, and answered rows.
    ReadWrite,
    /// Wrote, and answered none.
    Write,
    /// Changed the catalogue.
    Schema,
}

/// Counters of changes to the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaCounters {
    /// Indexes made.
    pub indexes_added: u64,
    /// Indexes dropped.
    pub indexes_removed: u64,
    /// Constraints made.
    pub constraints_added: u64,
    /// Constraints dropped.
    pub constraints_removed: u64,
}

impl SchemaCounters {
    /// All together.
    pub fn total(&self) -> u64 {
        self.indexes_added + self.indexes_removed + self.constraints_added + self.constraints_removed
    }
}

/// Summary of a request.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Read, write, schema.
    pub kind: RequestKind,
    /// Counters of its changes.
    pub counters: Counters,
    /// Indexes and constraints added or removed, all together.
    pub schema_changes: u64,
    /// The same, each by itself.
    pub schema: SchemaCounters,
    /// Version of the commit it made or of the snapshot it read.
    pub commit_version: u64,
    /// From the request to its first row.
    pub first_after: Duration,
    /// From the request to its end.
    pub elapsed: Duration,
    /// The plan as text, for EXPLAIN and PROFILE.
    pub plan_text: Option<String>,
    /// The plan as a tree, for EXPLAIN and PROFILE.
    pub plan: Option<PlanDescription>,
    /// Notifications about the statement.
    pub notifications: Vec<crate::Notification>,
    /// Was it PROFILE?
    pub profiled: bool,
    /// A message from a command that has neither rows nor counters.
    pub said: Option<String>,
}

impl Summary {
    /// Was it EXPLAIN: a plan, and nothing that ran?
    pub fn has_plan_only(&self) -> bool {
        self.plan_text.is_some() && !self.profiled
    }
    /// An empty summary of a request of this kind: no changes, no notifications, no time yet.
    pub(crate) fn of(kind: RequestKind, snapshot: &Snapshot) -> Summary {
        Summary {
            kind,
            counters: Counters::default(),
            schema_changes: 0,
            schema: SchemaCounters::default(),
            commit_version: snapshot.commit_version(),
            first_after: Duration::ZERO,
            elapsed: Duration::ZERO,
            plan_text: None,
            plan: None,
            notifications: Vec::new(),
            profiled: false,
            said: None,
        }
    }
}

/// The answer to a request.
pub struct QueryResult {
    columns: Arc<[Arc<str>]>,
    source: Source,
    snapshot: Snapshot,
    // An answer is moved from function to function: what is long lies behind a pointer.
    summary: Box<Summary>,
    started_ns: u64,
    ended: bool,
    profile_of: Option<Box<execute::profiling::Profiling>>,
    record: Option<Box<QueryRecord>>,
    /// Counters of the nodes of a plan that has run to its end, if it is traced.
    measured: Option<Vec<execute::NodeProfile>>,
    /// Keeps a server that shuts down waiting until the result is read.
    open: Option<OpenQuery>,
    /// Rows that may still be returned, and the limit.
    rows_left: Option<(u64, u64)>,
}

enum Source {
    Batches(VecDeque<Batch>),
    Stream(Box<Running>),
    Subscription(Box<SubscriptionRows>),
}

/// A query whose rows are still coming.
pub(crate) struct Running {
    pub stream: ResultStream,
    /// The transaction that it reads in, if that may write: entities that a client is shown count as read.
    pub transaction: Option<Arc<Transaction>>,
    /// Registers it for interruption.
    pub _ticket: Option<Ticket>,
}

impl QueryResult {
    fn new(
        columns: Arc<[Arc<str>]>,
        source: Source,
        snapshot: Snapshot,
        summary: Summary,
        ended: bool,
    ) -> QueryResult {
        QueryResult {
            columns,
            source,
            snapshot,
            summary: Box::new(summary),
            started_ns: 0,
            ended,
            profile_of: None,
            record: None,
            measured: None,
            open: None,
            rows_left: None,
        }
    }
    /// Keeps a server that shuts down waiting until it is read, unless it has no end. A query without an end may return any number of rows, any other
    /// at most `rows_max`.
    pub(crate) fn held_open(mut self, open: OpenQuery, rows_max: Option<u64>) -> QueryResult {
        if !self.is_endless() {
            self.open = Some(open);
            self.rows_left = rows_max.map(|rows_max| (rows_max, rows_max));
        }
        self
    }
    /// Sets the counters of the nodes of its plan.
    pub(crate) fn measured(mut self, nodes: Option<Vec<execute::NodeProfile>>) -> QueryResult {
        self.measured = nodes;
        self
    }
    /// Records it: now if the answer is complete or has no end, else when its last row was returned.
    pub(crate) fn recorded(mut self, record: QueryRecord) -> QueryResult {
        let mut record = record.seen_in(&self.snapshot);
        match &self.source {
            Source::Stream(_) => self.record = Some(Box::new(record)),
            Source::Batches(batches) => {
                let measured = self.measured.take();
                record.measure(|| measured.unwrap_or_default());
                let now_ns = world::clock::monotonic_ns();
                record.add_rows(batches.iter().map(|batch| batch.len() as u64).sum(), now_ns);
                record.end_at(now_ns, Ok(()));
            }
            Source::Subscription(_) => record.end(Ok(())),
        }
        self
    }
    pub(crate) fn of_batches(
        columns: impl Into<Arc<[Arc<str>]>>,
        batches: Vec<Batch>,
        snapshot: Snapshot,
        summary: Summary,
    ) -> QueryResult {
        let source = Source::Batches(batches.into());
        let columns = columns.into();
        QueryResult::new(columns, source, snapshot, summary, true)
    }
    /// Of an answer that is whole: it took until now.
    pub(crate) fn since(mut self, started_ns: u64) -> QueryResult {
        if self.ended && self.summary.elapsed.is_zero() {
            let now_ns = world::clock::monotonic_ns();
            self.summary.elapsed = Duration::from_nanos(now_ns.saturating_sub(started_ns));
        }
        self
    }
    pub(crate) fn of_stream(
        running: Running,
        snapshot: Snapshot,
        summary: Summary,
        started_ns: u64,
        profile_of: Option<execute::profiling::Profiling>,
    ) -> QueryResult {
        let columns = running.stream.columns().clone();
        let source = Source::Stream(Box::new(running));
        let profile_of = profile_of.map(Box::new);
        QueryResult { started_ns, profile_of, ..QueryResult::new(columns, source, snapshot, summary, false) }
    }
    /// The changes of a standing query, as rows: they end only with the subscription.
    pub(crate) fn of_subscription(told: SubscriptionRows, summary: Summary) -> QueryResult {
        let snapshot = told.snapshot();
        let (columns, source) = (told.columns(), Source::Subscription(Box::new(told)));
        QueryResult::new(columns, source, snapshot, summary, false)
    }
    /// Are its rows events without an end? Then a client should show each at once and not wait for more.
    pub fn is_endless(&self) -> bool {
        matches!(self.source, Source::Subscription(_))
    }
    /// Column titles.
    pub fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }
    /// The same, shared.
    pub(crate) fn titles(&self) -> Arc<[Arc<str>]> {
        self.columns.clone()
    }
    /// The snapshot that the rows were read from; entities in them are resolved in it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
    /// The next batch; `None` after the last.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, Error> {
        self.within_net(|result| {
            let next = match &mut result.source {
                Source::Batches(batches) => Ok(batches.pop_front()),
                Source::Stream(running) => running.stream.next().transpose().map_err(Error::from),
                Source::Subscription(told) => told.next(&mut result.snapshot),
            };
            let next = result.within_rows(next);
            result.note(&next);
            next
        })
    }
    /// The next batch if it comes within `timeout`; `Ok(None)` means that none did.
    pub fn next_batch_timeout(&mut self, timeout: Duration) -> Result<Option<Option<Batch>>, Error> {
        self.within_net(|result| {
            let next = match &mut result.source {
                Source::Batches(batches) => {
                    let next = Ok(batches.pop_front());
                    return result.within_rows(next).map(Some);
                }
                Source::Stream(running) => match running.stream.next_timeout(timeout) {
                    None => return Ok(None),
                    Some(next) => next.transpose().map_err(Error::from),
                },
                Source::Subscription(told) => match told.next_timeout(timeout, &mut result.snapshot) {
                    Ok(None) => return Ok(None),
                    next => next,
                },
            };
            let next = result.within_rows(next);
            result.note(&next);
            next.map(Some)
        })
    }
    /// Fails when more rows are returned than one query may.
    fn within_rows(&mut self, next: Result<Option<Batch>, Error>) -> Result<Option<Batch>, Error> {
        match (&next, &mut self.rows_left) {
            (Ok(Some(batch)), Some((left, rows_max))) => match left.checked_sub(batch.len() as u64) {
                Some(fewer) => {
                    *left = fewer;
                    next
                }
                None => {
                    let error = too_many_rows(*rows_max);
                    self.cancel("more rows than one query may answer");
                    self.source = Source::Batches(VecDeque::new());
                    Err(error)
                }
            },
            (Ok(Some(_)), None) => next,
            _ => {
                self.open = None;
                next
            }
        }
    }
    /// After a panic there are no more rows.
    fn within_net<T>(&mut self, work: impl FnOnce(&mut QueryResult) -> Result<T, Error>) -> Result<T, Error> {
        let next = caught(|| {
            failpoint::visit("rows of an answer");
            work(self)
        });
        next.unwrap_or_else(|panicked| {
            self.source = Source::Batches(VecDeque::new());
            self.ended = true;
            let error = Error::internal(&panicked);
            self.record.take().into_iter().for_each(|mut record| record.end(Err(&error)));
            Err(error)
        })
    }
    /// All remaining rows.
    pub fn rows(mut self) -> Result<Vec<Vec<Value>>, Error> {
        let mut rows = Vec::new();
        while let Some(batch) = self.next_batch()? {
            rows.extend((0..batch.len()).map(|row| batch.row(row)));
        }
        Ok(rows)
    }
    /// The only value of the only row.
    pub fn single(self) -> Result<Value, Error> {
        let mut rows = self.rows()?;
        match (rows.len(), rows.first().map_or(0, Vec::len)) {
            (1, 1) => Ok(rows.remove(0).remove(0)),
            (rows, columns) => Err(Error::new(
                "Tanglewood.ClientError.Result.NotSingle",
                format!("expected one row of one column, got {rows} rows of {columns}"),
            )),
        }
    }
    /// Notes under the plan, and at its root, the restriction under which it runs.
    pub(crate) fn note_restriction(&mut self, restriction: &str) {
        if let Some(text) = &mut self.summary.plan_text {
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text.push_str(&format!("{gap}Restriction {restriction}\n"));
        }
        if let Some(plan) = &mut self.summary.plan {
            plan.arguments.push(("Restriction", restriction.to_string()));
        }
    }
    /// Reads the remaining rows, and returns the summary.
    pub fn finish(mut self) -> Result<Summary, Error> {
        while self.next_batch()?.is_some() {}
        Ok(*self.summary)
    }
    pub(crate) fn set_commit_version(&mut self, commit_version: u64) {
        self.summary.commit_version = commit_version;
    }
    /// The summary of the request; complete once the last batch was read.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
    /// Ends a running query; its next batch is an error that says why.
    pub fn cancel(&self, reason: &str) {
        match &self.source {
            Source::Stream(running) => running.stream.cancel(reason),
            Source::Subscription(told) => told.cancel(reason),
            Source::Batches(_) => {}
        }
    }
    /// Gives up the remaining rows: a reading query ends now, unless it is profiled, and so must run to its end.
    pub fn discard(&mut self) -> Result<(), Error> {
        if self.summary.profiled {
            while self.next_batch()?.is_some() {}
        }
        self.note(&Ok(None));
        self.open = None;
        self.source = Source::Batches(VecDeque::new());
        Ok(())
    }
    fn note_record(&mut self, next: &Result<Option<Batch>, Error>, now_ns: u64) {
        let Some(record) = &mut self.record else { return };
        if let (Source::Stream(running), Ok(None) | Err(_)) = (&self.source, next) {
            record.measure(|| running.stream.profile());
        }
        match next {
            Ok(Some(batch)) => record.add_rows(batch.len() as u64, now_ns),
            Ok(None) => record.end_at(now_ns, Ok(())),
            Err(error) => record.end_at(now_ns, Err(error)),
        }
    }
    fn note(&mut self, next: &Result<Option<Batch>, Error>) {
        if let (Source::Stream(running), Ok(Some(batch))) = (&self.source, next)
            && let Some(transaction) = &running.transaction
        {
            execute::record_shown(batch, transaction.reads());
        }
        if self.ended {
            return;
        }
        let now_ns = world::clock::monotonic_ns();
        self.note_record(next, now_ns);
        let elapsed = Duration::from_nanos(now_ns.saturating_sub(self.started_ns));
        if self.summary.first_after.is_zero() {
            self.summary.first_after = elapsed;
        }
        if !matches!(next, Ok(Some(_))) {
            self.ended = true;
            self.summary.elapsed = elapsed;
            if let (Source::Stream(running), Some(profiling)) = (&self.source, &self.profile_of) {
                let (text, plan) = profiling.describe(&running.stream.profile());
                self.summary.plan_text = Some(text);
                self.summary.plan = Some(plan);
            }
        }
    }
}

/// A query answers more rows than one may.
pub(crate) fn too_many_rows(rows_max: u64) -> Error {
    let message = format!("the query answers more than {rows_max} rows, which is the server's limit");
    Error::new("Neo.ClientError.General.LimitExceeded", message)
        .hint("ask for fewer with LIMIT, or page by an indexed property; `query.rows_max` is the setting")
}
