//! Steps on text, dates, numbers and collections: objects in, object out, the graph unasked.

use crate::compare::{Keyed, equal, order};
use crate::error::{Outcome, TraverseError};
use crate::limits::{COLLECTION_MAX, TEXT_BYTES_MAX};
use crate::number::Number;
use gremlin::{Decimal, Instant, Object, Token};
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
        "asNumber" => as_number(object, arguments.first()),
        "asBool" => as_bool(object),
        "asDate" => as_date(object),
        "dateAdd" => date_add(object, arguments),
        "dateDiff" => date_diff(object, arguments),
        "conjoin" => conjoin(object, arguments),
        _ => collections(name, object, arguments),
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
        Object::Bulk(_) => Object::list(elements_of(object).unwrap_or_default().into_iter().rev().collect()),
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

fn as_number(object: &Object, kind: Option<&Object>) -> Outcome<Object> {
    let fail = || {
        let what = match object {
            Object::String(text) => format!("string '{text}'"),
            Object::List(_) => "type ArrayList".into(),
            other => format!("type {}", other.type_name()),
        };
        TraverseError::step("asNumber", format!("Can't parse {what} as number."))
    };
    let number = match object {
        Object::Null => return Ok(Object::Null),
        Object::String(text) => parsed(text.trim()).ok_or_else(fail)?,
        Object::Bool(_) => return Err(fail()),
        Object::DateTime(instant) => {
            Object::Long(instant.seconds * 1_000 + i64::from(instant.nanos / 1_000_000))
        }
        other if Number::of(other).is_some() => other.clone(),
        _ => return Err(fail()),
    };
    match kind {
        Some(Object::Token(kind)) => cast(&number, *kind),
        _ => Ok(number),
    }
}

/// A number in text: the narrowest of int, long and big integer, or a double.
fn parsed(text: &str) -> Option<Object> {
    if let Ok(number) = text.parse::<i128>() {
        let bits = if i32::try_from(number).is_ok() { 32 } else { 64 };
        return Some(crate::number::whole(number, bits));
    }
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    plain.then(|| text.parse::<f64>().ok().map(Object::Double))?
}

fn cast(number: &Object, kind: Token) -> Outcome<Object> {
    let Some(value) = Number::of(number) else { return Ok(Object::Null) };
    let overflow = || {
        let message = format!(
            "Can't convert number of type {} to {} due to overflow.",
            number.type_name(),
            type_of(kind)
        );
        TraverseError::step("asNumber", message)
    };
    let whole = match value {
        Number::Whole(whole, _) => Some(whole),
        Number::Float(float, _) if float.is_finite() => Some(float as i128),
        Number::Float(..) => None,
        Number::Decimal(decimal) => Some(truncated(decimal)),
    };
    Ok(match kind {
        Token::GByte => Object::Byte(whole.and_then(|whole| i8::try_from(whole).ok()).ok_or_else(overflow)?),
        Token::GShort => {
            Object::Short(whole.and_then(|whole| i16::try_from(whole).ok()).ok_or_else(overflow)?)
        }
        Token::GInt => Object::Int(whole.and_then(|whole| i32::try_from(whole).ok()).ok_or_else(overflow)?),
        Token::GLong => Object::Long(whole.and_then(|whole| i64::try_from(whole).ok()).ok_or_else(overflow)?),
        Token::GBigInt => Object::BigInt(Arc::new(whole.ok_or_else(overflow)?)),
        Token::GFloat => {
            let narrow = value.as_f64() as f32;
            if narrow.is_infinite() && value.as_f64().is_finite() {
                return Err(overflow());
            }
            Object::Float(narrow)
        }
        Token::GDouble => Object::Double(value.as_f64()),
        Token::GBigDecimal => {
            let decimal = match value {
                Number::Whole(unscaled, _) => Some(Decimal { unscaled, scale: 0 }),
                Number::Decimal(decimal) => Some(decimal),
                Number::Float(float, _) => gremlin::parser::decimal(&format!("{float:?}")),
            };
            Object::BigDecimal(Arc::new(decimal.ok_or_else(overflow)?))
        }
        _ => number.clone(),
    })
}

fn type_of(kind: Token) -> &'static str {
    match kind {
        Token::GByte => "Byte",
        Token::GShort => "Short",
        Token::GInt => "Integer",
        Token::GLong => "Long",
        Token::GFloat => "Float",
        Token::GDouble => "Double",
        Token::GBigInt => "BigInteger",
        _ => "BigDecimal",
    }
}

fn truncated(decimal: Decimal) -> i128 {
    match u32::try_from(decimal.scale) {
        Ok(scale) => 10i128.checked_pow(scale).map_or(0, |power| decimal.unscaled / power),
        Err(_) => {
            let power = 10i128.checked_pow(decimal.scale.unsigned_abs());
            power.and_then(|power| decimal.unscaled.checked_mul(power)).unwrap_or(i128::MAX)
        }
    }
}

fn as_bool(object: &Object) -> Outcome<Object> {
    match object {
        Object::Bool(_) => Ok(object.clone()),
        Object::String(text) if text.eq_ignore_ascii_case("true") => Ok(Object::Bool(true)),
        Object::String(text) if text.eq_ignore_ascii_case("false") => Ok(Object::Bool(false)),
        other => match Number::of(other) {
            Some(number) => Ok(Object::Bool(!number.is_nan() && number.as_f64() != 0.0)),
            None => Err(TraverseError::step("asBool", format!("Can't parse {} as Boolean.", shown(object)))),
        },
    }
}

fn as_date(object: &Object) -> Outcome<Object> {
    let fail = || {
        TraverseError::step(
            "asDate",
            format!("Can't parse {} '{}' as Date.", object.type_name(), shown(object)),
        )
    };
    let instant = match object {
        Object::DateTime(_) => return Ok(object.clone()),
        Object::String(text) => Instant::parse(text).ok_or_else(fail)?,
        Object::Null | Object::Float(_) | Object::Double(_) | Object::BigDecimal(_) => return Err(fail()),
        other => {
            let milliseconds = other.as_long().ok_or_else(fail)?;
            Instant {
                seconds: milliseconds.div_euclid(1_000),
                nanos: milliseconds.rem_euclid(1_000) as u32 * 1_000_000,
                offset_seconds: 0,
            }
        }
    };
    Ok(Object::DateTime(Arc::new(instant)))
}

fn date_add(object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let (Object::DateTime(instant), [Object::Token(unit), amount]) = (object, arguments) else {
        return Err(TraverseError::step("dateAdd", "DateAdd can only be performed on a Date"));
    };
    let seconds = match unit {
        Token::Minute => 60,
        Token::Hour => 3_600,
        Token::Day => 86_400,
        _ => 1,
    };
    let moved = amount.as_long().and_then(|amount| instant.seconds.checked_add(amount.checked_mul(seconds)?));
    let seconds = moved.ok_or_else(|| TraverseError::step("dateAdd", "the amount cannot be added"))?;
    Ok(Object::DateTime(Arc::new(Instant { seconds, ..**instant })))
}

fn date_diff(object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let (Object::DateTime(instant), Some(other)) = (object, arguments.first()) else {
        return Err(TraverseError::step("dateDiff", "DateDiff can only be performed on a Date"));
    };
    match other {
        Object::DateTime(other) => Ok(Object::Long((instant.seconds - other.seconds) * 1_000)),
        Object::Null => Ok(Object::Long(instant.seconds * 1_000)),
        _ => Err(TraverseError::step("dateDiff", "DateDiff can only be performed on a Date")),
    }
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

fn conjoin(object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let elements = incoming("conjoin", object)?;
    let Some(separator) = arguments.first().and_then(Object::as_str) else {
        return Err(TraverseError::step("conjoin", "Input delimiter to conjoin step can't be null."));
    };
    let parts: Vec<String> = elements.iter().filter(|element| **element != Object::Null).map(shown).collect();
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
fn collections(name: &'static str, object: &Object, arguments: &[Object]) -> Outcome<Object> {
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
    let holds = |all: &[Object]| all.iter().map(|element| Keyed(element.clone())).collect::<HashSet<_>>();
    Ok(match name {
        "combine" => Object::list(left.into_iter().chain(right).collect()),
        "merge" => set_of(left.into_iter().chain(right)),
        "difference" => {
            let right = holds(&right);
            set_of(left.into_iter().filter(|element| !right.contains(&Keyed(element.clone()))))
        }
        "intersect" => {
            let right = holds(&right);
            set_of(left.into_iter().filter(|element| right.contains(&Keyed(element.clone()))))
        }
        "disjunct" => {
            let (in_left, in_right) = (holds(&left), holds(&right));
            let alone = left.into_iter().chain(right).filter(|element| {
                let key = Keyed(element.clone());
                in_left.contains(&key) != in_right.contains(&key)
            });
            set_of(alone)
        }
        _ => product(&left, &right)?,
    })
}

fn merged(pairs: &[(Object, Object)], more: &[(Object, Object)]) -> Object {
    let mut all = pairs.to_vec();
    for (key, value) in more {
        match all.iter_mut().find(|(known, _)| equal(known, key)) {
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
    Ok(Object::list(pairs.collect()))
}

/// Elements in the total order.
pub fn sorted(mut elements: Vec<Object>) -> Vec<Object> {
    elements.sort_by(order);
    elements
}
