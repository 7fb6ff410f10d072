//! `CASE`, in its three forms: with conditions, with a subject and values, and with a subject and tests of it (`WHEN < 3, IS NULL`).

use plan::expr::{BinaryOperator, Expr};

use super::expression::balanced;
use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, Typed};
use crate::ast::{Case, Expression};

impl Lowerer<'_> {
    pub(super) fn case(&mut self, case: &Case, scope: &mut Scope) -> Lowered<Typed> {
        let Some(subject) = &case.subject else { return self.arms(case, None, scope) };
        let plain =
            |(when, _): &(Vec<Expression>, Expression)| when.len() == 1 && !when[0].is_about_subject();
        let subject = self.expression(subject, scope)?;
        if case.branches.iter().all(plain) {
            return self.arms(case, Some(subject), scope);
        }
        if may_be_repeated(&subject.expr) {
            return self.tests(case, subject, scope);
        }
        // A subject that may differ, or costs much, is computed once: as the only element of a list.
        let var = self.unnamed("subject");
        let element = Typed { expr: Expr::Variable(var), kind: subject.kind };
        let found = self.tests(case, element, scope)?;
        let list = Box::new(Expr::List(vec![subject.expr]));
        let map = Some(Box::new(found.expr));
        let each = Expr::Comprehension { variable: var, list, predicate: None, map };
        let expr = Expr::Index(Box::new(each), Box::new(Expr::literal(0)));
        Ok(Typed { expr, kind: found.kind })
    }

    /// Conditions, or values that a subject may equal.
    fn arms(&mut self, case: &Case, subject: Option<Typed>, scope: &mut Scope) -> Lowered<Typed> {
        let mut kind = Type::Null;
        let mut arms = Vec::new();
        for (when, then) in &case.branches {
            let when = match subject {
                Some(_) => self.expression(&when[0], scope)?,
                None => self.predicate(&when[0], scope)?,
            };
            let then = self.expression(then, scope)?;
            kind = kind.join(then.kind);
            arms.push((when.expr, then.expr));
        }
        self.finish_case(case, subject.map(|subject| subject.expr), arms, kind, scope)
    }

    /// Tests of a subject.
    fn tests(&mut self, case: &Case, subject: Typed, scope: &mut Scope) -> Lowered<Typed> {
        let mut kind = Type::Null;
        let mut arms = Vec::new();
        for (when, then) in &case.branches {
            let mut alternatives = Vec::with_capacity(when.len());
            for alternative in when {
                alternatives.push(self.alternative(alternative, &subject, scope)?);
            }
            let then = self.expression(then, scope)?;
            kind = kind.join(then.kind);
            arms.push((balanced(BinaryOperator::Or, alternatives), then.expr));
        }
        self.finish_case(case, None, arms, kind, scope)
    }

    fn alternative(&mut self, alternative: &Expression, subject: &Typed, scope: &mut Scope) -> Lowered<Expr> {
        if !alternative.is_about_subject() {
            let value = self.expression(alternative, scope)?.expr;
            return Ok(Expr::binary(BinaryOperator::Equal, subject.expr.clone(), value));
        }
        let own = Typed { expr: subject.expr.clone(), kind: subject.kind.clone() };
        let outer = self.case_subject.replace(own);
        let test = self.expression(alternative, scope);
        self.case_subject = outer;
        Ok(test?.expr)
    }

    fn finish_case(
        &mut self,
        case: &Case,
        subject: Option<Expr>,
        arms: Vec<(Expr, Expr)>,
        kind: Type,
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        let otherwise = case.otherwise.as_ref().map(|value| self.expression(value, scope)).transpose()?;
        let kind = match &otherwise {
            Some(otherwise) => kind.join(otherwise.kind.clone()),
            None => kind,
        };
        let (operand, otherwise) = (subject.map(Box::new), otherwise.map(|value| Box::new(value.expr)));
        Ok(Typed { expr: Expr::Case { operand, arms, otherwise }, kind })
    }

    /// The subject, where a WHEN speaks of it.
    pub(super) fn subject_of_case(&mut self) -> Option<Typed> {
        self.case_subject
            .as_ref()
            .map(|subject| Typed { expr: subject.expr.clone(), kind: subject.kind.clone() })
    }
}

/// Is it as good to compute it for each test?
fn may_be_repeated(expr: &Expr) -> bool {
    match expr {
        Expr::Variable(_) | Expr::Literal(_) | Expr::Parameter(_) => true,
        Expr::Property(subject, _) => may_be_repeated(subject),
        _ => false,
    }
}
