//! Parameters from JSON: `{"name": "Ada", "age": 36}`. Integers stay integers.

use database::Params;
use formats::json;
use serde_json::Value as Json;

/// Deepest nesting is that of the JSON parser: 128.
///
/// # Errors
/// The text is not a JSON object, or a number in it does not fit; the message says where.
pub fn params_from_json(text: &str) -> Result<Params, String> {
    let json: Json = serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?;
    let Json::Object(pairs) = json else {
        return Err("parameters are a JSON object, such as {\"name\": \"Ada\"}".into());
    };
    pairs.into_iter().map(|(name, json)| Ok((name.as_str().into(), json::value(&json)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::Value;

    #[test]
    fn integers_stay_integers() {
        let params =
            params_from_json(r#"{"a": 9223372036854775807, "b": 1.0, "c": [1, null, {"d": "x"}]}"#).unwrap();
        assert_eq!(params["a"].as_int(), Some(i64::MAX));
        assert!(matches!(params["b"], Value::Float(1.0)));
        assert!(matches!(&params["c"], Value::List(items) if items.len() == 3));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "[1]", "{\"a\": }", "{\"a\": 18446744073709551615}"] {
            assert!(params_from_json(text).is_err(), "{text}");
        }
    }
}
