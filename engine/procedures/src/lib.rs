//! # procedures: the implementation of each entry of the planner's table
//!
//! Most are a function from the graph and its arguments to rows ([`by_name`]). Those over every vertex ([`running`]) and the one for cheapest paths
//! ([`cheapest_path`]) work in slices, so that a quota is kept and a kill is noticed; `execute` has an operator for each of the two, and defines how
//! the graph is walked ([`walk`]). This crate has no operators.
//!
//! Reading order: [`error`], `listing`, `schema` and `survey` (listings from the catalogue and a sample), [`settings`] (the map that a graph
//! procedure takes), [`walk`] and `weights`, [`running`], [`cheapest_path`].

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod cheapest_path;
pub mod error;
mod listing;
pub mod running;
mod schema;
pub mod settings;
mod survey;
pub mod walk;
mod weights;

pub use error::ProcedureError;
pub use running::Question;
pub use walk::GraphWalk;

use model::Value;
use plan::hidden::is_hidden;
use plan::procedures::Procedure;
use store::Snapshot;

/// The rows of a procedure.
pub type Rows = Result<Vec<Vec<Value>>, ProcedureError>;

/// The implementation of a procedure.
pub type Run = fn(&Snapshot, &[Value]) -> Rows;

/// The procedure of this name with its implementation.
pub fn by_name(name: &str) -> Option<(&'static Procedure, Run)> {
    let procedure = Procedure::by_name(name)?;
    let run: Run = match procedure.name {
        "apoc.meta.data" => survey::data,
        "apoc.meta.graph" => survey::graph,
        "apoc.meta.nodeTypeProperties" => survey::node_types,
        "apoc.meta.relTypeProperties" => survey::relationship_types,
        "apoc.meta.schema" => survey::schema,
        "apoc.meta.stats" => survey::stats,
        "apoc.schema.nodes" => survey::node_indexes,
        "apoc.schema.properties.distinct" => survey::distinct,
        "db.awaitIndex" => await_index,
        "db.awaitIndexes" => done,
        "db.clearQueryCaches" => clear_query_caches,
        "dbms.info" => info,
        "dbms.listConfig" => listing::list_config,
        "show settings" => listing::settings,
        "db.constraints" => listing::db_constraints,
        "db.indexes" => listing::db_indexes,
        "db.info" => info,
        "db.labels" => labels,
        "db.ping" => ping,
        "db.propertyKeys" => property_keys,
        "db.relationshipTypes" => relationship_types,
        "db.schema.nodeTypeProperties" => schema::node_type_properties,
        "db.schema.relTypeProperties" => schema::relationship_type_properties,
        "db.schema.visualization" => schema::visualization,
        "db.statistics" => statistics,
        "dbms.components" => components,
        "dbms.functions" => listing::dbms_functions,
        "dbms.procedures" => listing::dbms_procedures,
        // Clauses stand in their place.
        _ if procedure.writes() => nothing,
        // These have operators of their own.
        plan::procedures::LOAD_CSV | plan::procedures::LOAD_JSON | plan::procedures::LOAD_PARQUET => nothing,
        cheapest_path::NAME => nothing,
        name if Question::of(name).is_some() => nothing,
        name if name == plan::procedures::CALL_PROGRAM || plan::procedures::program_name(name).is_some() => {
            nothing
        }
        "show constraints" => listing::constraints,
        "show databases" => listing::databases,
        "show functions" => listing::functions,
        "show indexes" => listing::indexes,
        "show procedures" => listing::procedures,
        // What the interfaces know comes as the argument.
        plan::procedures::BACKUP
        | plan::procedures::EXPORT
        | plan::procedures::SET_HISTORY
        | "show caches"
        | "show cluster"
        | "show current user"
        | "show order"
        | "show programs"
        | "show queries"
        | "show standing queries"
        | "show tablets"
        | "show tenants"
        | "show transactions"
        | "show privileges"
        | "show roles"
        | "show users" => listing::given,
        "show role privileges" | "show user privileges" => listing::given_of,
        _ => return None,
    };
    Some((procedure, run))
}

/// One column of names, in their order.
fn names<'a>(names: impl Iterator<Item = &'a std::sync::Arc<str>>) -> Rows {
    let mut names: Vec<_> = names.cloned().collect();
    names.sort();
    Ok(names.into_iter().map(|name| vec![Value::from(name)]).collect())
}

fn labels(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let all = snapshot.catalog().names().labels().iter().enumerate();
    let used = |at: usize| snapshot.statistics().vertices_with_label(model::LabelId(at as u16)) > 0;
    names(all.filter(|(at, _)| used(*at)).map(|(_, name)| name))
}

fn relationship_types(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let used = edge_types(snapshot)?;
    names(used.into_iter().filter_map(|id| snapshot.catalog().edge_type_name(id)))
}

/// Edge types of which there are edges.
pub(crate) fn edge_types(snapshot: &Snapshot) -> Result<Vec<model::EdgeTypeId>, ProcedureError> {
    let mut used = snapshot.statistics().edge_types();
    if !snapshot.statistics().counts_edges() {
        let mut found = Vec::new();
        for edge_type in used {
            if snapshot.has_edges(edge_type)? {
                found.push(edge_type);
            }
        }
        used = found;
    }
    Ok(used)
}

fn property_keys(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let mut known = Vec::new();
    for key in snapshot.catalog().names().keys().iter().filter(|key| !is_hidden(key)) {
        if snapshot.knows_key(key)? {
            known.push(key);
        }
    }
    names(known.into_iter())
}

fn statistics(snapshot: &Snapshot, _: &[Value]) -> Rows {
    let statistics = snapshot.statistics();
    let edges = match statistics.counts_edges() {
        true => statistics.edges(),
        false => snapshot.count_edges(&statistics.edge_types(), u64::MAX)?,
    };
    let row = [statistics.vertices() as i64, edges as i64, snapshot.commit_version() as i64];
    Ok(vec![row.into_iter().map(Value::Int).collect()])
}

/// The version of Neo4j that drivers and tools are given: they read it to decide which features to use.
const ANSWERS_AS: &str = "5.26.0";

/// Tools read the first row, or that of Neo4j's kernel.
fn components(_: &Snapshot, _: &[Value]) -> Rows {
    let row = |name: &str, version: &str| {
        let versions = Value::list(vec![version.into()]);
        vec![name.into(), versions, "community".into()]
    };
    Ok(vec![
        row("Neo4j Kernel", ANSWERS_AS),
        row("Cypher", "5"),
        row("Tanglewood", env!("CARGO_PKG_VERSION")),
    ])
}

fn info(snapshot: &Snapshot, _: &[Value]) -> Rows {
    Ok(vec![vec![format!("commit-{}", snapshot.commit_version()).into(), "tanglewood".into(), Value::Null]])
}

fn nothing(_: &Snapshot, _: &[Value]) -> Rows {
    Ok(Vec::new())
}

/// One row without fields: a call among other clauses keeps its row.
fn done(_: &Snapshot, _: &[Value]) -> Rows {
    Ok(vec![Vec::new()])
}

fn await_index(snapshot: &Snapshot, arguments: &[Value]) -> Rows {
    match arguments.first().and_then(Value::as_str) {
        Some(name) if snapshot.catalog().index_named(name).is_none() => {
            Err(ProcedureError::Call(format!("there is no index `{name}`; SHOW INDEXES lists them")))
        }
        _ => done(snapshot, arguments),
    }
}

fn clear_query_caches(_: &Snapshot, _: &[Value]) -> Rows {
    Ok(vec![vec!["Query cache already empty.".into()]])
}

fn ping(_: &Snapshot, _: &[Value]) -> Rows {
    Ok(vec![vec![true.into()]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::procedures::PROCEDURES;
    use std::sync::Arc;

    #[test]
    fn every_entry_of_the_table_runs_and_yields_its_fields() {
        let names = Arc::new(store::Names::new());
        let snapshot = Snapshot::empty(names, store::StoreOptions::default());
        for procedure in PROCEDURES {
            let (_, run) =
                by_name(procedure.name).unwrap_or_else(|| panic!("{} does nothing", procedure.name));
            for row in run(&snapshot, &[]).expect("an empty graph is read") {
                assert_eq!(row.len(), procedure.fields.len(), "{}", procedure.name);
            }
        }
    }
}
