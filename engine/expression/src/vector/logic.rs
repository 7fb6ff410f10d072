//! AND and OR over columns: the right side is evaluated only for the rows that the left leaves open.

use super::operand;
use super::operand::{Operand, Rows, Truths};
use crate::error::EvalError;
use crate::node::Node;
use crate::operators;
use crate::scope::Scope;
use model::{Batch, Column};
use plan::expr::BinaryOperator;

/// The truth value of the `row`-th row.
fn truth(operation: &str, operand: &Operand<'_>, row: usize) -> Result<Option<bool>, EvalError> {
    match operand.column() {
        Column::Bool(values, nulls) => {
            let at = operand.at(row);
            Ok(if nulls.contains(at) { None } else { Some(values[at]) })
        }
        _ => operators::truth(operation, &operand.get(row)),
    }
}

/// `a AND b` or `a OR b`, three-valued.
pub(super) fn joined(
    operator: BinaryOperator,
    a: &Node,
    b: &Node,
    batch: &Batch,
    rows: Rows<'_>,
    scope: &Scope<'_>,
) -> Result<Column, EvalError> {
    let name = operators::symbol(operator);
    let deciding = operator == BinaryOperator::Or;
    let left = operand(a, batch, rows, scope)?;
    let mut lefts = Vec::with_capacity(rows.len());
    let mut open = Vec::new();
    for row in 0..rows.len() {
        let truth = truth(name, &left, row)?;
        if truth != Some(deciding) {
            open.push(rows.get(row) as u32);
        }
        lefts.push(truth);
    }
    let right = operand(b, batch, Rows::Some(&open), scope)?;
    let mut truths = Truths::with_capacity(rows.len());
    let mut at = 0;
    for left in lefts {
        if left == Some(deciding) {
            truths.push(left);
            continue;
        }
        let right = truth(name, &right, at)?;
        at += 1;
        truths.push(if deciding { operators::or(left, right) } else { operators::and(left, right) });
    }
    Ok(truths.finish())
}
