//! `trim`, `ltrim`, `rtrim` and `btrim`: blanks, or given characters, are taken from the ends of a text.

use super::text;
use crate::error::{EvalError, takes};
use crate::metered;
use model::Value;
use plan::Function;

/// Null in, null out; the second argument names the characters, each by itself.
pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    let Some(whole) = text::text(function, &arguments[0])? else { return Ok(Value::Null) };
    metered::text(whole.len())?;
    let (front, back) = match function {
        Function::LTrim => (true, false),
        Function::RTrim => (false, true),
        _ => (true, true),
    };
    let characters = match arguments.get(1) {
        None => None,
        Some(Value::Null) => return Ok(Value::Null),
        Some(Value::String(characters)) => Some(characters.clone()),
        Some(other) => return Err(takes(function, "a String", other)),
    };
    let goes =
        |letter: char| characters.as_ref().map_or(letter.is_whitespace(), |each| each.contains(letter));
    let mut rest: &str = &whole;
    if front {
        rest = rest.trim_start_matches(goes);
    }
    if back {
        rest = rest.trim_end_matches(goes);
    }
    Ok(Value::string(rest))
}
