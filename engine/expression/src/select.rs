//! Predicates: the rows of a batch for which an expression is true.
//!
//! AND narrows the selection part by part, so that costly parts are evaluated on few rows; OR evaluates its second part only on the rows that failed
//! the first. A property compared with a constant is tested in place in the store: no column is made of it.

use super::error::EvalError;
use super::graph::NO_EDGE;
use super::interpret;
use super::metered;
use super::node::{Key, LabelTest, Node};
use super::operators;
use super::scope::Scope;
use super::vector::{self, Rows};
use model::compare::order_int_float;
use model::{Batch, Column, EdgeId, NO_VERTEX, Value, VertexId};
use plan::expr::BinaryOperator;
use std::cmp::Ordering;
use store::{PropertyRef, PropertyRun, PropertyValues};

/// Keeps those of `selected` (rising batch rows) for which `node` is true.
pub(super) fn narrow(
    node: &Node,
    batch: &Batch,
    scope: &Scope<'_>,
    selected: &mut Vec<u32>,
) -> Result<(), EvalError> {
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
        Node::Binary(operator, a, b) => match (&**a, &**b) {
            (Node::Property(subject, key), constant @ (Node::Constant(_) | Node::Parameter(_)))
                if compares(*operator) =>
            {
                let constant = match constant {
                    Node::Constant(constant) => constant,
                    Node::Parameter(name) => scope.parameter(name)?,
                    _ => return by_value(node, batch, scope, selected),
                };
                match column_of_entities(subject, batch) {
                    Some(column) => by_property(*operator, column, key, constant, batch, scope, selected),
                    None => by_value(node, batch, scope, selected),
                }
            }
            _ => by_value(node, batch, scope, selected),
        },
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

fn compares(operator: BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        operator,
        B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual | B::StartsWith
    ) || matches!(operator, B::EndsWith | B::Contains)
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

/// The position of the column that the node reads, if it holds vertices or edges.
fn column_of_entities(node: &Node, batch: &Batch) -> Option<usize> {
    match node {
        Node::Column(position) => {
            let column = batch.column(*position).column();
            matches!(column, Column::Vertex(..) | Column::Edge(..)).then_some(*position)
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

/// `vertex.key operator constant`, tested in the store.
fn by_property(
    operator: BinaryOperator,
    column: usize,
    key: &Key,
    constant: &Value,
    batch: &Batch,
    scope: &Scope<'_>,
    selected: &mut Vec<u32>,
) -> Result<(), EvalError> {
    let column = batch.column(column);
    let is_of_edges = matches!(column.column(), Column::Edge(..));
    if is_of_edges && scope.request.may_delete {
        let edges = selected.iter().filter_map(|row| column.edge(*row as usize));
        edges.clone().try_for_each(|edge| scope.check_edge(edge))?;
    }
    let Some(key) = key.id(scope.graph).filter(|_| !constant.is_null()) else {
        selected.clear();
        return Ok(());
    };
    let rows = selected.clone();
    let mut kept = Selecting { rows: &rows, selected, at: 0, kept: 0 };
    let mut outcome = Ok(());
    let mut take = |values: PropertyValues<'_>| {
        if outcome.is_ok() {
            outcome = kept.take(values, operator, constant, scope);
        }
    };
    if is_of_edges {
        let edge = |row: &u32| column.edge(*row as usize).map_or(NO_EDGE, |edge| edge.id);
        let edges: Vec<EdgeId> = rows.iter().map(edge).collect();
        scope.graph.read_edge_property_runs(&edges, key, &mut take)?;
    } else {
        let vertex = |row: &u32| column.vertex(*row as usize).unwrap_or(NO_VERTEX);
        let vertices: Vec<VertexId> = rows.iter().map(vertex).collect();
        scope.graph.read_property_runs(&vertices, key, &mut take)?;
    }
    let count = kept.kept;
    selected.truncate(count);
    outcome
}

/// Integers up to this are floats exactly.
const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

/// Rows of which those are kept whose values pass, as values come.
struct Selecting<'a> {
    rows: &'a [u32],
    selected: &'a mut [u32],
    /// Rows whose values came, and of these those that passed.
    at: usize,
    kept: usize,
}

impl Selecting<'_> {
    /// Takes the values of the next rows.
    fn take(
        &mut self,
        values: PropertyValues<'_>,
        operator: BinaryOperator,
        constant: &Value,
        scope: &Scope<'_>,
    ) -> Result<(), EvalError> {
        let value = match values {
            PropertyValues::One(value) => {
                let passes = holds(operator, value, constant, scope)?;
                self.keep_if(passes);
                return Ok(());
            }
            PropertyValues::Run(run) => run,
        };
        match (value, constant) {
            (PropertyRun::Integers(values), Value::Int(constant)) => {
                self.keep_ordered(values.iter(), operator, |value| value.partial_cmp(constant));
            }
            (PropertyRun::Floats(values), Value::Float(constant)) => {
                self.keep_ordered(values.iter(), operator, |value| value.partial_cmp(constant));
            }
            (PropertyRun::Integers(values), Value::Float(constant)) => {
                let order = |value: &i64| (!constant.is_nan()).then(|| order_int_float(*value, *constant));
                self.keep_ordered(values.iter(), operator, order);
            }
            (PropertyRun::Floats(values), Value::Int(constant)) if constant.unsigned_abs() <= EXACT_MAX => {
                let constant = *constant as f64;
                self.keep_ordered(values.iter(), operator, |value| value.partial_cmp(&constant));
            }
            (PropertyRun::Floats(values), Value::Int(constant)) => {
                let order =
                    |value: &f64| (!value.is_nan()).then(|| order_int_float(*constant, *value).reverse());
                self.keep_ordered(values.iter(), operator, order);
            }
            (PropertyRun::Integers(values), _) => {
                for value in values.iter() {
                    self.keep_if(holds(operator, PropertyRef::Int(value), constant, scope)?);
                }
            }
            (PropertyRun::Floats(values), _) => {
                for value in values.iter() {
                    self.keep_if(holds(operator, PropertyRef::Float(value), constant, scope)?);
                }
            }
            (PropertyRun::Codes(codes, dictionary), _) => {
                // Each text is looked at once.
                let mut known: Vec<Option<bool>> = vec![None; dictionary.len()];
                for code in codes.iter() {
                    let code = code as usize;
                    let passes = match known[code] {
                        Some(passes) => passes,
                        None => holds(operator, PropertyRef::Text(dictionary.get(code)), constant, scope)?,
                    };
                    known[code] = Some(passes);
                    self.keep_if(passes);
                }
            }
        }
        Ok(())
    }
    /// Keeps the next rows whose value stands to the constant as the operator says; where there is no order, unequal is all they are.
    fn keep_ordered<T>(
        &mut self,
        values: impl Iterator<Item = T>,
        operator: BinaryOperator,
        order: impl Fn(&T) -> Option<Ordering>,
    ) {
        for value in values {
            let passes = match order(&value) {
                Some(order) => operators::admits(operator, order),
                None => operator == BinaryOperator::NotEqual,
            };
            self.keep_if(passes);
        }
    }
    #[inline]
    fn keep_if(&mut self, passes: bool) {
        self.selected[self.kept] = self.rows[self.at];
        self.kept += usize::from(passes);
        self.at += 1;
    }
}

/// Is `value operator constant` true?
#[inline]
fn holds(
    operator: BinaryOperator,
    value: PropertyRef<'_>,
    constant: &Value,
    scope: &Scope<'_>,
) -> Result<bool, EvalError> {
    if let PropertyRef::Text(text) = value {
        metered::text(text.len())?;
    }
    Ok(match (value, constant) {
        (PropertyRef::Null, _) => false,
        (PropertyRef::Int(a), Value::Int(b)) => operators::admits(operator, a.cmp(b)),
        (PropertyRef::Text(a), Value::String(b)) => match operator {
            BinaryOperator::Equal => *a == **b,
            BinaryOperator::StartsWith => a.starts_with(&**b),
            BinaryOperator::EndsWith => a.ends_with(&**b),
            BinaryOperator::Contains => a.contains(&**b),
            _ => operators::admits(operator, a.cmp(b)),
        },
        (PropertyRef::Text(_), _) if operator == BinaryOperator::Equal => false,
        (value, constant) => {
            operators::binary(operator, &value.to_value(), constant, scope)?.as_bool() == Some(true)
        }
    })
}
