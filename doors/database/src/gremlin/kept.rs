//! Objects as values of the property graph, and back.
//!
//! What the graph has no value for (sets, widths of numbers, UUIDs, several values of a key) is kept as a map with a key no client can
//! write, `" kind"` or `" many"`; only where a graph keeps many.

use gremlin::{Decimal, Instant, Object};
use model::Value;
use model::nested::{VALUE_DEPTH_MAX, extent_of};
use std::sync::Arc;
use traverse::Kept;

/// The key that keeps the id a client gave; no client can write it.
pub(crate) const OWN_ID: &str = " id";
const KIND: &str = " kind";
const VALUE: &str = " value";
const MANY: &str = " many";

/// Lists and maps within one another that a property may have: half of what a value may, so that rows and answers can hold it.
const DEPTH_MAX: u32 = VALUE_DEPTH_MAX as u32 / 2;

/// An object as a value; none where the graph cannot keep it.
pub(crate) fn to_value(object: &Object, keeps_many: bool) -> Option<Value> {
    kept(object, keeps_many).filter(|value| extent_of(value).depth <= DEPTH_MAX)
}

fn kept(object: &Object, keeps_many: bool) -> Option<Value> {
    let plain = plain(object, keeps_many);
    match plain {
        Some(value) => Some(value),
        None if keeps_many => tagged(object),
        None => narrowed(object),
    }
}

/// Without a tag, and back to the same.
fn plain(object: &Object, keeps_many: bool) -> Option<Value> {
    Some(match object {
        Object::Null => Value::Null,
        Object::Bool(truth) => Value::Bool(*truth),
        Object::Int(number) => Value::Int(i64::from(*number)),
        Object::Long(number) if i32::try_from(*number).is_err() => Value::Int(*number),
        Object::Double(number) => Value::Float(*number),
        Object::String(text) => Value::String(text.clone()),
        Object::Binary(bytes) => Value::Bytes(bytes.clone()),
        Object::DateTime(instant) => instant.to_value(),
        Object::List(elements) => list(elements, keeps_many)?,
        _ => return None,
    })
}

/// As the graph's own nearest value.
fn narrowed(object: &Object) -> Option<Value> {
    Some(match object {
        Object::Byte(_) | Object::Short(_) | Object::Long(_) | Object::BigInt(_) => {
            Value::Int(object.as_long()?)
        }
        Object::Float(number) => Value::Float(f64::from(*number)),
        Object::Char(letter) => Value::string(letter.to_string()),
        Object::Uuid(uuid) => Value::string(gremlin::object::uuid_text(**uuid)),
        Object::Set(elements) => list(elements, false)?,
        _ => return None,
    })
}

fn tagged(object: &Object) -> Option<Value> {
    let list = |elements: &[Object]| list(elements, true);
    let (kind, value) = match object {
        Object::Byte(number) => ("byte", Value::Int(i64::from(*number))),
        Object::Short(number) => ("short", Value::Int(i64::from(*number))),
        Object::Long(number) => ("long", Value::Int(*number)),
        Object::Float(number) => ("float", Value::Float(f64::from(*number))),
        Object::BigInt(number) => ("bigint", Value::string(number.to_string())),
        Object::BigDecimal(number) => {
            ("decimal", Value::string(format!("{}/{}", number.unscaled, number.scale)))
        }
        Object::Uuid(uuid) => ("uuid", Value::string(uuid.to_string())),
        Object::Char(letter) => ("char", Value::string(letter.to_string())),
        Object::Duration(seconds, nanos) => {
            ("duration", Value::list(vec![Value::Int(*seconds), Value::Int(i64::from(*nanos))]))
        }
        Object::Set(elements) => ("set", list(elements)?),
        Object::Map(pairs) => {
            let flat: Vec<Object> =
                pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect();
            ("map", list(&flat)?)
        }
        _ => return None,
    };
    Value::try_map([(KIND, Value::string(kind)), (VALUE, value)]).ok()
}

fn list(elements: &[Object], keeps_many: bool) -> Option<Value> {
    let elements = elements.iter().map(|element| to_value(element, keeps_many));
    Value::try_list(elements.collect::<Option<_>>()?).ok()
}

/// A value as an object.
pub(crate) fn to_object(value: &Value) -> Object {
    match value {
        Value::Null => Object::Null,
        Value::Bool(truth) => Object::Bool(*truth),
        Value::Int(number) => i32::try_from(*number).map_or(Object::Long(*number), Object::Int),
        Value::Float(number) => Object::Double(*number),
        Value::String(text) => Object::String(text.clone()),
        Value::Bytes(bytes) => Object::Binary(bytes.clone()),
        Value::DateTime(moment) => Object::DateTime(Arc::new(Instant {
            seconds: moment.seconds,
            nanos: moment.nanos,
            offset_seconds: moment.offset_seconds,
        })),
        Value::List(elements) => Object::list(elements.iter().map(to_object).collect()),
        Value::Map(map) => match (map.get(KIND), map.get(VALUE)) {
            (Some(Value::String(kind)), Some(value)) => untagged(kind, value).unwrap_or_default(),
            _ => Object::map(
                map.iter().map(|(key, value)| (Object::String(key.clone()), to_object(value))).collect(),
            ),
        },
        Value::Vertex(vertex) => Object::Vertex(*vertex),
        Value::Edge(edge) => Object::Edge(edge.clone()),
        // dates and durations that Gremlin has no type for are their text
        other => {
            model::temporal::text(other).map_or_else(|| Object::string(format!("{other:?}")), Object::string)
        }
    }
}

fn untagged(kind: &str, value: &Value) -> Option<Object> {
    let text = || value.as_str();
    let list = || match value {
        Value::List(elements) => Some(elements.iter().map(to_object).collect::<Vec<_>>()),
        _ => None,
    };
    Some(match kind {
        "byte" => Object::Byte(i8::try_from(value.as_int()?).ok()?),
        "short" => Object::Short(i16::try_from(value.as_int()?).ok()?),
        "long" => Object::Long(value.as_int()?),
        "float" => match value {
            Value::Float(number) => Object::Float(*number as f32),
            _ => return None,
        },
        "bigint" => Object::BigInt(Arc::new(text()?.parse().ok()?)),
        "decimal" => {
            let (unscaled, scale) = text()?.split_once('/')?;
            Object::BigDecimal(Arc::new(Decimal {
                unscaled: unscaled.parse().ok()?,
                scale: scale.parse().ok()?,
            }))
        }
        "uuid" => Object::Uuid(Arc::new(text()?.parse().ok()?)),
        "char" => Object::Char(text()?.chars().next()?),
        "duration" => {
            let parts = list()?;
            Object::Duration(parts.first()?.as_long()?, u32::try_from(parts.get(1)?.as_long()?).ok()?)
        }
        "set" => Object::Set(Arc::new(list()?)),
        "map" => {
            let flat = list()?;
            Object::map(flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        }
        _ => return None,
    })
}

/// All values of a key as one value.
pub(crate) fn many_to_value(kept: &[Kept]) -> Option<Value> {
    if let [only] = kept
        && only.meta.is_empty()
    {
        return to_value(&only.value, true);
    }
    let mut all = Vec::new();
    for one in kept {
        let mut meta = Vec::new();
        for (key, value) in &one.meta {
            meta.push((key.clone(), to_value(value, true)?));
        }
        all.push(Value::try_list(vec![to_value(&one.value, true)?, Value::try_map(meta).ok()?]).ok()?);
    }
    Value::try_map([(MANY, Value::try_list(all).ok()?)]).ok()
}

/// The values of a key.
pub(crate) fn many_of(value: &Value) -> Vec<Kept> {
    if let Value::Map(map) = value
        && let Some(Value::List(all)) = map.get(MANY)
    {
        return all.iter().filter_map(one_of).collect();
    }
    match value {
        Value::Null => Vec::new(),
        value => vec![Kept::plain(to_object(value))],
    }
}

fn one_of(pair: &Value) -> Option<Kept> {
    let Value::List(pair) = pair else { return None };
    let meta = match pair.get(1) {
        Some(Value::Map(meta)) => meta.iter().map(|(key, value)| (key.clone(), to_object(value))).collect(),
        _ => Vec::new(),
    };
    Some(Kept { value: to_object(pair.first()?), meta })
}
