//! JSON as values: numbers, texts, lists and objects of JSON, wherever it is read.
//!
//! Whole numbers are integers and must fit into 64 bits with a sign; all other numbers are floats. The reader defines the meaning of an object: a map
//! ([`value`]), or one of the forms of [`crate::typed`].

use model::Value;
use serde_json::{Map, Number, Value as Json};
use std::sync::Arc;

/// Makes a value of an object, or returns its fault.
pub type ReadObject<'a> = dyn Fn(&Map<String, Json>) -> Result<Value, String> + 'a;

/// The value that JSON stands for; objects are maps.
///
/// # Errors
/// A number beyond 64 bits; a list or map that is too large. The message says which.
pub fn value(json: &Json) -> Result<Value, String> {
    value_with(json, &|object| map(object, value))
}

/// The value of JSON, where `object` interprets objects.
///
/// # Errors
/// As [`value`], and those of `object`.
pub fn value_with(json: &Json, object: &ReadObject<'_>) -> Result<Value, String> {
    match json {
        Json::Null => Ok(Value::Null),
        Json::Bool(truth) => Ok((*truth).into()),
        Json::Number(number) => self::number(number),
        Json::String(text) => Ok(text.as_str().into()),
        Json::Array(items) => list(items, |item| value_with(item, object)),
        Json::Object(fields) => object(fields),
    }
}

/// A number as the integer or the float that it is.
///
/// # Errors
/// It is whole and has more than 64 bits, or too large for a float.
pub fn number(number: &Number) -> Result<Value, String> {
    match number.as_i64() {
        Some(int) => Ok(Value::Int(int)),
        None if number.is_u64() => Err(format!("the number {number} needs more than 64 bits with a sign")),
        None => number.as_f64().map(Value::Float).ok_or_else(|| format!("the number {number} is too large")),
    }
}

/// The list of `each` applied to the items.
///
/// # Errors
/// Those of `each`; the list is too large.
pub fn list(items: &[Json], each: impl Fn(&Json) -> Result<Value, String>) -> Result<Value, String> {
    let items = items.iter().map(each).collect::<Result<_, _>>()?;
    Value::try_list(items).map_err(|error| error.to_string())
}

/// The map of `each` applied to the fields.
///
/// # Errors
/// Those of `each`; the map is too large.
pub fn map(
    fields: &Map<String, Json>,
    each: impl Fn(&Json) -> Result<Value, String>,
) -> Result<Value, String> {
    let entries = fields.iter().map(|(key, field)| Ok((Arc::from(key.as_str()), each(field)?)));
    let entries = entries.collect::<Result<Vec<(Arc<str>, Value)>, String>>()?;
    Value::try_map(entries).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        value(&json).map(|value| format!("{value:?}"))
    }

    #[test]
    fn numbers_below_at_and_above_64_bits() {
        for (text, int) in [("9223372036854775807", i64::MAX), ("-9223372036854775808", i64::MIN), ("-0", 0)]
        {
            let json: Json = serde_json::from_str(text).unwrap();
            match value(&json).unwrap() {
                Value::Int(read) => assert_eq!(read, int),
                Value::Float(read) => assert!(text == "-0" && read == 0.0 && read.is_sign_negative()),
                other => panic!("{other:?}"),
            }
        }
        for text in ["9223372036854775808", "18446744073709551615"] {
            assert!(read(text).unwrap_err().contains("64 bits"), "{text}");
        }
        // Beyond what a whole number of the parser holds, it is a float, as in JavaScript.
        for (text, float) in [("18446744073709551616", 1.8446744073709552e19), ("1.0", 1.0), ("1e3", 1000.0)]
        {
            assert_eq!(read(text).unwrap(), format!("{:?}", Value::Float(float)), "{text}");
        }
    }

    #[test]
    fn lists_and_objects_hold_what_they_held() {
        let expected = Value::try_map([
            (Arc::<str>::from("a"), Value::list(vec![Value::Int(1), Value::Null, "x".into()])),
            ("b".into(), Value::try_map(Vec::<(Arc<str>, Value)>::new()).unwrap()),
        ]);
        assert_eq!(read(r#"{"a": [1, null, "x"], "b": {}}"#).unwrap(), format!("{:?}", expected.unwrap()));
        let refused = value_with(&serde_json::json!([{"a": 1}]), &|_| Err("no objects here".into()));
        assert_eq!(refused.unwrap_err(), "no objects here");
    }
}
