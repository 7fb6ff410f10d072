//! Values of every type as JSON that is read back unchanged: the content of a column of the type `any`, and the properties of a file of JSON lines.
//!
//! Texts, truth values, whole numbers and lists are JSON's own; a float always has a point or an exponent. All else is an object with one
//! name: `{"$date": "2024-02-29"}`, `$localtime`, `$time`, `$localdatetime`, `$datetime`, `$duration`, `$point`, `$float` (for what JSON has no
//! number for), `$bytes` (in hexadecimal digits), `$map`.
//!
//! Invariant: every written value is read as the same value; one that would not be is refused when it is written.

use crate::json;
use model::json::{JSON_DEPTH_MAX, JsonShape};
use model::temporal::Kind as Instant;
use model::temporal::build::{duration_from_text, from_text};
use model::value::Point;
use model::{Value, temporal};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

const INSTANTS: [(&str, Instant); 5] = [
    ("$date", Instant::Date),
    ("$localtime", Instant::LocalTime),
    ("$time", Instant::Time),
    ("$localdatetime", Instant::LocalDateTime),
    ("$datetime", Instant::DateTime),
];

/// The kind of an instant; none for other values.
#[must_use]
pub fn instant_of(value: &Value) -> Option<Instant> {
    Some(match value {
        Value::Date(_) => Instant::Date,
        Value::LocalTime(_) => Instant::LocalTime,
        Value::Time(_) => Instant::Time,
        Value::LocalDateTime(_) => Instant::LocalDateTime,
        Value::DateTime(_) => Instant::DateTime,
        _ => return None,
    })
}

/// The text of an instant or a duration.
///
/// # Errors
/// It is neither, or its text would not be read as the same value.
pub fn temporal_text(value: &Value) -> Result<String, String> {
    let text = temporal::text(value).ok_or("it is no time")?;
    let read = match instant_of(value) {
        Some(kind) => from_text(kind, &text),
        None => duration_from_text(&text).map(Value::from),
    };
    match read {
        Ok(read) if format!("{read:?}") == format!("{value:?}") => Ok(text),
        _ => Err(format!("{text} would not be read as the same value")),
    }
}

/// A value as JSON, written within `around` lists and objects.
///
/// # Errors
/// It has no form, or is nested deeper than it would be read.
pub fn to_json(value: &Value, around: usize) -> Result<Json, String> {
    let depth = around + opens(value);
    if depth > JSON_DEPTH_MAX {
        let what = "it is nested deeper than an import reads";
        return Err(format!("{what}, {JSON_DEPTH_MAX} lists and objects; a backup holds it as it is"));
    }
    with_parts(value, depth)
}

/// Lists and objects that the JSON of a value opens around its parts.
fn opens(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::String(_) => 0,
        Value::Float(float) if float.is_finite() => 0,
        Value::Map(_) => 2,
        // An object, an object and a list; and an object around a coordinate that is no number.
        Value::Point(_) => 4,
        _ => 1,
    }
}

fn with_parts(value: &Value, depth: usize) -> Result<Json, String> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(int) => json!(int),
        Value::Float(float) if float.is_finite() => json!(float),
        Value::Float(float) => json!({ "$float": format!("{float:?}") }),
        Value::String(text) => Json::String(text.to_string()),
        Value::Bytes(bytes) => json!({ "$bytes": hexadecimal(bytes) }),
        Value::Duration(_) => json!({ "$duration": temporal_text(value)? }),
        Value::Point(point) => {
            let coordinates = [Some(point.x), Some(point.y), point.z];
            let coordinates: Vec<Json> = coordinates.into_iter().flatten().map(number).collect();
            json!({ "$point": { "srid": point.srid, "coordinates": coordinates } })
        }
        Value::List(list) => {
            Json::Array(list.iter().map(|one| to_json(one, depth)).collect::<Result<_, _>>()?)
        }
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| Ok((key.to_string(), to_json(value, depth)?)));
            json!({ "$map": entries.collect::<Result<Map<String, Json>, String>>()? })
        }
        Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => return Err("it is a part of the graph".into()),
        instant => {
            let kind = instant_of(instant).ok_or("it has no form")?;
            let name = INSTANTS.iter().find(|(_, named)| *named == kind).map_or("", |(name, _)| name);
            json!({ name: temporal_text(instant)? })
        }
    })
}

fn number(float: f64) -> Json {
    if float.is_finite() { json!(float) } else { json!({ "$float": format!("{float:?}") }) }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value of a text of JSON.
///
/// # Errors
/// The fault of the text.
pub fn read(text: &str) -> Result<Value, String> {
    JsonShape::of(text.as_bytes()).check().map_err(|error| error.to_string())?;
    let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    from_json(&json)
}

/// The value that JSON stands for.
///
/// # Errors
/// An object that is none of the known forms; a number beyond 64 bits; a value that is too large.
pub fn from_json(json: &Json) -> Result<Value, String> {
    json::value_with(json, &object)
}

fn object(map: &Map<String, Json>) -> Result<Value, String> {
    let (Some((name, json)), 1) = (map.iter().next(), map.len()) else {
        return Err("an object is no property; give its parts as properties of their own".into());
    };
    let text = json.as_str();
    let wrong = || format!("`{json}` is no {name}");
    if let Some((_, kind)) = INSTANTS.iter().find(|(named, _)| *named == name.as_str()) {
        return from_text(*kind, text.ok_or_else(wrong)?).map_err(|_| wrong());
    }
    match (name.as_str(), text) {
        ("$duration", Some(text)) => duration_from_text(text).map(Value::from).map_err(|_| wrong()),
        ("$float", Some(text)) => text.parse().map(Value::Float).map_err(|_| wrong()),
        ("$bytes", Some(text)) => bytes(text).map(|bytes| Value::Bytes(bytes.into())).ok_or_else(wrong),
        ("$point", None) => point(json).ok_or_else(wrong),
        ("$map", None) => match json {
            Json::Object(entries) => json::map(entries, from_json),
            _ => Err("a $map is an object".into()),
        },
        _ => Err(format!("an object with the name `{name}` is no property")),
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let byte = |pair: &[u8]| {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        Some((digit(0)? * 16 + digit(1)?) as u8)
    };
    digits.chunks(2).map(byte).collect()
}

fn point(json: &Json) -> Option<Value> {
    let srid = u32::try_from(json.get("srid")?.as_u64()?).ok()?;
    let coordinates = json.get("coordinates")?.as_array()?;
    let coordinate = |json: &Json| match from_json(json) {
        Ok(Value::Float(float)) => Some(float),
        Ok(Value::Int(int)) => Some(int as f64),
        _ => None,
    };
    let read: Vec<f64> = coordinates.iter().map(coordinate).collect::<Option<_>>()?;
    let (x, y, z) = match (srid, read.as_slice()) {
        (7203 | 4326, [x, y]) => (*x, *y, None),
        (9157 | 4979, [x, y, z]) => (*x, *y, Some(*z)),
        _ => return None,
    };
    Some(Value::Point(Arc::new(Point { srid, x, y, z })))
}

#[cfg(test)]
mod tests;
