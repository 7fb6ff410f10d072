//! EXPLAIN and PROFILE: the plan as text and as a tree, with estimated and true rows.

use crate::cache::Planned;
use crate::{QueryResult, Summary};
use execute::planning::SnapshotPlanning;
use model::{Batch, Value};
use plan::explain::{self, NodeProfile, OperatorProfile, PlanDescription};
use plan::statement::Mode;
use plan::{Statement, StatementKind};
use store::Snapshot;

/// What is needed to describe a plan once it has run.
pub(crate) struct Profiling {
    statement: Statement,
    estimates: Vec<f64>,
}

impl Profiling {
    /// Something, if the statement asked for PROFILE.
    pub fn wanted(planned: &Planned, snapshot: &Snapshot) -> Option<Profiling> {
        (planned.statement.mode == Mode::Profile).then(|| Profiling::of(planned, snapshot))
    }
    /// What is needed of a plan that is described whatever its statement asked for.
    pub fn of(planned: &Planned, snapshot: &Snapshot) -> Profiling {
        Profiling { statement: planned.statement.clone(), estimates: estimates(&planned.statement, snapshot) }
    }
    /// The plan as text, with estimates alone.
    pub fn plain(&self) -> String {
        explain::render(&self.statement, &self.estimates, None)
    }
    /// The plan as text and as a tree, with what each node did.
    pub fn describe(&self, nodes: &[execute::NodeProfile]) -> (String, PlanDescription) {
        let profile: Vec<NodeProfile> =
            nodes.iter().map(|node| NodeProfile { rows: node.rows_out, time_nanos: node.cpu_ns }).collect();
        let mut text = explain::render(&self.statement, &self.estimates, Some(&profile));
        let mut tree = described(&self.statement, &self.estimates);
        attach(&mut tree, nodes);
        for (number, node) in nodes.iter().enumerate() {
            if let Some(shares) = shares(node) {
                text.push_str(&format!("\n{number}: executors {shares} of its time"));
                if let Some(node) = find(&mut tree, number) {
                    node.arguments.push(("Executors", shares));
                }
            }
        }
        let told = nodes.iter().enumerate().filter(|(_, node)| !node.told.is_empty());
        say(
            &told.map(|(number, node)| (number, node.told.clone())).collect::<Vec<_>>(),
            &mut text,
            &mut tree,
        );
        (text, tree)
    }
}

/// The answer to EXPLAIN: no rows, the plan in the summary.
pub(crate) fn explained(
    statement: &Statement,
    snapshot: &Snapshot,
    executors: usize,
    mut summary: Summary,
) -> QueryResult {
    let estimates = estimates(statement, snapshot);
    let mut text = explain::render(statement, &estimates, None);
    let mut tree = described(statement, &estimates);
    let searches = execute::searches::expected(statement, &estimates, snapshot, executors);
    say(&searches, &mut text, &mut tree);
    (summary.plan_text, summary.plan) = (Some(text), Some(tree));
    let columns = match &statement.kind {
        StatementKind::Query { columns, .. } => columns.iter().map(|(title, _)| title.clone()).collect(),
        _ => Vec::new(),
    };
    QueryResult::of_batches(columns, Vec::<Batch>::new(), snapshot.clone(), summary)
}

fn estimates(statement: &Statement, snapshot: &Snapshot) -> Vec<f64> {
    match &statement.kind {
        StatementKind::Query { plan, .. } => {
            plan::estimate::estimates(plan, &SnapshotPlanning::new(snapshot.clone()))
        }
        _ => Vec::new(),
    }
}

fn described(statement: &Statement, estimates: &[f64]) -> PlanDescription {
    explain::describe(statement, estimates).unwrap_or_else(|| PlanDescription {
        number: 0,
        name: "Command",
        arguments: Vec::new(),
        identifiers: Vec::new(),
        estimated_rows: None,
        profile: None,
        children: Vec::new(),
    })
}

/// Adds what is said of some nodes: below the text, and to the nodes of the tree.
fn say(told: &[(usize, String)], text: &mut String, tree: &mut PlanDescription) {
    for (number, words) in told {
        text.push_str(&format!("\n{number}: {words}"));
        if let Some(node) = find(tree, *number) {
            node.arguments.push(("Search", words.clone()));
        }
    }
}

/// How a node's time is shared between executors, where several had some.
fn shares(node: &execute::NodeProfile) -> Option<String> {
    let total = node.cpu_by_executor_ns.iter().sum::<u64>().max(1);
    if node.cpu_by_executor_ns.iter().filter(|ns| **ns > 0).count() < 2 {
        return None;
    }
    let percent = |ns: &u64| format!("{} %", (100 * ns + total / 2) / total);
    Some(node.cpu_by_executor_ns.iter().map(percent).collect::<Vec<_>>().join(", "))
}

fn find(tree: &mut PlanDescription, number: usize) -> Option<&mut PlanDescription> {
    if tree.number == number {
        return Some(tree);
    }
    tree.children.iter_mut().find_map(|child| find(child, number))
}

fn attach(tree: &mut PlanDescription, nodes: &[execute::NodeProfile]) {
    if let Some(node) = nodes.get(tree.number) {
        let db_hits = db_hits(tree.name, node);
        tree.profile = Some(OperatorProfile { rows: node.rows_out, db_hits, time_ns: node.cpu_ns });
    }
    tree.children.iter_mut().for_each(|child| attach(child, nodes));
}

/// What an operator asked the store for, by its rows: the store itself counts nothing, so that reading stays cheap.
fn db_hits(name: &str, node: &execute::NodeProfile) -> u64 {
    match name {
        "ScanVertices" | "SeekVertices" | "SeekEdges" | "SeekIds" => node.rows_out,
        "Expand" | "ExpandPath" | "ExpandPattern" | "CountMatches" | "Intersect" | "Match" => {
            node.rows_in + node.rows_out
        }
        "Filter" => node.rows_in,
        "Create" | "Merge" | "Set" | "Delete" => node.rows_out,
        _ => 0,
    }
}

/// What Neo4j's drivers and tools look for at the root of a plan.
const ROOT: [(&str, &str); 5] = [
    ("planner", "COST"),
    ("planner-impl", "TANGLEWOOD"),
    ("runtime", "TANGLEWOOD"),
    ("runtime-impl", "TANGLEWOOD"),
    ("version", "5"),
];

/// Operators above one another that [`plan_value`] tells: each is a map in a list, and values have a depth.
const PLAN_LEVELS_MAX: usize = model::nested::VALUE_DEPTH_MAX / 2 - 4;

/// A plan as the map that Bolt sends. What lies deeper than a value may is left out; the text of the plan has all of it. Numbers are numbers, as Neo4j has them: rows, hits, nanoseconds. Pages are not counted, and so zero.
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
