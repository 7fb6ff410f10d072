//! Functions of texts. Positions and lengths count characters.

use super::takes;
use crate::expression::error::EvalError;
use crate::expression::operators::{TEXT_BYTES_MAX, check_size};
use model::Value;
use plan::Function;
use std::sync::Arc;

pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    use Function as F;
    let Some(text) = text(function, &arguments[0])? else {
        return Ok(Value::Null);
    };
    Ok(match function {
        F::ToUpper | F::Upper => Value::string(text.to_uppercase()),
        F::ToLower | F::Lower => Value::string(text.to_lowercase()),
        F::Trim => Value::string(text.trim()),
        F::LTrim => Value::string(text.trim_start()),
        F::RTrim => Value::string(text.trim_end()),
        F::CharLength => Value::Int(text.chars().count() as i64),
        F::Left => Value::string(text.chars().take(length(function, &arguments[1])?).collect::<String>()),
        F::Right => {
            let skipped = text.chars().count().saturating_sub(length(function, &arguments[1])?);
            Value::string(text.chars().skip(skipped).collect::<String>())
        }
        F::Substring => {
            let rest = text.chars().skip(length(function, &arguments[1])?);
            let taken = arguments.get(2).map_or(Ok(usize::MAX), |taken| length(function, taken))?;
            Value::string(rest.take(taken).collect::<String>())
        }
        F::Replace => replace(&text, &arguments[1], &arguments[2])?,
        _ => split(&text, &arguments[1])?,
    })
}

fn text(function: Function, value: &Value) -> Result<Option<Arc<str>>, EvalError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(takes(function, "a String", other)),
    }
}

/// A position or a length: not negative, not null.
fn length(function: Function, value: &Value) -> Result<usize, EvalError> {
    match value {
        Value::Int(int) => usize::try_from(*int).map_err(|_| {
            EvalError::argument(format!("{}() takes no negative position or length: {int}", function.name()))
        }),
        other => Err(takes(function, "an Integer", other)),
    }
}

fn replace(whole: &str, search: &Value, replacement: &Value) -> Result<Value, EvalError> {
    let (search, replacement) = (text(Function::Replace, search)?, text(Function::Replace, replacement)?);
    Ok(match (search, replacement) {
        (Some(search), Some(_)) if search.is_empty() => Value::string(whole),
        (Some(search), Some(replacement)) => {
            let grown = whole.matches(&*search).count().saturating_mul(replacement.len());
            check_size("a String", whole.len().saturating_add(grown), TEXT_BYTES_MAX)?;
            Value::string(whole.replace(&*search, &replacement))
        }
        _ => Value::Null,
    })
}

fn split(whole: &str, delimiter: &Value) -> Result<Value, EvalError> {
    let delimiters: Vec<Arc<str>> = match delimiter {
        Value::Null => return Ok(Value::Null),
        Value::List(list) => {
            let each = list.iter().map(|one| text(Function::Split, one));
            match each.collect::<Result<Option<Vec<_>>, _>>()? {
                Some(delimiters) => delimiters,
                None => return Ok(Value::Null),
            }
        }
        one => text(Function::Split, one)?.into_iter().collect(),
    };
    if delimiters.iter().any(|delimiter| delimiter.is_empty()) {
        return Ok(Value::try_list(whole.chars().map(|letter| Value::string(letter.to_string())).collect())?);
    }
    let mut parts = Vec::new();
    let mut rest = whole;
    let next = |rest: &str| {
        let places = delimiters.iter().filter_map(|part| Some((rest.find(&**part)?, part.len())));
        places.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length)))
    };
    while let Some((at, length)) = next(rest) {
        parts.push(Value::string(&rest[..at]));
        rest = &rest[at + length..];
    }
    parts.push(Value::string(rest));
    Ok(Value::try_list(parts)?)
}
