//! Functions of lists, and those that take lists and texts alike.

use crate::error::{ErrorClass, EvalError, takes};
use crate::metered;
use model::Value;
use plan::Function;

/// Elements `range()` may make: 24 bytes each, so 240 MB at most.
pub const RANGE_ELEMENTS_MAX: i128 = 10_000_000;

pub(super) fn call(function: Function, value: &Value) -> Result<Value, EvalError> {
    use Function as F;
    if let Value::String(text) = value {
        metered::text(text.len())?;
    }
    Ok(match (function, value) {
        (_, Value::Null) => Value::Null,
        (F::Size, Value::List(list)) => Value::Int(list.len() as i64),
        (F::Size, Value::String(text)) => Value::Int(text.chars().count() as i64),
        (F::Head, Value::List(list)) => list.first().cloned().unwrap_or_default(),
        (F::Last, Value::List(list)) => list.last().cloned().unwrap_or_default(),
        (F::Tail, Value::List(list)) => {
            metered::list(list.len().saturating_sub(1), list.iter().skip(1).cloned())?
        }
        (F::Reverse, Value::List(list)) => metered::list(list.len(), list.iter().rev().cloned())?,
        (F::Reverse, Value::String(text)) => Value::string(text.chars().rev().collect::<String>()),
        (F::IsEmpty, Value::List(list)) => Value::Bool(list.is_empty()),
        (F::IsEmpty, Value::Map(map)) => Value::Bool(map.is_empty()),
        (F::IsEmpty, Value::String(text)) => Value::Bool(text.is_empty()),
        (F::Size | F::Reverse, other) => return Err(takes(function, "a List or String", other)),
        (F::IsEmpty, other) => return Err(takes(function, "a List, Map or String", other)),
        (_, other) => return Err(takes(function, "a List", other)),
    })
}

/// The numbers of a range, one after another.
#[derive(Debug, Clone)]
pub struct Counting {
    next: i64,
    step: i64,
    left: i128,
}

impl Counting {
    /// How many are left.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks that of a count")]
    pub fn len(&self) -> i128 {
        self.left
    }
}

impl Iterator for Counting {
    type Item = i64;
    fn next(&mut self) -> Option<i64> {
        self.left = (self.left > 0).then(|| self.left - 1)?;
        let number = self.next;
        self.next = self.next.wrapping_add(self.step);
        Some(number)
    }
}

/// The numbers of `range(start, end, step)`: both ends included.
///
/// # Errors
/// An argument is no integer, or the step is zero.
pub fn counting(arguments: &[Value]) -> Result<Counting, EvalError> {
    let integer = |at: usize| match arguments.get(at) {
        Some(Value::Int(int)) => Ok(*int),
        Some(other) => Err(takes(Function::Range, "Integers", other)),
        None => Ok(1),
    };
    let (start, end, step) = (integer(0)?, integer(1)?, integer(2)?);
    if step == 0 {
        return Err(EvalError::argument("range() cannot take steps of zero"));
    }
    let empty = (step > 0 && start > end) || (step < 0 && start < end);
    let count = (i128::from(end) - i128::from(start)) / i128::from(step) + 1;
    Ok(Counting { next: start, step, left: if empty { 0 } else { count } })
}

/// `range(start, end, step)` as a list.
pub(super) fn range(arguments: &[Value]) -> Result<Value, EvalError> {
    let numbers = counting(arguments)?;
    let count = numbers.len();
    if count > RANGE_ELEMENTS_MAX {
        let message = format!("range() would make {count} elements; at most {RANGE_ELEMENTS_MAX} are made");
        return Err(
            EvalError::new(ErrorClass::Limit, message).with_hint("split the range into parts, or unwind it")
        );
    }
    metered::list(usize::try_from(count).unwrap_or(0), numbers.map(Value::Int))
}
