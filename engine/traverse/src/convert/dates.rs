//! `asDate`, `dateAdd`, `dateDiff`.

use super::objects::shown;
use crate::error::{Outcome, TraverseError};
use gremlin::{Instant, Object, Token};
use std::sync::Arc;

pub(super) fn as_date(object: &Object) -> Outcome<Object> {
    let fail = || {
        TraverseError::step(
            "asDate",
            format!("Can't parse {} '{}' as Date.", object.type_name(), shown(object)),
        )
    };
    let instant = match object {
        Object::DateTime(_) => return Ok(object.clone()),
        Object::String(text) => Instant::parse(text).ok_or_else(fail)?,
        Object::Null | Object::Float(_) | Object::Double(_) | Object::BigDecimal(_) => return Err(fail()),
        other => {
            let milliseconds = other.as_long().ok_or_else(fail)?;
            Instant {
                seconds: milliseconds.div_euclid(1_000),
                nanos: milliseconds.rem_euclid(1_000) as u32 * 1_000_000,
                offset_seconds: 0,
            }
        }
    };
    Ok(Object::DateTime(Arc::new(instant)))
}

pub(super) fn date_add(object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let (Object::DateTime(instant), [Object::Token(unit), amount]) = (object, arguments) else {
        return Err(TraverseError::step("dateAdd", "DateAdd can only be performed on a Date"));
    };
    let seconds = match unit {
        Token::Minute => 60,
        Token::Hour => 3_600,
        Token::Day => 86_400,
        _ => 1,
    };
    let moved = amount.as_long().and_then(|amount| instant.seconds.checked_add(amount.checked_mul(seconds)?));
    let seconds = moved.ok_or_else(|| TraverseError::step("dateAdd", "the amount cannot be added"))?;
    Ok(Object::DateTime(Arc::new(Instant { seconds, ..**instant })))
}

pub(super) fn date_diff(object: &Object, arguments: &[Object]) -> Outcome<Object> {
    let (Object::DateTime(instant), Some(other)) = (object, arguments.first()) else {
        return Err(TraverseError::step("dateDiff", "DateDiff can only be performed on a Date"));
    };
    match other {
        Object::DateTime(other) => Ok(Object::Long((instant.seconds - other.seconds) * 1_000)),
        Object::Null => Ok(Object::Long(instant.seconds * 1_000)),
        _ => Err(TraverseError::step("dateDiff", "DateDiff can only be performed on a Date")),
    }
}
