//! Rewrite `dedup_frontier`: between two hops, each combination of the columns still needed is followed once.
//!
//! Where repeated rows go unnoticed (see `distinct_ends`), rows that agree in every column that is still read lead to the same
//! rows from there on; a `Distinct` on these columns loses nothing. Relationship uniqueness needs no special care: a test above
//! reads its edge columns, so they are among the columns compared, and two rows with different edges stay apart (then the
//! estimate says that it does not pay). Inserted only where the expected rows exceed the possible combinations by a factor.
//! Cost: one estimate for each hop.

use crate::algebra::*;
use crate::estimate::{Known, known};
use crate::expr::Var;
use crate::rewrite::columns::prune_columns::needed_below;
use crate::rewrite::ends::distinct_ends::below;
use crate::statistics::Planning;
use crate::vars::Vars;

/// A `Distinct` pays where each combination is expected at least this often.
const REPEATS_MIN: f64 = 2.0;
/// Columns that are compared: one is the frontier; two still have a domain worth estimating.
const COLUMNS_MAX: usize = 2;

/// Thins out frontiers; `sets` says that repeated rows of the plan go unnoticed, `needed` which columns are read above.
pub(crate) fn dedup_frontier(plan: &mut Plan, needed: &Vars, sets: bool, planning: &dyn Planning) {
    let (mut at, mut needed, mut sets) = (plan, needed.clone(), sets);
    loop {
        let live = needed_below(at, &needed);
        let flags = below(at, sets);
        if matches!(at, Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_)) {
            return branch(at, &live, &flags, planning);
        }
        let hops = matches!(at, Plan::Expand(_) | Plan::ExpandPath(_));
        let Some(input) = at.input_mut() else { return };
        if hops && flags[0] && is_hop(input) && pays(input, &live, planning) {
            let columns = live.to_vec();
            *input = Plan::Distinct(Box::new(Distinct { input: input.take(), columns, carried: Vec::new() }));
        }
        (at, needed, sets) = (input, live, flags[0])
    }
}

/// The plans below an operator that has two.
fn branch(plan: &mut Plan, live: &Vars, flags: &[bool], planning: &dyn Planning) {
    let inner = inner_columns(plan);
    for (number, (child, sets)) in plan.children_mut().into_iter().zip(flags).enumerate() {
        let needed = inner.as_ref().filter(|_| number == 1).unwrap_or(live);
        dedup_frontier(child, needed, *sets, planning)
    }
}

/// The columns that are read of the inner plan of an operator that has one.
fn inner_columns(plan: &Plan) -> Option<Vars> {
    match plan {
        Plan::Apply(node) => Some(match &node.kind {
            ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => columns.iter().copied().collect(),
            ApplyKind::Collect { column, .. } => Vars::from_iter([*column]),
            ApplyKind::Repeat(repeat) => Vars::from_iter([repeat.next]),
            _ => Vars::new(),
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
