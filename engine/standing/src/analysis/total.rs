//! Decides which conditions fail on no row.

use model::Value;
use plan::expr::{BinaryOperator, UnaryOperator};
use plan::{Expr, Var};

/// Is it true, false or null for every row, whatever its variables hold, but for lists of names? No, unless it is known to be.
pub(super) fn is_total(condition: &Expr, is_names: &dyn Fn(Var) -> bool) -> bool {
    use BinaryOperator::*;
    match condition {
        Expr::Literal(constant) => matches!(constant.0, Value::Bool(_) | Value::Null),
        Expr::EdgesDistinct(_) => true,
        Expr::Unary(UnaryOperator::Not, inner) => is_total(inner, is_names),
        Expr::Unary(UnaryOperator::IsNull | UnaryOperator::IsNotNull, operand) => is_value(operand),
        Expr::Binary(And | Or | Xor, a, b) => is_total(a, is_names) && is_total(b, is_names),
        Expr::Binary(Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual, a, b) => {
            is_value(a) && is_value(b)
        }
        Expr::Binary(In, a, b) => is_value(a) && matches!(**b, Expr::Variable(var) if is_names(var)),
        _ => false,
    }
}

fn is_value(operand: &Expr) -> bool {
    matches!(operand, Expr::Literal(_) | Expr::Variable(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Function;

    #[test]
    fn what_may_fail_is_not_total() {
        let var = || Expr::Variable(Var(0));
        let (one, names) = (Expr::literal(1i64), Expr::Variable(Var(7)));
        let compared = |by| Expr::binary(by, var(), one.clone());
        let not = |inner: Expr| Expr::Unary(UnaryOperator::Not, Box::new(inner));
        let both = |a: Expr, b: Expr| Expr::binary(BinaryOperator::And, a, b);
        let divided = compared(BinaryOperator::Divide);
        for (condition, total) in [
            (compared(BinaryOperator::Less), true),
            (compared(BinaryOperator::Equal), true),
            (not(compared(BinaryOperator::NotEqual)), true),
            (both(compared(BinaryOperator::Less), Expr::literal(true)), true),
            (Expr::Unary(UnaryOperator::IsNull, Box::new(var())), true),
            (Expr::binary(BinaryOperator::In, Expr::literal("P"), names.clone()), true),
            (Expr::EdgesDistinct(vec![Var(1), Var(2)]), true),
            // A number is no truth, and no list.
            (var(), false),
            (one.clone(), false),
            (not(var()), false),
            (both(var(), Expr::literal(true)), false),
            (compared(BinaryOperator::In), false),
            (Expr::binary(BinaryOperator::In, Expr::literal("P"), var()), false),
            (compared(BinaryOperator::StartsWith), false),
            (Expr::binary(BinaryOperator::Greater, divided.clone(), one.clone()), false),
            (Expr::Unary(UnaryOperator::IsNull, Box::new(divided.clone())), false),
            (Expr::binary(BinaryOperator::In, divided, names), false),
            (Expr::Call(Function::Size, vec![var()]), false),
        ] {
            assert_eq!(is_total(&condition, &|var| var == Var(7)), total, "{condition:?}");
        }
    }
}
