//! Filters as expressions. A property that is not there is null, and no comparison with null holds, as no `has` does.

use super::{Lowering, binary, integer, is_there, not, property};
use crate::object::Object;
use crate::predicate::{Compare, Predicate, TextTest};
use crate::shape::{Constant, parameter, plain};
use crate::token::Token;
use crate::traversal::{Argument, Instruction};
use plan::expr::{BinaryOperator, Constant as Literal, Name};
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

/// The labels that `hasLabel`, `has(label, key, value)` and `has(T.label, …)` ask for.
pub(super) fn labels(step: &Instruction) -> Option<LabelExpr> {
    let label_token = |argument: &Argument| *argument == Argument::Value(Object::Token(Token::TLabel));
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

impl Lowering<'_> {
    /// A value that the traversal gives: a parameter, if it is one of its constants.
    pub(super) fn constant(&self, value: &Object) -> Option<Expr> {
        let is_it =
            |constant: &Constant<'_>| matches!(constant, Constant::One(one) if std::ptr::eq(*one, value));
        match self.constants.iter().position(is_it) {
            Some(place) => Some(Expr::Parameter(parameter(place).into())),
            None => Some(Expr::Literal(Literal(plain(value)?))),
        }
    }
    fn list(&self, values: &[Object]) -> Option<Expr> {
        let is_it =
            |constant: &Constant<'_>| matches!(constant, Constant::Many(many) if std::ptr::eq(*many, values));
        match self.constants.iter().position(is_it).filter(|_| !values.is_empty()) {
            Some(place) => Some(Expr::Parameter(parameter(place).into())),
            None => {
                let values =
                    values.iter().map(|value| plain(value).map(|value| Expr::Literal(Literal(value))));
                values.collect::<Option<Vec<_>>>().map(Expr::List)
            }
        }
    }

    /// The vertex has one of these ids.
    pub(super) fn ids(&self, vertex: Var, arguments: &[Argument]) -> Option<Expr> {
        let number = |argument: &Argument| argument.value().and_then(Object::as_long).filter(|id| *id >= 0);
        let numbers = arguments.iter().map(number).collect::<Option<Vec<_>>>()?;
        let id = Expr::Call(Function::Id, vec![Expr::Variable(vertex)]);
        if let [Argument::Value(only)] = arguments {
            return Some(binary(BinaryOperator::Equal, id, self.constant(only)?));
        }
        // an id that is given twice is found twice
        let differ = numbers.iter().enumerate().all(|(place, id)| !numbers[..place].contains(id));
        let all = numbers.into_iter().map(integer).collect();
        differ.then(|| binary(BinaryOperator::In, id, Expr::List(all)))
    }

    /// `key`, `predicate`
    pub(super) fn property_test(&mut self, subject: Var, arguments: &[Argument]) -> Option<Expr> {
        match arguments {
            [Argument::Value(Object::String(key)), argument] => {
                let value = property(Expr::Variable(subject), key);
                let test = self.holds(&value, argument)?;
                if is_typed(argument) {
                    self.uniform.push(value);
                }
                Some(test)
            }
            _ => None,
        }
    }

    /// A filter that looks at nothing but one element.
    pub(super) fn of_element(&mut self, subject: Var, step: &Instruction) -> Option<Expr> {
        let at = |key: &Name| is_there(property(Expr::Variable(subject), key));
        match (&*step.name, step.arguments.as_slice()) {
            ("has", [Argument::Value(Object::String(key))]) => Some(at(key)),
            ("has", both @ [Argument::Value(Object::String(_)), _]) => self.property_test(subject, both),
            ("hasNot", [Argument::Value(Object::String(key))]) => Some(not(at(key))),
            ("hasLabel", _) => Some(Expr::HasLabels(Box::new(Expr::Variable(subject)), labels(step)?)),
            _ => None,
        }
    }

    /// A predicate on an expression; none where the algebra has no exact equivalent.
    pub(super) fn holds(&self, subject: &Expr, argument: &Argument) -> Option<Expr> {
        match argument {
            Argument::Predicate(predicate) => {
                self.says(subject, predicate, &|value| self.constant(value), &|values| self.list(values))
            }
            Argument::Value(value) => {
                Some(binary(BinaryOperator::Equal, subject.clone(), self.constant(value)?))
            }
            _ => None,
        }
    }

    /// Likewise, where the predicate's values stand for something.
    pub(super) fn says(
        &self,
        subject: &Expr,
        predicate: &Predicate,
        one: &dyn Fn(&Object) -> Option<Expr>,
        many: &dyn Fn(&[Object]) -> Option<Expr>,
    ) -> Option<Expr> {
        let compare =
            |operator: BinaryOperator, value: &Object| Some(binary(operator, subject.clone(), one(value)?));
        let two =
            |how: BinaryOperator, left: Option<Expr>, right: Option<Expr>| Some(binary(how, left?, right?));
        use BinaryOperator::{And, Greater, GreaterEqual, In, Less, Or};
        match predicate {
            Predicate::Compare(how, value) => compare(operator(*how), value),
            Predicate::Within(values) => Some(binary(In, subject.clone(), many(values)?)),
            Predicate::Without(values) => {
                let inside = binary(In, subject.clone(), many(values)?);
                Some(binary(And, is_there(subject.clone()), not(inside)))
            }
            Predicate::Between(low, high) => two(And, compare(GreaterEqual, low), compare(Less, high)),
            Predicate::Inside(low, high) => two(And, compare(Greater, low), compare(Less, high)),
            Predicate::Outside(low, high) => two(Or, compare(Less, low), compare(Greater, high)),
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
                two(And, self.says(subject, left, one, many), self.says(subject, right, one, many))
            }
            Predicate::Or(left, right) => {
                two(Or, self.says(subject, left, one, many), self.says(subject, right, one, many))
            }
            Predicate::Text(..) | Predicate::TypeOf(_) | Predicate::Not(_) => None,
        }
    }
}

/// Does the predicate imply that the value is of one type? The type of a constant is not known, since it is a parameter; any is one.
fn is_typed(argument: &Argument) -> bool {
    match argument {
        Argument::Value(_) => true,
        Argument::Predicate(predicate) => typed(predicate),
        _ => false,
    }
}

fn typed(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Compare(how, _) => *how != Compare::Neq,
        Predicate::Between(..) | Predicate::Inside(..) | Predicate::Text(_, _, false) => true,
        Predicate::And(left, right) => typed(left) || typed(right),
        _ => false,
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
