//! A session: one client's conversation with the database, with at most one transaction open.
//!
//! A single statement outside a transaction is a transaction of its own, tried again inside where it conflicts with another. In an
//! explicit transaction, reads stream from the transaction's own view and writes run to their end before they answer; a
//! statement that fails leaves the transaction broken, to be rolled back.

mod in_transactions;

use crate::cache::Planned;
use crate::database::{Database, Running};
use crate::interrupt::Ticket;
use crate::profile::Profiling;
use crate::result::{self, RequestKind, SchemaCounters};
use crate::{Error, Interrupter, Params, QueryResult, Summary, as_of, catalogue, entity};
use execute::{Access, Counters, ExecuteOptions, Execution, ResultStream};
use plan::StatementKind;
use plan::statement::Mode as StatementMode;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::{Mode, Transaction};
use world::clock::monotonic_ns;

/// First pause before a conflicting statement is tried again; doubled each time up to [`RETRY_PAUSE_MAX`].
const RETRY_PAUSE: Duration = Duration::from_micros(50);
/// Longest such pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_millis(10);
/// Who begins a transaction in the session in which one was refused so shortly before does the same again: drivers do, for functions that
/// they are given. It is let through in the end.
const RETRIED_WITHIN: Duration = Duration::from_secs(30);
/// How often whoever waits for a statement that writes looks after its client.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Limits of one request, where they differ from the database's options.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Time it may run, all its attempts together.
    pub timeout: Option<Duration>,
    /// Bytes it may hold.
    pub bytes_max: Option<u64>,
}

/// One client's conversation.
pub struct Session {
    database: Database,
    /// Who stamps its commits.
    gatekeeper: usize,
    transaction: Option<Open>,
    /// The last transaction, if it was refused because of a conflict, and until when a new one stands for it.
    refused: Option<(Arc<Transaction>, u64)>,
    limits: Limits,
    tenant: Option<String>,
    interrupter: Interrupter,
    meanwhile: Option<Meanwhile>,
}

/// What is done every few milliseconds while a statement is waited for.
type Meanwhile = Arc<dyn Fn() + Send + Sync>;

struct Open {
    transaction: Arc<Transaction>,
    mode: Mode,
    broken: bool,
    /// When it has taken too long.
    deadline_ns: Option<u64>,
}

impl Session {
    pub(crate) fn new(database: Database) -> Session {
        let interrupter = Interrupter::new(&database);
        let gatekeeper = database.next_gatekeeper();
        Session {
            database,
            gatekeeper,
            transaction: None,
            refused: None,
            limits: Limits::default(),
            tenant: None,
            interrupter,
            meanwhile: None,
        }
    }
    /// A handle by which another thread ends what this session runs.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }
    /// Takes note of an interruption: what starts from now on runs.
    pub fn settle_interrupt(&self) {
        self.interrupter.settle();
    }
    /// Sets the limits of every request from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }
    /// Whose share of the machine this session's requests are charged to.
    pub fn set_tenant(&mut self, tenant: impl Into<String>) {
        self.tenant = Some(tenant.into());
    }
    /// Calls `meanwhile`, on the thread that asks, every few milliseconds while a statement that writes runs: a door looks whether its
    /// client is still there. It ends the statement by an [`Interrupter`].
    pub fn set_meanwhile(&mut self, meanwhile: impl Fn() + Send + Sync + 'static) {
        self.meanwhile = Some(Arc::new(meanwhile));
    }
    /// The database of this session.
    pub fn database(&self) -> &Database {
        &self.database
    }
    /// Is a transaction open?
    pub fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Begins a transaction; [`Mode::Read`] costs nothing to commit and refuses writes.
    pub fn begin(&mut self, mode: Mode) -> Result<(), Error> {
        self.begin_within(mode, None)
    }
    /// Begins a transaction that may take so long, from now to its commit.
    pub fn begin_within(&mut self, mode: Mode, timeout: Option<Duration>) -> Result<(), Error> {
        if self.in_transaction() {
            let code = "Neo.ClientError.Transaction.TransactionStartFailed";
            return Err(Error::new(code, "a transaction is open already in this session")
                .hint("commit or roll it back first"));
        }
        let refused =
            self.refused.take().filter(|(_, until_ns)| mode == Mode::Write && monotonic_ns() < *until_ns);
        let transaction = Arc::new(self.begin_after(mode, refused.map(|(transaction, _)| transaction)));
        let deadline_ns = timeout.map(deadline_after);
        self.transaction = Some(Open { transaction, mode, broken: false, deadline_ns });
        Ok(())
    }
    /// Commits the open transaction; returns the place of the commit once it is durable.
    pub fn commit(&mut self) -> Result<u64, Error> {
        let open = self.take_open()?;
        if open.broken {
            open.transaction.rollback();
            let code = "Neo.ClientError.Transaction.TransactionMarkedAsFailed";
            return Err(Error::new(code, "a statement of the transaction failed; it was rolled back"));
        }
        remaining(open.deadline_ns)?;
        if open.mode == Mode::Write {
            // What a result has yet to read would be read behind the back of the commit, which validates what was read until now.
            self.interrupter.end_running("its transaction was committed before its rows were read");
        }
        let outcome = open.transaction.commit();
        if outcome.as_ref().is_err_and(|error| error.is_retryable()) {
            self.refused = Some((open.transaction, deadline_after(RETRIED_WITHIN)));
        }
        let place = outcome?;
        self.database.after_commit();
        Ok(place)
    }
    /// Begins a transaction; if it does again what was refused, it is not refused for ever.
    fn begin_after(&self, mode: Mode, refused: Option<Arc<Transaction>>) -> Transaction {
        let engine = self.database.engine();
        match refused {
            Some(refused) => engine.begin_again(self.gatekeeper, &refused),
            None => engine.begin_at(self.gatekeeper, mode),
        }
    }
    /// Marks the open transaction as failed: it can only be rolled back.
    pub fn break_transaction(&mut self) {
        if let Some(open) = &mut self.transaction {
            open.broken = true;
        }
    }
    /// Forgets the open transaction.
    pub fn rollback(&mut self) -> Result<(), Error> {
        self.take_open()?.transaction.rollback();
        Ok(())
    }
    fn take_open(&mut self) -> Result<Open, Error> {
        let code = "Neo.ClientError.Transaction.TransactionNotFound";
        self.transaction
            .take()
            .ok_or_else(|| Error::new(code, "no transaction is open").hint("begin one first"))
    }

    /// Runs one statement.
    pub fn query(&mut self, text: &str, params: Params) -> Result<QueryResult, Error> {
        let limits = self.limits.clone();
        self.query_within(text, params, &limits)
    }

    /// Runs one statement within limits of its own.
    pub fn query_within(
        &mut self,
        text: &str,
        params: Params,
        limits: &Limits,
    ) -> Result<QueryResult, Error> {
        self.query_as(text, params, limits, false)
    }

    /// Runs one statement that may only read, outside a transaction or in one.
    pub fn query_reading(
        &mut self,
        text: &str,
        params: Params,
        limits: &Limits,
    ) -> Result<QueryResult, Error> {
        self.query_as(text, params, limits, true)
    }

    fn query_as(
        &mut self,
        text: &str,
        params: Params,
        limits: &Limits,
        reading: bool,
    ) -> Result<QueryResult, Error> {
        let started_ns = monotonic_ns();
        if self.transaction.as_ref().is_some_and(|open| open.broken) {
            let code = "Neo.ClientError.Transaction.TransactionMarkedAsFailed";
            return Err(
                Error::new(code, "an earlier statement of the transaction failed").hint("roll it back")
            );
        }
        let outcome = self.run(text, params, limits, started_ns, reading);
        if outcome.is_err() {
            self.break_transaction();
        }
        outcome
    }

    fn run(
        &mut self,
        text: &str,
        params: Params,
        limits: &Limits,
        started_ns: u64,
        reading: bool,
    ) -> Result<QueryResult, Error> {
        let snapshot = self.view();
        let planned = self.database.plan(text, &snapshot)?;
        if reading && (planned.writes || matches!(planned.statement.kind, StatementKind::Schema(_))) {
            let code = "Neo.ClientError.Statement.AccessMode";
            return Err(Error::new(code, "the statement writes, but the session was opened for reading"));
        }
        check_parameters(&planned, &params)?;
        let (snapshot, planned) = match &planned.statement.as_of {
            Some(version) => {
                let past = as_of::snapshot(&self.database, version, &params, &snapshot)?;
                let planned = self.database.plan(text, &past)?;
                (past, planned)
            }
            None => (snapshot, planned),
        };
        if planned.statement.mode == StatementMode::Explain {
            let summary = summary(&planned, &snapshot);
            return Ok(crate::profile::explained(&planned.statement, &snapshot, summary));
        }
        let (columns, batch) = match &planned.statement.kind {
            StatementKind::Query { .. } => {
                let deadline_ns = self.deadline(limits, started_ns);
                let bytes_max = limits.bytes_max.unwrap_or(self.database.options().query_bytes_max);
                let request = Request { text, params, bytes_max, deadline_ns, planned: &planned, started_ns };
                return self.run_query(&request, snapshot);
            }
            StatementKind::Schema(command) => return self.run_schema(command, &planned),
            StatementKind::Show(show) => catalogue::show(*show, &self.database, &snapshot),
            StatementKind::Kill(id) => catalogue::kill(id, &self.database)?,
        };
        let summary = summary(&planned, &snapshot);
        Ok(QueryResult::of_batches(columns, vec![batch], snapshot, summary))
    }

    fn run_query(&self, request: &Request<'_>, snapshot: Snapshot) -> Result<QueryResult, Error> {
        if let Some(batches) = &request.planned.statement.in_transactions {
            return self.run_in_transactions(request, batches);
        }
        match &self.transaction {
            // The past does not change: a transaction need not remember what it read of it.
            _ if request.planned.statement.as_of.is_some() => {
                self.read(request, Access::Read(snapshot.clone()), snapshot)
            }
            None if request.planned.writes => self.write_alone(request),
            None => self.read(request, Access::Read(snapshot.clone()), snapshot),
            Some(open) => self.run_inside(request, open.transaction.clone(), open.mode),
        }
    }

    fn run_schema(
        &self,
        command: &plan::statement::SchemaCommand,
        planned: &Planned,
    ) -> Result<QueryResult, Error> {
        if self.in_transaction() {
            let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
            return Err(Error::new(code, "indexes and constraints are changed outside of transactions"));
        }
        let schema = catalogue::alter(self.database.engine(), command)?;
        let snapshot = self.database.engine().snapshot();
        let summary = Summary { schema_changes: schema.total(), schema, ..summary(planned, &snapshot) };
        Ok(QueryResult::of_batches(Vec::new(), Vec::new(), snapshot, summary))
    }

    /// When a statement that began then has taken too long: by its own limit, or by that of its transaction.
    fn deadline(&self, limits: &Limits, started_ns: u64) -> Option<u64> {
        let timeout = limits.timeout.or(self.database.options().query_timeout);
        let own = timeout.map(|timeout| started_ns.saturating_add(timeout.as_nanos() as u64));
        let transaction = self.transaction.as_ref().and_then(|open| open.deadline_ns);
        own.into_iter().chain(transaction).min()
    }

    /// What this session sees now.
    fn view(&self) -> Snapshot {
        match &self.transaction {
            Some(open) => open.transaction.snapshot(),
            None => self.database.engine().snapshot(),
        }
    }

    fn read(&self, request: &Request<'_>, access: Access, snapshot: Snapshot) -> Result<QueryResult, Error> {
        let transaction = match &access {
            Access::Write(transaction) => Some(transaction.clone()),
            Access::Read(_) => None,
        };
        let (stream, ticket) = self.start(request, access)?;
        let profiling = Profiling::wanted(request.planned, &snapshot);
        let summary = summary(request.planned, &snapshot);
        let running = result::Running { stream, transaction, _ticket: ticket };
        Ok(QueryResult::of_stream(running, snapshot, summary, request.started_ns, profiling))
    }

    fn run_inside(
        &self,
        request: &Request<'_>,
        transaction: Arc<Transaction>,
        mode: Mode,
    ) -> Result<QueryResult, Error> {
        let snapshot = transaction.snapshot();
        match (request.planned.writes, mode) {
            (false, Mode::Read) => self.read(request, Access::Read(snapshot.clone()), snapshot),
            (false, Mode::Write) => self.read(request, Access::Write(transaction), snapshot),
            (true, Mode::Read) => {
                let code = "Neo.ClientError.Statement.AccessMode";
                Err(Error::new(code, "the statement writes, but the transaction was begun for reading"))
            }
            (true, Mode::Write) => {
                let written = self.write(request, transaction.clone())?;
                let snapshot = transaction.snapshot();
                Ok(written.answer(request, snapshot))
            }
        }
    }

    /// A writing statement on its own: tried again where it conflicts.
    fn write_alone(&self, request: &Request<'_>) -> Result<QueryResult, Error> {
        let (mut pause, mut refused) = (RETRY_PAUSE, None);
        for attempt in 1.. {
            let transaction = Arc::new(self.begin_after(Mode::Write, refused.take()));
            let outcome = self.write(request, transaction.clone()).and_then(|written| {
                let (place, snapshot) = (transaction.commit()?, transaction.snapshot());
                self.database.after_commit();
                let mut result = written.answer(request, snapshot);
                result.set_place(place);
                Ok(result)
            });
            match outcome {
                Err(error) if error.retryable && attempt < self.database.options().attempts_max => {
                    refused = Some(transaction);
                    world::threads::sleep(pause);
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                }
                outcome => return outcome,
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// Runs a writing statement to its end. Its rows are kept until then, on the statement's account.
    fn write(&self, request: &Request<'_>, transaction: Arc<Transaction>) -> Result<Written, Error> {
        let snapshot = transaction.snapshot();
        let (mut stream, _ticket) = self.start(request, Access::Write(transaction.clone()))?;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = self.next_of(&mut stream)? {
            bytes += batch.bytes() as u64;
            if bytes > request.bytes_max {
                let code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError";
                let message = format!("the rows of its answer take more than {} bytes", request.bytes_max);
                return Err(Error::new(code, message).hint("return fewer rows from a statement that writes"));
            }
            entity::record_shown(&batch, transaction.reads());
            batches.push(batch);
        }
        let profile = Profiling::wanted(request.planned, &snapshot)
            .map(|profiling| profiling.describe(&stream.profile()));
        Ok(Written { columns: stream.columns().to_vec(), batches, counters: stream.counters(), profile })
    }

    /// The next batch of a statement that writes.
    fn next_of(&self, stream: &mut ResultStream) -> Result<Option<model::Batch>, Error> {
        let Some(meanwhile) = &self.meanwhile else { return Ok(stream.next().transpose()?) };
        loop {
            match stream.next_timeout(LOOK_EVERY) {
                Some(next) => return Ok(next.transpose()?),
                None => meanwhile(),
            }
        }
    }

    fn start(&self, request: &Request<'_>, access: Access) -> Result<(ResultStream, Option<Ticket>), Error> {
        let running = Running {
            text: request.text,
            tenant: self.tenant.as_deref(),
            timeout: remaining(request.deadline_ns)?,
            bytes_max: request.bytes_max,
        };
        // What was interrupted gets a number, by which it is ended as soon as it starts.
        let here = &request.planned.here;
        let here_first = here.is_due() && !self.interrupter.is_in_force();
        let options = ExecuteOptions { here_first, ..self.database.execute_options(&running) };
        let statement = &request.planned.statement;
        let runtime = self.database.runtime();
        let stream = Execution::start(runtime, statement, access, request.params.clone(), options)?;
        if here_first {
            here.tried(stream.id().is_none());
        }
        let ticket = stream.id().map(|query| self.interrupter.starts(query));
        Ok((stream, ticket))
    }
}

fn check_parameters(planned: &Planned, params: &Params) -> Result<(), Error> {
    let Some(missing) = planned.statement.parameters.iter().find(|name| !params.contains_key(*name)) else {
        return Ok(());
    };
    let message = format!("the query needs the parameter ${missing}, which was not given");
    let mut given: Vec<String> = params.keys().map(|name| format!("${name}")).collect();
    given.sort();
    let hint = match given.is_empty() {
        true => "no parameter was given".into(),
        false => format!("given: {}", given.join(", ")),
    };
    Err(Error::new("Neo.ClientError.Statement.ParameterMissing", message).hint(hint))
}

fn deadline_after(timeout: Duration) -> u64 {
    monotonic_ns().saturating_add(timeout.as_nanos() as u64)
}

/// Time left until the deadline, if there is one.
fn remaining(deadline_ns: Option<u64>) -> Result<Option<Duration>, Error> {
    let Some(deadline_ns) = deadline_ns else { return Ok(None) };
    match deadline_ns.checked_sub(monotonic_ns()) {
        Some(left_ns) if left_ns > 0 => Ok(Some(Duration::from_nanos(left_ns))),
        _ => {
            let code = "Neo.ClientError.Transaction.TransactionTimedOut";
            Err(Error::new(code, "the transaction took longer than it was allowed to"))
        }
    }
}

struct Request<'a> {
    text: &'a str,
    params: Params,
    bytes_max: u64,
    deadline_ns: Option<u64>,
    planned: &'a Planned,
    started_ns: u64,
}

impl<'a> Request<'a> {
    /// The same request, for another part of its statement.
    fn again(&self) -> Request<'a> {
        Request { params: Params::new(), ..*self }
    }
}

/// What a writing statement left behind when it had run.
struct Written {
    columns: Vec<Arc<str>>,
    batches: Vec<model::Batch>,
    counters: Counters,
    profile: Option<(String, plan::explain::PlanDescription)>,
}

impl Written {
    fn answer(self, request: &Request<'_>, snapshot: Snapshot) -> QueryResult {
        let elapsed = Duration::from_nanos(monotonic_ns().saturating_sub(request.started_ns));
        let mut summary = Summary {
            counters: self.counters,
            first_after: elapsed,
            elapsed,
            profiled: self.profile.is_some(),
            ..summary(request.planned, &snapshot)
        };
        if let Some((text, plan)) = self.profile {
            summary.plan_text = Some(text);
            summary.plan = Some(plan);
        }
        QueryResult::of_batches(self.columns, self.batches, snapshot, summary)
    }
}

fn summary(planned: &Planned, snapshot: &Snapshot) -> Summary {
    let kind = match &planned.statement.kind {
        StatementKind::Query { columns, .. } if planned.writes && columns.is_empty() => RequestKind::Write,
        StatementKind::Query { .. } if planned.writes => RequestKind::ReadWrite,
        StatementKind::Schema(_) => RequestKind::Schema,
        _ => RequestKind::Read,
    };
    Summary {
        kind,
        counters: Counters::default(),
        schema_changes: 0,
        schema: SchemaCounters::default(),
        place: snapshot.place(),
        first_after: Duration::ZERO,
        elapsed: Duration::ZERO,
        plan_text: None,
        plan: None,
        notifications: planned.notices.now(snapshot),
        profiled: planned.statement.mode == StatementMode::Profile,
    }
}
