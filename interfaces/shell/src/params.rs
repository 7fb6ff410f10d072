//! Parameters from JSON: `{"name": "Ada", "age": 36}`. Integers stay integers.

use database::Params;
use formats::json;
use model::json::JsonShape;
use serde_json::Value as Json;

/// Lists and objects may be nested [`JSON_DEPTH_MAX`](model::json::JSON_DEPTH_MAX) deep.
///
/// # Errors
/// The text is not a JSON object, or a number in it does not fit; the message says where.
pub fn params_from_json(text: &str) -> Result<Params, String> {
    JsonShape::of(text.as_bytes()).check().map_err(|error| format!("parameters: {error}"))?;
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
    fn parameters_of_any_nesting_are_read_or_refused() {
        for depth in [0, 1, 125, 126, 127, 128, 129, 5_000, 100_000] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let text = format!("{{\"p\": {}7{}}}", open.repeat(depth), close.repeat(depth));
                let told = params_from_json(&text).map(|params| params.len());
                let too_deep = "parameters: lists and objects are nested deeper than 127; flatten them";
                assert_eq!(told, if depth < 127 { Ok(1) } else { Err(too_deep.into()) }, "{depth}");
            }
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "[1]", "{\"a\": }", "{\"a\": 18446744073709551615}"] {
            assert!(params_from_json(text).is_err(), "{text}");
        }
    }
}
