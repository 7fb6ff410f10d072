//! CREATE and DROP of indexes and constraints.
//!
//! What takes long, building an index and looking through existing data, is a job on the executors beside commits: listed, charged and ended
//! like a query. Then the command itself is committed on the thread that asks; it looks only at what was committed meanwhile.

use super::Session;
use super::deadline::remaining;
use crate::cache::Planned;
use crate::running::Running;
use crate::{Error, Limits, QueryResult, SchemaCounters, Summary, job};
use model::KeyId;
use model::schema::SchemaTarget;
use plan::statement::{Rule as PlanRule, SchemaCommand, Target};
use std::sync::Arc;
use transact::{ConstraintRequest, Engine, IndexRequest, Rule, TransactError};

impl Session {
    pub(super) fn run_schema(
        &self,
        text: &str,
        command: &SchemaCommand,
        planned: &Planned,
        (limits, deadline_ns): (&Limits, Option<u64>),
    ) -> Result<QueryResult, Error> {
        if self.in_transaction() {
            let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
            return Err(Error::new(code, "indexes and constraints are changed outside of transactions"));
        }
        let running = Running {
            text,
            payer: self.speaker.payer(self.database.accounts()),
            timeout: remaining(deadline_ns)?,
            bytes_max: limits.bytes_max.unwrap_or(self.database.options().query_bytes_max),
            part_of: None,
        };
        let schema = self.alter(command, &running, deadline_ns)?;
        let snapshot = self.database.engine().snapshot();
        let summary = Summary { schema_changes: schema.total(), schema, ..planned.summary(&snapshot) };
        Ok(QueryResult::of_batches(Vec::new(), Vec::new(), snapshot, summary))
    }

    /// Carries the command out; what it added or removed.
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
                (engine.drop_index(name, *if_exists)?, &mut counters.indexes_removed)
            }
            SchemaCommand::DropConstraint { name, if_exists } => {
                (engine.drop_constraint(name, *if_exists)?, &mut counters.constraints_removed)
            }
        };
        *counter += u64::from(changed);
        Ok(counters)
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

/// The numbers of what a command speaks of.
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
