//! Filters as expressions. A property that is not there is null, and no comparison with null holds, as no `has` does.

use super::{asked, binary, integer, is_there, label_token, not};
use crate::object::Object;
use crate::predicate::{Compare, Predicate, TextTest};
use crate::traversal::{Argument, Instruction};
use model::Value;
use plan::expr::{BinaryOperator, Constant, Name};
use plan::{Expr, Function, LabelExpr, Var};

/// All arguments as names.
pub(super) fn names(arguments: &[Argument]) -> Option<Vec<Name>> {
    arguments.iter().map(|argument| argument.value().and_then(Object::as_str).map(Name::from)).collect()
}

pub(super) fn whole(step: &Instruction, at: usize) -> Option<i64> {
    // a scope in front is another step's matter
    step.arguments
        .get(at)
        .filter(|_| step.arguments.len() <= 2)
        .and_then(Argument::value)
        .and_then(Object::as_long)
}

/// The vertex has one of these ids.
pub(super) fn ids(vertex: Var, arguments: &[Argument]) -> Option<Expr> {
    let ids =
        arguments.iter().map(|argument| argument.value().and_then(Object::as_long).filter(|id| *id >= 0));
    let ids = ids.map(|id| id.map(integer)).collect::<Option<Vec<_>>>()?;
    // an id that is given twice is found twice
    let differ = ids.iter().enumerate().all(|(place, id)| !ids[..place].contains(id));
    let id = Expr::Call(Function::Id, vec![Expr::Variable(vertex)]);
    differ.then(|| match ids.as_slice() {
        [only] => binary(BinaryOperator::Equal, id.clone(), only.clone()),
        _ => binary(BinaryOperator::In, id.clone(), Expr::List(ids.clone())),
    })
}

/// The labels that `hasLabel`, `has(label, key, value)` and `has(T.label, …)` ask for.
pub(super) fn labels(step: &Instruction) -> Option<LabelExpr> {
    let arguments = match (&*step.name, step.arguments.as_slice()) {
        ("hasLabel", all) => all,
        ("has", [label, _, _]) => std::slice::from_ref(label),
        ("has", [token, label]) if label_token(token) => std::slice::from_ref(label),
        _ => return None,
    };
    let names = names(arguments)?;
    // several labels of one vertex are one name to Gremlin
    let plain = names.iter().all(|name| !name.contains("::"));
    let each = names.into_iter().map(LabelExpr::Has);
    each.reduce(|left, right| LabelExpr::Or(Box::new(left), Box::new(right))).filter(|_| plain)
}

/// `key`, `predicate`
pub(super) fn property_test(subject: Var, key: &Name, argument: &Argument) -> Option<Expr> {
    holds(super::property(subject, key), argument)
}

pub(super) fn property(subject: Var, arguments: &[Argument]) -> Option<Expr> {
    match arguments {
        [Argument::Value(Object::String(key)), argument] => property_test(subject, key, argument),
        _ => None,
    }
}

/// A filter that looks at nothing but one element.
pub(super) fn of_element(subject: Var, step: &Instruction) -> Option<Expr> {
    match (&*step.name, step.arguments.as_slice()) {
        ("has", [Argument::Value(Object::String(key))]) => Some(is_there(super::property(subject, key))),
        ("has", [Argument::Value(Object::String(key)), argument]) => property_test(subject, key, argument),
        ("hasNot", [Argument::Value(Object::String(key))]) => {
            Some(not(is_there(super::property(subject, key))))
        }
        ("hasLabel", _) => {
            let labels = labels(step)?;
            Some(Expr::HasLabels(Box::new(Expr::Variable(subject)), labels))
        }
        _ => None,
    }
}

/// What a predicate says of an expression; none where the algebra has no exact equal.
pub(super) fn holds(subject: Expr, argument: &Argument) -> Option<Expr> {
    of_predicate(&subject, &asked(argument)?)
}

fn of_predicate(subject: &Expr, predicate: &Predicate) -> Option<Expr> {
    let compare = |operator: BinaryOperator, value: &Object| {
        Some(binary(operator, subject.clone(), Expr::Literal(Constant(plain(value)?))))
    };
    match predicate {
        Predicate::Compare(how, value) => compare(operator(*how), value),
        Predicate::Within(values) => Some(binary(BinaryOperator::In, subject.clone(), list(values)?)),
        Predicate::Without(values) => {
            let inside = binary(BinaryOperator::In, subject.clone(), list(values)?);
            Some(binary(BinaryOperator::And, is_there(subject.clone()), not(inside)))
        }
        Predicate::Between(low, high) => Some(binary(
            BinaryOperator::And,
            compare(BinaryOperator::GreaterEqual, low)?,
            compare(BinaryOperator::Less, high)?,
        )),
        Predicate::Inside(low, high) => Some(binary(
            BinaryOperator::And,
            compare(BinaryOperator::Greater, low)?,
            compare(BinaryOperator::Less, high)?,
        )),
        Predicate::Outside(low, high) => Some(binary(
            BinaryOperator::Or,
            compare(BinaryOperator::Less, low)?,
            compare(BinaryOperator::Greater, high)?,
        )),
        Predicate::Text(test, value @ Object::String(_), false) => compare(
            match test {
                TextTest::StartingWith => BinaryOperator::StartsWith,
                TextTest::EndingWith => BinaryOperator::EndsWith,
                TextTest::Containing => BinaryOperator::Contains,
                TextTest::Regex => return None,
            },
            value,
        ),
        Predicate::And(left, right) => {
            let (left, right) = (of_predicate(subject, left)?, of_predicate(subject, right)?);
            Some(binary(BinaryOperator::And, left, right))
        }
        Predicate::Or(left, right) => {
            let (left, right) = (of_predicate(subject, left)?, of_predicate(subject, right)?);
            Some(binary(BinaryOperator::Or, left, right))
        }
        Predicate::Text(..) | Predicate::TypeOf(_) | Predicate::Not(_) => None,
    }
}

fn operator(how: Compare) -> BinaryOperator {
    match how {
        Compare::Eq => BinaryOperator::Equal,
        Compare::Neq => BinaryOperator::NotEqual,
        Compare::Lt => BinaryOperator::Less,
        Compare::Lte => BinaryOperator::LessEqual,
        Compare::Gt => BinaryOperator::Greater,
        Compare::Gte => BinaryOperator::GreaterEqual,
    }
}

fn list(values: &[Object]) -> Option<Expr> {
    let values = values.iter().map(|value| plain(value).map(|value| Expr::Literal(Constant(value))));
    values.collect::<Option<Vec<_>>>().map(Expr::List)
}

/// A value that means the same on both sides.
fn plain(value: &Object) -> Option<Value> {
    Some(match value {
        Object::Bool(truth) => Value::Bool(*truth),
        Object::Byte(_) | Object::Short(_) | Object::Int(_) | Object::Long(_) => Value::Int(value.as_long()?),
        Object::Double(number) if !number.is_nan() => Value::Float(*number),
        Object::String(text) => Value::String(text.clone()),
        _ => return None,
    })
}
