//! Tests of a way between two bound vertices, `EXISTS { (a)-->()-->(b) }`, walked once for all rows with the same `a`.
//!
//! Idea: where the last step leads to one vertex or two, it costs the same to go there as to look whether it leads to `b`. So the inner plan goes to
//! its ends from `a` alone, and the operator asks for each end it meets which rows wait for it. A walk is over once all rows of its `a` have their
//! answer: it is about as long as the longest of the ways that were looked for row by row, and where many rows share an `a`, it is one for all.

use crate::Plan;
use crate::algebra::{Apply, ApplyKind, Expand};
use crate::cost;
use crate::expr::{Expr, Name, Var};
use crate::scope::ScopeReason;
use crate::statistics::Planning;

/// Edges that the last step meets, on the average of the vertices that edges lead to.
const LAST_EDGES_MAX: f64 = 2.0;

/// Frees the end of a test that is to be walked so; it is noted in its scope.
pub(super) fn free(node: &mut Apply, planning: &dyn Planning) {
    let is_test = matches!(node.kind, ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_));
    // Where hardly any work is done for a row, to find out who shares it costs more.
    let is_work = matches!(node.scope.reason, ScopeReason::SmallWork | ScopeReason::EarlyExit);
    debug_assert!(node.scope.end.is_none(), "scopes are chosen once");
    if !(is_test && is_work && node.scope.early && super::driver::runs_inline(node)) {
        return;
    }
    let Some(end) = last_step(&node.inner).and_then(|last| free_end(node, last, planning)) else { return };
    let mut next = Some(&mut node.inner);
    while let Some(plan) = next {
        match plan {
            Plan::Expand(step) if step.into && step.to == end => step.into = false,
            Plan::Argument(columns) => columns.retain(|column| *column != end),
            _ => {}
        }
        next = plan.input_mut();
    }
    node.scope.end = Some(end);
}

/// The last step of an inner plan, below filters that never fail: they meet ends that nobody asks for.
fn last_step(inner: &Plan) -> Option<&Expand> {
    match inner {
        Plan::Filter(node) if never_fails(&node.predicate) => last_step(&node.input),
        Plan::Expand(step) if step.into => Some(step),
        _ => None,
    }
}

fn never_fails(predicate: &Expr) -> bool {
    predicate.clone().conjuncts().iter().all(|part| matches!(part, Expr::EdgesDistinct(_)))
}

/// The bound end of the last step, where only that step reads it, and steps before it lead there.
fn free_end(node: &Apply, last: &Expand, planning: &dyn Planning) -> Option<Var> {
    let end = last.to;
    let is_bound = |var: &Var| node.imports.contains(var);
    if !is_bound(&end) || is_bound(&last.from) || node.imports.len() < 2 || last.from == end {
        return None;
    }
    let mut readers = 0;
    let mut labels = None;
    let mut next = Some(&node.inner);
    while let Some(plan) = next {
        readers += usize::from(!matches!(plan, Plan::Argument(_)) && plan.reads().contains(&end));
        if let Plan::Expand(step) = plan
            && step.to == last.from
            && !step.into
        {
            labels = cost::rarest(planning, &step.labels);
        }
        next = plan.input();
    }
    (readers == 1 && edges_at_end(last, labels, planning) <= LAST_EDGES_MAX).then_some(end)
}

/// Edges of a vertex that is the last but one: those with many are met more often.
fn edges_at_end(last: &Expand, near: Option<Name>, planning: &dyn Planning) -> f64 {
    let types: Vec<&str> = last.types.iter().map(|name| &**name).collect();
    let degree = cost::degree(planning, near.as_deref(), &last.types, last.direction);
    degree * planning.spread(near.as_deref(), &types, last.direction).unwrap_or(1.0)
}
