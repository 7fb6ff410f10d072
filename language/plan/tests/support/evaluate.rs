//! Expressions over one row, written for clarity.

use super::graph::Graph;
use super::run;
use model::{Value, compare};
use std::collections::BTreeMap;
use tanglewood_plan::Function;
use tanglewood_plan::expr::*;

pub type Row = BTreeMap<Var, Value>;

pub fn truth(graph: &Graph, row: &Row, predicate: &Expr) -> bool {
    evaluate(graph, row, predicate).as_bool() == Some(true)
}

pub fn evaluate(graph: &Graph, row: &Row, expr: &Expr) -> Value {
    let part = |part: &Expr| evaluate(graph, row, part);
    match expr {
        Expr::Literal(constant) => constant.0.clone(),
        Expr::Variable(var) => {
            row.get(var).unwrap_or_else(|| panic!("{var:?} is not bound in {row:?}")).clone()
        }
        Expr::Property(subject, key) => graph.property(&part(subject), key),
        Expr::HasLabels(subject, labels) => match part(subject) {
            Value::Vertex(vertex) => Value::Bool(graph.has(vertex, labels)),
            _ => Value::Null,
        },
        Expr::Unary(UnaryOperator::Not, a) => logic(part(a).as_bool().map(|truth| !truth)),
        Expr::Unary(UnaryOperator::Negate, a) => match part(a) {
            Value::Int(a) => Value::Int(a.wrapping_neg()),
            Value::Float(a) => Value::Float(-a),
            _ => Value::Null,
        },
        Expr::Unary(UnaryOperator::IsNull, a) => Value::Bool(part(a).is_null()),
        Expr::Unary(UnaryOperator::IsNotNull, a) => Value::Bool(!part(a).is_null()),
        Expr::Binary(operator, a, b) => binary(*operator, part(a), part(b)),
        Expr::Call(function, arguments) => call(*function, arguments.iter().map(part).collect()),
        Expr::List(items) => Value::list(items.iter().map(part).collect()),
        Expr::Index(list, index) => match (part(list), part(index)) {
            (Value::List(items), Value::Int(index)) => items[index as usize].clone(),
            _ => Value::Null,
        },
        Expr::Case { operand: None, arms, otherwise } => {
            let arm = arms.iter().find(|(when, _)| truth(graph, row, when));
            arm.map(|(_, then)| part(then))
                .or(otherwise.as_ref().map(|otherwise| part(otherwise)))
                .unwrap_or(Value::Null)
        }
        Expr::PathOf(vars) => path(vars.iter().map(|var| row[var].clone()).collect()),
        Expr::EdgesDistinct(vars) => Value::Bool(distinct(vars.iter().map(|var| &row[var]))),
        Expr::Subquery(subquery) => {
            let outer = subquery.imports.iter().map(|var| (*var, row[var].clone())).collect();
            let rows = run::run(graph, &subquery.plan, &outer);
            match subquery.kind {
                SubqueryKind::Exists => Value::Bool(!rows.is_empty()),
                SubqueryKind::Count => Value::Int(rows.len() as i64),
                SubqueryKind::Collect(column) => {
                    sorted(rows.iter().map(|row| row[&column].clone()).collect())
                }
            }
        }
        other => with_locals(graph, row, other),
    }
}

fn with_locals(graph: &Graph, row: &Row, expr: &Expr) -> Value {
    let elements = |list: &Expr| match evaluate(graph, row, list) {
        Value::List(items) => Some(items.to_vec()),
        _ => None,
    };
    let with = |variable: Var, value: &Value| {
        let mut inner = row.clone();
        inner.insert(variable, value.clone());
        inner
    };
    match expr {
        Expr::Comprehension { variable, list, predicate, map } => {
            let Some(items) = elements(list) else { return Value::Null };
            let rows = items.iter().map(|item| with(*variable, item));
            let kept = rows.filter(|row| predicate.as_ref().is_none_or(|test| truth(graph, row, test)));
            let mapped =
                kept.map(|row| map.as_ref().map_or(row[variable].clone(), |map| evaluate(graph, &row, map)));
            Value::list(mapped.collect())
        }
        Expr::Quantified { quantifier, variable, list, predicate } => {
            let Some(items) = elements(list) else { return Value::Null };
            let answer = |item: &Value| evaluate(graph, &with(*variable, item), predicate).as_bool();
            let answers: Vec<Option<bool>> = items.iter().map(answer).collect();
            let (yes, no) = (answers.contains(&Some(true)), answers.contains(&Some(false)));
            let unknown = answers.contains(&None);
            logic(match quantifier {
                Quantifier::All => (no || !unknown).then_some(!no),
                Quantifier::Any => (yes || !unknown).then_some(yes),
                Quantifier::None => (yes || !unknown).then_some(!yes),
                Quantifier::Single => {
                    let count = answers.iter().filter(|answer| **answer == Some(true)).count();
                    (count > 1 || !unknown).then_some(count == 1)
                }
            })
        }
        Expr::Reduce { accumulator, initial, variable, list, body } => {
            let Some(items) = elements(list) else { return Value::Null };
            items.iter().fold(evaluate(graph, row, initial), |so_far, item| {
                let mut inner = with(*variable, item);
                inner.insert(*accumulator, so_far);
                evaluate(graph, &inner, body)
            })
        }
        other => panic!("the evaluator does not know {other:?}"),
    }
}

/// Collected lists have no order here.
pub fn sorted(mut values: Vec<Value>) -> Value {
    values.sort_by(compare::total_order);
    Value::list(values)
}

fn logic(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

fn binary(operator: BinaryOperator, a: Value, b: Value) -> Value {
    use BinaryOperator::*;
    let (x, y) = (a.as_bool(), b.as_bool());
    let order = || compare::compare(&a, &b);
    match operator {
        And => logic(if x == Some(false) || y == Some(false) { Some(false) } else { x.and(y) }),
        Or => logic(if x == Some(true) || y == Some(true) { Some(true) } else { x.and(y) }),
        Equal => logic(compare::equals(&a, &b)),
        NotEqual => logic(compare::equals(&a, &b).map(|equal| !equal)),
        Less => logic(order().map(|order| order.is_lt())),
        LessEqual => logic(order().map(|order| order.is_le())),
        Greater => logic(order().map(|order| order.is_gt())),
        GreaterEqual => logic(order().map(|order| order.is_ge())),
        In => match &b {
            Value::List(items) if a.is_null() => logic(items.is_empty().then_some(false)),
            Value::List(items) => {
                let hit = items.iter().any(|item| compare::equals(&a, item) == Some(true));
                let unknown = items.iter().any(|item| compare::equals(&a, item).is_none());
                logic((hit || !unknown).then_some(hit))
            }
            _ => Value::Null,
        },
        Xor => logic(x.zip(y).map(|(x, y)| x != y)),
        Add | Subtract | Multiply => match (a, b) {
            (Value::Int(a), Value::Int(b)) => Value::Int(match operator {
                Add => a.wrapping_add(b),
                Subtract => a.wrapping_sub(b),
                _ => a.wrapping_mul(b),
            }),
            (Value::Float(a), Value::Float(b)) => Value::Float(match operator {
                Add => a + b,
                Subtract => a - b,
                _ => a * b,
            }),
            (Value::String(a), Value::String(b)) if operator == Add => Value::string(format!("{a}{b}")),
            _ => Value::Null,
        },
        other => panic!("the evaluator does not know {other:?}"),
    }
}

fn call(function: Function, mut arguments: Vec<Value>) -> Value {
    let first = arguments.remove(0);
    match (function, first) {
        (_, Value::Null) => Value::Null,
        (Function::Id, Value::Vertex(vertex)) => Value::Int(vertex.0 as i64),
        (Function::Relationships, Value::List(items)) => Value::List(items),
        (Function::Size | Function::Length, Value::List(items)) => Value::Int(items.len() as i64),
        other => panic!("the evaluator does not know {other:?}"),
    }
}

/// A path is the list of its edges here; null if any part is.
fn path(parts: Vec<Value>) -> Value {
    if parts.iter().any(Value::is_null) {
        return Value::Null;
    }
    Value::list(parts.iter().skip(1).step_by(2).flat_map(edges_of).collect())
}

fn edges_of(value: &Value) -> Vec<Value> {
    match value {
        Value::List(items) => items.to_vec(),
        single => vec![single.clone()],
    }
}

pub fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> bool {
    let all: Vec<Value> = values.flat_map(edges_of).collect();
    (0..all.len()).all(|i| (0..i).all(|j| !compare::equivalent(&all[i], &all[j])))
}
