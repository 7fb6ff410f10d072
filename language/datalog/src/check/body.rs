//! The body of a rule: its variables, and where each is bound.

use super::{Checker, plain};
use crate::clause::{Said, SaidAtom, SaidExpr, SaidLiteral};
use crate::error::{DatalogError, ErrorKind};
use crate::limits::VARIABLES_MAX;
use crate::program::{Atom, Expr, Literal, Order, Rule, Source, Term};
use std::sync::Arc;
use text::Span;

struct Variable {
    /// `None` for the result of an expression of the head.
    name: Option<Arc<str>>,
    span: Span,
    is_bound: bool,
    /// By a positive atom, not by an equation.
    by_atom: bool,
}

/// A rule on its way.
pub(super) struct RuleScope {
    variables: Vec<Variable>,
    pub body: Vec<Literal>,
}

impl RuleScope {
    /// Resolves a body. Positive atoms bind; equations bind the rest, one after another.
    pub fn of(checker: &mut Checker, said: &[SaidLiteral]) -> Result<RuleScope, DatalogError> {
        let mut scope = RuleScope { variables: Vec::new(), body: Vec::new() };
        for literal in said {
            if let SaidLiteral::Holds(atom) = literal {
                let atom = scope.atom(checker, atom)?;
                for term in &atom.terms {
                    if let Term::Slot(slot) = term {
                        scope.variables[*slot].is_bound = true;
                        scope.variables[*slot].by_atom = true;
                    }
                }
                scope.body.push(Literal::Holds(atom));
            }
        }
        let mut compared = Vec::new();
        for literal in said {
            if let SaidLiteral::Compare(order, left, right) = literal {
                compared.push((*order, scope.expr(left)?, scope.expr(right)?));
            }
        }
        scope.equations(compared);
        for literal in said {
            if let SaidLiteral::Absent(atom) = literal {
                let atom = scope.atom(checker, atom)?;
                let atom = without_any(checker, atom);
                scope.body.push(Literal::Absent(atom));
            }
        }
        Ok(scope)
    }
    /// Equations of which one side is a variable that nothing binds bind it; the others are tests.
    fn equations(&mut self, mut compared: Vec<(Order, Expr, Expr)>) {
        loop {
            let binding = compared.iter().position(|(order, left, right)| {
                *order == Order::Equal && (self.binds(left, right) || self.binds(right, left))
            });
            let Some(at) = binding else { break };
            let (_, left, right) = compared.remove(at);
            let (variable, value) = if self.binds(&left, &right) { (left, right) } else { (right, left) };
            if let Expr::Term(Term::Slot(slot)) = variable {
                self.variables[slot].is_bound = true;
                self.body.push(Literal::Let(slot, value));
            }
        }
        let tests = compared.into_iter().map(|(order, left, right)| Literal::Compare(order, left, right));
        self.body.extend(tests);
    }
    fn binds(&self, variable: &Expr, value: &Expr) -> bool {
        let is_free = matches!(variable, Expr::Term(Term::Slot(slot)) if !self.variables[*slot].is_bound);
        let mut is_known = true;
        value.each_term(&mut |term| {
            if let Term::Slot(slot) = term {
                is_known &= self.variables[*slot].is_bound;
            }
        });
        is_free && is_known
    }
    fn slot(&mut self, name: &Arc<str>, span: Span) -> Result<usize, DatalogError> {
        let known = self.variables.iter().position(|variable| variable.name.as_ref() == Some(name));
        match known {
            Some(slot) => Ok(slot),
            None => self.new_slot(Some(name.clone()), span),
        }
    }
    fn new_slot(&mut self, name: Option<Arc<str>>, span: Span) -> Result<usize, DatalogError> {
        if self.variables.len() == VARIABLES_MAX {
            let message = format!("more than {VARIABLES_MAX} variables in one rule");
            return Err(DatalogError::new(ErrorKind::Limit, message, span));
        }
        self.variables.push(Variable { name, span, is_bound: false, by_atom: false });
        Ok(self.variables.len() - 1)
    }
    fn atom(&mut self, checker: &mut Checker, said: &SaidAtom) -> Result<Atom, DatalogError> {
        let relation = checker.names.asked(said, &mut checker.program)?;
        let mut terms = Vec::new();
        for term in &said.terms {
            terms.push(match &term.said {
                Said::Any => Term::Any,
                Said::Variable(name) => Term::Slot(self.slot(name, term.span)?),
                other => plain(other).ok_or_else(|| {
                    DatalogError::new(ErrorKind::Syntax, "a column is a variable or a value", term.span)
                        .with_hint("name it, and add an equation: p(x, z), z = x + 1")
                })?,
            });
        }
        Ok(Atom { relation, terms })
    }
    fn expr(&mut self, said: &SaidExpr) -> Result<Expr, DatalogError> {
        Ok(match &said.said {
            Said::Variable(name) => Expr::Term(Term::Slot(self.slot(name, said.span)?)),
            Said::Binary(operator, left, right) => {
                Expr::Binary(*operator, Box::new(self.expr(left)?), Box::new(self.expr(right)?))
            }
            Said::Negate(inner) => Expr::Negate(Box::new(self.expr(inner)?)),
            Said::Any => {
                return Err(DatalogError::new(ErrorKind::Unbound, "`_` has no value here", said.span));
            }
            Said::Aggregate(..) => {
                let message = "an aggregate stands in the head of a rule, as a column of its own";
                return Err(DatalogError::new(ErrorKind::Syntax, message, said.span)
                    .with_hint("total(x, sum(y)) :- part(x, y)."));
            }
            other => Expr::Term(plain(other).unwrap_or(Term::Any)),
        })
    }
    /// A column of the head; a computed one gets a slot.
    pub fn head_term(&mut self, said: &SaidExpr) -> Result<Term, DatalogError> {
        match &said.said {
            Said::Any => Err(DatalogError::new(ErrorKind::Unbound, "`_` cannot stand in a head", said.span)
                .with_hint("a head says which facts follow")),
            Said::Variable(name) => Ok(Term::Slot(self.slot(name, said.span)?)),
            Said::Constant(_) | Said::Parameter(_) => Ok(plain(&said.said).unwrap_or(Term::Any)),
            _ => {
                let value = self.expr(said)?;
                let slot = self.new_slot(None, said.span)?;
                self.variables[slot].is_bound = true;
                self.body.push(Literal::Let(slot, value));
                Ok(Term::Slot(slot))
            }
        }
    }
    /// Every variable must be bound by now.
    pub fn close(&self) -> Result<(), DatalogError> {
        let Some(free) = self.variables.iter().find(|variable| !variable.is_bound) else { return Ok(()) };
        let name = free.name.as_deref().unwrap_or("_");
        Err(DatalogError::new(ErrorKind::Unbound, format!("nothing binds `{name}`"), free.span).with_hint(
            "a variable needs a positive atom of the body, or an equation whose other side is known",
        ))
    }
    /// Variables that atoms bind.
    pub fn named(&self) -> impl Iterator<Item = usize> {
        let bound = self.variables.iter().enumerate();
        bound.filter(|(_, variable)| variable.by_atom).map(|(slot, _)| slot).collect::<Vec<_>>().into_iter()
    }
    pub fn slots(&self) -> usize {
        self.variables.len()
    }
}

/// `!p(x, _)` as `!q(x)` with `q(x) :- p(x, _)`.
fn without_any(checker: &mut Checker, atom: Atom) -> Atom {
    if !atom.terms.contains(&Term::Any) {
        return atom;
    }
    let kept: Vec<Term> = atom.terms.iter().filter(|term| **term != Term::Any).cloned().collect();
    let mut next = 0..kept.len();
    let shown = atom.terms.iter().map(|term| match term {
        Term::Any => Term::Any,
        _ => Term::Slot(next.next().unwrap_or(0)),
    });
    let inner = Atom { relation: atom.relation, terms: shown.collect() };
    let number = checker.program.relations.len();
    let name = format!("{}@some@{number}", checker.program.relations[atom.relation].name);
    checker.program.relations.push(crate::Relation {
        name: name.into(),
        arity: kept.len(),
        source: Source::Rules,
    });
    let head = Atom { relation: number, terms: (0..kept.len()).map(Term::Slot).collect() };
    checker.program.rules.push(Rule { head, body: vec![Literal::Holds(inner)], slots: kept.len() });
    checker.spans.push(Span::default());
    Atom { relation: number, terms: kept }
}
