//! Steps on text, dates, numbers and collections: objects in, object out, without the graph.

mod collections;
mod dates;
mod numbers;
mod objects;

pub use objects::{elements_of, set_of, shown, sorted};

use crate::error::{Outcome, TraverseError};
use crate::limits::TEXT_BYTES_MAX;
use crate::pieces::metered;
use gremlin::{Object, Token};

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
        let done: Vec<Object> = metered(elements.iter())
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
            metered(text.chars()).map(|letter| Object::string(letter.to_string())).collect()
        }
        Some(Object::String(separator)) => metered(text.split(&**separator)).map(Object::from).collect(),
        _ => metered(text.split_whitespace()).map(Object::from).collect(),
    };
    Object::list(parts)
}

/// From one position to another, both counted from the end where they are negative.
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
        Object::String(text) => Object::string(metered(text.chars().rev()).collect::<String>()),
        Object::List(elements) | Object::Set(elements) => {
            Object::list(metered(elements.iter().rev()).cloned().collect())
        }
        Object::Bulk(_) | Object::Path(_) => {
            Object::list(metered(elements_of(object).unwrap_or_default().into_iter().rev()).collect())
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
