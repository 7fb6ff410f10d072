//! Rewrite `order_match`: patterns become scans, seeks, expands and joins.
//!
//! Idea: what has been bound so far is a set of pattern vertices; every way to bind a set has the same rows (`problem`), so only
//! the cheapest way to each set is kept (`search`: dynamic programming over sets, greedy beyond a limit), and the winner is
//! written out (`build`). One set member stands for everything the input already binds.
//!
//! Sound because the result binds every vertex and edge of the pattern exactly once, applies every predicate as soon as its
//! variables are bound, and tests the distinctness of every two edges that could be the same one. Both are invariants of
//! `build::Built`, checked by a random test. Cost: 2^n sets for n unbound vertices up to `search::DYNAMIC_VERTICES_MAX`.

mod build;
mod problem;
mod search;
mod starts;

use crate::algebra::Plan;
use crate::error::PlanError;
use crate::estimate::{Known, known};
use crate::names::Names;
use crate::pattern::Pattern;
use crate::statistics::Planning;

/// Replaces every `Match` in the plan. `outer` is what is known of the enclosing `Apply`'s rows.
pub(crate) fn order_match(
    plan: &mut Plan,
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<(), PlanError> {
    if matches!(plan, Plan::Match(_)) {
        let (mut input, patterns) = together(plan.take());
        order_match(&mut input, outer, planning, names)?;
        *plan = order_one(input, patterns, outer, planning, names)?;
        return Ok(());
    }
    if !matches!(plan, Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_)) {
        let mut children = plan.children_mut().into_iter();
        return children.try_for_each(|child| order_match(child, outer, planning, names));
    }
    let mut children = plan.children_mut();
    let body = children.pop().expect("these operators have an input and a body");
    let input = children.pop().expect("these operators have an input and a body");
    order_match(input, outer, planning, names)?;
    let inside = known(input, planning, outer);
    order_match(body, &inside, planning, names)
}

/// The patterns of MATCH clauses that follow one another, first clause first, and what they start from: they are ordered as one,
/// as long as every order can be considered.
fn together(plan: Plan) -> (Plan, Vec<Pattern>) {
    let (mut input, mut patterns, mut vertices) = (plan, Vec::new(), 0);
    while let Plan::Match(node) = input {
        debug_assert!(!node.optional, "optional matches are applies by now");
        vertices += node.pattern.vertices.len();
        if !patterns.is_empty() && vertices > search::DYNAMIC_VERTICES_MAX {
            return (Plan::Match(node), patterns);
        }
        patterns.insert(0, node.pattern);
        input = node.input
    }
    (input, patterns)
}

fn order_one(
    input: Plan,
    patterns: Vec<Pattern>,
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<Plan, PlanError> {
    let below = known(&input, planning, outer);
    let problem = problem::Problem::new(&input, patterns, below, planning, names);
    let found = search::search(&problem);
    build::build(&problem, &found, input)
}
