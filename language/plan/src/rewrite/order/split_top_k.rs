//! Rewrite `split_top_k`: a sort below a limit keeps only as many rows as the limit (and a skip between them) will take.
//!
//! Sound through projections, which keep rows and their order; the limit itself stays above. Not where the counts are volatile.
//! A skip near 2^63 would overflow the sum and is left alone if constant. Cost: one look at each limit.

use crate::algebra::*;
use crate::expr::{BinaryOperator, Expr};
use crate::rewrite::substitute::is_volatile;

/// Sets the limits of sorts.
pub(crate) fn split_top_k(plan: &mut Plan) {
    if let Plan::Limit(node) = plan
        && !is_volatile(&node.count)
    {
        let count = node.count.clone();
        limit_sort(&mut node.input, count)
    }
    for child in plan.children_mut() {
        split_top_k(child)
    }
}

fn limit_sort(plan: &mut Plan, count: Expr) {
    match plan {
        Plan::Sort(node) if node.limit.is_none() => node.limit = Some(count),
        Plan::Project(node) => limit_sort(&mut node.input, count),
        Plan::Skip(node) if !is_volatile(&node.count) => {
            if let Some(sum) = sum(&node.count, count) {
                limit_sort(&mut node.input, sum)
            }
        }
        _ => {}
    }
}

fn sum(skip: &Expr, limit: Expr) -> Option<Expr> {
    match (skip.as_int_literal(), limit.as_int_literal()) {
        (Some(skip), Some(limit)) => skip.checked_add(limit).map(Expr::literal),
        _ => Some(Expr::binary(BinaryOperator::Add, skip.clone(), limit)),
    }
}
