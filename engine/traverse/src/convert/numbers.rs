//! `asNumber`, `asBool`: texts and numbers to numbers of a width, and to truth values.

use super::objects::shown;
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

/// A number in text, as Java's libraries read them: whole numbers in decimal, after `0x` in hexadecimal, after `0` in octal, the narrowest of int,
/// long and big integer that holds it; a float where it has the same digits as the double, a double where that is exact, or a decimal; and the
/// suffixes `L`, `f`, `d`.
fn parsed(text: &str) -> Option<Object> {
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let whole = |digits: &str, radix: u32, bits: u32| {
        let number = i128::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['-', '+']))?;
        let number = if negative { -number } else { number };
        let bits = if i32::try_from(number).is_ok() { bits } else { 64 };
        Some(crate::number::whole(number, bits))
    };
    if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return whole(digits, 16, 32);
    }
    if let Some(octal) =
        digits.strip_prefix('0').filter(|rest| rest.starts_with(|one: char| one.is_ascii_digit()))
        && !digits.contains('.')
    {
        return whole(octal, 8, 32);
    }
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    let number = text.strip_suffix(['l', 'L', 'f', 'F', 'd', 'D']).unwrap_or(text);
    if !number.bytes().all(plain) || !number.contains(|one: char| one.is_ascii_digit()) {
        return None;
    }
    let double = || number.parse::<f64>().ok().filter(|double| double.is_finite());
    match text.as_bytes().last() {
        Some(b'l' | b'L') => whole(digits.get(..digits.len() - 1)?, 10, 64),
        Some(b'f' | b'F') => match number.parse::<f32>().ok().filter(|float| float.is_finite()) {
            Some(float) => Some(Object::Float(float)),
            None => double().map(Object::Double),
        },
        Some(b'd' | b'D') => double().map(Object::Double),
        _ if number.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => fractional(number),
        _ => whole(digits, 10, 32),
    }
}

/// The narrowest of float, double and decimal that represents a number exactly as written.
fn fractional(text: &str) -> Option<Object> {
    let double = text.parse::<f64>().ok().filter(|double| double.is_finite())?;
    let float = text.parse::<f32>().ok()?;
    if float.to_string() == double.to_string() {
        return Some(Object::Float(float));
    }
    let decimal =
        |text: &str| gremlin::parser::decimal(text).map(|decimal| Object::BigDecimal(Arc::new(decimal)));
    match (decimal(text), decimal(&double.to_string())) {
        (Some(exact), Some(near)) if !crate::compare::equal(&exact, &near) => Some(exact),
        _ => Some(Object::Double(double)),
    }
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
