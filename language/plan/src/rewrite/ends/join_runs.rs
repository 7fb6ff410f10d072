//! Rewrite `join_runs`: a step followed by a walk along the same edges is a walk one step longer.
//!
//! Sound for walks, which may repeat edges: the walks of n to m steps from where a step leads are those of n + 1 to m + 1 steps from where it begins,
//! each once for each. Only where the vertex between and the edges are not read. It lets one search do the work of an expansion and a search from
//! each of its rows. Cost: the width of rows for each node.

use crate::algebra::*;
use crate::pattern::{PathMode, Selector};
use crate::rewrite::columns::prune_columns::needed_below;
use crate::vars::Vars;

/// Joins steps to walks on the main line of a plan, given the columns that are read.
pub(crate) fn join_runs(plan: &mut Plan, needed: &Vars) {
    let (mut at, mut needed) = (plan, needed.clone());
    loop {
        while join(at, &needed) {}
        let below = needed_below(at, &needed);
        match at {
            Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_) => return,
            line => match line.input_mut() {
                Some(input) => (at, needed) = (input, below),
                None => return,
            },
        }
    }
}

fn join(plan: &mut Plan, needed: &Vars) -> bool {
    let Plan::ExpandPath(walk) = plan else { return false };
    let is_bare = walk.edges.is_none() && walk.length.is_none() && walk.edge_predicate.is_none();
    let is_walk = walk.mode == PathMode::Walk && walk.selector == Selector::Every && is_bare;
    let between = walk.from;
    if !is_walk || needed.contains(&between) || walk.into && walk.to == between {
        return false;
    }
    let Plan::Expand(step) = &walk.input else { return false };
    let is_alike = step.types == walk.types && step.direction == walk.direction && step.labels.is_any();
    if !is_alike || step.to != between || step.into || step.edge.is_some() || step.loops_twice {
        return false;
    }
    let (Some(min), Some(max)) =
        (walk.min.checked_add(1), walk.max.map_or(Some(None), |max| max.checked_add(1).map(Some)))
    else {
        return false;
    };
    let Plan::Expand(step) = walk.input.take() else { return false };
    (walk.from, walk.min, walk.max) = (step.from, min, max);
    walk.input = step.input;
    true
}
