//! Rewrite `late_projection`: for rows that a sort will drop, only the columns that the sort reads are computed.
//!
//! Idea: below a sort that keeps the first k rows stands the computation of columns of all rows. Columns that the sort's keys do not need move above
//! it, where k rows are left; their inputs are passed through. Sound because a sort neither changes nor
//! reads what it carries along, and none of the moved expressions is volatile; one that would have failed on a row that is
//! dropped is then not computed. Not in plans that write: a property would be read after a change that must not be seen.
//! Cost: one walk, times the width of rows.

use crate::algebra::Plan;
use crate::expr::Expr;
use crate::late::take_late;
use crate::rewrite::substitute::is_volatile;
use crate::vars::Vars;

/// Moves columns above the sorts with a limit.
pub(crate) fn late_projection(plan: &mut Plan) {
    if !plan.writes() {
        delay(plan)
    }
}

fn delay(plan: &mut Plan) {
    if let Plan::Sort(node) = plan
        && node.limit.is_some()
    {
        let read: Vars = node.keys.iter().flat_map(|key| key.expr.free_variables()).collect();
        if let Some(late) = take_late(&mut node.input, &read, &can_wait) {
            *plan = late.above(plan.take());
        }
    }
    plan.children_mut().into_iter().for_each(delay)
}

/// Is it worth waiting with, and allowed?
fn can_wait(expr: &Expr) -> bool {
    !matches!(expr, Expr::Variable(_) | Expr::Literal(_) | Expr::Parameter(_)) && !is_volatile(expr)
}
