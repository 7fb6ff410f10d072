//! Descriptions of a plan: as text and as a tree, with estimated and true rows.

use crate::planning::SnapshotPlanning;
use crate::{NodeProfile, Prepared, searches};
use plan::explain::{self, OperatorProfile, PlanDescription};
use plan::physical::OperatorDriver;
use plan::statement::Mode;
use plan::{Statement, StatementKind};
use store::Snapshot;

/// The data for describing a plan once it has run.
pub struct Profiling {
    statement: Statement,
    estimates: Vec<f64>,
}

impl Profiling {
    /// The data, if the statement asked for PROFILE.
    pub fn wanted(planned: &Prepared, snapshot: &Snapshot) -> Option<Profiling> {
        (planned.statement.mode == Mode::Profile).then(|| Profiling::of(planned, snapshot))
    }
    /// The data of a plan that is described whatever its statement asked for.
    pub fn of(planned: &Prepared, snapshot: &Snapshot) -> Profiling {
        Profiling {
            statement: planned.statement.clone(),
            estimates: estimates(&planned.statement, &planned.planning(snapshot)),
        }
    }
    /// The plan as text, with estimates alone.
    pub fn plain(&self) -> String {
        explain::render(&self.statement, &self.estimates, None)
    }
    /// The plan as text and as a tree, with counters of each node.
    pub fn describe(&self, nodes: &[NodeProfile]) -> (String, PlanDescription) {
        let profile: Vec<explain::NodeProfile> = nodes
            .iter()
            .map(|node| explain::NodeProfile { rows: node.rows_out, time_nanos: node.cpu_ns })
            .collect();
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
        let told: Vec<_> = told.map(|(number, node)| (number, node.told.clone())).collect();
        say("Search", &told, &mut text, &mut tree);
        say("Choice", &choices(&self.statement), &mut text, &mut tree);
        (text, tree)
    }
}

/// The plan as text and as a tree, with estimates, and the expected policies of its searches on this number of executors.
pub fn explain(
    statement: &Statement,
    planning: &SnapshotPlanning,
    executors: usize,
) -> (String, PlanDescription) {
    let estimates = estimates(statement, planning);
    let mut text = explain::render(statement, &estimates, None);
    let mut tree = described(statement, &estimates);
    let searches = searches::expected(statement, &estimates, planning.snapshot(), executors);
    say("Search", &searches, &mut text, &mut tree);
    say("Choice", &choices(statement), &mut text, &mut tree);
    if let StatementKind::Query { .. } = &statement.kind {
        say("Driver", &[(0, driver(statement))], &mut text, &mut tree);
    }
    (text, tree)
}

/// Which driver runs a statement, in words.
fn driver(statement: &Statement) -> String {
    match statement.driver() {
        OperatorDriver::Pipeline => {
            "a pipeline on the asking thread, and on executors if it is long".to_string()
        }
        OperatorDriver::Exchange => "executors".to_string(),
    }
}

/// Nodes for which one of several algorithms was chosen, with its name.
fn choices(statement: &Statement) -> Vec<(usize, String)> {
    statement.physical.choices().into_iter().map(|(id, words)| (id, words.to_string())).collect()
}

fn estimates(statement: &Statement, planning: &SnapshotPlanning) -> Vec<f64> {
    match &statement.kind {
        StatementKind::Query { plan, .. } => plan::estimate::estimates(plan, planning),
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

/// Adds remarks on some nodes: below the text, and to the nodes of the tree.
fn say(title: &'static str, told: &[(usize, String)], text: &mut String, tree: &mut PlanDescription) {
    for (number, words) in told {
        text.push_str(&format!("\n{number}: {words}"));
        if let Some(node) = find(tree, *number) {
            node.arguments.push((title, words.clone()));
        }
    }
}

/// How a node's time is shared between executors, where several had some.
fn shares(node: &NodeProfile) -> Option<String> {
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

fn attach(tree: &mut PlanDescription, nodes: &[NodeProfile]) {
    if let Some(node) = nodes.get(tree.number) {
        let db_hits = db_hits(tree.name, node);
        tree.profile = Some(OperatorProfile { rows: node.rows_out, db_hits, time_ns: node.cpu_ns });
    }
    tree.children.iter_mut().for_each(|child| attach(child, nodes));
}

/// Reads of the store by an operator, estimated from its rows: the store itself counts nothing, so that reading stays cheap.
fn db_hits(name: &str, node: &NodeProfile) -> u64 {
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
