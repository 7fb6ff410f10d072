//! Calls over many rows: arguments are read or computed as columns, and the function is called for each row.
//!
//! That is done where no argument makes a list, a map or a text of its own for each row: a batch of those would be held at once, as one of
//! properties is, of which functions of lists take none here. A map that is written out for an instant (`date({year: y, month: m})`) is never made:
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
        _ if takes_lists(function) => arguments.iter().all(is_there),
        _ => arguments.iter().all(is_small),
    };
    (is_fit && !arguments.is_empty()).then_some(ByColumns::Each(arguments))
}

/// Is it asked of lists, which may be long?
fn takes_lists(function: Function) -> bool {
    use Function as F;
    matches!(function, F::Head | F::Last | F::Tail | F::Reverse | F::IsEmpty | F::Size)
        || matches!(function, F::VectorCosine | F::VectorEuclidean)
        || matches!(function, F::ToIntegerList | F::ToFloatList | F::ToBooleanList | F::ToStringList)
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
