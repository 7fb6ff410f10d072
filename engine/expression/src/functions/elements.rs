//! `toIntegerList` and its kin: each element converted, null where it cannot be.

use super::convert;
use crate::error::{EvalError, takes};
use model::Value;
use plan::Function;

pub(super) fn call(function: Function, list: &Value) -> Result<Value, EvalError> {
    let each = match function {
        Function::ToIntegerList => Function::ToIntegerOrNull,
        Function::ToFloatList => Function::ToFloatOrNull,
        Function::ToBooleanList => Function::ToBooleanOrNull,
        _ => Function::ToStringOrNull,
    };
    match list {
        Value::Null => Ok(Value::Null),
        Value::List(elements) => {
            let converted = elements.iter().map(|element| convert::call(each, element));
            Value::try_list(converted.collect::<Result<Vec<_>, _>>()?).map_err(EvalError::from)
        }
        other => Err(takes(function, "a List", other)),
    }
}
