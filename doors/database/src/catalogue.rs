//! Catalogue commands and listings: CREATE and DROP INDEX and CONSTRAINT, SHOW, KILL QUERY.

use crate::{Database, Error, SchemaCounters};
use model::schema::{ConstraintRule, SchemaTarget};
use model::{Batch, Value};
use plan::functions::{AggregateFunction, Function};
use plan::statement::{Rule as PlanRule, SchemaCommand, Show, Target};
use std::sync::Arc;
use store::{Catalog, Snapshot};
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

/// What SHOW lists.
pub(crate) fn show(what: Show, database: &Database, snapshot: &Snapshot) -> Table {
    match what {
        Show::Indexes => indexes(snapshot.catalog()),
        Show::Constraints => constraints(snapshot.catalog()),
        Show::Functions => functions(),
        Show::Procedures => table(
            &["name", "signature", "description"],
            execute::procedure::PROCEDURES
                .iter()
                .map(|procedure| {
                    vec![procedure.name.into(), procedure.signature().into(), procedure.help.into()]
                })
                .collect(),
        ),
        Show::Queries => queries(database),
    }
}

fn indexes(catalog: &Catalog) -> Table {
    let rows = catalog.indexes().iter().map(|index| {
        let (entity, names) = about(index.target, catalog);
        let owner = catalog.constraints().iter().find(|constraint| {
            matches!(constraint.rule, ConstraintRule::Unique(id) | ConstraintRule::NodeKey(id) if id == index.id)
        });
        vec![
            Value::Int(index.id.0 as i64),
            index.name.as_str().into(),
            "ONLINE".into(),
            "RANGE".into(),
            entity.into(),
            names,
            key_names(&index.keys, catalog),
            owner.map(|constraint| constraint.name.as_str()).into(),
        ]
    });
    let titles =
        ["id", "name", "state", "type", "entityType", "labelsOrTypes", "properties", "owningConstraint"];
    table(&titles, rows.collect())
}

fn constraints(catalog: &Catalog) -> Table {
    let rows = catalog.constraints().iter().enumerate().map(|(at, constraint)| {
        let (entity, names) = about(constraint.target, catalog);
        let (rule, property_type) = match constraint.rule {
            ConstraintRule::Unique(_) => ("UNIQUENESS", Value::Null),
            ConstraintRule::Exists => ("NODE_PROPERTY_EXISTENCE", Value::Null),
            ConstraintRule::NodeKey(_) => ("NODE_KEY", Value::Null),
            ConstraintRule::Typed(value_type) => ("NODE_PROPERTY_TYPE", value_type.name().into()),
        };
        let name = constraint.name.as_str().into();
        vec![
            Value::Int(at as i64),
            name,
            rule.into(),
            entity.into(),
            names,
            key_names(&constraint.keys, catalog),
            property_type,
        ]
    });
    table(
        &["id", "name", "type", "entityType", "labelsOrTypes", "properties", "propertyType"],
        rows.collect(),
    )
}

fn about(target: SchemaTarget, catalog: &Catalog) -> (&'static str, Value) {
    let (entity, name) = match target {
        SchemaTarget::Vertices(label) => ("NODE", catalog.label_name(label)),
        SchemaTarget::Edges(edge_type) => ("RELATIONSHIP", catalog.edge_type_name(edge_type)),
    };
    (entity, Value::list(name.into_iter().map(|name| name.clone().into()).collect()))
}

fn key_names(keys: &[model::KeyId], catalog: &Catalog) -> Value {
    Value::list(
        keys.iter().filter_map(|key| catalog.key_name(*key)).map(|name| name.clone().into()).collect(),
    )
}

fn functions() -> Table {
    let scalar = Function::ALL.iter().map(|f| (f.name(), f.signature(), f.help(), false));
    let aggregate = AggregateFunction::ALL.iter().map(|f| (f.name(), f.signature(), f.help(), true));
    let rows = scalar.chain(aggregate);
    let mut rows: Vec<Vec<Value>> = rows
        .map(|(name, signature, help, aggregating)| {
            vec![name.into(), signature.into(), help.into(), aggregating.into()]
        })
        .collect();
    rows.sort_by(|a, b| a[0].as_str().cmp(&b[0].as_str()));
    table(&["name", "signature", "description", "aggregating"], rows)
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
