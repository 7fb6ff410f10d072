//! Remarks of EXPLAIN on searches for ends by distance: the policy that would be chosen for the expected sources.
//!
//! The same function chooses when the query runs and its sources are known; PROFILE shows that choice.

use paths::{DispatchPolicy, Occasion};
use plan::algebra::ExpandPath;
use plan::physical::Algorithm;
use plan::{Plan, Statement, StatementKind};
use store::Snapshot;

/// Pre-order numbers of nodes that search by distance for all executors, and the expected policy of each. `estimates` are expected rows in pre-order.
pub fn expected(
    statement: &Statement,
    estimates: &[f64],
    snapshot: &Snapshot,
    executors: usize,
) -> Vec<(usize, String)> {
    let StatementKind::Query { plan, .. } = &statement.kind else { return Vec::new() };
    let hint = statement.hints.iter().find_map(|hint| hint.strip_prefix(plan::statement::RECURSIVE));
    let (mut told, mut next, mut open) = (Vec::new(), 0, vec![plan]);
    while let Some(plan) = open.pop() {
        let number = next;
        next += 1;
        open.extend(plan.children().into_iter().rev());
        let chosen = statement.physical.node(number).map(|node| node.algorithm);
        if let Plan::ExpandPath(node) = plan
            && let Some(Algorithm::SearchByDistance { by_executors: true, .. }) = chosen
        {
            let rows = estimates.get(number + 1).copied().unwrap_or(1.0);
            let sources = rows.clamp(1.0, f64::from(u32::MAX)) as usize;
            let chosen = || DispatchPolicy::choose(&occasion(node, sources, snapshot, executors)).to_string();
            let policy = hint.map_or_else(chosen, |named| format!("{named} (as asked for)"));
            told.push((number, format!("{policy} for about {sources} sources on {executors} executors")));
        }
    }
    told
}

fn occasion(node: &ExpandPath, sources: usize, snapshot: &Snapshot, workers: usize) -> Occasion {
    let statistics = snapshot.statistics();
    Occasion {
        sources,
        workers,
        vertices: vertices(snapshot),
        edges: statistics.edges(),
        bytes_per_end: u64::from(node.edges.is_some()),
        hops_max: node.max.unwrap_or(u32::MAX),
        bytes_max: dataflow::limits::QUERY_BYTES_MAX_DEFAULT,
    }
}

/// How many vertices a search is reckoned to have before it.
pub(crate) fn vertices(snapshot: &Snapshot) -> u64 {
    match snapshot.is_restricted() {
        // Where the graph ends tells of what is hidden.
        true => snapshot.statistics().vertices(),
        false => u64::from(snapshot.vertex_bound()),
    }
}
