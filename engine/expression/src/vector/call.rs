//! Calls over many rows: arguments are read or computed as columns, and the function is called for each row.
//!
//! That is done where no argument makes a list, a map or a text of its own for each row, since a batch of those would be held at once; for the same
//! reason only functions of small values take properties so. A map that is written out for an instant (`date({year: y, month: m})`) is never made:
//! its fields are columns.

use crate::error::EvalError;
use crate::functions::{self, time};
use crate::node::Node;
use crate::scope::Scope;
use model::Value;
use model::temporal::Kind;
use plan::Function;
use plan::expr::{BinaryOperator, Name};
use smallvec::SmallVec;

/// Fields that an instant mostly has at most.
const FIELDS: usize = 6;

/// Arguments of a call that have a column each.
pub(super) enum ByColumns<'a> {
    Each(&'a [Node]),
    /// The fields of an instant.
    Fields(Kind, &'a [(Name, Node)]),
}

/// The arguments, if they can be computed as columns.
pub(super) fn by_columns(function: Function, arguments: &[Node]) -> Option<ByColumns<'_>> {
    if let ([Node::Map(fields)], Some(kind)) = (arguments, time::constructor(function)) {
        let is_fit = |(at, (name, value)): (usize, &(Name, Node))| {
            is_small(value) && fields[..at].iter().all(|(earlier, _)| earlier != name)
        };
        return fields.iter().enumerate().all(is_fit).then_some(ByColumns::Fields(kind, fields));
    }
    let is_there = |node: &Node| matches!(node, Node::Column(_) | Node::Constant(_) | Node::Parameter(_));
    let is_fit = match function {
        // It computes no argument behind the first that is not null.
        Function::Coalesce => false,
        _ if takes_small_values(function) => arguments.iter().all(is_small),
        _ => arguments.iter().all(is_there),
    };
    (is_fit && !arguments.is_empty()).then_some(ByColumns::Each(arguments))
}

/// Is it asked of numbers, instants and names, not of lists and long texts?
fn takes_small_values(function: Function) -> bool {
    use Function as F;
    matches!(
        function,
        F::Abs
            | F::Sign
            | F::Ceil
            | F::Floor
            | F::Round
            | F::Sqrt
            | F::Exp
            | F::Log
            | F::Log10
            | F::Sin
            | F::Cos
    ) || matches!(
        function,
        F::Tan | F::Cot | F::Asin | F::Acos | F::Atan | F::Atan2 | F::Degrees | F::Radians
    ) || matches!(function, F::ToInteger | F::ToFloat | F::ToBoolean | F::ToUpper | F::ToLower | F::Upper)
        || matches!(function, F::ToIntegerOrNull | F::ToFloatOrNull | F::ToBooleanOrNull | F::Lower | F::Trim)
        || matches!(function, F::DateTimeFromEpoch | F::DateTimeFromEpochMillis | F::DurationBetween)
        || matches!(function, F::DurationInMonths | F::DurationInDays | F::DurationInSeconds)
        || time::constructor(function).is_some()
}

/// Is its value there already, or a number, or an instant?
fn is_small(node: &Node) -> bool {
    match node {
        Node::Column(_) | Node::Constant(_) | Node::Parameter(_) => true,
        Node::Property(subject, _) => is_small(subject),
        Node::Unary(_, a) => is_small(a),
        Node::Binary(operator, a, b) => {
            use BinaryOperator::{Divide, Modulo, Multiply, Power, Subtract};
            matches!(operator, Subtract | Multiply | Divide | Modulo | Power) && is_small(a) && is_small(b)
        }
        Node::Call(function, arguments) => {
            time::constructor(*function).is_some() && by_columns(*function, arguments).is_some()
        }
        _ => false,
    }
}

impl ByColumns<'_> {
    /// The arguments, in order.
    pub(super) fn nodes(&self) -> Vec<&Node> {
        match self {
            ByColumns::Each(arguments) => arguments.iter().collect(),
            ByColumns::Fields(_, fields) => fields.iter().map(|(_, value)| value).collect(),
        }
    }
    /// Calls the function with their values.
    pub(super) fn call(
        &self,
        function: Function,
        values: &[Value],
        scope: &Scope<'_>,
    ) -> Result<Value, EvalError> {
        match self {
            ByColumns::Each(_) => functions::call(function, values, scope),
            ByColumns::Fields(kind, fields) => {
                let named = fields.iter().zip(values).map(|((name, _), value)| (&**name, value));
                time::of_fields(*kind, &named.collect::<SmallVec<[_; FIELDS]>>(), scope)
            }
        }
    }
}
