//! Rewrite `count_stored`: vertices, or directed edges, that are only counted are not scanned, since every commit maintains their counts.
//!
//! ```text
//!   Aggregate count(*)                                   Project
//!     [Expand (a)-[:T]->(b:L)]      at most one of  ->     CountStored (:L)<-[:T]-
//!       ScanVertices (a:K)          K and L                  Unit
//!         Unit
//! ```
//! Sound for one group of all: each vertex is one row, and each edge is met once, from its source or from its target. Edges of which both ends
//! have to carry labels are counted for neither, and an undirected loop is one row and not two, so those are gone through. Cost: one match a node.

use crate::algebra::*;
use crate::expr::{Expr, LabelExpr, Name, Var};
use crate::functions::AggregateFunction;
use crate::names::Names;
use model::Direction;

/// Replaces counts of all in the plan.
/// Edges are counted only where the counts of edges are exact.
pub(crate) fn count_stored(plan: &mut Plan, names: &mut Names<'_>, counts_edges: bool) {
    if let Some((counted, input)) = counted(plan)
        && (counts_edges || matches!(counted, Counted::Vertices(_)))
        && let Plan::Aggregate(node) = plan
    {
        let count = names.fresh("count");
        let items = node.aggregates.iter().map(|(var, _)| (*var, Expr::Variable(count))).collect();
        let input = Plan::CountStored(Box::new(CountStored { input, counted, count }));
        *plan = Plan::Project(Box::new(Project { input, items }));
        return;
    }
    plan.children_mut().into_iter().for_each(|child| count_stored(child, names, counts_edges));
}

/// The kind that the aggregates of this node count, if they all count the same; and the one row, of all or of the enclosing sub-query, that they
/// begin with.
fn counted(plan: &Plan) -> Option<(Counted, Plan)> {
    let Plan::Aggregate(node) = plan else { return None };
    if !node.keys.is_empty() || node.aggregates.is_empty() {
        return None;
    }
    let is_one_row = |plan: &Plan| matches!(plan, Plan::Unit | Plan::Argument(_));
    match &node.input {
        Plan::ScanVertices(scan) if is_one_row(&scan.input) => {
            let one_row_each = |var: Var| var == scan.vertex;
            let counted = || (Counted::Vertices(scan.labels.clone()), scan.input.clone());
            all_count(node, &one_row_each, &one_row_each).then(counted)
        }
        Plan::Expand(expand) => {
            let Plan::ScanVertices(scan) = &expand.input else { return None };
            let is_whole = is_one_row(&scan.input) && scan.vertex == expand.from && !expand.into;
            let there = [Some(expand.from), Some(expand.to), expand.edge];
            let counts = all_count(node, &|var| there.contains(&Some(var)), &|var| Some(var) == expand.edge);
            if !is_whole || !counts || expand.direction == Direction::Both {
                return None;
            }
            let (labels, direction) = match (&scan.labels, &expand.labels) {
                (labels, LabelExpr::Any) => (labels.clone(), expand.direction),
                (LabelExpr::Any, labels) => (labels.clone(), expand.direction.reversed()),
                _ => return None,
            };
            let mut types: Vec<Name> = expand.types.clone();
            types.sort();
            types.dedup();
            Some((Counted::Edges { types, labels, direction }, scan.input.clone()))
        }
        _ => None,
    }
}

/// Does each aggregate count rows, or a variable that is never null, or never twice where it counts distinct ones?
fn all_count(node: &Aggregate, is_there: &dyn Fn(Var) -> bool, is_distinct: &dyn Fn(Var) -> bool) -> bool {
    node.aggregates.iter().all(|(_, call)| match (call.function, &call.arguments[..]) {
        (AggregateFunction::CountRows, _) => true,
        (AggregateFunction::Count, [Expr::Variable(var)]) if call.distinct => is_distinct(*var),
        (AggregateFunction::Count, [Expr::Variable(var)]) => is_there(*var),
        _ => false,
    })
}
