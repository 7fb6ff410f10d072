//! Shared by both codecs of bytecode: predicates by name, and traversals of instructions.

use crate::limits::PREDICATE_DEPTH_MAX;
use crate::{Argument, Cardinality, Object, Predicate, Traversal};
use std::collections::HashSet;
use std::sync::Arc;

/// An instruction: its name as a driver writes it, and its arguments.
pub type Written<'m> = (&'m str, Vec<Argument>);

/// The predicate of a name: made from predicates (`and`, `or`, `not`), or from values.
///
/// # Errors
/// There is none with such arguments; the error describes the fault.
pub fn predicate(name: &str, arguments: Vec<Argument>) -> Result<Predicate, String> {
    if !matches!(name, "and" | "or" | "not" | "negate") {
        let values = arguments.into_iter().map(|argument| match argument {
            Argument::Value(value) => Ok(value),
            _ => Err(format!("P.{name} takes values")),
        });
        let made = Predicate::of(name, values.collect::<Result<_, _>>()?);
        return made.ok_or_else(|| format!("there is no P.{name} with such arguments"));
    }
    if arguments.len() > PREDICATE_DEPTH_MAX {
        return Err(format!(
            "P.{name} joins more than {PREDICATE_DEPTH_MAX} predicates: values belong into P.within"
        ));
    }
    let nested = arguments.into_iter().map(|argument| match argument {
        Argument::Predicate(predicate) => Ok(predicate),
        _ => Err(format!("P.{name} takes predicates")),
    });
    let joined = nested.collect::<Result<Vec<_>, _>>()?.into_iter().reduce(|left, right| match name {
        "and" => left.and(right),
        _ => left.or(right),
    });
    if joined.as_ref().is_some_and(|joined| joined.depth() > PREDICATE_DEPTH_MAX) {
        return Err(format!(
            "predicates are joined more than {PREDICATE_DEPTH_MAX} deep: values belong into P.within"
        ));
    }
    match joined {
        Some(predicate) if name.starts_with('n') => Ok(predicate.negate()),
        Some(predicate) => Ok(predicate),
        None => Err(format!("P.{name} takes predicates")),
    }
}

/// A traversal of instructions, or a value with its cardinality, which drivers write as one.
pub fn traversal(sources: Vec<Written<'_>>, steps: Vec<Written<'_>>) -> Argument {
    if let [("CardinalityValueTraversal", arguments)] = &sources[..]
        && let [Argument::Value(Object::Token(token)), Argument::Value(value)] = &arguments[..]
        && let Some(cardinality) = Cardinality::of(*token)
    {
        return Object::Kept(Arc::new((cardinality, value.clone()))).into();
    }
    let begun = sources
        .into_iter()
        .fold(Traversal::new(), |traversal, (name, arguments)| traversal.with_source(plain(name), arguments));
    Argument::Traversal(
        steps
            .into_iter()
            .fold(begun, |traversal, (name, arguments)| traversal.with_step(plain(name), arguments)),
    )
}

/// Elements, each once, in the order they came. Told apart by their text, so that a large set of a hostile client costs no more than its
/// reading.
pub fn set(mut elements: Vec<Object>) -> Object {
    let mut known = HashSet::new();
    elements.retain(|element| known.insert(format!("{element:?}")));
    Object::Set(Arc::new(elements))
}

/// The name without the underscore of drivers whose language keeps it for itself.
fn plain(name: &str) -> &str {
    name.trim_end_matches('_')
}
