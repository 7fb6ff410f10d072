//! Dynamic labels and types, `$(expression)`: names that are known when a row is there.
//!
//! As conditions they are compared with the names that an entity has, element by element, so a text and a list of one text mean the same;
//! no index and no list of vertices by label helps with them. What is made or changed takes them as they are.

use std::collections::HashSet;

use plan::Function;
use plan::expr::{BinaryOperator, Expr, Quantifier, UnaryOperator};

use super::scope::Scope;
use super::types::Type;
use super::value::labels;
use super::{Lowered, Lowerer, fail_with_hint, name};
use crate::ast::LabelExpression;
use crate::error::ErrorKind;
use text::Span;

/// Is a name in it known only when a row is there?
pub(super) fn is_dynamic(labels: &LabelExpression) -> bool {
    match labels {
        LabelExpression::Dynamic { .. } => true,
        LabelExpression::Name(_) | LabelExpression::Any => false,
        LabelExpression::Not(inner) => is_dynamic(inner),
        LabelExpression::And(parts) | LabelExpression::Or(parts) => parts.iter().any(is_dynamic),
    }
}

impl Lowerer<'_> {
    /// The condition that an entity of this type has these labels, or this type.
    pub(super) fn label_condition(
        &mut self,
        subject: &Expr,
        kind: &Type,
        wanted: &LabelExpression,
        scope: &mut Scope,
    ) -> Lowered<Expr> {
        if !is_dynamic(wanted) {
            return Ok(Expr::HasLabels(Box::new(subject.clone()), labels(wanted)));
        }
        let mut all = |parts: &[LabelExpression], operator: BinaryOperator| {
            let parts = parts.iter().map(|part| self.label_condition(subject, kind, part, scope));
            Ok(super::expression::balanced(operator, parts.collect::<Lowered<Vec<Expr>>>()?))
        };
        match wanted {
            LabelExpression::And(parts) => all(parts, BinaryOperator::And),
            LabelExpression::Or(parts) => all(parts, BinaryOperator::Or),
            LabelExpression::Not(inner) => {
                let inner = self.label_condition(subject, kind, inner, scope)?;
                Ok(Expr::Unary(UnaryOperator::Not, Box::new(inner)))
            }
            LabelExpression::Dynamic { any, value } => {
                let value = self.expression(value, scope)?.expr;
                let variable = self.unnamed("label");
                let one = Expr::Variable(variable);
                let owned = match kind {
                    Type::Relationship => Expr::List(vec![Expr::Call(Function::Type, vec![subject.clone()])]),
                    _ => Expr::Call(Function::Labels, vec![subject.clone()]),
                };
                Ok(Expr::Quantified {
                    quantifier: if *any { Quantifier::Any } else { Quantifier::All },
                    variable,
                    // A text joins the empty list as its only element, a list with all of its own.
                    list: Box::new(Expr::binary(BinaryOperator::Add, Expr::List(Vec::new()), value)),
                    predicate: Box::new(Expr::binary(BinaryOperator::In, one, owned)),
                })
            }
            LabelExpression::Name(_) | LabelExpression::Any => {
                Ok(Expr::HasLabels(Box::new(subject.clone()), labels(wanted)))
            }
        }
    }

    /// Labels of a created or changed entity: plain names, each once, and expressions that give more.
    pub(super) fn given_labels(
        &mut self,
        parts: &[LabelExpression],
        span: Span,
        scope: &mut Scope,
    ) -> Lowered<(Vec<plan::expr::Name>, Vec<Expr>)> {
        let (mut names, mut dynamic, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for part in parts {
            match part {
                LabelExpression::Name(label) => {
                    names.extend(seen.insert(label.text.as_str()).then(|| name(label)));
                }
                LabelExpression::Dynamic { any: false, value } => {
                    dynamic.push(self.expression(value, scope)?.expr);
                }
                _ => {
                    let message = "a node that is made takes plain labels";
                    let hint = "write (:A:B)";
                    return fail_with_hint(ErrorKind::UnexpectedSyntax, message, span, hint);
                }
            }
        }
        Ok((names, dynamic))
    }
}
