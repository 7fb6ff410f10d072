//! Predicates: the rows of a batch for which an expression is true.
//!
//! AND narrows the selection part by part, so that costly parts are evaluated on few rows; OR evaluates its second part only on the rows that failed
//! the first. A property beside what is constant is tested in place in the store ([`in_store`]): no column is made of it.

mod in_store;

use super::error::EvalError;
use super::interpret;
use super::node::{LabelTest, Node};
use super::operators;
use super::scope::Scope;
use super::vector::{self, Rows};
use model::{Batch, Column};
use plan::expr::BinaryOperator;

/// Keeps those of `selected` (rising batch rows) for which `node` is true.
pub(super) fn narrow(
    node: &Node,
    batch: &Batch,
    scope: &Scope<'_>,
    selected: &mut Vec<u32>,
) -> Result<(), EvalError> {
    if let Some(condition) = in_store::condition(node, batch, scope)? {
        return condition.narrow(batch, scope, selected);
    }
    match node {
        Node::Constant(value) => {
            if operators::truth("a predicate", value)? != Some(true) {
                selected.clear();
            }
            Ok(())
        }
        Node::Binary(BinaryOperator::And, a, b) => {
            narrow(a, batch, scope, selected)?;
            if selected.is_empty() { Ok(()) } else { narrow(b, batch, scope, selected) }
        }
        Node::Binary(BinaryOperator::Or, a, b) => either(a, b, batch, scope, selected),
        Node::HasLabels(subject, labels) => match vertex_column(subject, batch) {
            Some(column) => {
                let test = LabelTest::bind(labels, scope.graph);
                let column = batch.column(column);
                keep(selected, |row| match column.vertex(row) {
                    Some(vertex) => interpret::vertex_satisfies(&test, vertex, scope),
                    None => Ok(false),
                })
            }
            None => by_value(node, batch, scope, selected),
        },
        node => by_value(node, batch, scope, selected),
    }
}

/// The position of the column that the node reads, if it holds vertices.
fn vertex_column(node: &Node, batch: &Batch) -> Option<usize> {
    match node {
        Node::Column(position) if matches!(batch.column(*position).column(), Column::Vertex(..)) => {
            Some(*position)
        }
        _ => None,
    }
}

fn keep(
    selected: &mut Vec<u32>,
    mut test: impl FnMut(usize) -> Result<bool, EvalError>,
) -> Result<(), EvalError> {
    let mut kept = 0;
    for at in 0..selected.len() {
        let row = selected[at];
        if test(row as usize)? {
            selected[kept] = row;
            kept += 1;
        }
    }
    selected.truncate(kept);
    Ok(())
}

/// The rows of either part, in order.
fn either(
    a: &Node,
    b: &Node,
    batch: &Batch,
    scope: &Scope<'_>,
    selected: &mut Vec<u32>,
) -> Result<(), EvalError> {
    let mut first = selected.clone();
    narrow(a, batch, scope, &mut first)?;
    let mut hits = first.iter().copied().peekable();
    let mut rest: Vec<u32> =
        selected.iter().copied().filter(|row| hits.next_if(|hit| hit == row).is_none()).collect();
    if !rest.is_empty() {
        narrow(b, batch, scope, &mut rest)?;
    }
    selected.clear();
    let (mut left, mut right) = (first.into_iter().peekable(), rest.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if a < b { left.next() } else { right.next() };
        selected.extend(next);
    }
    selected.extend(left);
    selected.extend(right);
    Ok(())
}

/// Computes the truth values, then keeps the true ones.
fn by_value(node: &Node, batch: &Batch, scope: &Scope<'_>, selected: &mut Vec<u32>) -> Result<(), EvalError> {
    let rows = if selected.len() == batch.len() { Rows::All(batch.len()) } else { Rows::Some(selected) };
    let operand = vector::operand(node, batch, rows, scope)?;
    let mut truths = Vec::with_capacity(rows.len());
    match operand.column() {
        Column::Bool(values, nulls) => {
            truths.extend((0..rows.len()).map(|row| {
                let at = operand.at(row);
                values[at] && !nulls.contains(at)
            }));
        }
        _ => {
            for row in 0..rows.len() {
                truths.push(operators::truth("a predicate", &operand.get(row))? == Some(true));
            }
        }
    }
    drop(operand);
    let mut truths = truths.into_iter();
    selected.retain(|_| truths.next().unwrap_or(false));
    Ok(())
}
