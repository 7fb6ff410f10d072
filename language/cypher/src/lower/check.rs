//! Checks that a value of a known type fits where it stands.

use super::types::Type;
use super::{Lowered, fail};
use crate::error::ErrorKind;
use text::Span;

/// Conditions and the operands of `AND`, `OR`, `XOR`, `NOT`.
pub(super) fn boolean(kind: &Type, span: Span) -> Lowered<()> {
    if kind.may_be(&[Type::Boolean]) {
        return Ok(());
    }
    fail(
        ErrorKind::InvalidArgumentType,
        format!("a Boolean is needed here, not a value of type {}", kind.name()),
        span,
    )
}

/// Operands of `-`, `*`, `/`, `%`, `^`. Durations and the like take part in some of them.
pub(super) fn arithmetic(kind: &Type, span: Span) -> Lowered<()> {
    if kind.may_be(&[Type::Integer, Type::Float, Type::Composed]) {
        return Ok(());
    }
    fail(
        ErrorKind::InvalidArgumentType,
        format!("a number is needed here, not a value of type {}", kind.name()),
        span,
    )
}
