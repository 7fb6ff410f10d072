//! Rewrite `dedup_frontier`: between two hops, each combination of the columns still needed is followed once.
//!
//! Where repeated rows go unnoticed (see `distinct_ends`), rows that agree in every column that is still read lead to the same
//! rows from there on; a `Distinct` on these columns loses nothing. Relationship uniqueness needs no special care: a test above
//! reads its edge columns, so they are among the columns compared, and two rows with different edges stay apart (then the
//! estimate says that it does not pay). Inserted only where the expected rows exceed the possible combinations by a factor.
//! Cost: one estimate for each hop.

use super::distinct_ends::below;
use crate::algebra::*;
use crate::estimate::{Known, known};
use crate::expr::Var;
use crate::statistics::Planning;
use crate::walk::add;

/// A `Distinct` pays where each combination is expected at least this often.
const REPEATS_MIN: f64 = 2.0;
/// Columns that are compared: one is the frontier; two still have a domain worth estimating.
const COLUMNS_MAX: usize = 2;

/// Thins out frontiers; `sets` says that repeated rows of the plan go unnoticed, `needed` which columns are read above.
pub(crate) fn dedup_frontier(plan: &mut Plan, needed: &[Var], sets: bool, planning: &dyn Planning) {
    let mut live = plan.reads();
    let made = plan.makes();
    if !matches!(plan, Plan::Project(_) | Plan::Aggregate(_) | Plan::Distinct(_) | Plan::Union(_)) {
        let into = matches!(plan, Plan::Expand(node) if node.into)
            || matches!(plan, Plan::ExpandPath(node) if node.into);
        add(&mut live, needed.iter().copied().filter(|var| into || !made.contains(var)))
    }
    let flags = below(plan, sets);
    let hops = matches!(plan, Plan::Expand(_) | Plan::ExpandPath(_));
    let inner_needed = inner_columns(plan);
    for (number, (child, sets)) in plan.children_mut().into_iter().zip(flags).enumerate() {
        let needed = if number == 1 { inner_needed.as_ref().unwrap_or(&live) } else { &live };
        dedup_frontier(child, needed, sets, planning);
        if hops && sets && is_hop(child) && pays(child, &live, planning) {
            let columns = live.clone();
            *child = Plan::Distinct(Box::new(Distinct { input: child.take(), columns }))
        }
    }
}

/// What is read of the inner plan of an operator that has one.
fn inner_columns(plan: &Plan) -> Option<Vec<Var>> {
    match plan {
        Plan::Apply(node) => Some(match &node.kind {
            ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => columns.clone(),
            ApplyKind::Collect { column, .. } => vec![*column],
            _ => Vec::new(),
        }),
        Plan::Merge(node) => Some(node.inner.columns()),
        Plan::ForEach(node) => Some(node.body.columns()),
        _ => None,
    }
}

/// An expand, perhaps below filters.
fn is_hop(plan: &Plan) -> bool {
    match plan {
        Plan::Filter(node) => is_hop(&node.input),
        other => matches!(other, Plan::Expand(_) | Plan::ExpandPath(_)),
    }
}

fn pays(plan: &Plan, live: &[Var], planning: &dyn Planning) -> bool {
    if live.is_empty() || live.len() > COLUMNS_MAX {
        return false;
    }
    let known = known(plan, planning, &Known::one_row());
    let domains: Option<Vec<f64>> = live.iter().map(|var| known.domain(planning, *var)).collect();
    domains.is_some_and(|domains| known.rows > REPEATS_MIN * domains.iter().product::<f64>())
}
