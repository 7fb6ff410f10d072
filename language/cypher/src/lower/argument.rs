//! The input of a plan within another.

use plan::Plan;
use plan::expr::Var;

/// Fills in the columns that a plan starts from, at the leaves of its main line.
pub(super) fn set_argument(plan: &mut Plan, columns: &[Var]) {
    let mut waiting = vec![plan];
    while let Some(plan) = waiting.pop() {
        match plan {
            Plan::Argument(found) => *found = columns.to_vec(),
            Plan::Union(union) => waiting.extend([&mut union.left, &mut union.right]),
            other => waiting.extend(other.input_mut()),
        }
    }
}
