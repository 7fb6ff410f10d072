//! Catalogue commands: CREATE and DROP INDEX and CONSTRAINT; what the database itself tells: SHOW QUERIES, KILL QUERY.

use crate::{Database, Error, SchemaCounters};
use model::schema::SchemaTarget;
use model::{Batch, Value};
use plan::statement::{Rule as PlanRule, SchemaCommand, Show, Target};
use std::sync::Arc;
use store::Snapshot;
use transact::{ConstraintRequest, Engine, IndexRequest, Rule, TransactError};

/// Carries out a catalogue command; returns what it added or removed.
pub(crate) fn alter(engine: &Engine, command: &SchemaCommand) -> Result<SchemaCounters, Error> {
    let mut counters = SchemaCounters::default();
    let (changed, counter) = match command {
        SchemaCommand::CreateIndex { name, target, keys, if_not_exists } => {
            let request = IndexRequest {
                name: name.as_ref().map(|name| name.to_string()),
                target: resolve(engine, target)?,
                keys: resolve_keys(engine, keys)?,
                if_not_exists: *if_not_exists,
            };
            (engine.create_index(&request)?, &mut counters.indexes_added)
        }
        SchemaCommand::DropIndex { name, if_exists } => {
            (engine.drop_index(name, *if_exists)?, &mut counters.indexes_removed)
        }
        SchemaCommand::CreateConstraint { name, target, keys, rule, if_not_exists } => {
            let request = ConstraintRequest {
                name: name.as_ref().map(|name| name.to_string()),
                target: resolve(engine, target)?,
                keys: resolve_keys(engine, keys)?,
                rule: match rule {
                    PlanRule::Unique => Rule::Unique,
                    PlanRule::Exists => Rule::Exists,
                    PlanRule::NodeKey => Rule::NodeKey,
                    PlanRule::Typed(value_type) => Rule::Typed(*value_type),
                },
                if_not_exists: *if_not_exists,
            };
            (engine.create_constraint(&request)?, &mut counters.constraints_added)
        }
        SchemaCommand::DropConstraint { name, if_exists } => {
            (engine.drop_constraint(name, *if_exists)?, &mut counters.constraints_removed)
        }
    };
    *counter += u64::from(changed);
    Ok(counters)
}

fn resolve(engine: &Engine, target: &Target) -> Result<SchemaTarget, TransactError> {
    let names = engine.store().names();
    Ok(match target {
        Target::Vertices(label) => SchemaTarget::Vertices(names.intern_label(label)?),
        Target::Edges(edge_type) => SchemaTarget::Edges(names.intern_edge_type(edge_type)?),
    })
}

fn resolve_keys(engine: &Engine, keys: &[Arc<str>]) -> Result<Vec<model::KeyId>, TransactError> {
    Ok(keys.iter().map(|key| engine.store().names().intern_key(key)).collect::<Result<_, _>>()?)
}

type Table = (Vec<Arc<str>>, Batch);

/// What SHOW lists of the database itself; what it lists of the catalogue are queries.
pub(crate) fn show(what: Show, database: &Database, _: &Snapshot) -> Table {
    match what {
        Show::Queries => queries(database),
    }
}

fn queries(database: &Database) -> Table {
    let rows = database.running().into_iter().map(|query| {
        vec![
            query.id.into(),
            query.text.into(),
            query.tenant.into(),
            (query.elapsed_ms as i64).into(),
            (query.bytes as i64).into(),
        ]
    });
    table(&["queryId", "query", "tenant", "elapsedMillis", "bytes"], rows.collect())
}

/// KILL QUERY: ends a running query; the answer says whether there was one.
pub(crate) fn kill(id: &str, database: &Database) -> Result<Table, Error> {
    let found = database.kill(id, "killed by KILL QUERY")?;
    let message = if found { "Query terminated" } else { "No such query is running" };
    Ok(table(&["queryId", "message"], vec![vec![id.into(), message.into()]]))
}

fn table(titles: &[&str], rows: Vec<Vec<Value>>) -> Table {
    (titles.iter().map(|title| Arc::from(*title)).collect(), Batch::from_rows(titles.len(), &rows))
}
