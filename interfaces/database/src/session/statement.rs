//! From a text to its answer: planned, authorised, and run by its kind.

use super::Session;
use super::deadline::{LOOK_EVERY, remaining};
use super::request::{Request, check_parameters};
use super::schema::FORBIDDEN_IN_TRANSACTION;
use crate::cache::Planned;
use crate::clients::Listed;
use crate::interrupt::Ticket;
use crate::result;
use crate::running::Running;
use crate::standing::Creator;
use crate::{
    Credential, Error, ExportFormat, Limits, Params, QueryResult, Summary, as_of, catalogue, roles, users,
};
use execute::profiling::Profiling;
use execute::{Access, ExecuteOptions, Execution, ResultStream};
use plan::procedures::{HISTORY_SET, SET_HISTORY};
use plan::roles::Action;
use plan::statement::Mode as StatementMode;
use plan::{Statement, StatementKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use transact::{Mode, Transaction};
use world::failpoint;

/// Bytes of a text in which READ NO OLDER THAN is looked for; behind them, and in longer texts, the bound has no effect on the snapshot that is read.
const BOUND_BYTES_MAX: usize = 256;
const BOUNDED_TEXT_BYTES_MAX: usize = 64 << 10;

impl Session {
    pub(super) fn run(
        &mut self,
        text: &str,
        mut params: Params,
        limits: &Limits,
        started_ns: u64,
        reading: bool,
        (heard, age): (Option<Snapshot>, Option<Duration>),
    ) -> Result<QueryResult, Error> {
        failpoint::visit("statement");
        let snapshot = match (&self.transaction, heard) {
            (Some(open), _) => open.transaction.snapshot(),
            (None, Some(heard)) => self.shown(heard),
            (None, None) => {
                let deadline_ns = self.deadline(limits, started_ns);
                self.shown(self.waited(deadline_ns, || self.database.latest_within(age))?)
            }
        };
        let planned = self.plan(text, &snapshot, limits, started_ns)?;
        if planned.plan.statement.no_older_than.is_some() && self.transaction.is_some() {
            let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
            let error = Error::new(code, "a transaction reads the graph as it was when it began");
            return Err(error.hint("leave READ NO OLDER THAN out, or ask outside of the transaction"));
        }
        self.planned = Some(planned.clone());
        failpoint::visit("statement is planned");
        let sets_history = sets_history(&planned.plan.statement);
        if sets_history && self.in_transaction() {
            let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
            let message = format!("{SET_HISTORY} cannot be part of a transaction");
            return Err(Error::new(code, message).hint("a rollback would not undo it; commit first"));
        }
        if reading && (planned.plan.writes || sets_history || changes_catalogue(&planned.plan.statement.kind))
        {
            let code = "Neo.ClientError.Statement.AccessMode";
            let error = Error::new(code, "the statement writes, but the session was opened for reading");
            return Err(match self.database.options().read_only {
                true => error.hint("a backup is only read; `tanglewood restore` makes a database of it"),
                false => error,
            });
        }
        if let Some(restricted_view) = self.restricted_view() {
            let (deadline_ns, known) =
                (self.deadline(limits, started_ns), restricted_view.shown(self.database.snapshot()));
            self.searching(deadline_ns, &known, || {
                restricted_view.authorize(&planned.plan.statement, &known)
            })
            .map_err(|error| self.told_to_end(error, deadline_ns))?;
        }
        let transaction =
            || self.transaction.as_ref().map_or_else(|| self.listed(), |open| open.listed.clone());
        let deadline_ns = self.deadline(limits, started_ns);
        let back_up = |folder: &Path| {
            self.await_replica(limits, started_ns, "backups")?;
            self.back_up(text, folder, (limits, deadline_ns))
        };
        let export =
            |folder: &Path, format: ExportFormat| self.export(text, (folder, format), (limits, deadline_ns));
        let (own, transaction) = (self.credential.as_ref(), &transaction);
        let asker = catalogue::Asker {
            own,
            lists_others: self.lists_others(),
            sees_all: self.restricted_view().is_none_or(|restricted_view| !restricted_view.hides()),
            text,
            transaction,
            back_up: &back_up,
            export: &export,
        };
        // The plan is the same whatever the parameters are.
        let explains =
            planned.plan.statement.mode == StatementMode::Explain && planned.plan.statement.as_of.is_none();
        if !explains {
            // Before anything is done that stays done.
            check_parameters(&planned.plan, &params)?;
        }
        catalogue::list(&planned.plan.statement, &mut params, &self.database, &asker)?;
        if explains {
            return Ok(self.explained(&planned, &snapshot, deadline_ns));
        }
        let (snapshot, planned) = match &planned.plan.statement.as_of {
            Some(version) => {
                self.await_replica(limits, started_ns, "the graph of an earlier moment")?;
                let past = self.shown(as_of::snapshot(&self.database, version, &params, &snapshot)?);
                let planned = self.plan(text, &past, limits, started_ns)?;
                (past, planned)
            }
            None => (snapshot, planned),
        };
        if planned.plan.statement.mode == StatementMode::Explain {
            return Ok(self.explained(&planned, &snapshot, deadline_ns));
        }
        let mut said = None;
        let (columns, batch) = match &planned.plan.statement.kind {
            StatementKind::Query { .. } => {
                let deadline_ns = self.deadline(limits, started_ns);
                let bytes_max = self.bytes_within(limits);
                let params = Arc::new(params);
                let (plan, notices) = (&planned.plan, Some(&planned.notices));
                let part_of = self.part_of;
                let request =
                    Request { text, params, bytes_max, deadline_ns, plan, notices, started_ns, part_of };
                return self.run_query(&request, snapshot);
            }
            StatementKind::Schema(command) => {
                let deadline_ns = self.deadline(limits, started_ns);
                return self.run_schema(text, command, &planned, (limits, deadline_ns));
            }
            StatementKind::Account(command) => {
                let changed = self.database.change_tenants(command)?;
                said = Some(if changed { "tenants changed" } else { "no tenant changed" }.to_string());
                catalogue::nothing()
            }
            StatementKind::Program(command) => {
                let deadline_ns = self.deadline(limits, started_ns);
                let check = |module: &Arc<[u8]>| self.check_program(text, module, (limits, deadline_ns));
                let changed = self.database.change_programs(command, &params, check)?;
                said = Some(if changed { "programs changed" } else { "no program changed" }.to_string());
                catalogue::nothing()
            }
            StatementKind::Standing(command) => {
                let time = remaining(self.deadline(limits, started_ns))?;
                return self.run_standing(command, &params, &planned, snapshot, time);
            }
            StatementKind::Users(command) => {
                let own = (
                    self.speaker.user.as_deref(),
                    self.credential.as_ref(),
                    self.restricted_view().is_none(),
                );
                if let Some(renewed) = users::carry_out(command, &params, &self.database, own)? {
                    self.credential = Some(renewed);
                }
                said = Some("users changed".to_string());
                catalogue::nothing()
            }
            StatementKind::Roles(command) => {
                let (own, mut changed) = (self.credential.as_ref().map(Credential::name), false);
                self.database.change_entries(|entries| {
                    let changes = roles::changes(command, entries, own)?;
                    changed = !changes.is_empty();
                    Ok(changes)
                })?;
                said = Some(if changed { "roles changed" } else { "no role changed" }.to_string());
                catalogue::nothing()
            }
            StatementKind::Kill(id) => catalogue::kill(id, &self.database)?,
        };
        let summary = Summary { said, ..planned.summary(&snapshot) };
        Ok(QueryResult::of_batches(columns, vec![batch], snapshot, summary))
    }

    /// May the caller see the privileges of others?
    fn lists_others(&self) -> bool {
        self.restricted_view()
            .is_none_or(|restricted_view| restricted_view.rights.allows_whole(Action::RoleManagement))
    }
    fn explained(&self, planned: &Planned, snapshot: &Snapshot, deadline_ns: Option<u64>) -> QueryResult {
        let executors = self.database.executors();
        let mut result = self.searching(deadline_ns, snapshot, || {
            let summary = planned.summary(snapshot);
            crate::profile::explained(&planned.plan, snapshot, executors, summary)
        });
        if let (Some(restricted_view), Some(user)) =
            (self.restricted_view().filter(|restricted_view| restricted_view.hides()), &self.speaker.user)
        {
            let known = self.database.snapshot();
            let roles = roles::roles_of(known.catalog().entries(), user).join(", ");
            result.note_restriction(&format!("as seen with {roles}: {}", restricted_view.rights.summary()));
        }
        result
    }
    fn run_standing(
        &mut self,
        command: &plan::standing::StandingCommand,
        params: &Params,
        planned: &Planned,
        snapshot: Snapshot,
        time: Option<Duration>,
    ) -> Result<QueryResult, Error> {
        let interrupted = || self.interrupted();
        let restricted_view = self.allowed.restricted_view().cloned();
        let said = self.database.will_do(command);
        let told = if self.database.engine().is_gate() {
            let replica = self.database.replica(time, &interrupted, "standing queries")?;
            let payer = self.speaker.payer_anew(replica.accounts());
            let own = replica.accounts().names(payer.tenant, 0).0;
            // It is no query of this database, so it has no number here to be ended by.
            let wait = |stream: &mut ResultStream| wait_interrupted(stream, &interrupted);
            let creator = Creator { payer, time, interrupted: &interrupted, restricted_view, wait: &wait };
            crate::at_gate::carry_out(&self.database, command, params, (&own, &creator))?
        } else {
            let payer = self.speaker.payer(self.database.accounts());
            let wait = |stream: &mut ResultStream| self.wait(stream);
            let creator = Creator { payer, time, interrupted: &interrupted, restricted_view, wait: &wait };
            self.database.carry_out(command, params, &creator)?
        };
        let summary = Summary { said, ..planned.summary(&snapshot) };
        Ok(match told {
            Some(told) => QueryResult::of_subscription(
                told.until(self.interrupter.clone(), self.credential.clone(), self.impersonator.clone()),
                summary,
            ),
            None => QueryResult::of_batches(Vec::new(), Vec::new(), snapshot, summary),
        })
    }
    /// Checks the caller's interruption: returns the reason to stop waiting, if there is one.
    fn interrupted(&self) -> Option<&'static str> {
        self.meanwhile.iter().for_each(|meanwhile| meanwhile());
        self.interrupter.reason()
    }
    /// At a gate of a cluster, waits until its replica has all acknowledged commits.
    fn await_replica(&self, limits: &Limits, started_ns: u64, what: &'static str) -> Result<(), Error> {
        if self.database.engine().is_gate() {
            let time = remaining(self.deadline(limits, started_ns))?;
            self.database.replica(time, &|| self.interrupted(), what)?;
        }
        Ok(())
    }
    fn run_query(&self, request: &Request<'_>, snapshot: Snapshot) -> Result<QueryResult, Error> {
        if let Some(batches) = &request.plan.statement.in_transactions {
            return self.run_in_transactions(request, batches);
        }
        match &self.transaction {
            // The past does not change: a transaction need not remember what it read of it.
            _ if request.plan.statement.as_of.is_some() => {
                self.read(request, Access::Read(snapshot.clone()), snapshot)
            }
            None if request.plan.writes => self.write_alone(request, Some(snapshot)),
            None => self.read(request, Access::Read(snapshot.clone()), snapshot),
            Some(open) => self.run_inside(request, open.transaction.clone(), open.mode),
        }
    }
    /// When a statement that begins now has taken too long, if its client gives it this time: for interfaces that wait for their clients.
    pub fn deadline_of(&self, timeout: Option<std::time::Duration>) -> Option<u64> {
        let timeout = timeout.or(self.limits.timeout);
        self.deadline(&Limits { timeout, bytes_max: None }, world::clock::monotonic_ns())
    }
    /// When a statement that began then has taken too long: by its own limit, or by that of its transaction.
    pub(super) fn deadline(&self, limits: &Limits, started_ns: u64) -> Option<u64> {
        let options = self.database.options();
        let timeout = limits.timeout.or(options.query_timeout);
        let timeout = timeout.into_iter().chain(options.query_timeout_max).min();
        let own = timeout.map(|timeout| started_ns.saturating_add(world::clock::span_ns(timeout)));
        let transaction = self.transaction.as_ref().and_then(|open| open.deadline_ns);
        own.into_iter().chain(transaction).min()
    }

    /// The snapshot that this session reads now.
    pub(super) fn view(&self) -> Result<Snapshot, Error> {
        Ok(match &self.transaction {
            Some(open) => open.transaction.snapshot(),
            None => self.committed()?,
        })
    }
    /// The age that a text allows for its snapshot, where a cluster's gate can make use of it.
    pub(super) fn age_of(&self, text: &str) -> Option<Duration> {
        if !self.database.engine().is_gate() || text.len() > BOUNDED_TEXT_BYTES_MAX {
            return None;
        }
        let head = &text.as_bytes()[..text.len().min(BOUND_BYTES_MAX)];
        let is_told = head.windows(5).any(|five| five.eq_ignore_ascii_case(b"OLDER"));
        if !is_told {
            return None;
        }
        // What a text asks for does not depend on the graph that it was planned for.
        match self.database.known_plan(text, &self.database.snapshot(), self.restricted_view()) {
            Some(known) => known.plan.statement.no_older_than,
            None => cypher::no_older_than(text),
        }
    }
    /// The graph as of the last commit, as the caller may see it. Waits for shards until the statement's deadline.
    pub(super) fn committed(&self) -> Result<Snapshot, Error> {
        Ok(self.shown(self.waited(self.waits_until_ns, || self.database.latest())?))
    }
    /// A snapshot as the caller may see it.
    pub(super) fn shown(&self, snapshot: Snapshot) -> Snapshot {
        match self.restricted_view() {
            Some(restricted_view) => restricted_view.shown(snapshot),
            None => snapshot,
        }
    }
    pub(super) fn read(
        &self,
        request: &Request<'_>,
        access: Access,
        snapshot: Snapshot,
    ) -> Result<QueryResult, Error> {
        let transaction = match &access {
            Access::Write(transaction) => Some(transaction.clone()),
            Access::Read(_) => None,
        };
        let (stream, ticket) = self.start(request, access)?;
        let profiling = Profiling::wanted(request.plan, &snapshot);
        let summary = request.summary(self, &snapshot);
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
        match (request.plan.writes, mode) {
            (false, Mode::Read) => self.read(request, Access::Read(snapshot.clone()), snapshot),
            (false, Mode::Write) => self.read(request, Access::Write(transaction), snapshot),
            (true, Mode::Read) => {
                let code = "Neo.ClientError.Statement.AccessMode";
                Err(Error::new(code, "the statement writes, but the transaction was begun for reading"))
            }
            (true, Mode::Write) if self.transaction.as_ref().is_some_and(|open| !open.schema.is_empty()) => {
                let message = "data cannot be written by a transaction that changes indexes and constraints";
                Err(Error::new(FORBIDDEN_IN_TRANSACTION, message).hint("commit first"))
            }
            (true, Mode::Write) => {
                self.transaction.iter().for_each(|open| open.allows(request.bytes_max));
                let written = self.write(request, transaction.clone())?;
                let snapshot = transaction.snapshot();
                Ok(written.answer(self, request, snapshot))
            }
        }
    }

    /// The next batch of a statement that writes, or of a job.
    pub(super) fn next_of(&self, stream: &mut ResultStream) -> Result<Option<model::Batch>, Error> {
        let Some(meanwhile) = &self.meanwhile else { return Ok(stream.next().transpose()?) };
        loop {
            match stream.next_timeout(LOOK_EVERY) {
                Some(next) => return Ok(next.transpose()?),
                None => meanwhile(),
            }
        }
    }
    /// Waits for the end of a job; other sessions can end it.
    pub(super) fn wait(&self, job: &mut ResultStream) -> Result<(), Error> {
        let _ticket = self.ticket(job);
        while self.next_of(job)?.is_some() {}
        Ok(())
    }
    /// Starts a statement that leaves nothing behind if it is not finished: on this thread, if it is likely to be short, or on executors.
    pub(super) fn start(
        &self,
        request: &Request<'_>,
        access: Access,
    ) -> Result<(ResultStream, Option<Ticket>), Error> {
        match self.try_here(request, access.clone())? {
            Some(stream) => Ok((stream, None)),
            None => self.start_on_executors(request, access),
        }
    }
    /// Tries a statement on this thread. A writing one may leave a part of its writes in the transaction if it is not finished.
    pub(super) fn try_here(
        &self,
        request: &Request<'_>,
        access: Access,
    ) -> Result<Option<ResultStream>, Error> {
        let (credit, ready) = (&request.plan.credit, &request.plan.ready);
        // What was interrupted gets a number, by which it is ended as soon as it starts.
        // Operators are measured on executors.
        if !credit.is_due() || self.interrupter.is_in_force() || self.is_traced {
            return Ok(None);
        }
        remaining(request.deadline_ns)?;
        let options = ExecuteOptions { bytes_max: request.bytes_max, ..ExecuteOptions::default() };
        let stream = ready.try_here(&request.plan.statement, access, &request.params, &options)?;
        credit.tried(stream.is_some());
        Ok(stream)
    }
    pub(super) fn start_on_executors(
        &self,
        request: &Request<'_>,
        access: Access,
    ) -> Result<(ResultStream, Option<Ticket>), Error> {
        let running = self.running(request.text, (request.bytes_max, request.deadline_ns))?;
        let running = Running { part_of: request.part_of, ..running };
        // Who waits for room may look at what takes it.
        let waits = !request.plan.statement.only_lists_work();
        let options = ExecuteOptions { waits, ..self.database.execute_options(&running) };
        let (statement, ready) = (&request.plan.statement, &request.plan.ready);
        let (runtime, params) = (self.database.runtime(), request.params.clone());
        let stream = Execution::start_ready(runtime, statement, ready, access, params, options)?;
        // Whoever ends the whole ends its parts.
        let ticket = if request.part_of.is_none() { self.ticket(&stream) } else { None };
        Ok((stream, ticket))
    }
    /// Lists a query that was started, and registers it for interruption.
    pub(super) fn ticket(&self, stream: &ResultStream) -> Option<Ticket> {
        self.ticket_of(stream, self.transaction.as_ref().map(|open| &open.listed))
    }
    /// The same for a query of this transaction.
    pub(super) fn ticket_of(&self, stream: &ResultStream, listed: Option<&Arc<Listed>>) -> Option<Ticket> {
        let query = stream.id()?;
        let listed = Some(listed.cloned().unwrap_or_else(|| self.listed()).runs(query.0));
        let mut ticket = self.interrupter.starts(query);
        ticket.listed = listed;
        Some(ticket)
    }
}

/// Waits for the end of a job, or until the caller was interrupted.
fn wait_interrupted(
    job: &mut ResultStream,
    interrupted: &dyn Fn() -> Option<&'static str>,
) -> Result<(), Error> {
    loop {
        match job.next_timeout(LOOK_EVERY) {
            Some(None) => return Ok(()),
            Some(Some(next)) => drop(next?),
            None => {
                if let Some(reason) = interrupted() {
                    return Err(Error::new("Neo.TransientError.Transaction.Terminated", reason));
                }
            }
        }
    }
}

/// Does it change how much history is kept? EXPLAIN does not.
fn sets_history(statement: &Statement) -> bool {
    statement.mode != StatementMode::Explain
        && statement.parameters.iter().any(|name| name.starts_with(HISTORY_SET))
}

fn changes_catalogue(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Schema(_) | StatementKind::Account(_) | StatementKind::Users(_) => true,
        StatementKind::Roles(_) | StatementKind::Program(_) => true,
        StatementKind::Standing(command) => command.writes(),
        StatementKind::Query { .. } | StatementKind::Kill(_) => false,
    }
}
