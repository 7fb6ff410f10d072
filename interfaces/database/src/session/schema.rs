//! CREATE and DROP of indexes and constraints.
//!
//! Long work, building an index or validating existing data, is a job on the executors beside commits: listed, charged and ended like a query. Then
//! the command itself is committed on the calling thread; it validates only commits since.
//!
//! In a transaction that a client began, a command waits for its commit, since drivers begin a transaction for every statement. Such a transaction
//! writes no data: each command is a commit of its own, and a rollback forgets them.

use super::Session;
use super::transaction::{Open, PendingSchema};
use crate::cache::Planned;
use crate::running::Running;
use crate::{Error, Limits, QueryResult, SchemaCounters, Summary, job};
use model::KeyId;
use model::schema::SchemaTarget;
use plan::statement::{Rule as PlanRule, SchemaCommand, Target};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Catalog, StoreError};
use transact::{ConstraintRequest, Engine, IndexRequest, Mode, Rule, TransactError};

/// The code for statements that a transaction of this kind may not run.
pub(super) const FORBIDDEN_IN_TRANSACTION: &str = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
/// Commands about indexes and constraints in one transaction.
const SCHEMA_COMMANDS_MAX: usize = 1_000;

/// Rights that ended while the commands of a transaction were carried out.
fn partly_done(error: &Error, done: usize) -> Error {
    let message = format!(
        "what the user may do was changed meanwhile; the first {done} commands were carried out, and stay"
    );
    Error::new(&error.code, &message).hint("SHOW INDEXES and SHOW CONSTRAINTS tell what is there")
}

impl Session {
    pub(super) fn run_schema(
        &mut self,
        text: &str,
        command: &SchemaCommand,
        planned: &Planned,
        (limits, deadline_ns): (&Limits, Option<u64>),
    ) -> Result<QueryResult, Error> {
        if self.in_transaction() {
            self.defer_schema(text, command)?;
            let snapshot = self.view()?;
            let said = Some("done by the commit of the transaction".to_string());
            let summary = Summary { said, ..planned.summary(&snapshot) };
            return Ok(QueryResult::of_batches(Vec::new(), Vec::new(), snapshot, summary));
        }
        let running = self.running(text, (self.bytes_within(limits), deadline_ns))?;
        let schema = self.alter(command, &running, deadline_ns)?;
        let snapshot = self.database.engine().snapshot();
        let summary = Summary { schema_changes: schema.total(), schema, ..planned.summary(&snapshot) };
        Ok(QueryResult::of_batches(Vec::new(), Vec::new(), snapshot, summary))
    }

    /// Has the open transaction carry the command out when it commits.
    fn defer_schema(&mut self, text: &str, command: &SchemaCommand) -> Result<(), Error> {
        let Some(open) = &mut self.transaction else { return Ok(()) };
        let forbidden = |message: &str| Error::new(FORBIDDEN_IN_TRANSACTION, message);
        if open.mode == Mode::Read {
            return Err(forbidden(
                "indexes and constraints cannot be changed by a transaction that only reads",
            ));
        }
        if open.transaction.change_count() > 0 {
            let error =
                forbidden("indexes and constraints cannot be changed by a transaction that has written data");
            return Err(error.hint("commit first"));
        }
        if open.schema.len() == SCHEMA_COMMANDS_MAX {
            let message =
                format!("a transaction changes at most {SCHEMA_COMMANDS_MAX} indexes and constraints");
            return Err(forbidden(&message));
        }
        open.schema.push(PendingSchema { text: text.into(), command: command.clone() });
        Ok(())
    }
    /// Carries out the commands of a transaction that is being committed; returns the version of the last commit. Each may take long, so the user's
    /// rights are checked again before each.
    ///
    /// # Errors
    /// That of the first that fails; those before it stay.
    pub(super) fn carry_out_schema(&mut self, open: &Open) -> Result<u64, Error> {
        for (done, PendingSchema { text, command }) in open.schema.iter().enumerate() {
            let asked = self.check_credential().and_then(|()| self.still_allows(open));
            asked.map_err(|error| if done == 0 { error } else { partly_done(&error, done) })?;
            let bytes_max = open.bytes_max.load(Ordering::Relaxed);
            let running = self.running(text, (bytes_max, open.deadline_ns))?;
            self.alter(command, &running, open.deadline_ns)?;
        }
        Ok(self.database.engine().snapshot().commit_version())
    }

    /// Carries the command out; returns the counters of its changes.
    fn alter(
        &self,
        command: &SchemaCommand,
        running: &Running<'_>,
        deadline_ns: Option<u64>,
    ) -> Result<SchemaCounters, Error> {
        let engine = self.database.engine();
        let mut counters = SchemaCounters::default();
        let (changed, counter) = match command {
            SchemaCommand::CreateIndex { name, target, keys, if_not_exists } => {
                let (target, keys) = resolve(engine, target, keys)?;
                let name = name.as_ref().map(|name| name.to_string());
                let request = IndexRequest { name, target, keys, if_not_exists: *if_not_exists };
                let (beside, wanted) = (engine.clone(), request.clone());
                let groundwork = self.beside_commits(running, move || beside.prepare_index(&wanted))?;
                let create = || Ok(engine.create_index_upon(&request, groundwork)?);
                (self.watched(deadline_ns, create)?, &mut counters.indexes_added)
            }
            SchemaCommand::CreateConstraint { name, target, keys, rule, if_not_exists } => {
                let (target, keys) = resolve(engine, target, keys)?;
                let request = ConstraintRequest {
                    name: name.as_ref().map(|name| name.to_string()),
                    target,
                    keys,
                    rule: match rule {
                        PlanRule::Unique => Rule::Unique,
                        PlanRule::Exists => Rule::Exists,
                        PlanRule::NodeKey => Rule::NodeKey,
                        PlanRule::Typed(value_type) => Rule::Typed(*value_type),
                    },
                    if_not_exists: *if_not_exists,
                };
                let (beside, wanted) = (engine.clone(), request.clone());
                let groundwork = self.beside_commits(running, move || beside.prepare_constraint(&wanted))?;
                let create = || Ok(engine.create_constraint_upon(&request, groundwork)?);
                (self.watched(deadline_ns, create)?, &mut counters.constraints_added)
            }
            SchemaCommand::DropIndex { name, if_exists } => {
                let is_hidden = self.hides_rule(engine, |catalog| catalog.index_named(name).is_some());
                let dropped = match is_hidden {
                    true => absent(*if_exists, "index", name)?,
                    false => engine.drop_index(name, *if_exists)?,
                };
                (dropped, &mut counters.indexes_removed)
            }
            SchemaCommand::DropConstraint { name, if_exists } => {
                let is_hidden = self.hides_rule(engine, |catalog| catalog.constraint(name).is_some());
                let dropped = match is_hidden {
                    true => absent(*if_exists, "constraint", name)?,
                    false => engine.drop_constraint(name, *if_exists)?,
                };
                (dropped, &mut counters.constraints_removed)
            }
        };
        *counter += u64::from(changed);
        Ok(counters)
    }

    /// Is an index or a constraint hidden from the caller, or missing?
    fn hides_rule(&self, engine: &Engine, has: impl FnOnce(&Catalog) -> bool) -> bool {
        let restricted_view = self.restricted_view().filter(|restricted_view| restricted_view.hides());
        restricted_view
            .is_some_and(|restricted_view| !has(restricted_view.shown(engine.snapshot()).catalog()))
    }

    /// Compiles the module of a program on the executors, as a query like any other; returns what is wrong with it, if anything is.
    pub(super) fn check_program(
        &self,
        text: &str,
        module: &Arc<[u8]>,
        (limits, deadline_ns): (&Limits, Option<u64>),
    ) -> Result<Option<String>, Error> {
        let running = self.running(text, (self.bytes_within(limits), deadline_ns))?;
        let module = module.clone();
        let checked = move || {
            execute::check_program(&module).map_err(|_| StoreError::from(model::pace::Stopped).into())
        };
        self.beside_commits(&running, checked)
    }

    /// Does the long part of a command on the executors.
    fn beside_commits<T: Send + 'static>(
        &self,
        running: &Running<'_>,
        work: impl FnOnce() -> Result<T, TransactError> + Send + 'static,
    ) -> Result<T, Error> {
        let (runtime, snapshot) = (self.database.runtime(), self.database.engine().snapshot());
        let options = self.database.execute_options(running);
        let ended = job::run(runtime, snapshot, options, work, |stream| self.wait(stream))?;
        Ok(ended.outcome()??)
    }
}

/// A rule that the caller may not see is not dropped; the answer is that of a missing one.
fn absent(allowed: bool, kind: &str, name: &str) -> Result<bool, TransactError> {
    match allowed {
        true => Ok(false),
        false => Err(TransactError::Schema { what: format!("there is no {kind} `{name}`") }),
    }
}

/// The ids of the names in a command.
fn resolve(
    engine: &Engine,
    target: &Target,
    keys: &[Arc<str>],
) -> Result<(SchemaTarget, Vec<KeyId>), TransactError> {
    engine.define(|names| {
        let target = match target {
            Target::Vertices(label) => SchemaTarget::Vertices(names.intern_label(label)?),
            Target::Edges(edge_type) => SchemaTarget::Edges(names.intern_edge_type(edge_type)?),
        };
        let keys = keys.iter().map(|key| names.intern_key(key)).collect::<Result<_, _>>()?;
        Ok((target, keys))
    })
}
