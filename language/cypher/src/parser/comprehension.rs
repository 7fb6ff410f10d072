//! Expressions that bind a variable: comprehensions, quantifiers, `reduce`; and plain lists, which begin like them.

use super::{Parsed, Parser};
use crate::ast::{Expression, ExpressionKind, Quantity};

impl Parser<'_> {
    /// Expressions that begin with `[`.
    pub(super) fn list_like(&mut self) -> Parsed<ExpressionKind> {
        self.expect_symbol("[")?;
        let kind = if self.is_name(0) && self.is_word(1, "IN") {
            self.in_brackets(true, Self::list_comprehension)?
        } else if self.at_path() || (self.is_name(0) && self.is_symbol(1, "=") && self.at_path_after(2)) {
            self.in_brackets(true, Self::pattern_comprehension)?
        } else if self.at_symbol("]") {
            ExpressionKind::List(Vec::new())
        } else {
            let items = self.in_brackets(false, |parser| parser.comma_separated(Self::expression))?;
            ExpressionKind::List(items)
        };
        self.expect_symbol("]")?;
        Ok(kind)
    }

    fn list_comprehension(&mut self) -> Parsed<ExpressionKind> {
        let variable = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = self.boxed_expression()?;
        let condition = self.optional_where()?.map(Box::new);
        let projection = if self.eat_symbol("|") { Some(self.boxed_expression()?) } else { None };
        Ok(ExpressionKind::ListComprehension { variable, list, condition, projection })
    }

    fn pattern_comprehension(&mut self) -> Parsed<ExpressionKind> {
        let pattern = Box::new(self.nested(Self::path_pattern)?);
        let condition = self.optional_where()?.map(Box::new);
        self.expect_symbol("|")?;
        let projection = self.boxed_expression()?;
        Ok(ExpressionKind::PatternComprehension { pattern, condition, projection })
    }

    /// `all(x IN list WHERE condition)` and its like.
    pub(super) fn quantified(&mut self, quantity: Quantity) -> Parsed<ExpressionKind> {
        self.bump();
        self.expect_symbol("(")?;
        let variable = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = Box::new(self.in_brackets(false, Self::expression)?);
        let condition = self.in_brackets(false, Self::optional_where)?.map(Box::new);
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Quantified { quantity, variable, list, condition })
    }

    /// `reduce(accumulator = initial, x IN list | step)`.
    pub(super) fn reduce(&mut self) -> Parsed<ExpressionKind> {
        self.bump();
        self.expect_symbol("(")?;
        let accumulator = self.name("a variable")?;
        self.expect_symbol("=")?;
        let initial = Box::new(self.in_brackets(true, Self::expression)?);
        self.expect_symbol(",")?;
        let variable = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = Box::new(self.in_brackets(true, Self::expression)?);
        self.expect_symbol("|")?;
        let step = Box::new(self.in_brackets(false, Self::expression)?);
        self.expect_symbol(")")?;
        Ok(ExpressionKind::Reduce { accumulator, initial, variable, list, step })
    }

    /// `WHERE condition`, if it comes next.
    pub(super) fn optional_where(&mut self) -> Parsed<Option<Expression>> {
        if self.eat_word("WHERE") { self.expression().map(Some) } else { Ok(None) }
    }
}
