//! Estimates for values that are known when a plan is made: from an index, instead of an average over all values.
//!
//! An average is right for most values and wrong by orders of magnitude for the most frequent values of a skewed key, and for the ends of a range. A
//! parameter's value is not known; it keeps the average. Cost: two searches in the index for each value or range.

use super::vertices;
use crate::algebra::Seek;
use crate::expr::{BinaryOperator, Expr, Name, Var};
use crate::statistics::Planning;
use model::Value;
use std::ops::Bound;

/// Values of a list that are looked up one by one; of a longer list, the first this many, and the rest by their average.
const LISTED_MAX: usize = 16;
/// Never nothing: the estimate is rough, and quotients stay finite.
const ROWS_MIN: f64 = 0.5;

/// Rows that a look-up by one key finds, if all that it looks for is known.
pub(super) fn sought(planning: &dyn Planning, label: &str, key: &Name, seek: &Seek) -> Option<f64> {
    let equal = |value: &Value| planning.between(label, key, Bound::Included(value), Bound::Included(value));
    let rows = match seek {
        Seek::Equal(values) => match &values[..] {
            [Expr::Literal(value)] => equal(&value.0)?,
            _ => return None,
        },
        Seek::In(list) => {
            let values = listed(list)?;
            let some: Vec<&Value> = values.iter().take(LISTED_MAX).copied().collect();
            // An index whose pages are not in memory finds nothing of a rare value: each counts, or a long list would be taken for half a row. Absent values of one in memory count too.
            let found = some.iter().map(|value| Some(equal(value)?.max(ROWS_MIN))).sum::<Option<f64>>()?;
            found * values.len() as f64 / some.len().max(1) as f64
        }
        Seek::Range(low, high) => {
            let (low, high) = (bound(low.as_ref())?, bound(high.as_ref())?);
            planning.between(label, key, low, high)?
        }
        Seek::Prefix(Expr::Literal(text)) => {
            let end = Value::string(format!("{}{}", text.0.as_str()?, char::MAX));
            planning.between(label, key, Bound::Included(&text.0), Bound::Excluded(&end))?
        }
        Seek::Prefix(_) => return None,
    };
    Some(rows.clamp(ROWS_MIN, planning.vertices(Some(label)).max(ROWS_MIN)))
}

/// The values of a list that is written out.
fn listed(list: &Expr) -> Option<Vec<&Value>> {
    match list {
        Expr::List(items) => items
            .iter()
            .map(|item| match item {
                Expr::Literal(value) => Some(&value.0),
                _ => None,
            })
            .collect(),
        Expr::Literal(constant) => match &constant.0 {
            Value::List(items) => Some(items.iter().collect()),
            _ => None,
        },
        _ => None,
    }
}

/// A bound that is absent or known; none where it is neither.
fn bound(written: Option<&(Expr, bool)>) -> Option<Bound<&Value>> {
    match written {
        None => Some(Bound::Unbounded),
        Some((Expr::Literal(value), true)) => Some(Bound::Included(&value.0)),
        Some((Expr::Literal(value), false)) => Some(Bound::Excluded(&value.0)),
        Some(_) => None,
    }
}

/// Share of rows for which a property of a vertex compares so with a known value, if an index can tell.
pub(super) fn compared(
    planning: &dyn Planning,
    operator: BinaryOperator,
    left: &Expr,
    right: &Expr,
    label_of: &dyn Fn(Var) -> Option<Name>,
) -> Option<f64> {
    use BinaryOperator::{Equal, Greater, GreaterEqual, Less, LessEqual};
    let mirrored = |operator| match operator {
        Less => Greater,
        LessEqual => GreaterEqual,
        Greater => Less,
        GreaterEqual => LessEqual,
        other => other,
    };
    let (subject, key, value, operator) = match (left, right) {
        (Expr::Property(subject, key), Expr::Literal(value)) => (subject, key, &value.0, operator),
        (Expr::Literal(value), Expr::Property(subject, key)) => (subject, key, &value.0, mirrored(operator)),
        _ => return None,
    };
    let (low, high) = match operator {
        Equal => (Bound::Included(value), Bound::Included(value)),
        Less => (Bound::Unbounded, Bound::Excluded(value)),
        LessEqual => (Bound::Unbounded, Bound::Included(value)),
        Greater => (Bound::Excluded(value), Bound::Unbounded),
        GreaterEqual => (Bound::Included(value), Bound::Unbounded),
        _ => return None,
    };
    let Expr::Variable(var) = **subject else { return None };
    let label = label_of(var)?;
    let rows = planning.between(&label, key, low, high)?.max(ROWS_MIN);
    Some((rows / vertices(planning, Some(&label))).min(1.0))
}

/// Does an index know the share of this condition?
pub(super) fn is_indexed(
    planning: &dyn Planning,
    condition: &Expr,
    label_of: &dyn Fn(Var) -> Option<Name>,
) -> bool {
    let counts = |side: &Expr| match side {
        Expr::Property(subject, key) => match **subject {
            Expr::Variable(var) => {
                label_of(var).is_some_and(|label| planning.distinct(&label, &[key]).is_some())
            }
            _ => false,
        },
        _ => false,
    };
    match condition {
        Expr::Binary(BinaryOperator::Equal, a, b) => {
            compared(planning, BinaryOperator::Equal, a, b, label_of).is_some() || counts(a) || counts(b)
        }
        Expr::Binary(BinaryOperator::In, a, _) => counts(a),
        Expr::Binary(operator, a, b) => compared(planning, *operator, a, b, label_of).is_some(),
        _ => false,
    }
}
