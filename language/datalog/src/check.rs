//! Clauses to a program: relations and variables by number, every variable bound, and forms that the engine lacks rewritten: facts of a relation that
//! has rules, `_` under negation, expressions in heads, aggregates.

mod body;
mod names;

use crate::clause::{Clause, Said, SaidAtom, SaidExpr};
use crate::error::{self, DatalogError, ErrorKind};
use crate::limits::RULES_MAX;
use crate::program::{Aggregate, Atom, Literal, Program, Question, Relation, RelationNo, Rule, Source, Term};
use crate::strata;
use body::RuleScope;
use names::Names;
use std::sync::Arc;
use text::Span;

pub(crate) fn check(clauses: &[Clause]) -> Result<Program, DatalogError> {
    // Before anything is done with each of them.
    if clauses.iter().filter(|clause| is_rule(clause)).count() > RULES_MAX {
        return Err(too_many_rules());
    }
    let mut checker = Checker { program: Program::default(), names: Names::of(clauses)?, spans: Vec::new() };
    checker.names.declare(&mut checker.program);
    for clause in clauses {
        error::spend(1)?;
        match clause {
            Clause::Rule { head, .. } if !is_rule(clause) => checker.fact(head)?,
            Clause::Rule { head, body } => {
                let scope = RuleScope::of(&mut checker, body)?;
                checker.rule(head, scope)?;
            }
            Clause::Input { .. } => {}
            Clause::Question(atom) => checker.question(atom)?,
        }
        if checker.program.rules.len() > RULES_MAX {
            return Err(too_many_rules());
        }
    }
    let Checker { mut program, spans, .. } = checker;
    program.components = strata::components(&program, &spans)?;
    collect_parameters(&mut program);
    Ok(program)
}

/// The relation of a question that binds columns.
const ANSWER: &str = "answer";

struct Checker {
    program: Program,
    names: Names,
    /// Of each rule, its head's place in the text.
    spans: Vec<Span>,
}

fn is_rule(clause: &Clause) -> bool {
    matches!(clause, Clause::Rule { head, body } if !body.is_empty() || !head.terms.iter().all(is_value))
}

fn too_many_rules() -> DatalogError {
    DatalogError::new(ErrorKind::Limit, format!("more than {RULES_MAX} rules"), Span::default())
}

fn is_value(expr: &SaidExpr) -> bool {
    matches!(expr.said, Said::Constant(_) | Said::Parameter(_))
}

fn plain(said: &Said) -> Option<Term> {
    match said {
        Said::Constant(value) => Some(Term::Constant(value.clone())),
        Said::Parameter(name) => Some(Term::Parameter(name.clone())),
        _ => None,
    }
}

impl Checker {
    fn fact(&mut self, head: &SaidAtom) -> Result<(), DatalogError> {
        let relation = self.names.given(head, &self.program)?;
        let terms = head.terms.iter().filter_map(|term| plain(&term.said)).collect();
        self.program.facts.push((relation, terms));
        Ok(())
    }
    /// A relation that the text does not name.
    fn invent(
        &mut self,
        what: &str,
        arity: usize,
        source: Source,
        span: Span,
    ) -> Result<RelationNo, DatalogError> {
        if arity > crate::ARITY_MAX {
            let message = format!(
                "the rule has {arity} variables to tell apart, at most {} are allowed",
                crate::ARITY_MAX
            );
            return Err(DatalogError::new(ErrorKind::Limit, message, span)
                .with_hint("write _ for variables that do not matter, or split the rule"));
        }
        let number = self.program.relations.len();
        self.program.relations.push(Relation { name: format!("{what}@{number}").into(), arity, source });
        Ok(number)
    }
    fn push_rule(&mut self, relation: RelationNo, terms: Vec<Term>, scope: &RuleScope, span: Span) {
        let head = Atom { relation, terms };
        self.program.rules.push(Rule { head, body: scope.body.clone(), slots: scope.slots() });
        self.spans.push(span);
    }
    fn rule(&mut self, head: &SaidAtom, mut scope: RuleScope) -> Result<(), DatalogError> {
        let relation = self.names.derived(head, &self.program)?;
        if head.terms.iter().any(|term| matches!(term.said, Said::Aggregate(..))) {
            return self.aggregated(head, relation, scope);
        }
        let terms = head.terms.iter().map(|term| scope.head_term(term)).collect::<Result<_, _>>()?;
        scope.close()?;
        self.push_rule(relation, terms, &scope, head.span);
        Ok(())
    }
    /// `p(x, sum(y)) :- body` as `p@bindings(x, y, …) :- body`, an aggregate of it, and `p(x, s) :- p@groups(x, s)`.
    fn aggregated(
        &mut self,
        head: &SaidAtom,
        relation: RelationNo,
        mut scope: RuleScope,
    ) -> Result<(), DatalogError> {
        let (mut columns, mut calls) = (Vec::new(), Vec::new());
        for term in head.terms.iter().filter(|term| !matches!(term.said, Said::Aggregate(..))) {
            columns.push(scope.head_term(term)?);
        }
        let group = columns.len();
        for term in &head.terms {
            if let Said::Aggregate(kind, argument) = &term.said {
                calls.push((*kind, columns.len()));
                if let Some(argument) = argument {
                    columns.push(scope.head_term(argument)?);
                }
            }
        }
        // The least of some values is the least of the same values said twice; sums must know the bindings apart.
        use crate::AggregateKind::{Max, Min};
        if !calls.iter().all(|(kind, _)| matches!(kind, Min | Max)) {
            let others =
                scope.named().map(Term::Slot).filter(|slot| !columns.contains(slot)).collect::<Vec<_>>();
            columns.extend(others);
        }
        scope.close()?;
        let name = head.name.to_string();
        let input = self.invent(&format!("{name}@bindings"), columns.len(), Source::Rules, head.span)?;
        self.push_rule(input, columns, &scope, head.span);
        let width = group + calls.len();
        let output = self.invent(&format!("{name}@groups"), width, Source::Aggregate, head.span)?;
        let (mut next_group, mut next_call) = (0..group, group..width);
        let terms = head.terms.iter().filter_map(|term| match term.said {
            Said::Aggregate(..) => next_call.next(),
            _ => next_group.next(),
        });
        let terms = terms.map(Term::Slot).collect();
        let body =
            vec![Literal::Holds(Atom { relation: output, terms: (0..width).map(Term::Slot).collect() })];
        self.program.rules.push(Rule { head: Atom { relation, terms }, body, slots: width });
        self.spans.push(head.span);
        self.program.aggregates.push(Aggregate { input, output, group, calls });
        Ok(())
    }
    fn question(&mut self, said: &SaidAtom) -> Result<(), DatalogError> {
        if self.program.question.is_some() {
            return Err(DatalogError::new(ErrorKind::Syntax, "a program asks one question", said.span)
                .with_hint("run it once for each question"));
        }
        let relation = self.names.asked(said, &mut self.program)?;
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut terms = Vec::new();
        for term in &said.terms {
            terms.push(match &term.said {
                Said::Any => Term::Any,
                Said::Variable(name) => {
                    let known = names.iter().position(|other| other == name);
                    Term::Slot(known.unwrap_or_else(|| {
                        names.push(name.clone());
                        names.len() - 1
                    }))
                }
                other => plain(other).ok_or_else(|| {
                    DatalogError::new(ErrorKind::Syntax, "a question has variables and values", term.span)
                        .with_hint("compute in a rule, and ask for what it defines")
                })?,
            });
        }
        let all: Vec<Term> = (0..names.len()).map(Term::Slot).collect();
        // Of the graph's relations none is an answer: it is not kept.
        let is_graph = matches!(self.program.relations[relation].source, Source::Graph(_));
        if terms == all && !is_graph {
            self.program.question = Some(Question { relation, names });
            return Ok(());
        }
        let answer = self.invent(ANSWER, all.len(), Source::Rules, said.span)?;
        let body = vec![Literal::Holds(Atom { relation, terms })];
        let head = Atom { relation: answer, terms: all };
        self.program.rules.push(Rule { head, body, slots: names.len() });
        self.spans.push(said.span);
        self.program.question = Some(Question { relation: answer, names });
        Ok(())
    }
}

/// Notes each parameter once.
fn collect_parameters(program: &mut Program) {
    let mut found: Vec<Arc<str>> = Vec::new();
    let mut note = |term: &Term| {
        if let Term::Parameter(name) = term
            && !found.contains(name)
        {
            found.push(name.clone());
        }
    };
    program.facts.iter().flat_map(|(_, terms)| terms).for_each(&mut note);
    for rule in &program.rules {
        rule.head.terms.iter().for_each(&mut note);
        rule.body.iter().for_each(|literal| literal.each_term(&mut note));
    }
    for relation in &program.relations {
        if let Source::Parameter(name) = &relation.source {
            note(&Term::Parameter(name.clone()));
        }
    }
    program.parameters = found;
}
