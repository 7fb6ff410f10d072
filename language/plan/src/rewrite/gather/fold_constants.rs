//! Rewrite `fold_constants`: expressions over constants alone are computed here, once.
//!
//! Sound because an expression is replaced only by the value it would have; one that would fail (overflow, a wrong type) is left for the row that
//! meets it, so that a plan never fails where the query would not. Also `x = 1 OR x = 2` becomes `x IN [1, 2]`,
//! equal in all three truth values, so that an index can serve it. Cost: linear in the expressions.

use crate::algebra::*;
use crate::expr::*;
use model::{Value, compare};
use std::cmp::Ordering;

/// Folds all expressions of a plan (those of sub-queries are folded where they are lifted).
pub(crate) fn fold_constants(plan: &mut Plan) {
    for child in plan.children_mut() {
        fold_constants(child)
    }
    plan.expressions_mut(&mut fold);
    if let Plan::Filter(node) = plan {
        let predicate = std::mem::replace(&mut node.predicate, Expr::literal(true));
        let conjuncts: Vec<Expr> = predicate.conjuncts().into_iter().filter(|part| !is_true(part)).collect();
        if conjuncts.is_empty() {
            *plan = node.input.take();
        } else {
            node.predicate = Expr::all(conjuncts)
        }
    } else if let Plan::Match(node) = plan {
        node.pattern.predicates.retain(|part| !is_true(part))
    }
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(Constant(Value::Bool(true))))
}

fn fold(expr: &mut Expr) {
    if let Expr::Subquery(subquery) = expr {
        return fold_constants(&mut subquery.plan);
    }
    expr.children_mut(&mut fold);
    let folded = match expr {
        Expr::Unary(operator, a) => constant(a).and_then(|a| unary(*operator, a)),
        Expr::Binary(BinaryOperator::Or, a, b) => match (constant(a), constant(b)) {
            (Some(a), Some(b)) => binary(BinaryOperator::Or, a, b),
            _ => return in_list(expr),
        },
        Expr::Binary(operator, a, b) => match (constant(a), constant(b)) {
            (Some(a), Some(b)) => binary(*operator, a, b),
            _ => None,
        },
        Expr::List(items) => {
            let values: Option<Vec<Value>> = items.iter().map(|item| constant(item).cloned()).collect();
            values.map(Value::list)
        }
        _ => None,
    };
    if let Some(value) = folded {
        *expr = Expr::literal(value)
    }
}

fn constant(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Literal(constant) => Some(&constant.0),
        _ => None,
    }
}

fn unary(operator: UnaryOperator, a: &Value) -> Option<Value> {
    match (operator, a) {
        (UnaryOperator::IsNull, a) => Some(Value::Bool(a.is_null())),
        (UnaryOperator::IsNotNull, a) => Some(Value::Bool(!a.is_null())),
        (UnaryOperator::Not, Value::Bool(a)) => Some(Value::Bool(!a)),
        (UnaryOperator::Not, Value::Null) => Some(Value::Null),
        (UnaryOperator::Negate, Value::Int(a)) => a.checked_neg().map(Value::Int),
        (UnaryOperator::Negate, Value::Float(a)) => Some(Value::Float(-a)),
        _ => None,
    }
}

fn binary(operator: BinaryOperator, a: &Value, b: &Value) -> Option<Value> {
    use BinaryOperator::*;
    match operator {
        And | Or => logic(operator, a, b),
        Equal => Some(truth(compare::equals(a, b))),
        NotEqual => Some(truth(compare::equals(a, b).map(|equal| !equal))),
        Less | LessEqual | Greater | GreaterEqual => {
            let numbers = |value: &Value| matches!(value, Value::Int(_));
            let texts = |value: &Value| matches!(value, Value::String(_));
            let plain = numbers(a) && numbers(b) || texts(a) && texts(b);
            let order = plain.then(|| compare::compare(a, b)).flatten()?;
            Some(Value::Bool(match operator {
                Less => order == Ordering::Less,
                LessEqual => order != Ordering::Greater,
                Greater => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }))
        }
        Add | Subtract | Multiply => match (a, b) {
            (Value::Int(a), Value::Int(b)) => integers(operator, *a, *b).map(Value::Int),
            (Value::Float(a), Value::Float(b)) => Some(Value::Float(match operator {
                Add => a + b,
                Subtract => a - b,
                _ => a * b,
            })),
            (Value::String(a), Value::String(b)) if operator == Add => Some(Value::string(format!("{a}{b}"))),
            _ => None,
        },
        _ => None,
    }
}

fn integers(operator: BinaryOperator, a: i64, b: i64) -> Option<i64> {
    match operator {
        BinaryOperator::Add => a.checked_add(b),
        BinaryOperator::Subtract => a.checked_sub(b),
        _ => a.checked_mul(b),
    }
}

fn truth(value: Option<bool>) -> Value {
    value.map_or(Value::Null, Value::Bool)
}

fn logic(operator: BinaryOperator, a: &Value, b: &Value) -> Option<Value> {
    let known = |value: &Value| match value {
        Value::Bool(value) => Some(Some(*value)),
        Value::Null => Some(None),
        _ => None,
    };
    let decides = operator == BinaryOperator::Or;
    Some(match (known(a)?, known(b)?) {
        (Some(a), _) if a == decides => Value::Bool(decides),
        (_, Some(b)) if b == decides => Value::Bool(decides),
        (Some(_), Some(_)) => Value::Bool(!decides),
        _ => Value::Null,
    })
}

/// `x = 1 OR x = 2` and `x IN [1] OR x = 2`, for constants that are not lists (an element that is null keeps its meaning).
fn in_list(expr: &mut Expr) {
    let Expr::Binary(BinaryOperator::Or, left, right) = expr else { return };
    let (Some((a, mut list)), Some((b, more))) = (choices(left), choices(right)) else { return };
    if a != b || crate::rewrite::substitute::is_volatile(a) || crate::rewrite::substitute::has_subquery(a) {
        return;
    }
    list.extend(more);
    if let Ok(list) = Value::try_list(list) {
        *expr = Expr::binary(BinaryOperator::In, a.clone(), Expr::literal(list));
    }
}

fn choices(expr: &Expr) -> Option<(&Expr, Vec<Value>)> {
    let Expr::Binary(operator, subject, value) = expr else { return None };
    if constant(subject).is_some() {
        return None;
    }
    match (operator, constant(value)?) {
        (BinaryOperator::Equal, value) => Some((subject, vec![value.clone()])),
        (BinaryOperator::In, Value::List(values)) => Some((subject, values.to_vec())),
        _ => None,
    }
}
