//! The operators of sacks, folds and side effects: two objects to one.

use crate::convert::{elements_of, set_of};
use crate::error::{Outcome, TraverseError};
use crate::number::Arithmetic::{Add, Divide, Multiply, Subtract};
use crate::number::calculate;
use crate::ordered::{Ordered, put_in_bag};
use crate::pieces::metered;
use gremlin::{Object, Token};
use std::sync::Arc;

/// Puts one object to another by an operator of a sack or side effect.
pub(crate) fn operate(operator: Token, left: &Object, right: &Object) -> Outcome<Object> {
    let truth = |object: &Object| match object {
        Object::Bool(truth) => Ok(*truth),
        other => {
            Err(TraverseError::step("sack", format!("{other} is a {}, not a truth value", other.type_name())))
        }
    };
    if *left == Object::Null && matches!(operator, Token::Sum | Token::Mult | Token::Minus | Token::Div) {
        return Ok(right.clone());
    }
    Ok(match operator {
        Token::Sum | Token::SumLong => calculate("sum", Add, left, right)?,
        Token::Minus => calculate("minus", Subtract, left, right)?,
        Token::Mult => calculate("mult", Multiply, left, right)?,
        Token::Div => calculate("div", Divide, left, right)?,
        Token::Min if crate::compare::order(right, left).is_lt() => right.clone(),
        Token::Max if crate::compare::order(right, left).is_gt() => right.clone(),
        Token::Min | Token::Max => left.clone(),
        Token::And => Object::Bool(truth(left)? && truth(right)?),
        Token::Or => Object::Bool(truth(left)? || truth(right)?),
        Token::AddAll => add_all(left, right)?,
        _ => right.clone(),
    })
}

/// All elements of both.
fn add_all(left: &Object, right: &Object) -> Outcome<Object> {
    let added = |object: &Object| elements_of(object).unwrap_or_else(|| vec![object.clone()]);
    Ok(match (left, right) {
        (Object::Map(pairs), Object::Map(more)) => {
            let mut all = Ordered::<Object>::default();
            for (key, value) in metered(pairs.iter().chain(more.iter())) {
                *all.at(key) = value.clone();
            }
            all.into_map()?
        }
        (Object::Set(elements), _) => set_of(elements.iter().cloned().chain(added(right))),
        (Object::Bulk(elements), _) => {
            let mut bag = Ordered::<u64>::default();
            let more: Vec<(Object, u64)> = match right {
                Object::Bulk(more) => metered(more.iter()).cloned().collect(),
                other => added(other).into_iter().map(|element| (element, 1)).collect(),
            };
            for (element, count) in metered(elements.iter().chain(more.iter())) {
                put_in_bag(&mut bag, element, *count)?;
            }
            Object::Bulk(Arc::new(bag.items.into_vec()?))
        }
        _ => Object::list(metered(added(left).into_iter().chain(added(right))).collect()),
    })
}
