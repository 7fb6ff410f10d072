//! Rewrite `loops`: an undirected edge of which loops count twice is walked so.
//!
//! Gremlin meets a loop from both its ends; in the algebra, that is a list of two elements for a row whose ends are one vertex and of one for any
//! other, unwound into a column without readers. Where that stands above the step itself (tests between them are of one row, and treat both copies
//! alike), the step gives the second row, and nothing is unwound. Cost: one look at each such list.

use crate::algebra::*;
use crate::expr::{BinaryOperator, Expr, Var};
use model::{Direction, Value};

/// Lets the step below emit the rows of this list, if its elements need not be told apart; true if the list can then be dropped.
pub(super) fn walk_loops_twice(node: &mut Unwind) -> bool {
    let Some((a, b)) = doubled(&node.list) else { return false };
    let mut at = &mut node.input;
    while let Plan::Filter(test) = at {
        at = &mut test.input
    }
    match at {
        Plan::Expand(step)
            if step.direction == Direction::Both
                && !step.into
                && !step.loops_twice
                && ((step.from, step.to) == (a, b) || (step.from, step.to) == (b, a)) =>
        {
            step.loops_twice = true;
            true
        }
        _ => false,
    }
}

/// The two vertices whose equality makes a second element of the list.
fn doubled(list: &Expr) -> Option<(Var, Var)> {
    let Expr::Case { operand: None, arms, otherwise: Some(otherwise) } = list else { return None };
    let [(Expr::Binary(BinaryOperator::Equal, a, b), twice)] = arms.as_slice() else { return None };
    match (&**a, &**b) {
        (Expr::Variable(a), Expr::Variable(b))
            if (length(twice), length(otherwise)) == (Some(2), Some(1)) =>
        {
            Some((*a, *b))
        }
        _ => None,
    }
}

fn length(list: &Expr) -> Option<usize> {
    match list {
        Expr::List(elements) => Some(elements.len()),
        Expr::Literal(constant) => match &constant.0 {
            Value::List(elements) => Some(elements.len()),
            _ => None,
        },
        _ => None,
    }
}
