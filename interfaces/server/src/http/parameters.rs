//! Parameters out of JSON, plain and typed: the inverse of [`super::values`].

use super::values::Form;
use formats::json;
use model::Value;
use model::temporal::build::{Kind, duration_from_text, from_text};
use model::value::Point;
use serde_json::Value as Json;
use std::sync::Arc;

/// The value of a piece of JSON.
///
/// # Errors
/// The fault, as a sentence.
pub fn value(json: &Json, form: Form) -> Result<Value, String> {
    match form {
        Form::Plain => json::value(json),
        Form::Typed => typed(json),
    }
}

fn typed(json: &Json) -> Result<Value, String> {
    let (Some(Json::String(name)), Some(value)) = (json.get("$type"), json.get("_value")) else {
        return Err("a typed value is an object with `$type` and `_value`".into());
    };
    let wrong = || format!("`_value` is no {name}");
    match (name.as_str(), value) {
        ("Null", _) => Ok(Value::Null),
        ("Boolean", Json::Bool(truth)) => Ok((*truth).into()),
        ("List", Json::Array(items)) => json::list(items, typed),
        ("Map", Json::Object(fields)) => json::map(fields, typed),
        ("Integer", Json::Number(number)) => number.as_i64().map(Value::Int).ok_or_else(wrong),
        ("Float", Json::Number(number)) => number.as_f64().map(Value::Float).ok_or_else(wrong),
        (_, Json::String(text)) => of_text(name, text).ok_or_else(wrong)?,
        ("Node" | "Relationship" | "Path", _) => {
            Err("nodes, relationships and paths cannot be parameters; send their ids".into())
        }
        _ => Err(wrong()),
    }
}

/// A value of a type whose JSON is text; none where the text cannot be one.
fn of_text(name: &str, text: &str) -> Option<Result<Value, String>> {
    let instant = |kind: Kind| from_text(kind, text).map_err(|error| error.to_string());
    Some(match name {
        "String" => Ok(text.into()),
        "Integer" => Ok(Value::Int(text.parse().ok()?)),
        "Float" => Ok(Value::Float(text.parse().ok()?)),
        "Base64" => Ok(Value::Bytes(data_encoding::BASE64.decode(text.as_bytes()).ok()?.into())),
        "Date" => instant(Kind::Date),
        "LocalTime" => instant(Kind::LocalTime),
        "Time" => instant(Kind::Time),
        "LocalDateTime" => instant(Kind::LocalDateTime),
        "OffsetDateTime" | "ZonedDateTime" => instant(Kind::DateTime),
        "Duration" => duration_from_text(text).map(Value::from).map_err(|error| error.to_string()),
        "Point" => Ok(Value::Point(Arc::new(point(text)?))),
        _ => Err(format!("there is no type `{}`", &name[..name.floor_char_boundary(100)])),
    })
}

/// `SRID=7203;POINT (1.0 2.0)`, with `POINT Z` in three dimensions.
fn point(text: &str) -> Option<Point> {
    let (srid, rest) = text.strip_prefix("SRID=")?.split_once(';')?;
    let rest = rest.strip_prefix("POINT")?.trim_start();
    let rest = rest.strip_prefix('Z').unwrap_or(rest).trim();
    let numbers = rest.strip_prefix('(')?.strip_suffix(')')?.split_whitespace();
    let numbers = numbers.map(|number| number.parse().ok()).collect::<Option<Vec<f64>>>()?;
    let srid: u32 = srid.parse().ok()?;
    match (srid, &numbers[..]) {
        (7203 | 4326, [x, y]) => Some(Point { srid, x: *x, y: *y, z: None }),
        (9157 | 4979, [x, y, z]) => Some(Point { srid, x: *x, y: *y, z: Some(*z) }),
        _ => None,
    }
}
