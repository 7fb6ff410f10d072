//! `conjoin`, `combine`, `difference`, `disjunct`, `intersect`, `merge`, `product`: steps on lists, sets and maps.

use super::objects::{elements_of, set_of, shown};
use crate::compare::{Keyed, equal};
use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use crate::ordered::KeyNumbers;
use crate::pieces::metered;
use gremlin::Object;

pub(super) fn conjoin(object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let elements = incoming("conjoin", object)?;
    let Some(separator) = arguments.first().and_then(Object::as_str) else {
        return Err(TraverseError::step("conjoin", "Input delimiter to conjoin step can't be null."));
    };
    let parts: Vec<String> =
        metered(&elements).filter(|element| **element != Object::Null).map(shown).collect();
    match parts.is_empty() && !elements.is_empty() {
        true => Ok(Object::Null),
        false => Ok(Object::string(parts.join(separator))),
    }
}

fn incoming(name: &'static str, object: &Object) -> Outcome<Vec<Object>> {
    if *object == Object::Null {
        return Err(TraverseError::step(name, format!("Incoming traverser for {name} step can't be null.")));
    }
    elements_of(object).ok_or_else(|| {
        let kind = object.type_name();
        let message =
            format!("{name} step can only take an array or an Iterable type for incoming traversers, encountered {kind}");
        TraverseError::step(name, message)
    })
}

/// combine, difference, disjunct, intersect, merge, product.
pub(super) fn collections(name: &'static str, object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let given = arguments.first().unwrap_or(&Object::Null);
    if let ("merge", Object::Map(pairs)) = (name, object) {
        let Object::Map(more) = given else {
            let message = format!(
                "merge step expected provided argument to evaluate to a Map, encountered {}",
                given.type_name()
            );
            return Err(TraverseError::step(name, message));
        };
        return Ok(merged(pairs, more));
    }
    let left = incoming(name, object)?;
    let right = match given {
        Object::Map(_) if name == "merge" => {
            let message = "merge step type mismatch: expected argument to be Iterable but got Map";
            return Err(TraverseError::step(name, message));
        }
        Object::Null => {
            return Err(TraverseError::step(
                name,
                format!("Argument provided for {name} step can't be null."),
            ));
        }
        other => elements_of(other).ok_or_else(|| {
            let kind = other.type_name();
            let message = format!(
                "{name} step can only take an array or an Iterable as an argument, encountered {kind}"
            );
            TraverseError::step(name, message)
        })?,
    };
    let holds =
        |all: &[Object]| metered(all).map(|element| Keyed(element.clone())).collect::<KeyNumbers<_>>();
    Ok(match name {
        "combine" => Object::list(metered(left.into_iter().chain(right)).collect()),
        "merge" => set_of(left.into_iter().chain(right)),
        "difference" => {
            let right = holds(&right);
            set_of(metered(left).filter(|element| !right.contains(&Keyed(element.clone()))))
        }
        "intersect" => {
            let right = holds(&right);
            set_of(metered(left).filter(|element| right.contains(&Keyed(element.clone()))))
        }
        "disjunct" => {
            let (in_left, in_right) = (holds(&left), holds(&right));
            let alone = metered(left.into_iter().chain(right)).filter(|element| {
                let key = Keyed(element.clone());
                in_left.contains(&key) != in_right.contains(&key)
            });
            set_of(alone)
        }
        _ => product(&left, &right)?,
    })
}

fn merged(pairs: &[(Object, Object)], more: &[(Object, Object)]) -> Object {
    let mut all: Vec<_> = metered(pairs).cloned().collect();
    for (key, value) in more {
        match metered(&mut all).find(|(known, _)| equal(known, key)) {
            Some(pair) => pair.1 = value.clone(),
            None => all.push((key.clone(), value.clone())),
        }
    }
    Object::map(all)
}

fn product(left: &[Object], right: &[Object]) -> Outcome<Object> {
    if left.len().saturating_mul(right.len()) > COLLECTION_MAX {
        return Err(TraverseError::Limit(format!("product makes more than {COLLECTION_MAX} pairs")));
    }
    let pairs = left.iter().flat_map(|x| right.iter().map(|y| Object::list(vec![x.clone(), y.clone()])));
    Ok(Object::list(metered(pairs).collect()))
}
