//! Rewrite `order_match`: a pattern becomes scans, seeks, expands and joins.
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

use crate::algebra::{Match, Plan};
use crate::error::PlanError;
use crate::estimate::{Known, known};
use crate::names::Names;
use crate::statistics::Planning;

/// Replaces every `Match` in the plan. `outer` is what is known of the enclosing `Apply`'s rows.
pub(crate) fn order_match(
    plan: &mut Plan,
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<(), PlanError> {
    let has_body = matches!(plan, Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_));
    let mut children = plan.children_mut();
    if has_body {
        let body = children.pop().expect("these operators have an input and a body");
        let input = children.pop().expect("these operators have an input and a body");
        order_match(input, outer, planning, names)?;
        let inside = known(input, planning, outer);
        order_match(body, &inside, planning, names)?;
    } else {
        for child in children {
            order_match(child, outer, planning, names)?;
        }
    }
    if matches!(plan, Plan::Match(_)) {
        let Plan::Match(found) = plan.take() else { unreachable!("just tested") };
        *plan = order_one(*found, outer, planning, names)?;
    }
    Ok(())
}

fn order_one(
    found: Match,
    outer: &Known,
    planning: &dyn Planning,
    names: &mut Names<'_>,
) -> Result<Plan, PlanError> {
    debug_assert!(!found.optional, "optional matches are applies by now");
    let Match { input, pattern, .. } = found;
    let below = known(&input, planning, outer);
    let problem = problem::Problem::new(&input, pattern, below, planning, names);
    let found = search::search(&problem);
    build::build(&problem, &found, input)
}
