//! The shape of a traversal: the rest of it without the constants of its look-ups.
//!
//! Idea: traversals that differ only in such constants (`has('id', 7)` and `has('id', 8)`) share one plan, in which each constant is a
//! parameter. Which places of a traversal may hold one is said here, once, by [`constants`]; [`hash`] and [`is_same`] look at all the
//! rest. Invariant: traversals of the same shape have as many constants, in the same order and of kinds that the algebra has.

use crate::object::Object;
use crate::predicate::Predicate;
use crate::traversal::{Argument, Instruction, Traversal};
use model::Value;
use std::hash::{BuildHasher, Hash, Hasher};

/// A constant of a look-up in a traversal.
#[derive(Clone, Copy, Debug)]
pub enum Constant<'t> {
    /// A value.
    One(&'t Object),
    /// The values of `within` and `without`.
    Many(&'t [Object]),
}

impl Constant<'_> {
    /// As the algebra has it.
    pub fn value(&self) -> Value {
        match self {
            Constant::One(object) => plain(object).unwrap_or_default(),
            Constant::Many(objects) => {
                Value::list(objects.iter().map(|object| plain(object).unwrap_or_default()).collect())
            }
        }
    }
}

/// A value that means the same in the algebra; none where it has none.
pub fn plain(value: &Object) -> Option<Value> {
    Some(match value {
        Object::Bool(truth) => Value::Bool(*truth),
        Object::Byte(_) | Object::Short(_) | Object::Int(_) | Object::Long(_) => Value::Int(value.as_long()?),
        Object::Double(number) if !number.is_nan() => Value::Float(*number),
        Object::String(text) => Value::String(text.clone()),
        _ => return None,
    })
}

/// The constants of a traversal, nested ones included, in the order written.
pub fn constants(traversal: &Traversal) -> Vec<Constant<'_>> {
    let mut found = Vec::new();
    visit(traversal, &mut |part| {
        if let Part::Constant(constant) = part {
            found.push(constant);
        }
    });
    found
}

/// The name of the parameter that stands for the constant at a place.
pub fn parameter(place: usize) -> String {
    format!(" constant{place}")
}

/// Of all but the constants.
pub fn hash(traversal: &Traversal) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    visit(traversal, &mut |part| match part {
        // not zero: the hasher does not see one at the end
        Part::Constant(constant) => (1 + u8::from(matches!(constant, Constant::One(_)))).hash(&mut hasher),
        Part::Name(name) => name.hash(&mut hasher),
        Part::Value(object) => hash_object(object, &mut hasher),
        Part::Mark(mark) => mark.hash(&mut hasher),
    });
    hasher.finish()
}

fn hash_object(object: &Object, hasher: &mut impl Hasher) {
    match object {
        Object::String(text) => text.hash(hasher),
        Object::Token(token) => token.hash(hasher),
        Object::Double(number) => number.to_bits().hash(hasher),
        other => (std::mem::discriminant(other), other.as_long()).hash(hasher),
    }
}

/// Do two traversals differ in nothing but their constants?
pub fn is_same(a: &Traversal, b: &Traversal) -> bool {
    let same = |a: &[Instruction], b: &[Instruction]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_instruction(a, b))
    };
    same(&a.source, &b.source) && same(&a.steps, &b.steps)
}

fn same_instruction(a: &Instruction, b: &Instruction) -> bool {
    let arguments = a.arguments.iter().zip(&b.arguments).enumerate();
    let holds = holds_constants(a);
    a.name == b.name
        && a.arguments.len() == b.arguments.len()
        && arguments
            .into_iter()
            .all(|(at, (one, other))| same_argument(one, other, holds.is_some_and(|from| at >= from)))
        && holds == holds_constants(b)
}

fn same_argument(a: &Argument, b: &Argument, constant: bool) -> bool {
    match (a, b) {
        (Argument::Traversal(a), Argument::Traversal(b)) => is_same(a, b),
        (Argument::Value(a), Argument::Value(b)) if constant && is_constant(a) && is_constant(b) => true,
        (Argument::Predicate(a), Argument::Predicate(b)) if constant => same_predicate(a, b),
        // equal, yet two values: the sign of nothing is in the plan
        (Argument::Value(Object::Double(a)), Argument::Value(Object::Double(b))) => {
            a.to_bits() == b.to_bits()
        }
        (a, b) => a == b,
    }
}

fn same_predicate(a: &Predicate, b: &Predicate) -> bool {
    let same = |a: &Object, b: &Object| if is_constant(a) { is_constant(b) } else { a == b };
    match (a, b) {
        (Predicate::Compare(how, a), Predicate::Compare(other, b)) => how == other && same(a, b),
        (Predicate::Within(a), Predicate::Within(b)) | (Predicate::Without(a), Predicate::Without(b)) => {
            if are_constants(a) {
                are_constants(b)
            } else {
                a == b
            }
        }
        (Predicate::Between(a, c), Predicate::Between(b, d))
        | (Predicate::Inside(a, c), Predicate::Inside(b, d))
        | (Predicate::Outside(a, c), Predicate::Outside(b, d)) => same(a, b) && same(c, d),
        (Predicate::Text(test, a, negated), Predicate::Text(other, b, too)) => {
            // the algebra has these for text alone
            let kind = a.as_str().is_some() == b.as_str().is_some();
            (test, negated) == (other, too) && kind && same(a, b)
        }
        (Predicate::And(a, c), Predicate::And(b, d)) | (Predicate::Or(a, c), Predicate::Or(b, d)) => {
            same_predicate(a, b) && same_predicate(c, d)
        }
        (a, b) => a == b,
    }
}

/// A part of a traversal.
enum Part<'t> {
    Constant(Constant<'t>),
    Name(&'t str),
    Value(&'t Object),
    Mark(u8),
}

fn is_constant(object: &Object) -> bool {
    matches!(
        object,
        Object::Bool(_)
            | Object::Byte(_)
            | Object::Short(_)
            | Object::Int(_)
            | Object::Long(_)
            | Object::String(_)
    ) || matches!(object, Object::Double(number) if !number.is_nan())
}

/// An empty list is none: nothing is looked up with it, and its plan says so.
fn are_constants(objects: &[Object]) -> bool {
    !objects.is_empty() && objects.iter().all(is_constant)
}

/// From which argument on a step's values are constants.
pub(crate) fn holds_constants(step: &Instruction) -> Option<usize> {
    match (&*step.name, step.arguments.as_slice()) {
        // whether there is anything is asked with these two: they are part of what is asked
        ("is", [argument]) if says_none_or_one(argument) => None,
        ("is", [_]) | ("all" | "any" | "none", [_]) => Some(0),
        ("has", [Argument::Value(Object::String(_)), _]) => Some(1),
        ("has", [Argument::Value(Object::String(_)), Argument::Value(Object::String(_)), _]) => Some(2),
        // several ids may be one id twice
        ("V" | "hasId", [Argument::Value(Object::Int(id))]) if *id >= 0 => Some(0),
        ("V" | "hasId", [Argument::Value(Object::Long(id))]) if *id >= 0 => Some(0),
        _ => None,
    }
}

/// Is it compared with 0 or 1?
fn says_none_or_one(argument: &Argument) -> bool {
    let is_it = |object: &Object| matches!(object.as_long(), Some(0 | 1));
    match argument {
        Argument::Value(value) => is_it(value),
        Argument::Predicate(predicate) => predicate.values().iter().any(|value| is_it(value)),
        _ => false,
    }
}

fn visit<'t>(traversal: &'t Traversal, see: &mut dyn FnMut(Part<'t>)) {
    for instruction in traversal.source.iter().chain(&traversal.steps) {
        see(Part::Name(&instruction.name));
        let from = holds_constants(instruction);
        for (at, argument) in instruction.arguments.iter().enumerate() {
            let constant = from.is_some_and(|from| at >= from);
            match argument {
                Argument::Value(value) if constant && is_constant(value) => {
                    see(Part::Constant(Constant::One(value)))
                }
                Argument::Value(value) => see(Part::Value(value)),
                Argument::Traversal(nested) => {
                    see(Part::Mark(1));
                    visit(nested, see);
                    see(Part::Mark(2));
                }
                Argument::Predicate(predicate) => visit_predicate(predicate, constant, see),
                Argument::Strategy(strategy) => see(Part::Name(&strategy.name)),
            }
        }
    }
}

fn visit_predicate<'t>(predicate: &'t Predicate, constant: bool, see: &mut dyn FnMut(Part<'t>)) {
    let one = |value: &'t Object, see: &mut dyn FnMut(Part<'t>)| {
        see(if constant && is_constant(value) {
            Part::Constant(Constant::One(value))
        } else {
            Part::Value(value)
        });
    };
    match predicate {
        Predicate::Compare(how, value) => {
            see(Part::Name(how.name()));
            one(value, see);
        }
        Predicate::Within(values) | Predicate::Without(values) => {
            see(Part::Mark(if matches!(predicate, Predicate::Within(_)) { 3 } else { 4 }));
            match constant && are_constants(values) {
                true => see(Part::Constant(Constant::Many(values))),
                false => values.iter().for_each(|value| see(Part::Value(value))),
            }
        }
        Predicate::Between(low, high) | Predicate::Inside(low, high) | Predicate::Outside(low, high) => {
            see(Part::Mark(match predicate {
                Predicate::Between(..) => 5,
                Predicate::Inside(..) => 6,
                _ => 7,
            }));
            one(low, see);
            one(high, see);
        }
        Predicate::Text(test, value, negated) => {
            see(Part::Mark(16 + 2 * *test as u8 + u8::from(*negated)));
            one(value, see);
        }
        Predicate::TypeOf(value) => see(Part::Value(value)),
        Predicate::And(left, right) | Predicate::Or(left, right) => {
            see(Part::Mark(if matches!(predicate, Predicate::And(..)) { 8 } else { 9 }));
            visit_predicate(left, constant, see);
            visit_predicate(right, constant, see);
        }
        Predicate::Not(inner) => {
            see(Part::Mark(10));
            visit_predicate(inner, false, see);
        }
    }
}
