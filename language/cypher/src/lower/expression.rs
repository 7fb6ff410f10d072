//! Expressions: the one match from syntax to plan, operators, and expressions that bind a variable.

use plan::Function;
use plan::expr::{BinaryOperator, Expr, Quantifier, UnaryOperator};

use super::check::{arithmetic, boolean};
use super::scope::Scope;
use super::types::Type;
use super::value::literal;
use super::{Lowered, Lowerer, Typed, fail, fail_with_hint};
use crate::ast::{self, ComparisonOperator, Expression, ExpressionKind, Name, Quantity};
use crate::error::ErrorKind;
use text::Span;

impl Lowerer<'_> {
    /// An expression that is a value.
    pub(super) fn expression(&mut self, expression: &Expression, scope: &mut Scope) -> Lowered<Typed> {
        crate::error::spend(1)?;
        if let Some(known) = self.known_column(expression, scope)? {
            return Ok(known);
        }
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Literal(value) => Ok(literal(value)),
            ExpressionKind::Parameter(name) => {
                Ok(Typed { expr: Expr::Parameter(self.parameter(name)), kind: Type::Any })
            }
            ExpressionKind::Variable(name) => self.variable_value(name, scope, span),
            ExpressionKind::Property(target, key) => self.property(target, key, scope),
            ExpressionKind::List(items) => self.list(items, scope),
            ExpressionKind::Map(entries) => self.map(entries, scope),
            ExpressionKind::Index(target, index) => self.index(target, index, scope),
            ExpressionKind::Slice(target, from, to) => {
                self.slice(target, [from.as_deref(), to.as_deref()], scope)
            }
            ExpressionKind::Function(call) => self.call(call, span, scope),
            ExpressionKind::CountAll => self.count_all(span),
            ExpressionKind::Case(case) => self.case(case, scope),
            ExpressionKind::MapProjection(target, items) => self.map_projection(target, items, scope),
            ExpressionKind::Pattern(pattern) => self.pattern_value(pattern, span, scope),
            ExpressionKind::Exists(_) | ExpressionKind::Count(_) | ExpressionKind::Collect(_) => {
                self.subquery(expression, scope)
            }
            _ => self.operation(expression, scope),
        }
    }

    /// An expression that is a condition, where a pattern stands for its existence.
    pub(super) fn predicate(&mut self, expression: &Expression, scope: &mut Scope) -> Lowered<Typed> {
        let condition = match &expression.kind {
            ExpressionKind::Pattern(pattern) if pattern.selector == ast::Selector::Every => {
                self.pattern_exists(pattern, scope)?
            }
            _ => self.expression(expression, scope)?,
        };
        boolean(&condition.kind, expression.span)?;
        Ok(condition)
    }

    fn operation(&mut self, expression: &Expression, scope: &mut Scope) -> Lowered<Typed> {
        match &expression.kind {
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand, scope),
            ExpressionKind::And(operands) => self.logical(BinaryOperator::And, operands, scope),
            ExpressionKind::Or(operands) => self.logical(BinaryOperator::Or, operands, scope),
            ExpressionKind::Xor(operands) => self.logical(BinaryOperator::Xor, operands, scope),
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right, scope),
            ExpressionKind::Comparison(first, rest) => self.comparison(first, rest, scope),
            ExpressionKind::IsNull { operand, negated } => {
                let operand = Box::new(self.expression(operand, scope)?.expr);
                let operator = if *negated { UnaryOperator::IsNotNull } else { UnaryOperator::IsNull };
                Ok(Typed { expr: Expr::Unary(operator, operand), kind: Type::Boolean })
            }
            ExpressionKind::HasLabels(operand, wanted) => {
                let value = self.expression(operand, scope)?;
                if !value.kind.may_be(&[Type::Node, Type::Relationship]) {
                    let message =
                        format!("only nodes and relationships have labels, not a {}", value.kind.name());
                    return fail(ErrorKind::InvalidArgumentType, message, operand.span);
                }
                let expr = self.label_condition(&value.expr, &value.kind, wanted, scope)?;
                Ok(Typed { expr, kind: Type::Boolean })
            }
            ExpressionKind::IsTyped { operand, wanted, negated } => {
                let value = self.expression(operand, scope)?.expr;
                let wanted = Expr::literal(wanted.encode());
                Ok(truth(Expr::Call(Function::IsTyped, vec![value, wanted]), *negated))
            }
            ExpressionKind::IsNormalized { operand, form, negated } => {
                let value = self.expression(operand, scope)?.expr;
                let form = Expr::literal(model::Value::string(form.as_str()));
                Ok(truth(Expr::Call(Function::IsNormalized, vec![value, form]), *negated))
            }
            ExpressionKind::CaseSubject => match self.subject_of_case() {
                Some(subject) => Ok(subject),
                None => fail(ErrorKind::UnexpectedSyntax, "there is no CASE here", expression.span),
            },
            _ => self.binding(expression, scope),
        }
    }

    fn unary(
        &mut self,
        operator: ast::UnaryOperator,
        operand: &Expression,
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let (value, operator) = match operator {
            ast::UnaryOperator::Not => (self.predicate(operand, scope)?, UnaryOperator::Not),
            ast::UnaryOperator::Plus => (self.expression(operand, scope)?, UnaryOperator::Plus),
            ast::UnaryOperator::Minus => (self.expression(operand, scope)?, UnaryOperator::Negate),
        };
        if operator != UnaryOperator::Not {
            arithmetic(&value.kind, operand.span)?;
        }
        Ok(Typed { expr: Expr::Unary(operator, Box::new(value.expr)), kind: value.kind })
    }

    /// Joins operands as a balanced tree, so that a long chain is not a deep one.
    fn logical(
        &mut self,
        operator: BinaryOperator,
        operands: &[Expression],
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let mut exprs = Vec::with_capacity(operands.len());
        for operand in operands {
            exprs.push(self.predicate(operand, scope)?.expr);
        }
        Ok(Typed { expr: balanced(operator, exprs), kind: Type::Boolean })
    }

    fn comparison(
        &mut self,
        first: &Expression,
        rest: &[(ComparisonOperator, Expression)],
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let mut left = self.expression(first, scope)?.expr;
        let mut pairs = Vec::with_capacity(rest.len());
        for (operator, operand) in rest {
            let right = self.expression(operand, scope)?.expr;
            pairs.push(Expr::binary(comparison_operator(*operator), left, right.clone()));
            left = right;
        }
        Ok(Typed { expr: balanced(BinaryOperator::And, pairs), kind: Type::Boolean })
    }

    fn binary(
        &mut self,
        operator: ast::BinaryOperator,
        left: &Expression,
        right: &Expression,
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let left_value = self.expression(left, scope)?;
        let right_value = self.expression(right, scope)?;
        let kind =
            self.binary_type(operator, (&left_value.kind, left.span), (&right_value.kind, right.span))?;
        Ok(Typed { expr: Expr::binary(binary_operator(operator), left_value.expr, right_value.expr), kind })
    }

    fn binary_type(
        &self,
        operator: ast::BinaryOperator,
        (left, left_span): (&Type, Span),
        (right, right_span): (&Type, Span),
    ) -> Lowered<Type> {
        use ast::BinaryOperator::*;
        match operator {
            StartsWith | EndsWith | Contains | Matches => Ok(Type::Boolean),
            In if right.may_be_list() => Ok(Type::Boolean),
            In => {
                let message = format!("IN needs a list on its right, not a value of type {}", right.name());
                fail_with_hint(ErrorKind::InvalidArgumentType, message, right_span, "write [a, b] for a list")
            }
            Add | Concatenate => Ok(sum_type(left, right)),
            Subtract | Multiply | Divide | Modulo | Power => {
                arithmetic(left, left_span)?;
                arithmetic(right, right_span)?;
                let whole = *left == Type::Integer && *right == Type::Integer && operator != Power;
                Ok(if whole { Type::Integer } else { Type::Any })
            }
        }
    }

    /// Comprehensions, quantifiers and `reduce`.
    fn binding(&mut self, expression: &Expression, scope: &mut Scope) -> Lowered<Typed> {
        match &expression.kind {
            ExpressionKind::ListComprehension { variable, list, condition, projection } => {
                let (list, element) = self.list_operand(list, scope)?;
                let mark = scope.mark();
                let var = self.local(variable, element.clone(), scope);
                let predicate =
                    condition.as_ref().map(|condition| self.inner(condition, scope, true)).transpose()?;
                let map =
                    projection.as_ref().map(|projection| self.inner(projection, scope, false)).transpose()?;
                scope.forget_since(mark);
                let kind = Type::list(map.as_ref().map_or(element, |map| map.kind.clone()));
                let boxed = |value: Option<Typed>| value.map(|value| Box::new(value.expr));
                let (predicate, map) = (boxed(predicate), boxed(map));
                Ok(Typed { expr: Expr::Comprehension { variable: var, list, predicate, map }, kind })
            }
            ExpressionKind::Quantified { quantity, variable, list, condition } => {
                let (list, element) = self.list_operand(list, scope)?;
                let mark = scope.mark();
                let var = self.local(variable, element, scope);
                let predicate = match condition {
                    Some(condition) => self.inner(condition, scope, true)?.expr,
                    None => Expr::Variable(var),
                };
                scope.forget_since(mark);
                let quantifier = quantifier(*quantity);
                let expr =
                    Expr::Quantified { quantifier, variable: var, list, predicate: Box::new(predicate) };
                Ok(Typed { expr, kind: Type::Boolean })
            }
            ExpressionKind::Reduce { accumulator, initial, variable, list, step } => {
                let initial = Box::new(self.expression(initial, scope)?.expr);
                let (list, element) = self.list_operand(list, scope)?;
                let mark = scope.mark();
                let carried = self.local(accumulator, Type::Any, scope);
                let var = self.local(variable, element, scope);
                let body = Box::new(self.inner(step, scope, false)?.expr);
                scope.forget_since(mark);
                let expr = Expr::Reduce { accumulator: carried, initial, variable: var, list, body };
                Ok(Typed { expr, kind: Type::Any })
            }
            _ => self.pattern_comprehension(expression, scope),
        }
    }

    fn list_operand(&mut self, list: &Expression, scope: &mut Scope) -> Lowered<(Box<Expr>, Type)> {
        let value = self.expression(list, scope)?;
        if !value.kind.may_be_list() {
            let message = format!("a list is needed here, not a value of type {}", value.kind.name());
            return fail(ErrorKind::InvalidArgumentType, message, list.span);
        }
        Ok((Box::new(value.expr), value.kind.element()))
    }

    fn local(&mut self, variable: &Name, kind: Type, scope: &mut Scope) -> plan::Var {
        let var = self.variable(&variable.text);
        scope.declare_local(&variable.text, var, kind);
        var
    }

    /// An expression evaluated for each element, which therefore cannot aggregate rows.
    fn inner(&mut self, expression: &Expression, scope: &mut Scope, condition: bool) -> Lowered<Typed> {
        if let Some(span) = super::aggregate::find(expression) {
            let message = "an aggregate cannot stand inside an expression over a list";
            return fail_with_hint(
                ErrorKind::InvalidAggregation,
                message,
                span,
                "aggregate in a WITH before",
            );
        }
        if condition { self.predicate(expression, scope) } else { self.expression(expression, scope) }
    }
}

/// A test, or its opposite.
fn truth(test: Expr, negated: bool) -> Typed {
    let expr = if negated { Expr::Unary(UnaryOperator::Not, Box::new(test)) } else { test };
    Typed { expr, kind: Type::Boolean }
}

/// Joins expressions with an associative operator, as a balanced tree in their order.
pub(super) fn balanced(operator: BinaryOperator, mut exprs: Vec<Expr>) -> Expr {
    while exprs.len() > 1 {
        let mut joined = Vec::with_capacity(exprs.len().div_ceil(2));
        let mut rest = exprs.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => Expr::binary(operator, left, right),
                None => left,
            });
        }
        exprs = joined;
    }
    exprs.pop().unwrap_or_else(|| Expr::literal(true))
}

fn sum_type(left: &Type, right: &Type) -> Type {
    match (left, right) {
        (Type::Integer, Type::Integer) => Type::Integer,
        (Type::String, _) | (_, Type::String) if !left.may_be_list() && !right.may_be_list() => Type::String,
        (Type::List(_), Type::List(_)) => left.clone().join(right.clone()),
        (Type::List(_), _) | (_, Type::List(_)) => Type::list(Type::Any),
        _ => Type::Any,
    }
}

fn quantifier(quantity: Quantity) -> Quantifier {
    match quantity {
        Quantity::All => Quantifier::All,
        Quantity::Any => Quantifier::Any,
        Quantity::None => Quantifier::None,
        Quantity::Single => Quantifier::Single,
    }
}

fn comparison_operator(operator: ComparisonOperator) -> BinaryOperator {
    match operator {
        ComparisonOperator::Equal => BinaryOperator::Equal,
        ComparisonOperator::NotEqual => BinaryOperator::NotEqual,
        ComparisonOperator::Less => BinaryOperator::Less,
        ComparisonOperator::LessOrEqual => BinaryOperator::LessEqual,
        ComparisonOperator::Greater => BinaryOperator::Greater,
        ComparisonOperator::GreaterOrEqual => BinaryOperator::GreaterEqual,
    }
}

fn binary_operator(operator: ast::BinaryOperator) -> BinaryOperator {
    match operator {
        ast::BinaryOperator::Add | ast::BinaryOperator::Concatenate => BinaryOperator::Add,
        ast::BinaryOperator::Subtract => BinaryOperator::Subtract,
        ast::BinaryOperator::Multiply => BinaryOperator::Multiply,
        ast::BinaryOperator::Divide => BinaryOperator::Divide,
        ast::BinaryOperator::Modulo => BinaryOperator::Modulo,
        ast::BinaryOperator::Power => BinaryOperator::Power,
        ast::BinaryOperator::In => BinaryOperator::In,
        ast::BinaryOperator::StartsWith => BinaryOperator::StartsWith,
        ast::BinaryOperator::EndsWith => BinaryOperator::EndsWith,
        ast::BinaryOperator::Contains => BinaryOperator::Contains,
        ast::BinaryOperator::Matches => BinaryOperator::Matches,
    }
}
