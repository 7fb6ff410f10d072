//! Conversions between types, and values as text.

use crate::error::{EvalError, float_text, takes};
use crate::metered;
use model::Value;
use model::temporal;
use plan::Function;
use std::collections::BTreeSet;

pub(super) fn call(function: Function, value: &Value) -> Result<Value, EvalError> {
    use Function as F;
    metered::walk(value)?;
    let converted = match function {
        F::ToInteger | F::ToIntegerOrNull => to_integer(value),
        F::ToFloat | F::ToFloatOrNull => to_float(value),
        F::ToBoolean | F::ToBooleanOrNull => to_boolean(value),
        F::ToString | F::ToStringOrNull if value.is_null() => Some(Value::Null),
        F::ToString | F::ToStringOrNull => text_of(value).map(Value::string),
        _ => Some(Value::string(type_of(value))),
    };
    match (converted, function) {
        (Some(value), _) => Ok(value),
        (None, F::ToIntegerOrNull | F::ToFloatOrNull | F::ToBooleanOrNull | F::ToStringOrNull) => {
            Ok(Value::Null)
        }
        (None, F::ToInteger) => Err(takes(function, "a Boolean, Float, Integer or String", value)),
        (None, F::ToFloat) => Err(takes(function, "a Float, Integer or String", value)),
        (None, F::ToBoolean) => Err(takes(function, "a Boolean, Integer or String", value)),
        (None, _) => Err(takes(function, "a Boolean, number, String, Point or temporal value", value)),
    }
}

fn to_integer(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => Value::Null,
        Value::Int(_) => value.clone(),
        Value::Float(float) => Value::Int(*float as i64),
        Value::Bool(truth) => Value::Int(i64::from(*truth)),
        Value::String(text) => integer_in(text.trim()).into(),
        _ => return None,
    })
}

/// An integer, or a float whose fraction is dropped, where it fits.
fn integer_in(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().or_else(|| {
        let float = float_in(text)?;
        (float.abs() < 9_223_372_036_854_775_808.0).then_some(float as i64)
    })
}

fn float_in(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "+Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ if is_number => text.parse().ok(),
        _ => None,
    }
}

fn to_float(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => Value::Null,
        Value::Int(int) => Value::Float(*int as f64),
        Value::Float(_) => value.clone(),
        Value::String(text) => float_in(text.trim()).into(),
        _ => return None,
    })
}

fn to_boolean(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => Value::Null,
        Value::Bool(_) => value.clone(),
        Value::Int(int) => Value::Bool(*int != 0),
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::Null,
        },
        _ => return None,
    })
}

/// Text of a value that has one: numbers, truth values, text, points and temporal values.
pub fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => float_text(*float),
        Value::String(text) => text.to_string(),
        Value::Point(point) => point.to_string(),
        other => temporal::text(other)?,
    })
}

/// Most distinct element types that `valueType()` names of one list.
const ELEMENT_TYPES_MAX: usize = 16;

/// Longest name of the types of a list's elements, in bytes.
const TYPE_BYTES_MAX: usize = 1_024;

/// The type of a value in Cypher's words.
fn type_of(value: &Value) -> String {
    let name = match value {
        Value::Null => return "NULL".to_string(),
        Value::Bool(_) => "BOOLEAN",
        Value::Int(_) => "INTEGER",
        Value::Float(_) => "FLOAT",
        Value::String(_) => "STRING",
        Value::Bytes(_) => "BYTEARRAY",
        Value::Date(_) => "DATE",
        Value::LocalTime(_) => "LOCAL TIME",
        Value::Time(_) => "ZONED TIME",
        Value::LocalDateTime(_) => "LOCAL DATETIME",
        Value::DateTime(_) => "ZONED DATETIME",
        Value::Duration(_) => "DURATION",
        Value::Point(_) => "POINT",
        Value::Map(_) => "MAP",
        Value::Vertex(_) => "NODE",
        Value::Edge(_) => "RELATIONSHIP",
        Value::Path(_) => "PATH",
        Value::List(elements) => return format!("LIST<{}> NOT NULL", element_types(elements)),
    };
    format!("{name} NOT NULL")
}

fn element_types(elements: &[Value]) -> String {
    if elements.is_empty() {
        return "NOTHING".to_string();
    }
    let has_null = elements.iter().any(Value::is_null);
    let present = elements.iter().filter(|element| !element.is_null());
    let mut types: Vec<String> = present.map(type_of).collect::<BTreeSet<_>>().into_iter().collect();
    types.truncate(ELEMENT_TYPES_MAX);
    if types.is_empty() {
        return "NULL".to_string();
    }
    if has_null {
        types.iter_mut().for_each(|name| *name = name.trim_end_matches(" NOT NULL").to_string());
    }
    let joined = types.join(" | ");
    // Each level of nesting may name as many types as the one below, each as long: the name is cut where it would explode.
    if joined.len() > TYPE_BYTES_MAX { "ANY".to_string() } else { joined }
}
