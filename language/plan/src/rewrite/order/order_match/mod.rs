//! Rewrite `order_match`: patterns become scans, seeks, expands and joins.
//!
//! Idea: a state is a set of bound pattern vertices; every way to bind a set has the same rows (`problem`), so only the cheapest way to each set is
//! kept (`search`: dynamic programming over sets, greedy beyond a limit), and the winner is written out (`build`). One set member stands for
//! everything the input already binds.
//!
//! Sound because the result binds every vertex and edge of the pattern exactly once, applies every predicate as soon as its
//! variables are bound, and tests the distinctness of every two edges that could be the same one. Both are invariants of
//! `build::Built`, checked by a random test. Cost: 2^n sets for n unbound vertices up to `search::DYNAMIC_VERTICES_MAX`.

mod any_label;
mod build;
mod disjunction;
mod forks;
mod hints;
mod prepare;
mod problem;
mod search;
mod starts;
mod ways;

use crate::algebra::Plan;
use crate::error::PlanError;
use crate::estimate::{Known, known};
use crate::names::Names;
use crate::pattern::{OrderHint, Pattern};
use crate::statistics::Planning;

/// Replaces every `Match` in the plan. `outer` are the properties of the enclosing `Apply`'s rows.
pub(crate) fn order_match(
    plan: &mut Plan,
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<(), PlanError> {
    let mut at = plan;
    loop {
        match at {
            Plan::Match(_) => return order_here(at, outer, planning, names),
            Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) => {
                return order_with_body(at, outer, planning, names);
            }
            Plan::Join(_) | Plan::Union(_) => {
                let mut children = at.children_mut().into_iter();
                return children.try_for_each(|child| order_match(child, outer, planning, names));
            }
            // Most operators stand in a line: no recursion for them, so that long lines need no deep stack.
            line => match line.input_mut() {
                Some(input) => at = input,
                None => return Ok(()),
            },
        }
    }
}

fn order_here(
    plan: &mut Plan,
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<(), PlanError> {
    let (mut input, patterns, hints) = together(plan.take());
    order_match(&mut input, outer, planning, names)?;
    *plan = order_one(input, (patterns, &hints), outer, planning, names)?;
    Ok(())
}

/// Orders the body with the properties of the rows it is run for.
fn order_with_body(
    plan: &mut Plan,
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<(), PlanError> {
    let mut children = plan.children_mut();
    let body = children.pop().expect("these operators have an input and a body");
    let input = children.pop().expect("these operators have an input and a body");
    order_match(input, outer, planning, names)?;
    let inside = known(input, planning, outer);
    order_match(body, &inside, planning, names)
}

/// The patterns of consecutive MATCH clauses, first clause first, their input, and their hints: they are ordered as one, as long as every order can
/// be considered.
fn together(plan: Plan) -> (Plan, Vec<Pattern>, Vec<OrderHint>) {
    let (mut input, mut patterns, mut vertices, mut hints) = (plan, Vec::new(), 0, Vec::new());
    while let Plan::Match(node) = input {
        debug_assert!(!node.optional, "optional matches are applies by now");
        vertices += node.pattern.vertices.len();
        if !patterns.is_empty() && vertices > search::DYNAMIC_VERTICES_MAX {
            return (Plan::Match(node), patterns, hints);
        }
        patterns.insert(0, node.pattern);
        hints.extend(node.hints);
        input = node.input
    }
    (input, patterns, hints)
}

fn order_one(
    input: Plan,
    (patterns, hints): (Vec<Pattern>, &[OrderHint]),
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<Plan, PlanError> {
    let below = known(&input, planning, outer);
    let mut problem = problem::Problem::new(&input, patterns, below, planning, names);
    hints::heed(&mut problem, hints);
    let found = search::search(&problem);
    build::build(&problem, &found, input)
}
