//! `asNumber`, `asBool`: texts and numbers to numbers of a width, and to truth values.

use super::shown;
use crate::error::{Outcome, TraverseError};
use crate::number::Number;
use gremlin::{Decimal, Object, Token};
use std::sync::Arc;

pub(super) fn as_number(object: &Object, kind: Option<&Object>) -> Outcome<Object> {
    let fail = || {
        let what = match object {
            Object::String(text) => format!("string '{text}'"),
            Object::List(_) => "type ArrayList".into(),
            other => format!("type {}", other.type_name()),
        };
        TraverseError::step("asNumber", format!("Can't parse {what} as number."))
    };
    let number = match object {
        Object::Null => return Ok(Object::Null),
        Object::String(text) => parsed(text.trim()).ok_or_else(fail)?,
        Object::Bool(_) => return Err(fail()),
        Object::DateTime(instant) => {
            Object::Long(instant.seconds * 1_000 + i64::from(instant.nanos / 1_000_000))
        }
        other if Number::of(other).is_some() => other.clone(),
        _ => return Err(fail()),
    };
    match kind {
        Some(Object::Token(kind)) => cast(&number, *kind),
        _ => Ok(number),
    }
}

/// A number in text: the narrowest of int, long and big integer, or a double.
fn parsed(text: &str) -> Option<Object> {
    if let Ok(number) = text.parse::<i128>() {
        let bits = if i32::try_from(number).is_ok() { 32 } else { 64 };
        return Some(crate::number::whole(number, bits));
    }
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    plain.then(|| text.parse::<f64>().ok().map(Object::Double))?
}

fn cast(number: &Object, kind: Token) -> Outcome<Object> {
    let Some(value) = Number::of(number) else { return Ok(Object::Null) };
    let overflow = || {
        let message = format!(
            "Can't convert number of type {} to {} due to overflow.",
            number.type_name(),
            type_of(kind)
        );
        TraverseError::step("asNumber", message)
    };
    let whole = match value {
        Number::Whole(whole, _) => Some(whole),
        Number::Float(float, _) if float.is_finite() => Some(float as i128),
        Number::Float(..) => None,
        Number::Decimal(decimal) => Some(truncated(decimal)),
    };
    Ok(match kind {
        Token::GByte => Object::Byte(whole.and_then(|whole| i8::try_from(whole).ok()).ok_or_else(overflow)?),
        Token::GShort => {
            Object::Short(whole.and_then(|whole| i16::try_from(whole).ok()).ok_or_else(overflow)?)
        }
        Token::GInt => Object::Int(whole.and_then(|whole| i32::try_from(whole).ok()).ok_or_else(overflow)?),
        Token::GLong => Object::Long(whole.and_then(|whole| i64::try_from(whole).ok()).ok_or_else(overflow)?),
        Token::GBigInt => Object::BigInt(Arc::new(whole.ok_or_else(overflow)?)),
        Token::GFloat => {
            let narrow = value.as_f64() as f32;
            if narrow.is_infinite() && value.as_f64().is_finite() {
                return Err(overflow());
            }
            Object::Float(narrow)
        }
        Token::GDouble => Object::Double(value.as_f64()),
        Token::GBigDecimal => {
            let decimal = match value {
                Number::Whole(unscaled, _) => Some(Decimal { unscaled, scale: 0 }),
                Number::Decimal(decimal) => Some(decimal),
                Number::Float(float, _) => gremlin::parser::decimal(&format!("{float:?}")),
            };
            Object::BigDecimal(Arc::new(decimal.ok_or_else(overflow)?))
        }
        _ => number.clone(),
    })
}

fn type_of(kind: Token) -> &'static str {
    match kind {
        Token::GByte => "Byte",
        Token::GShort => "Short",
        Token::GInt => "Integer",
        Token::GLong => "Long",
        Token::GFloat => "Float",
        Token::GDouble => "Double",
        Token::GBigInt => "BigInteger",
        _ => "BigDecimal",
    }
}

fn truncated(decimal: Decimal) -> i128 {
    match u32::try_from(decimal.scale) {
        Ok(scale) => 10i128.checked_pow(scale).map_or(0, |power| decimal.unscaled / power),
        Err(_) => {
            let power = 10i128.checked_pow(decimal.scale.unsigned_abs());
            power.and_then(|power| decimal.unscaled.checked_mul(power)).unwrap_or(i128::MAX)
        }
    }
}

pub(super) fn as_bool(object: &Object) -> Outcome<Object> {
    match object {
        Object::Bool(_) => Ok(object.clone()),
        Object::String(text) if text.eq_ignore_ascii_case("true") => Ok(Object::Bool(true)),
        Object::String(text) if text.eq_ignore_ascii_case("false") => Ok(Object::Bool(false)),
        other => match Number::of(other) {
            Some(number) => Ok(Object::Bool(!number.is_nan() && number.as_f64() != 0.0)),
            None => Err(TraverseError::step("asBool", format!("Can't parse {} as Boolean.", shown(object)))),
        },
    }
}
