//! Rewrite `repeat_frontier`: a round of a repeated group tests each vertex once, however many edges lead to it.
//!
//! Where each end counts once and a round reads nothing of the outer row but its start, the rows of a round differ in nothing that matters but the
//! vertex they lead to. So duplicates are dropped below the sub-queries that test it: a round then costs a test a vertex instead of one an edge.
//! Sound because those sub-queries read that vertex alone. Cost: a walk down the inner plan's tests.

use crate::algebra::*;
use crate::expr::Var;

/// Thins out the rounds of the plan.
pub(crate) fn repeat_frontier(plan: &mut Plan) {
    let outcome: Result<(), ()> = plan.bottom_up(&mut |node| {
        if let Plan::Apply(apply) = node
            && let ApplyKind::Repeat(repeat) = &apply.kind
            && repeat.distinct
            && apply.imports == [repeat.at]
        {
            let next = repeat.next;
            thin_out(&mut apply.inner, next)
        }
        Ok(())
    });
    debug_assert!(outcome.is_ok(), "nothing here can fail");
}

/// Puts the DISTINCT below the tests of `next` on top of the plan, if there are any.
fn thin_out(inner: &mut Plan, next: Var) {
    let (mut at, mut tests) = (inner, 0);
    while is_test(at, next) {
        tests += 1;
        at = at.input_mut().expect("a test has an input");
    }
    if tests > 0 && !matches!(at, Plan::Distinct(_)) {
        *at =
            Plan::Distinct(Box::new(Distinct { input: at.take(), columns: vec![next], carried: Vec::new() }))
    }
}

fn is_test(plan: &Plan, next: Var) -> bool {
    match plan {
        Plan::Apply(node) => matches!(node.kind, ApplyKind::Semi | ApplyKind::Anti) && node.imports == [next],
        _ => false,
    }
}
