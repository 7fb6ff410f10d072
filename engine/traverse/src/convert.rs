//! Steps on text, dates, numbers and collections: objects in, object out, the graph unasked.

mod collections;
mod dates;
mod numbers;

use crate::compare::{Keyed, order};
use crate::error::{Outcome, TraverseError};
use crate::limits::{COLLECTION_MAX, TEXT_BYTES_MAX};
use gremlin::{Object, Token};
use std::collections::HashSet;
use std::sync::Arc;

/// Is it a type of numbers?
pub fn is_number_type(token: Token) -> bool {
    matches!(
        token,
        Token::GByte
            | Token::GShort
            | Token::GInt
            | Token::GLong
            | Token::GBigInt
            | Token::GFloat
            | Token::GDouble
            | Token::GBigDecimal
            | Token::GNumber
    )
}

/// Runs the step of this name on an object. `None` filters it out.
pub fn convert(name: &'static str, local: bool, object: &Object, arguments: &[Object]) -> Outcome<Object> {
    match name {
        "asString" | "concat" | "length" | "toLower" | "toUpper" | "trim" | "lTrim" | "rTrim" | "replace"
        | "split" | "substring" | "reverse" => on_text(name, local, object, arguments),
        "asNumber" => numbers::as_number(object, arguments.first()),
        "asBool" => numbers::as_bool(object),
        "asDate" => dates::as_date(object),
        "dateAdd" => dates::date_add(object, arguments),
        "dateDiff" => dates::date_diff(object, arguments),
        "conjoin" => collections::conjoin(object, arguments),
        _ => collections::collections(name, object, arguments),
    }
}

fn on_text(name: &'static str, local: bool, object: &Object, arguments: &[Object]) -> Outcome<Object> {
    if let (true, Object::List(elements) | Object::Set(elements)) = (local, object) {
        let done: Vec<Object> = elements
            .iter()
            .map(|element| one_text(name, true, element, arguments))
            .collect::<Outcome<_>>()?;
        return Ok(Object::list(done));
    }
    one_text(name, local, object, arguments)
}

fn not_text(name: &'static str, local: bool, object: &Object) -> TraverseError {
    let message = match local {
        true => format!(
            "The {name}(local) step can only take string or list of strings, encountered {}",
            object.type_name()
        ),
        false => {
            format!("The {name}() step can only take string as argument, encountered {}", object.type_name())
        }
    };
    TraverseError::step(name, message)
}

fn one_text(name: &'static str, local: bool, object: &Object, arguments: &[Object]) -> Outcome<Object> {
    match name {
        "asString" => {
            return match object {
                Object::Null => Err(TraverseError::step("asString", "Can't parse null as String.")),
                other => Ok(Object::string(shown(other))),
            };
        }
        "reverse" => return Ok(reversed(object)),
        "concat" => return concat(object, arguments),
        _ => {}
    }
    let text = match object {
        Object::Null => return Ok(Object::Null),
        Object::String(text) => text,
        other => return Err(not_text(name, local, other)),
    };
    Ok(match name {
        "length" => Object::Int(text.encode_utf16().count() as i32),
        "toLower" => Object::string(text.to_lowercase()),
        "toUpper" => Object::string(text.to_uppercase()),
        "trim" => Object::string(text.trim()),
        "lTrim" => Object::string(text.trim_start()),
        "rTrim" => Object::string(text.trim_end()),
        "replace" => match arguments {
            [Object::String(old), Object::String(new), ..] => {
                if text.len().saturating_mul(new.len().max(1)) > TEXT_BYTES_MAX {
                    return Err(TraverseError::Limit(format!(
                        "replace makes more than {TEXT_BYTES_MAX} bytes"
                    )));
                }
                Object::string(text.replace(&**old, new))
            }
            _ => object.clone(),
        },
        "split" => split(text, arguments.first()),
        _ => substring(text, arguments),
    })
}

fn split(text: &str, separator: Option<&Object>) -> Object {
    let parts: Vec<Object> = match separator {
        Some(Object::String(separator)) if separator.is_empty() => {
            text.chars().map(|letter| Object::string(letter.to_string())).collect()
        }
        Some(Object::String(separator)) => text.split(&**separator).map(Object::from).collect(),
        _ => text.split_whitespace().map(Object::from).collect(),
    };
    Object::list(parts)
}

/// From one place to another, both counted from the end where they are negative.
fn substring(text: &str, arguments: &[Object]) -> Object {
    let letters: Vec<char> = text.chars().collect();
    let length = letters.len() as i64;
    let place = |at: usize, absent: i64| match arguments.get(at).and_then(Object::as_long) {
        Some(place) if place < 0 => (length + place).max(0),
        Some(place) => place.min(length),
        None => absent,
    };
    let (from, to) = (place(0, 0), place(1, length));
    let part = if from < to { &letters[from as usize..to as usize] } else { &[] };
    Object::string(part.iter().collect::<String>())
}

fn reversed(object: &Object) -> Object {
    match object {
        Object::String(text) => Object::string(text.chars().rev().collect::<String>()),
        Object::List(elements) | Object::Set(elements) => {
            Object::list(elements.iter().rev().cloned().collect())
        }
        Object::Bulk(_) | Object::Path(_) => {
            Object::list(elements_of(object).unwrap_or_default().into_iter().rev().collect())
        }
        other => other.clone(),
    }
}

fn concat(object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let mut text = String::new();
    let mut any = false;
    for part in std::iter::once(object).chain(arguments) {
        match part {
            Object::Null => {}
            Object::String(part) => {
                any = true;
                text.push_str(part);
            }
            other => {
                let message = format!(
                    "String concat() can only take string as argument, encountered {}",
                    other.type_name()
                );
                return Err(TraverseError::step("concat", message));
            }
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(TraverseError::Limit(format!("concat makes more than {TEXT_BYTES_MAX} bytes")));
        }
    }
    Ok(if any { Object::string(text) } else { Object::Null })
}

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
            let pairs: Vec<String> =
                pairs.iter().map(|(key, value)| format!("{}={}", shown(key), shown(value))).collect();
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
    elements.iter().map(shown).collect::<Vec<_>>().join(separator)
}

/// The elements of a collection; none where it is no collection.
pub fn elements_of(object: &Object) -> Option<Vec<Object>> {
    Some(match object {
        Object::List(elements) | Object::Set(elements) => elements.to_vec(),
        Object::Path(path) => path.objects.clone(),
        Object::Bulk(bag) => {
            let all = bag.iter().flat_map(|(element, count)| {
                let count = usize::try_from(*count).unwrap_or(COLLECTION_MAX).min(COLLECTION_MAX);
                std::iter::repeat_n(element.clone(), count)
            });
            all.take(COLLECTION_MAX).collect()
        }
        _ => return None,
    })
}

/// A set of what is in a list, in its order.
pub fn set_of(elements: impl IntoIterator<Item = Object>) -> Object {
    let mut seen = HashSet::new();
    let kept = elements.into_iter().filter(|element| seen.insert(Keyed(element.clone())));
    Object::Set(Arc::new(kept.collect()))
}

/// Elements in the total order.
pub fn sorted(mut elements: Vec<Object>) -> Vec<Object> {
    elements.sort_by(order);
    elements
}
