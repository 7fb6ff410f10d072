//! GraphSON, read: values, predicates and traversals.
//!
//! One reader serves all versions, since none of them gives another's form a second meaning: what has a type is read by it, what has none
//! as the JSON it is. The JSON is there already, so nothing here is larger than what was sent; nesting has a limit all the same, for what
//! is done with the values later.

use super::base64;
use super::error::{GraphsonError, Outcome, wrong};
use crate::limits::NESTING_DEPTH_MAX;
use crate::object::{Decimal, Instant, ReferenceKind, parse_uuid};
use crate::{Argument, Object, Predicate, Reference, Strategy, Token, bytecode};
use serde_json::Value as Json;
use std::sync::Arc;

/// Reads a value, predicate or traversal.
///
/// # Errors
/// The JSON is none of them, is nested too deep, or contains unsupported types.
pub fn argument(json: &Json) -> Outcome<Argument> {
    at(json, 0)
}

/// Reads a value.
///
/// # Errors
/// As [`argument`]; and where a traversal or predicate stands.
pub fn object(json: &Json) -> Outcome<Object> {
    value_at(json, 0)
}

/// Reads a map whose values may be anything that [`argument`] reads: a typed map, or a plain object.
///
/// # Errors
/// As [`argument`]; and where it is no map, or a key is no text.
pub fn named_arguments(json: &Json) -> Outcome<Vec<(Arc<str>, Argument)>> {
    named_at(json, 0)
}

fn at(json: &Json, depth: usize) -> Outcome<Argument> {
    if depth > NESTING_DEPTH_MAX {
        return wrong(format!("values are nested deeper than {NESTING_DEPTH_MAX}"));
    }
    if let Json::Object(fields) = json
        && let Some(Json::String(kind)) = fields.get("@type")
    {
        return typed(kind, fields.get("@value").unwrap_or(&Json::Null), depth + 1);
    }
    Ok(Argument::Value(match json {
        Json::Null => Object::Null,
        Json::Bool(truth) => Object::Bool(*truth),
        Json::String(text) => Object::string(text.as_str()),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => i32::try_from(whole).map_or(Object::Long(whole), Object::Int),
            None => Object::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::Array(elements) => Object::list(values_at(elements, depth + 1)?),
        Json::Object(fields) => {
            let pair = |(key, value): (&String, &Json)| {
                Ok((Object::string(key.as_str()), value_at(value, depth + 1)?))
            };
            Object::map(fields.iter().map(pair).collect::<Outcome<_>>()?)
        }
    }))
}

fn value_at(json: &Json, depth: usize) -> Outcome<Object> {
    match at(json, depth)? {
        Argument::Value(value) => Ok(value),
        _ => wrong("a traversal or predicate stands where a value belongs"),
    }
}

fn values_at(elements: &[Json], depth: usize) -> Outcome<Vec<Object>> {
    elements.iter().map(|element| value_at(element, depth)).collect()
}

fn named_at(json: &Json, depth: usize) -> Outcome<Vec<(Arc<str>, Argument)>> {
    match json {
        Json::Object(fields) if !fields.contains_key("@type") => {
            let pair = |(key, value): (&String, &Json)| Ok((Arc::from(key.as_str()), at(value, depth + 1)?));
            fields.iter().map(pair).collect()
        }
        Json::Object(fields) if fields.get("@type").and_then(Json::as_str) == Some("g:Map") => {
            let flat = array(fields.get("@value").unwrap_or(&Json::Null), "a map")?;
            let pair = |pair: &[Json]| match pair {
                [Json::String(key), value] => Ok((Arc::from(key.as_str()), at(value, depth + 1)?)),
                _ => wrong("a map of arguments has a key that is no text"),
            };
            flat.chunks(2).map(pair).collect()
        }
        _ => wrong("a map of arguments is needed"),
    }
}

fn array<'j>(json: &'j Json, what: &str) -> Outcome<&'j [Json]> {
    match json {
        Json::Array(elements) => Ok(elements),
        _ => wrong(format!("{what} holds no array")),
    }
}

fn text<'j>(json: &'j Json, what: &str) -> Outcome<&'j str> {
    json.as_str().ok_or_else(|| GraphsonError(format!("{what} holds no text")))
}

/// A whole number within the bounds of its type.
fn whole<N: TryFrom<i64>>(json: &Json, kind: &str) -> Outcome<N> {
    let number = json.as_i64().and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| GraphsonError(format!("{kind} holds no whole number of its width")))
}

/// A number, or one of the words for values that JSON has no number for.
fn real(json: &Json, kind: &str) -> Outcome<f64> {
    match json {
        Json::Number(number) => Ok(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(word) => match word.as_str() {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            other => other.parse().map_err(|_| GraphsonError(format!("{kind} holds no number"))),
        },
        _ => wrong(format!("{kind} holds no number")),
    }
}

fn typed(kind: &str, value: &Json, depth: usize) -> Outcome<Argument> {
    let short = kind.split_once(':').map_or(kind, |(_, short)| short);
    Ok(Argument::Value(match short {
        "Int32" => Object::Int(whole(value, kind)?),
        "Int64" => Object::Long(whole(value, kind)?),
        "Int16" => Object::Short(whole(value, kind)?),
        "Byte" => Object::Byte(whole(value, kind)?),
        "Double" => Object::Double(real(value, kind)?),
        "Float" => Object::Float(real(value, kind)? as f32),
        "BigInteger" => Object::BigInt(Arc::new(big(value)?)),
        "BigDecimal" => Object::BigDecimal(Arc::new(decimal(value)?)),
        "Char" => match text(value, kind)?.chars().next() {
            Some(letter) => Object::Char(letter),
            None => return wrong("a character is empty"),
        },
        "UUID" => match parse_uuid(text(value, kind)?) {
            Some(uuid) => Object::Uuid(Arc::new(uuid)),
            None => return wrong("a UUID is none"),
        },
        "ByteBuffer" => match base64::decoded(text(value, kind)?) {
            Some(bytes) => Object::Binary(bytes.into()),
            None => return wrong("bytes are not in base 64"),
        },
        "Class" => Object::string(text(value, kind)?),
        "Date" | "Timestamp" => {
            let millis: i64 = whole(value, kind)?;
            let nanos = millis.rem_euclid(1_000) as u32 * 1_000_000;
            let seconds = millis.div_euclid(1_000);
            Object::DateTime(Arc::new(Instant { seconds, nanos, offset_seconds: 0 }))
        }
        "OffsetDateTime" | "Instant" | "ZonedDateTime" | "LocalDateTime" | "LocalDate" => {
            match Instant::parse(text(value, kind)?) {
                Some(instant) => Object::DateTime(Arc::new(instant)),
                None => return wrong(format!("{kind} holds no date")),
            }
        }
        "Duration" => match duration(text(value, kind)?) {
            Some((seconds, nanos)) => Object::Duration(seconds, nanos),
            None => return wrong("a duration is none"),
        },
        "List" => Object::list(values_at(array(value, kind)?, depth)?),
        "Set" => bytecode::set(values_at(array(value, kind)?, depth)?),
        "BulkSet" => {
            let flat = values_at(array(value, kind)?, depth)?;
            let pair = |pair: &[Object]| match pair {
                [element, bulk] => {
                    let bulk = bulk.as_long().and_then(|bulk| u64::try_from(bulk).ok());
                    Ok((element.clone(), bulk.ok_or_else(|| GraphsonError("a bulk is none".into()))?))
                }
                _ => wrong("a bag holds an element without its bulk"),
            };
            Object::Bulk(Arc::new(flat.chunks(2).map(pair).collect::<Outcome<_>>()?))
        }
        "Map" => match value {
            Json::Array(flat) => {
                let mut pairs = Vec::new();
                for pair in flat.chunks(2) {
                    let [key, value] = pair else { return wrong("a map holds a key without its value") };
                    pairs.push((value_at(key, depth)?, value_at(value, depth)?));
                }
                Object::map(pairs)
            }
            other => return at(other, depth),
        },
        "Vertex" => reference(ReferenceKind::Vertex, value, depth)?,
        "Edge" => reference(ReferenceKind::Edge, value, depth)?,
        "VertexProperty" => reference(ReferenceKind::VertexProperty, value, depth)?,
        "Traverser" => return at(&value["value"], depth),
        "Binding" => return at(&value["value"], depth),
        "Bytecode" => return instructions(value, depth),
        "P" | "TextP" => return predicate(value, depth).map(Argument::Predicate),
        "Lambda" => return wrong("lambdas are not run; say it in steps"),
        strategy if strategy.ends_with("Strategy") => {
            let conf = value.get("conf").unwrap_or(value);
            let options = if conf.is_null() { Vec::new() } else { named_at(conf, depth)? };
            let options = options.into_iter().filter(|(name, _)| &**name != "fqcn").collect();
            return Ok(Argument::Strategy(Strategy { name: strategy.into(), options }));
        }
        class => match Token::parse(class, value.as_str().unwrap_or_default()) {
            Some(token) => Object::Token(token),
            None => return wrong(format!("{kind} of {value} is not supported")),
        },
    }))
}

fn big(json: &Json) -> Outcome<i128> {
    let digits = match json {
        Json::String(digits) => digits.clone(),
        other => other.to_string(),
    };
    digits.parse().map_err(|_| GraphsonError("a whole number is none, or beyond 128 bits".into()))
}

fn decimal(json: &Json) -> Outcome<Decimal> {
    let digits = match json {
        Json::String(digits) => digits.clone(),
        other => other.to_string(),
    };
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa.to_string(), exponent.parse::<i32>().ok()),
        None => (digits, Some(0)),
    };
    let (whole, behind) = mantissa.split_once('.').unwrap_or((&mantissa, ""));
    let scale = i32::try_from(behind.len()).ok().zip(exponent).and_then(|(scale, by)| scale.checked_sub(by));
    match (format!("{whole}{behind}").parse(), scale) {
        (Ok(unscaled), Some(scale)) => Ok(Decimal { unscaled, scale }),
        _ => wrong("a decimal number is none, or beyond 128 bits"),
    }
}

/// ISO 8601 of days, hours, minutes and seconds.
fn duration(text: &str) -> Option<(i64, u32)> {
    let duration = model::temporal::build::duration_from_text(text).ok()?;
    let days = duration.days.checked_mul(86_400)?;
    let seconds = duration.seconds.checked_add(days)?;
    (duration.months == 0).then_some((seconds, duration.nanos))
}

fn reference(kind: ReferenceKind, value: &Json, depth: usize) -> Outcome<Object> {
    let id = value_at(value.get("id").unwrap_or(&Json::Null), depth)?;
    let label = value.get("label").and_then(Json::as_str).unwrap_or_default().into();
    Ok(Object::Reference(Arc::new(Reference { kind, id, label })))
}

fn predicate(value: &Json, depth: usize) -> Outcome<Predicate> {
    let name = text(&value["predicate"], "a predicate's name")?;
    let given = &value["value"];
    let parts: Vec<&Json> = match given {
        Json::Array(parts) => parts.iter().collect(),
        one => vec![one],
    };
    // Lists of values, typed or plain, are what within takes whole and what between takes apart.
    let mut arguments: Vec<Argument> =
        parts.into_iter().map(|part| at(part, depth)).collect::<Outcome<_>>()?;
    if let ("between" | "inside" | "outside", [Argument::Value(Object::List(bounds))]) =
        (name, arguments.as_slice())
    {
        arguments = bounds.iter().cloned().map(Argument::Value).collect();
    }
    bytecode::predicate(name, arguments).map_err(GraphsonError)
}

fn instructions(value: &Json, depth: usize) -> Outcome<Argument> {
    let read = |key: &str| -> Outcome<Vec<bytecode::Written<'_>>> {
        let Some(all) = value.get(key).filter(|all| !all.is_null()) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for instruction in array(all, "bytecode")? {
            let Some((name, arguments)) = array(instruction, "an instruction")?.split_first() else {
                return wrong("an instruction has no name");
            };
            let arguments = arguments.iter().map(|argument| at(argument, depth)).collect::<Outcome<_>>()?;
            found.push((text(name, "an instruction's name")?, arguments));
        }
        Ok(found)
    };
    Ok(bytecode::traversal(read("source")?, read("step")?))
}
