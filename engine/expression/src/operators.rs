//! The semantics of each operator, one value at a time. The fast paths must agree with this file.

use super::error::{ErrorClass, EvalError};
use super::functions::convert::text_of;
use super::metered;
use super::scope::Scope;
use model::compare::{compare, equals};
use model::nested::extent_of;
use model::{ListValue, Value, temporal};
use plan::expr::{BinaryOperator, UnaryOperator};
use regex::{Regex, RegexBuilder};
use std::cmp::Ordering;

/// Bytes a compiled regular expression may take: a pattern is user input.
const REGEX_BYTES_MAX: usize = 4 << 20;

/// Bytes of a text that an expression may make: repeated doubling must end in an error, not in the machine's memory.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// Elements of a list that an expression may make: 24 bytes each, so 240 MB at most.
pub const LIST_ELEMENTS_MAX: usize = 10_000_000;

/// # Errors
/// A text or list about to be made that is larger than the limit.
pub fn check_size(what: &str, size: usize, size_max: usize) -> Result<(), EvalError> {
    if size <= size_max {
        return Ok(());
    }
    Err(EvalError::new(ErrorClass::Limit, format!("{what} would have size {size}; the limit is {size_max}")))
}

/// The symbol users write.
pub fn symbol(operator: BinaryOperator) -> &'static str {
    use BinaryOperator as B;
    match operator {
        B::Or => "OR",
        B::Xor => "XOR",
        B::And => "AND",
        B::Equal => "=",
        B::NotEqual => "<>",
        B::Less => "<",
        B::LessEqual => "<=",
        B::Greater => ">",
        B::GreaterEqual => ">=",
        B::In => "IN",
        B::StartsWith => "STARTS WITH",
        B::EndsWith => "ENDS WITH",
        B::Contains => "CONTAINS",
        B::Matches => "=~",
        B::Add => "+",
        B::Subtract => "-",
        B::Multiply => "*",
        B::Divide => "/",
        B::Modulo => "%",
        B::Power => "^",
    }
}

/// The number as a float, if it is a number.
pub fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

/// A value as a truth value: `None` for null.
///
/// # Errors
/// Anything that is neither a Boolean nor null.
pub fn truth(operation: &str, value: &Value) -> Result<Option<bool>, EvalError> {
    match value {
        Value::Bool(truth) => Ok(Some(*truth)),
        Value::Null => Ok(None),
        other => Err(EvalError::wrong_type(operation, "a Boolean", other)),
    }
}

/// Three-valued AND.
pub fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Three-valued OR.
pub fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    and(a.map(|a| !a), b.map(|b| !b)).map(|both_false| !both_false)
}

/// One operand.
///
/// # Errors
/// A type the operator does not take; overflow.
pub fn unary(operator: UnaryOperator, value: &Value) -> Result<Value, EvalError> {
    match (operator, value) {
        (UnaryOperator::IsNull, value) => Ok(Value::Bool(value.is_null())),
        (UnaryOperator::IsNotNull, value) => Ok(Value::Bool(!value.is_null())),
        (UnaryOperator::Not, value) => Ok(truth("NOT", value)?.map(|truth| !truth).into()),
        (_, Value::Null) => Ok(Value::Null),
        (UnaryOperator::Negate, Value::Int(int)) => int
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| EvalError::arithmetic(format!("-({int}) does not fit 64 bits"))),
        (UnaryOperator::Negate, Value::Float(float)) => Ok(Value::Float(-float)),
        (UnaryOperator::Negate, Value::Duration(duration)) => Ok(Value::from(duration.times(-1.0)?)),
        (UnaryOperator::Plus, Value::Int(_) | Value::Float(_) | Value::Duration(_)) => Ok(value.clone()),
        (UnaryOperator::Negate, other) => Err(EvalError::wrong_type("-", "a number", other)),
        (UnaryOperator::Plus, other) => Err(EvalError::wrong_type("+", "a number", other)),
    }
}

/// Two operands; both are evaluated.
///
/// # Errors
/// Types the operator does not take; overflow; an integer divided by zero.
pub fn binary(operator: BinaryOperator, a: &Value, b: &Value, scope: &Scope<'_>) -> Result<Value, EvalError> {
    use BinaryOperator as B;
    Ok(match operator {
        B::And => and(truth("AND", a)?, truth("AND", b)?).into(),
        B::Or => or(truth("OR", a)?, truth("OR", b)?).into(),
        B::Xor => truth("XOR", a)?.zip(truth("XOR", b)?).map(|(a, b)| a != b).into(),
        B::Equal => equal(a, b)?.into(),
        B::NotEqual => equal(a, b)?.map(|same| !same).into(),
        B::Less | B::LessEqual | B::Greater | B::GreaterEqual => {
            metered::comparison(a, b)?;
            ordered(operator, a, b).into()
        }
        B::In => match b {
            Value::Null => Value::Null,
            Value::List(elements) => {
                metered::search(a, elements)?;
                in_list(a, elements).into()
            }
            other => return Err(EvalError::wrong_type("IN", "a List on its right", other)),
        },
        B::StartsWith => text_test(a, b, |text, part| text.starts_with(part)),
        B::EndsWith => text_test(a, b, |text, part| text.ends_with(part)),
        B::Contains => {
            metered::walk(a)?;
            text_test(a, b, |text, part| text.contains(part))
        }
        B::Matches => match (a, b) {
            (Value::String(text), Value::String(pattern)) => {
                Value::Bool(is_match(&*scope.request.regex(pattern)?, text)?)
            }
            _ => Value::Null,
        },
        B::Add | B::Subtract | B::Multiply | B::Divide | B::Modulo | B::Power => {
            return arithmetic(operator, a, b);
        }
    })
}

/// `a = b`.
///
/// # Errors
/// The query is over.
pub fn equal(a: &Value, b: &Value) -> Result<Option<bool>, EvalError> {
    match (a, b) {
        (Value::List(x), Value::List(y)) if x.len() == y.len() && is_long(a, b) && !x.is_same(y) => {
            equal_parts(x.iter().zip(y.iter()))
        }
        (Value::Map(x), Value::Map(y)) if is_long(a, b) && !x.is_same(y) && x.keys().eq(y.keys()) => {
            equal_parts(x.values().zip(y.values()))
        }
        _ => {
            metered::comparison(a, b)?;
            Ok(equals(a, b))
        }
    }
}

/// Parts from which on a list or a map is compared part by part, so that the query can be ended on the way.
const LONG_PARTS: u32 = 1 << 16;

fn is_long(a: &Value, b: &Value) -> bool {
    extent_of(a).parts.min(extent_of(b).parts) > LONG_PARTS
}

fn equal_parts<'v>(pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> Result<Option<bool>, EvalError> {
    let mut answer = Some(true);
    for (a, b) in pairs {
        match equal(a, b)? {
            Some(true) => {}
            Some(false) => return Ok(Some(false)),
            None => answer = None,
        }
    }
    Ok(answer)
}

/// Does the text match? Counted as several times the work of reading it.
///
/// # Errors
/// The query is over.
pub(super) fn is_match(regex: &Regex, text: &str) -> Result<bool, EvalError> {
    metered::text(text.len().saturating_mul(8))?;
    Ok(regex.is_match(text))
}

/// Work of compiling a regular expression, in elements.
const REGEX_ELEMENTS: usize = 4_096;

/// `a < b` and its kin; a comparison with NaN is false, one of types that do not compare is null.
pub fn ordered(operator: BinaryOperator, a: &Value, b: &Value) -> Option<bool> {
    match compare(a, b) {
        Some(order) => Some(admits(operator, order)),
        None if as_float(a).is_some() && as_float(b).is_some() => Some(false),
        None => None,
    }
}

/// Does this order satisfy the comparison?
#[inline]
pub fn admits(operator: BinaryOperator, order: Ordering) -> bool {
    match operator {
        BinaryOperator::Less => order.is_lt(),
        BinaryOperator::LessEqual => order.is_le(),
        BinaryOperator::Greater => order.is_gt(),
        BinaryOperator::GreaterEqual => order.is_ge(),
        BinaryOperator::Equal => order.is_eq(),
        BinaryOperator::NotEqual => order.is_ne(),
        _ => false,
    }
}

/// `value IN elements`: null where an unknown element could be the one.
pub fn in_list(value: &Value, elements: &[Value]) -> Option<bool> {
    let mut answer = Some(false);
    for element in elements {
        match equals(value, element) {
            Some(true) => return Some(true),
            None => answer = None,
            Some(false) => {}
        }
    }
    answer
}

fn text_test(a: &Value, b: &Value, test: impl Fn(&str, &str) -> bool) -> Value {
    match (a, b) {
        (Value::String(text), Value::String(part)) => Value::Bool(test(text, part)),
        _ => Value::Null,
    }
}

/// A regular expression that must match the whole text.
///
/// # Errors
/// A pattern that does not parse, or that would take too much memory.
pub fn full_match(pattern: &str) -> Result<Regex, EvalError> {
    metered::elements(REGEX_ELEMENTS)?;
    let build = |pattern: &str| RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build();
    // By itself first: `a)|(b` is no pattern, though one stands between the brackets with it.
    build(pattern).and_then(|_| build(&format!("\\A(?:{pattern})\\z"))).map_err(|error| {
        EvalError::new(ErrorClass::Syntax, format!("Invalid regular expression '{pattern}': {error}"))
            .with_hint("look-around and back-references are not supported")
    })
}

fn arithmetic(operator: BinaryOperator, a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(a), Value::Int(b)) => integers(operator, *a, *b),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            let (a, b) = (as_float(a).unwrap_or(f64::NAN), as_float(b).unwrap_or(f64::NAN));
            Ok(Value::Float(floats(operator, a, b)))
        }
        _ => match operator {
            BinaryOperator::Add => add(a, b),
            BinaryOperator::Subtract => subtract(a, b),
            BinaryOperator::Multiply => multiply(a, b),
            BinaryOperator::Divide => divide(a, b),
            _ => Err(EvalError::wrong_types(symbol(operator), a, b)),
        },
    }
}

/// Two integers.
///
/// # Errors
/// Overflow, division by zero.
pub fn integers(operator: BinaryOperator, a: i64, b: i64) -> Result<Value, EvalError> {
    let result = match operator {
        BinaryOperator::Add => a.checked_add(b),
        BinaryOperator::Subtract => a.checked_sub(b),
        BinaryOperator::Multiply => a.checked_mul(b),
        BinaryOperator::Divide | BinaryOperator::Modulo if b == 0 => {
            return Err(EvalError::arithmetic("/ by zero").with_hint("test the divisor, or divide floats"));
        }
        BinaryOperator::Divide => a.checked_div(b),
        BinaryOperator::Modulo => Some(a.wrapping_rem(b)),
        _ => return Ok(Value::Float(floats(operator, a as f64, b as f64))),
    };
    result.map(Value::Int).ok_or_else(|| {
        EvalError::arithmetic(format!("{a} {} {b} does not fit 64 bits", symbol(operator)))
            .with_hint("use floats where numbers grow beyond 9223372036854775807")
    })
}

/// Two floats.
#[inline]
pub fn floats(operator: BinaryOperator, a: f64, b: f64) -> f64 {
    match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::Divide => a / b,
        BinaryOperator::Modulo => a % b,
        _ => a.powf(b),
    }
}

fn add(a: &Value, b: &Value) -> Result<Value, EvalError> {
    let elements = |value: &Value| match value {
        Value::List(list) => list.len(),
        _ => 1,
    };
    if matches!(a, Value::List(_)) || matches!(b, Value::List(_)) {
        check_size("a List", elements(a) + elements(b), LIST_ELEMENTS_MAX)?;
    }
    Ok(match (a, b) {
        (Value::List(x), Value::List(y)) => {
            metered::list(x.len() + y.len(), x.iter().chain(y.iter()).cloned())?
        }
        (Value::List(x), element) => metered::list(x.len() + 1, x.iter().chain([element]).cloned())?,
        (element, Value::List(y)) => {
            metered::list(y.len() + 1, [element].into_iter().chain(y.iter()).cloned())?
        }
        (Value::Duration(x), Value::Duration(y)) => Value::from(x.plus(y)?),
        (Value::Duration(duration), instant) | (instant, Value::Duration(duration))
            if temporal::is_instant(instant) =>
        {
            temporal::add(instant, duration)?
        }
        (Value::String(_), _) | (_, Value::String(_)) => match (text_of(a), text_of(b)) {
            (Some(x), Some(y)) => {
                let size = x.len() + y.len();
                check_size("a String", size, TEXT_BYTES_MAX)?;
                metered::text(size)?;
                metered::within(2 * size, || Ok(Value::string(x + &y)))?
            }
            _ => return Err(EvalError::wrong_types("+", a, b)),
        },
        _ => return Err(EvalError::wrong_types("+", a, b)),
    })
}

fn subtract(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::Duration(x), Value::Duration(y)) => Ok(Value::from(x.plus(&y.times(-1.0)?)?)),
        (instant, Value::Duration(duration)) if temporal::is_instant(instant) => {
            Ok(temporal::add(instant, &duration.times(-1.0)?)?)
        }
        _ => Err(EvalError::wrong_types("-", a, b)),
    }
}

fn multiply(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::Duration(duration), number) | (number, Value::Duration(duration)) => {
            let factor = as_float(number).ok_or_else(|| EvalError::wrong_types("*", a, b))?;
            Ok(Value::from(duration.times(factor)?))
        }
        _ => Err(EvalError::wrong_types("*", a, b)),
    }
}

fn divide(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, as_float(b)) {
        (Value::Duration(duration), Some(divisor)) => Ok(Value::from(duration.divided_by(divisor)?)),
        _ => Err(EvalError::wrong_types("/", a, b)),
    }
}

/// A list, or an error that names the operation; `None` for null.
///
/// # Errors
/// Anything that is neither a list nor null.
pub fn list_of(operation: &str, value: Value) -> Result<Option<ListValue>, EvalError> {
    match value {
        Value::Null => Ok(None),
        Value::List(elements) => Ok(Some(elements)),
        other => Err(EvalError::wrong_type(operation, "a List", &other)),
    }
}
