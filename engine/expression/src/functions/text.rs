//! Functions of texts. Positions and lengths count characters.

use crate::error::{EvalError, takes};
use crate::metered::{self, Growing};
use crate::operators::{TEXT_BYTES_MAX, check_size};
use model::Value;
use plan::Function;
use std::sync::Arc;

pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    use Function as F;
    let Some(text) = text(function, &arguments[0])? else {
        return Ok(Value::Null);
    };
    metered::text(text.len())?;
    Ok(match function {
        F::ToUpper | F::Upper => Value::string(metered::in_pieces(&text, str::to_uppercase)?),
        // A sigma at the end of a word is another small letter: what is in one piece with it decides.
        F::ToLower | F::Lower if text.contains('Σ') => Value::string(text.to_lowercase()),
        F::ToLower | F::Lower => Value::string(metered::in_pieces(&text, str::to_lowercase)?),
        F::CharLength | F::CharacterLength => Value::Int(text.chars().count() as i64),
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

pub(super) fn text(function: Function, value: &Value) -> Result<Option<Arc<str>>, EvalError> {
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
            let size = whole.len().saturating_add(grown);
            metered::text(size)?;
            metered::within(2 * size, || Ok(Value::string(whole.replace(&*search, &replacement))))?
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
        let mut letters = Growing::default();
        whole
            .chars()
            .try_for_each(|letter| letters.push(Value::string(letter.encode_utf8(&mut [0; 4]) as &str)))?;
        return letters.finish();
    }
    let mut parts = Growing::default();
    let places = delimiters.iter().map(|text| NextMatch::first(text, whole));
    let mut places = places.collect::<Result<Vec<_>, EvalError>>()?;
    let mut from = 0;
    let next = |places: &[NextMatch<'_>]| {
        let found = places.iter().filter_map(|place| Some((place.at?, place.text.len())));
        found.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length)))
    };
    while let Some((at, length)) = next(&places) {
        parts.push(Value::string(&whole[from..at]))?;
        from = at + length;
        metered::elements(places.len())?;
        places.iter_mut().try_for_each(|place| place.move_on(whole, from))?;
    }
    parts.push(Value::string(&whole[from..]))?;
    parts.finish()
}

/// Where a delimiter is met next.
struct NextMatch<'d> {
    text: &'d str,
    at: Option<usize>,
}

impl<'d> NextMatch<'d> {
    fn first(text: &'d str, whole: &str) -> Result<NextMatch<'d>, EvalError> {
        let mut place = NextMatch { text, at: None };
        place.find(whole, 0)?;
        Ok(place)
    }
    /// The first at `from` or behind it; each delimiter goes through the text once in all.
    fn move_on(&mut self, whole: &str, from: usize) -> Result<(), EvalError> {
        if self.at.is_some_and(|at| at < from) { self.find(whole, from) } else { Ok(()) }
    }
    fn find(&mut self, whole: &str, from: usize) -> Result<(), EvalError> {
        self.at = whole[from..].find(self.text).map(|at| from + at);
        metered::text(self.at.unwrap_or(whole.len()) - from)
    }
}
