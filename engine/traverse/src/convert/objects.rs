//! Objects as texts, and collections as their elements: helpers of the steps in this folder and others.

use crate::compare::{Keyed, order};
use crate::limits::COLLECTION_MAX;
use crate::ordered::KeyNumbers;
use crate::pieces::metered;
use gremlin::Object;
use std::sync::Arc;

/// An object as text, as `asString` gives it.
pub fn shown(object: &Object) -> String {
    match object {
        Object::String(text) => text.to_string(),
        Object::Char(letter) => letter.to_string(),
        Object::Byte(number) => number.to_string(),
        Object::Short(number) => number.to_string(),
        Object::Long(number) => number.to_string(),
        Object::BigInt(number) => number.to_string(),
        Object::Float(number) => float(f64::from(*number), format!("{number:?}")),
        Object::Double(number) => float(*number, format!("{number:?}")),
        Object::BigDecimal(number) => number.to_string(),
        Object::Uuid(uuid) => gremlin::object::uuid_text(**uuid),
        Object::DateTime(instant) => model::temporal::text(&instant.to_value()).unwrap_or_default(),
        Object::Token(token) => token.name().to_string(),
        Object::List(elements) => format!("[{}]", joined(elements, ", ")),
        Object::Set(elements) => format!("[{}]", joined(elements, ", ")),
        Object::Bulk(_) => format!("[{}]", joined(&elements_of(object).unwrap_or_default(), ", ")),
        Object::Path(path) => format!("path[{}]", joined(&path.objects, ", ")),
        Object::Map(pairs) | Object::Tree(pairs) => {
            let pairs: Vec<String> = metered(pairs.iter())
                .map(|(key, value)| format!("{}={}", shown(key), shown(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Object::VertexProperty(property) => format!("vp[{}->{}]", property.key, shown(&property.value)),
        Object::Property(property) => format!("p[{}->{}]", property.key, shown(&property.value)),
        other => other.to_string(),
    }
}

fn float(number: f64, text: String) -> String {
    match number {
        number if number.is_nan() => "NaN".into(),
        number if number.is_infinite() => {
            if number > 0.0 {
                "Infinity".into()
            } else {
                "-Infinity".into()
            }
        }
        _ => text,
    }
}

fn joined(elements: &[Object], separator: &str) -> String {
    metered(elements).map(shown).collect::<Vec<_>>().join(separator)
}

/// The elements of a collection; none where it is no collection.
pub fn elements_of(object: &Object) -> Option<Vec<Object>> {
    Some(match object {
        Object::List(elements) | Object::Set(elements) => metered(elements.iter()).cloned().collect(),
        Object::Path(path) => metered(&path.objects).cloned().collect(),
        Object::Bulk(bag) => {
            let all = bag.iter().flat_map(|(element, count)| {
                let count = usize::try_from(*count).unwrap_or(COLLECTION_MAX).min(COLLECTION_MAX);
                std::iter::repeat_n(element.clone(), count)
            });
            metered(all.take(COLLECTION_MAX)).collect()
        }
        _ => return None,
    })
}

/// A set of the elements of a list, in its order.
pub fn set_of(elements: impl IntoIterator<Item = Object>) -> Object {
    let mut seen = KeyNumbers::default();
    let kept = metered(elements).filter(|element| seen.insert(Keyed(element.clone())));
    Object::Set(Arc::new(kept.collect()))
}

/// Elements in the total order.
pub fn sorted(mut elements: Vec<Object>) -> Vec<Object> {
    elements.sort_by(order);
    elements
}
