//! `math`: a formula over names, in floating point as Gremlin computes it.

use super::binary;
use crate::limits::FORMULA_OPERATORS_MAX;
use plan::Expr;
use plan::expr::BinaryOperator;

/// A formula as an expression; `name` gives the value of a name. None unless it is made of sums, products and parentheses.
pub(super) fn formula(text: &str, name: &mut dyn FnMut(&str) -> Option<Expr>) -> Option<Expr> {
    let mut reader = FormulaLowering { rest: text, name, depth: 0, operators: 0 };
    let whole = reader.sum()?;
    reader.rest.trim_start().is_empty().then_some(whole)
}

/// Deepest parentheses.
const DEPTH_MAX: usize = 16;

struct FormulaLowering<'f> {
    rest: &'f str,
    name: &'f mut dyn FnMut(&str) -> Option<Expr>,
    depth: usize,
    operators: usize,
}

impl FormulaLowering<'_> {
    fn take(&mut self, wanted: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let next = self.rest.chars().next().filter(|next| wanted.contains(next))?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }
    /// One operator more; none beyond the limit.
    fn count_operator(&mut self) -> Option<()> {
        self.operators += 1;
        (self.operators <= FORMULA_OPERATORS_MAX).then_some(())
    }
    fn sum(&mut self) -> Option<Expr> {
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            self.count_operator()?;
            let operator = if sign == '+' { BinaryOperator::Add } else { BinaryOperator::Subtract };
            left = binary(operator, left, self.product()?);
        }
        Some(left)
    }
    fn product(&mut self) -> Option<Expr> {
        let mut left = self.part()?;
        while let Some(sign) = self.take(&['*', '/']) {
            self.count_operator()?;
            let operator = if sign == '*' { BinaryOperator::Multiply } else { BinaryOperator::Divide };
            left = binary(operator, left, self.part()?);
        }
        Some(left)
    }
    fn part(&mut self) -> Option<Expr> {
        if self.take(&['(']).is_some() {
            self.depth += 1;
            let inner = (self.depth <= DEPTH_MAX).then(|| self.sum())??;
            self.depth -= 1;
            return self.take(&[')']).map(|_| inner);
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|letter: char| !(letter.is_alphanumeric() || "_.".contains(letter)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match word.parse::<f64>() {
            Ok(number) if word.starts_with(|letter: char| letter.is_ascii_digit()) => {
                Some(Expr::literal(number))
            }
            // what follows the name of a function is read by nobody, so there is no formula
            _ if word.is_empty() => None,
            _ => Some(binary(BinaryOperator::Multiply, (self.name)(word)?, Expr::literal(1.0))),
        }
    }
}
