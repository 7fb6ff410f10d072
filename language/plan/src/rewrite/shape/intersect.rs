//! Rewrite `intersect`: an edge walked and another looked for from its far end become an intersection of two neighbour lists.
//!
//! `Expand (a)--(x)` with `Expand (x)--(b) into` above it, and only tests between them, bind those x that both a and b have as a neighbour,
//! once for each pair of edges. Sound where nobody reads the edges themselves (a test that two of them differ reads them); the tests
//! between move above, where they are asked of fewer rows. A further `into` from the same vertex adds an arm; a test whether there is such
//! an edge adds one that counts once. It always pays: where no
//! list is met again, the shorter one is walked and the other searched, which is what was done before. Cost: linear in the plan.

use crate::algebra::*;
use crate::expr::Expr;

/// Replaces such pairs of expands in the whole plan; a chain is followed without recursion.
pub(crate) fn intersect(plan: &mut Plan) {
    let mut at = plan;
    loop {
        if closing(at).is_some() {
            close(at);
        }
        if matches!(at, Plan::Apply(_) | Plan::Merge(_) | Plan::ForEach(_) | Plan::Join(_) | Plan::Union(_)) {
            return at.children_mut().into_iter().for_each(intersect);
        }
        match at.input_mut() {
            Some(input) => at = input,
            None => return,
        }
    }
}

/// The plan below the tests.
fn below_tests(plan: &mut Plan) -> &mut Plan {
    let mut at = plan;
    while matches!(at, Plan::Filter(_)) {
        at = at.input_mut().expect("a filter has an input");
    }
    at
}

/// An expand between bound ends of which only the rows are wanted.
fn is_into(plan: &Plan) -> bool {
    matches!(plan, Plan::Expand(node) if node.into && node.edge.is_none() && node.labels.is_any())
}

/// The edge between bound ends that this node looks for, and whether one such edge suffices.
fn closing(plan: &Plan) -> Option<(&Expand, bool)> {
    match plan {
        Plan::Expand(node) if is_into(plan) => Some((node, false)),
        Plan::Apply(node)
            if node.kind == ApplyKind::Semi && !node.scope.is_told() && is_into(&node.inner) =>
        {
            match &node.inner {
                Plan::Expand(node) if matches!(node.input, Plan::Argument(_)) => Some((node, true)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Makes an arm of this edge, if one of its ends was bound just below.
fn close(plan: &mut Plan) {
    // Arms are added from below: as many levels of recursion as there are arms.
    let input = plan.input_mut().expect("what closes stands above what binds");
    if closing(below_tests(input)).is_some() {
        close(below_tests(input));
    }
    let bound = match below_tests(input) {
        Plan::Expand(node) if !node.into && node.edge.is_none() && !node.loops_twice => node.to,
        Plan::Intersect(node) => node.to,
        _ => return,
    };
    let Some((edge, once)) = closing(plan) else { return };
    let (types, direction) = (edge.types.clone(), edge.direction);
    let arm = match () {
        () if edge.from == edge.to => return,
        () if edge.to == bound => IntersectArm { from: edge.from, types, direction, once },
        () if edge.from == bound => {
            IntersectArm { from: edge.to, types, direction: direction.reversed(), once }
        }
        () => return,
    };
    let mut input = plan.input_mut().expect("as above").take();
    let mut tests = Vec::new();
    while let Plan::Filter(test) = input {
        tests.push(test.predicate);
        input = test.input;
    }
    tests.reverse();
    let met = match input {
        Plan::Intersect(mut node) => {
            node.arms.push(arm);
            Plan::Intersect(node)
        }
        Plan::Expand(node) => {
            let Expand { input, from, to, types, direction, labels, .. } = *node;
            let arms = vec![IntersectArm { from, types, direction, once: false }, arm];
            Plan::Intersect(Box::new(Intersect { input, arms, to, labels }))
        }
        other => other,
    };
    *plan = match tests.is_empty() {
        true => met,
        false => Plan::Filter(Box::new(Filter { input: met, predicate: Expr::all(tests) })),
    };
}
