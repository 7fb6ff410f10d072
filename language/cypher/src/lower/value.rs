//! Values: literals, variables, properties, lists, maps.

use super::dynamic;
use std::sync::Arc;

use plan::expr::{Expr, MapProjectionItem};

use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, Typed, fail, fail_with_hint, name};
use crate::ast::{self, Expression, Literal, Name};
use crate::error::ErrorKind;
use text::Span;

pub(super) fn literal(literal: &Literal) -> Typed {
    match literal {
        Literal::Null => Typed { expr: Expr::literal(model::Value::Null), kind: Type::Null },
        Literal::Boolean(value) => Typed { expr: Expr::literal(*value), kind: Type::Boolean },
        Literal::Integer(value) => Typed { expr: Expr::literal(*value), kind: Type::Integer },
        Literal::Float(value) => Typed { expr: Expr::literal(*value), kind: Type::Float },
        Literal::String(value) => {
            Typed { expr: Expr::literal(model::Value::string(value.as_str())), kind: Type::String }
        }
    }
}

impl Lowerer<'_> {
    pub(super) fn variable_value(&mut self, text: &str, scope: &Scope, span: Span) -> Lowered<Typed> {
        if let Some(value) = number_word(text).filter(|_| scope.get(text).is_none()) {
            return Ok(Typed { expr: Expr::literal(value), kind: Type::Float });
        }
        let binding = self.find(scope, text, span)?;
        let expr = binding.instead.clone().unwrap_or(Expr::Variable(binding.var));
        Ok(Typed { expr, kind: binding.kind.clone() })
    }

    pub(super) fn property(&mut self, target: &Expression, key: &Name, scope: &mut Scope) -> Lowered<Typed> {
        let subject = self.expression(target, scope)?;
        match &subject.kind {
            Type::Path => {
                let message = "a path has no properties";
                return fail_with_hint(
                    ErrorKind::InvalidArgumentType,
                    message,
                    key.span,
                    "use nodes(path) or relationships(path)",
                );
            }
            Type::Boolean | Type::Integer | Type::Float | Type::String | Type::List(_) => {
                let message = format!("a value of type {} has no properties", subject.kind.name());
                return fail(ErrorKind::TypeMismatch, message, key.span);
            }
            _ => {}
        }
        Ok(Typed { expr: Expr::Property(Box::new(subject.expr), name(key)), kind: Type::Any })
    }

    pub(super) fn list(&mut self, items: &[Expression], scope: &mut Scope) -> Lowered<Typed> {
        let mut element = Type::Null;
        let mut exprs = Vec::with_capacity(items.len());
        for item in items {
            let item = self.expression(item, scope)?;
            element = element.join(item.kind);
            exprs.push(item.expr);
        }
        let element = if element == Type::Null { Type::Any } else { element };
        Ok(Typed { expr: Expr::List(exprs), kind: Type::list(element) })
    }

    pub(super) fn map(&mut self, entries: &[(Name, Expression)], scope: &mut Scope) -> Lowered<Typed> {
        let mut lowered = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            lowered.push((name(key), self.expression(value, scope)?.expr));
        }
        Ok(Typed { expr: Expr::Map(lowered), kind: Type::Map })
    }

    pub(super) fn index(
        &mut self,
        target: &Expression,
        index: &Expression,
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let subject = self.expression(target, scope)?;
        let position = self.expression(index, scope)?;
        if !subject.kind.may_be(&[
            Type::list(Type::Any),
            Type::Map,
            Type::Node,
            Type::Relationship,
            Type::Composed,
        ]) {
            let message = format!("a value of type {} has no elements", subject.kind.name());
            return fail(ErrorKind::TypeMismatch, message, target.span);
        }
        if matches!(subject.kind, Type::List(_)) && !position.kind.may_be(&[Type::Integer]) {
            let message =
                format!("a list is indexed by an Integer, not by a value of type {}", position.kind.name());
            return fail(ErrorKind::TypeMismatch, message, index.span);
        }
        let kind = subject.kind.element();
        Ok(Typed { expr: Expr::Index(Box::new(subject.expr), Box::new(position.expr)), kind })
    }

    pub(super) fn slice(
        &mut self,
        target: &Expression,
        bounds: [Option<&Expression>; 2],
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let subject = self.expression(target, scope)?;
        let [from, to] = bounds;
        let from = from.map(|bound| self.expression(bound, scope)).transpose()?;
        let to = to.map(|bound| self.expression(bound, scope)).transpose()?;
        let boxed = |bound: Option<Typed>| bound.map(|bound| Box::new(bound.expr));
        let kind = if matches!(subject.kind, Type::List(_)) { subject.kind } else { Type::list(Type::Any) };
        Ok(Typed { expr: Expr::Slice(Box::new(subject.expr), boxed(from), boxed(to)), kind })
    }

    pub(super) fn map_projection(
        &mut self,
        target: &Name,
        items: &[ast::MapProjectionItem],
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let subject = self.named_value(target, scope)?;
        if !subject.kind.may_be(&[Type::Node, Type::Relationship, Type::Map]) {
            let message =
                format!("a map projection needs a node, relationship or map, not a {}", subject.kind.name());
            return fail(ErrorKind::InvalidArgumentType, message, target.span);
        }
        let mut lowered = Vec::new();
        for item in items {
            lowered.push(match item {
                ast::MapProjectionItem::AllProperties => MapProjectionItem::AllProperties,
                ast::MapProjectionItem::Property(key) => MapProjectionItem::Property(name(key)),
                ast::MapProjectionItem::Variable(variable) => {
                    MapProjectionItem::Entry(name(variable), self.named_value(variable, scope)?.expr)
                }
                ast::MapProjectionItem::Entry(key, value) => {
                    MapProjectionItem::Entry(name(key), self.expression(value, scope)?.expr)
                }
            });
        }
        Ok(Typed { expr: Expr::MapProjection(Box::new(subject.expr), lowered), kind: Type::Map })
    }

    /// A variable that is named where no other expression can stand.
    pub(super) fn named_value(&mut self, variable: &Name, scope: &mut Scope) -> Lowered<Typed> {
        let kind = ast::ExpressionKind::Variable(variable.text.clone());
        self.expression(&Expression { kind, span: variable.span }, scope)
    }
}

/// `NaN` and `Infinity`, where no variable has that name.
fn number_word(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "inf" | "infinity" => Some(f64::INFINITY),
        _ => None,
    }
}

/// A label expression of the text as one of the plan; of dynamic labels, only that there may be any, so that it holds for more.
pub(super) fn labels(expression: &ast::LabelExpression) -> plan::LabelExpr {
    use plan::LabelExpr;
    match expression {
        ast::LabelExpression::Name(name) => LabelExpr::Has(Arc::from(name.text.as_str())),
        ast::LabelExpression::Any => LabelExpr::Some,
        ast::LabelExpression::And(parts) => balanced(parts, LabelExpr::and),
        ast::LabelExpression::Dynamic { .. } => LabelExpr::Any,
        other if dynamic::is_dynamic(other) => LabelExpr::Any,
        ast::LabelExpression::Not(inner) => LabelExpr::Not(Box::new(labels(inner))),
        ast::LabelExpression::Or(parts) => {
            balanced(parts, |left, right| LabelExpr::Or(Box::new(left), Box::new(right)))
        }
    }
}

/// The parts in their order, joined two by two: as high as the logarithm of their number, for a label expression is walked by recursion.
fn balanced(
    parts: &[ast::LabelExpression],
    join: fn(plan::LabelExpr, plan::LabelExpr) -> plan::LabelExpr,
) -> plan::LabelExpr {
    match parts {
        [] => plan::LabelExpr::Any,
        [one] => labels(one),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            join(balanced(left, join), balanced(right, join))
        }
    }
}
