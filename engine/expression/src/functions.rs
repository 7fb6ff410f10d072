//! The scalar functions: one match from each entry of `plan`'s table to the code that computes it.
//!
//! Arguments are values already evaluated (`coalesce` alone is evaluated step by step, by the interpreter). Unless a function
//! says otherwise, a null argument gives null.

pub mod convert;
mod elements;
pub mod graph;
pub mod list;
mod normalize;
mod number;
mod similarity;
mod space;
mod text;
pub(super) mod time;
mod trim;

use super::error::EvalError;
use super::scope::Scope;
use model::Value;
use plan::Function;
use world::chance::Chance;

/// Calls `function`; the number of arguments was checked against the table by the language.
///
/// # Errors
/// An argument of a type or a value that the function does not take.
pub fn call(function: Function, arguments: &[Value], scope: &Scope<'_>) -> Result<Value, EvalError> {
    use Function as F;
    let (least, most) = function.arity();
    if arguments.len() < least || arguments.len() > most {
        let message = format!("{} takes {least} to {most} arguments", function.name());
        return Err(EvalError::internal(message));
    }
    match function {
        F::Id | F::ElementId | F::Labels | F::Type | F::Keys | F::Properties | F::StartNode | F::EndNode => {
            graph::call(function, &arguments[0], scope)
        }
        F::Nodes | F::Relationships | F::Length => graph::call(function, &arguments[0], scope),
        F::Size | F::Head | F::Last | F::Tail | F::Reverse | F::IsEmpty => {
            list::call(function, &arguments[0])
        }
        F::Range => list::range(arguments),
        F::Coalesce => Ok(arguments.iter().find(|value| !value.is_null()).cloned().unwrap_or_default()),
        F::NullIf => Ok(match super::operators::equal(&arguments[0], &arguments[1])? {
            Some(true) => Value::Null,
            _ => arguments[0].clone(),
        }),
        F::TypeOrder => Ok(match &arguments[0] {
            Value::Null => Value::Null,
            value => Value::Int(type_place(value)),
        }),
        F::Exists => Ok(Value::Bool(!arguments[0].is_null())),
        F::ToInteger | F::ToFloat | F::ToBoolean | F::ToString | F::ValueType => {
            convert::call(function, &arguments[0])
        }
        F::ToIntegerOrNull | F::ToFloatOrNull | F::ToBooleanOrNull | F::ToStringOrNull => {
            convert::call(function, &arguments[0])
        }
        F::ToIntegerList | F::ToFloatList | F::ToBooleanList | F::ToStringList => {
            elements::call(function, &arguments[0])
        }
        F::Trim | F::BTrim | F::LTrim | F::RTrim => trim::call(function, arguments),
        F::Normalize => normalize::normalize(arguments),
        F::IsNormalized => normalize::is_normalized(arguments),
        F::IsTyped => match plan::types::conforms(&arguments[0], &arguments[1]) {
            Some(found) => Ok(Value::Bool(found)),
            None => Err(EvalError::internal("this is no type".to_string())),
        },
        F::VectorCosine | F::VectorEuclidean => similarity::call(function, arguments),
        // Known where the text is read; there is no LOAD CSV before this call.
        F::LineNumber | F::File => Ok(Value::Null),
        F::ToUpper | F::ToLower | F::Upper | F::Lower | F::CharLength | F::CharacterLength => {
            text::call(function, arguments)
        }
        F::Replace | F::Substring | F::Left | F::Right | F::Split => text::call(function, arguments),
        F::Abs | F::Sign | F::Ceil | F::Floor | F::Round | F::Sqrt | F::Exp | F::Log | F::Log10 => {
            number::call(function, arguments)
        }
        F::Sin | F::Cos | F::Tan | F::Cot | F::Asin | F::Acos | F::Atan | F::Atan2 | F::Degrees => {
            number::call(function, arguments)
        }
        F::Radians | F::Haversin | F::Pi | F::E | F::IsNaN => number::call(function, arguments),
        F::Rand => Ok(Value::Float(scope.request.draw(Chance::float))),
        F::RandomUuid => Ok(random_uuid(scope)),
        F::Point | F::PointDistance | F::PointWithinBBox => space::call(function, arguments),
        _ => time::call(function, arguments, scope),
    }
}

/// A UUID of version 4 (RFC 9562).
fn random_uuid(scope: &Scope<'_>) -> Value {
    let (high, low) = scope.request.draw(|chance| (chance.next_u64(), chance.next_u64()));
    let version = (high & !0xF000) | 0x4000;
    let variant = (low & !(0b11 << 62)) | (0b10 << 62);
    Value::string(format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        version >> 32,
        (version >> 16) & 0xFFFF,
        version & 0xFFFF,
        variant >> 48,
        variant & 0xFFFF_FFFF_FFFF
    ))
}

/// Where values of this type stand in Gremlin's order.
pub fn type_place(value: &Value) -> i64 {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
        Value::String(_) => 2,
        _ => 1,
    }
}
