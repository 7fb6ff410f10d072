//! EXPLAIN and PROFILE: the plan in the summary, and as the map that Bolt sends.

use crate::{QueryResult, Summary};
use execute::Prepared;
use model::{Batch, Value};
use plan::StatementKind;
use plan::explain::PlanDescription;
use store::Snapshot;

/// The answer to EXPLAIN: no rows, the plan in the summary.
pub(crate) fn explained(
    plan: &Prepared,
    snapshot: &Snapshot,
    executors: usize,
    mut summary: Summary,
) -> QueryResult {
    let statement = &plan.statement;
    let (text, tree) = execute::profiling::explain(statement, &plan.planning(snapshot), executors);
    (summary.plan_text, summary.plan) = (Some(text), Some(tree));
    let columns = match &statement.kind {
        StatementKind::Query { columns, .. } => columns.iter().map(|(title, _)| title.clone()).collect(),
        _ => Vec::new(),
    };
    QueryResult::of_batches(columns, Vec::<Batch>::new(), snapshot.clone(), summary)
}

/// Keys that Neo4j's drivers and tools look for at the root of a plan.
const ROOT: [(&str, &str); 5] = [
    ("planner", "COST"),
    ("planner-impl", "TANGLEWOOD"),
    ("runtime", "TANGLEWOOD"),
    ("runtime-impl", "TANGLEWOOD"),
    ("version", "5"),
];

/// Nesting of operators in [`plan_value`]: each level is a map in a list, and the depth of values is bounded.
const PLAN_LEVELS_MAX: usize = model::nested::VALUE_DEPTH_MAX / 2 - 4;

/// A plan as the map that Bolt sends. Levels deeper than a value may be are left out; the text of the plan has all of it. Numbers are numbers, as
/// Neo4j has them: rows, hits, nanoseconds. Pages are not counted, and so zero.
pub fn plan_value(plan: &PlanDescription) -> Value {
    plan_map(plan, &ROOT, PLAN_LEVELS_MAX)
}

fn plan_map(plan: &PlanDescription, more: &[(&str, &str)], levels: usize) -> Value {
    let whole = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let mut arguments: Vec<(&str, Value)> =
        plan.arguments.iter().map(|(name, value)| (*name, value.as_str().into())).collect();
    arguments.extend(more.iter().map(|(name, value)| (*name, Value::from(*value))));
    arguments.extend(plan.estimated_rows.map(|rows| ("EstimatedRows", Value::Float(rows))));
    let children: &[PlanDescription] = if levels == 0 { &[] } else { &plan.children };
    if children.len() < plan.children.len() {
        arguments.push(("Omitted", "operators below this one: see EXPLAIN as text".into()));
    }
    let children = children.iter().map(|child| plan_map(child, &[], levels - 1)).collect();
    let mut entries = vec![
        ("operatorType", format!("{}@neo4j", plan.name).into()),
        ("identifiers", Value::list(plan.identifiers.iter().map(|name| name.as_str().into()).collect())),
        ("children", Value::list(children)),
    ];
    if let Some(profile) = plan.profile {
        let none = || Value::Int(0);
        let counts = [
            ("DbHits", "dbHits", whole(profile.db_hits)),
            ("Rows", "rows", whole(profile.rows)),
            ("Time", "time", whole(profile.time_ns)),
            ("PageCacheHits", "pageCacheHits", none()),
            ("PageCacheMisses", "pageCacheMisses", none()),
            ("PageCacheHitRatio", "pageCacheHitRatio", Value::Float(0.0)),
        ];
        for (argument, entry, count) in counts {
            arguments.push((argument, count.clone()));
            entries.push((entry, count));
        }
    }
    entries.push(("args", Value::map(arguments)));
    Value::map(entries)
}
