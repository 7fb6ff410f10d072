//! Rewrite `late_distinct`: rows that hardly repeat are tested before they are compared with one another.
//!
//! `DISTINCT` below a test costs an exchange where several executors found the rows; above it, it sees what is left. A test looks at the
//! columns that are kept alone, so which comes first changes no answer (of columns that are only carried, any row's will do, as there is no
//! sort below). It pays where rows hardly repeat and a test is little work: the ends of a search that tells each end once, from a few rows.
//! And the answer of a sub-query that is only asked whether there is one needs no `DISTINCT` at its top. Cost: some estimates for each such
//! search.

use crate::algebra::*;
use crate::estimate::{Known, known, work};
use crate::physical::scopes::TINY_WORK;
use crate::statistics::Planning;

/// Searches from more rows than these are likely to meet the same ends.
const SOURCES_MAX: f64 = 16.0;

/// Moves what compares rows above what tests them; true if anything was moved, so that columns may be carried in vain.
pub(crate) fn late_distinct(plan: &mut Plan, planning: &dyn Planning) -> bool {
    // Each pass moves one test further down; there are as many as tests stand above one another.
    let mut moved = false;
    while pass(plan, planning) {
        moved = true
    }
    moved
}

/// A line is followed, without recursion but into sub-plans.
fn pass(plan: &mut Plan, planning: &dyn Planning) -> bool {
    let (mut at, mut moved) = (plan, false);
    loop {
        moved |= swap(at, planning);
        if let Plan::Apply(node) = at {
            moved |= pass(&mut node.inner, planning);
            if matches!(node.kind, ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_)) {
                strip(&mut node.inner);
            }
        }
        at = match at {
            Plan::Join(_) | Plan::Union(_) => {
                let children = at.children_mut().into_iter();
                return children.fold(moved, |moved, child| pass(child, planning) | moved);
            }
            line => match line.input_mut() {
                Some(input) => input,
                None => return moved,
            },
        }
    }
}

/// A test above a `DISTINCT` changes places with it, if that pays.
fn swap(plan: &mut Plan, planning: &dyn Planning) -> bool {
    let Plan::Apply(test) = plan else { return false };
    let (ApplyKind::Semi | ApplyKind::Anti, Plan::Distinct(distinct)) = (&test.kind, &test.input) else {
        return false;
    };
    if !hardly_repeats(&distinct.input, planning) || work_a_row(test, planning) >= TINY_WORK {
        return false;
    }
    let Plan::Distinct(mut distinct) = test.input.take() else { return false };
    test.input = distinct.input.take();
    distinct.input = plan.take();
    *plan = Plan::Distinct(distinct);
    true
}

/// Rows that all operators of a test yield together for one row.
fn work_a_row(test: &Apply, planning: &dyn Planning) -> f64 {
    let outer = known(&test.input, planning, &Known::one_row());
    work(&test.inner, planning, &outer) / outer.rows.max(1.0)
}

fn hardly_repeats(plan: &Plan, planning: &dyn Planning) -> bool {
    let mut at = plan;
    while let Plan::Filter(test) = at {
        at = &test.input
    }
    matches!(at, Plan::ExpandPath(search)
        if search.distinct_ends && known(&search.input, planning, &Known::one_row()).rows <= SOURCES_MAX)
}

/// Drops what compares rows of which one is as good as all.
fn strip(plan: &mut Plan) {
    while let Plan::Distinct(distinct) = plan {
        *plan = distinct.input.take()
    }
}
