//! `vector.similarity.cosine` and `vector.similarity.euclidean`: how near two lists of numbers are, from 0 to 1.

use crate::error::{EvalError, takes};
use model::Value;
use plan::Function;

/// Null where one of the two is null; both must be lists of as many numbers, at least one.
pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, EvalError> {
    let (Some(a), Some(b)) = (numbers(function, &arguments[0])?, numbers(function, &arguments[1])?) else {
        return Ok(Value::Null);
    };
    if a.len() != b.len() || a.is_empty() {
        let message = format!(
            "{}() takes two vectors of the same length, not {} and {}",
            function.name(),
            a.len(),
            b.len()
        );
        return Err(EvalError::argument(message));
    }
    let pairs = || a.iter().zip(&b);
    if function == Function::VectorEuclidean {
        let squared: f64 = pairs().map(|(x, y)| (x - y) * (x - y)).sum();
        return Ok(Value::Float(1.0 / (1.0 + squared)));
    }
    let length = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let lengths = length(&a) * length(&b);
    if lengths == 0.0 || !lengths.is_finite() {
        return Err(EvalError::argument(format!(
            "{}() takes vectors of a positive, finite length",
            function.name()
        )));
    }
    let cosine: f64 = pairs().map(|(x, y)| x * y).sum::<f64>() / lengths;
    Ok(Value::Float((1.0 + cosine.clamp(-1.0, 1.0)) / 2.0))
}

fn numbers(function: Function, value: &Value) -> Result<Option<Vec<f64>>, EvalError> {
    let elements = match value {
        Value::Null => return Ok(None),
        Value::List(elements) => elements,
        other => return Err(takes(function, "a List of numbers", other)),
    };
    let number = |element: &Value| match element {
        Value::Int(int) => Ok(*int as f64),
        Value::Float(float) if float.is_finite() => Ok(*float),
        other => Err(takes(function, "finite numbers", other)),
    };
    elements.iter().map(number).collect::<Result<_, _>>().map(Some)
}
