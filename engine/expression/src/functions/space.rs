//! Functions of points; what they mean stands in [`model::point`].

use crate::error::{EvalError, takes};
use model::{Value, point};
use plan::Function;
use std::sync::Arc;

pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    match (function, arguments) {
        (Function::Point, [Value::Null]) => Ok(Value::Null),
        (Function::Point, [Value::Map(map)]) => {
            Ok(point::from_map(map)?.map_or(Value::Null, |point| Value::Point(Arc::new(point))))
        }
        (Function::Point, [Value::Point(point)]) => Ok(Value::Point(point.clone())),
        (Function::Point, [other, ..]) => Err(takes(function, "a Map", other)),
        (Function::PointDistance, [Value::Point(a), Value::Point(b)]) => Ok(point::distance(a, b).into()),
        (Function::PointWithinBBox, [Value::Point(inner), Value::Point(low), Value::Point(high)]) => {
            Ok(point::within_box(inner, low, high).into())
        }
        _ => Ok(Value::Null),
    }
}
