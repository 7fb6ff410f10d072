//! The nesting of a text of JSON: measured before anything recurses on it.
//!
//! Every interface that reads JSON from outside calls this first, so that one limit holds at all of them, with one message. The scan needs no memory
//! and no valid text: brackets inside of texts do not count, and invalid JSON is left to the parser.

use std::fmt;

/// Lists and objects within one another that a text of JSON may have. Readers recurse once for each; this is as far as `serde_json` goes.
pub const JSON_DEPTH_MAX: usize = 127;

/// How large a text of JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonShape {
    /// Values in it, names of fields included; an estimate, never too low for valid JSON.
    pub values: usize,
    /// Lists and objects within one another.
    pub depth: usize,
}

impl JsonShape {
    /// The shape of a text; one pass over its bytes.
    pub fn of(text: &[u8]) -> JsonShape {
        let (mut values, mut open, mut depth) = (1_usize, 0_usize, 0);
        let (mut in_text, mut escaped) = (false, false);
        for byte in text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_text => escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b',' | b':' => values += 1,
                b'[' | b'{' => {
                    values += 1;
                    open += 1;
                    depth = depth.max(open);
                }
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        JsonShape { values, depth }
    }
    /// The same, if a reader may recurse on it.
    ///
    /// # Errors
    /// It is nested deeper than [`JSON_DEPTH_MAX`].
    pub fn check(self) -> Result<JsonShape, JsonTooDeep> {
        if self.depth > JSON_DEPTH_MAX { Err(JsonTooDeep) } else { Ok(self) }
    }
}

/// A text of JSON that is nested deeper than [`JSON_DEPTH_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonTooDeep;

impl fmt::Display for JsonTooDeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lists and objects are nested deeper than {JSON_DEPTH_MAX}; flatten them")
    }
}

impl std::error::Error for JsonTooDeep {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_text_is_found() {
        let depth = |text: &str| JsonShape::of(text.as_bytes()).depth;
        assert_eq!(depth("7"), 0);
        assert_eq!(depth("[]"), 1);
        assert_eq!(depth(r#"[{"a": [1]}, [[]]]"#), 3);
        assert_eq!(depth(r#"{"[[[[": "\"[[\\", "b": [1]}"#), 2);
        // What is no JSON does not confuse it.
        assert_eq!(depth("]]]][["), 2);
        assert_eq!(JsonShape::of(br#"{"a": [1, 2], "b": null}"#).values, 7);
    }

    #[test]
    fn the_limit_is_exact() {
        let nested = |depth: usize| "[".repeat(depth).into_bytes();
        for (depth, fits) in
            [(1, true), (JSON_DEPTH_MAX, true), (JSON_DEPTH_MAX + 1, false), (1_000_000, false)]
        {
            assert_eq!(JsonShape::of(&nested(depth)).check().is_ok(), fits, "{depth}");
        }
    }
}
