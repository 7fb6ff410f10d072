//! One program for all arguments: its parameters become a relation, so that arguments are facts that come and go.
//!
//! A relation that depends on a parameter - its rules name one, or read another such relation - gets a column for each parameter, in front. A rule
//! that has them from no part of its body takes them from the relation of the arguments. Other relations exist once for all.

use crate::error::{DatalogError, ErrorKind};
use crate::limits::{ARITY_MAX, VARIABLES_MAX};
use crate::program::{Atom, Expr, Literal, Program, Question, Relation, RelationNo, Rule, Source, Term};
use crate::strata;
use std::sync::Arc;
use text::Span;

/// A program of which arguments are facts.
pub struct Shared {
    /// The program: columns of the question's relation are the arguments, then the answer's.
    pub program: Program,
    /// The relation of the arguments.
    pub arguments: RelationNo,
}

/// Makes the parameters a relation. Its columns are in the order of [`Program::parameters`].
///
/// # Errors
/// A relation or a rule becomes too wide.
pub fn share(program: &Program) -> Result<Shared, DatalogError> {
    let mut sharing = Sharing::of(program);
    let mut shared = sharing.program(program)?;
    if let Some(question) = &program.question {
        shared.question = Some(sharing.question(question, &mut shared));
    }
    shared.parameters.clear();
    shared.components = strata::components(&shared, &[])?;
    Ok(Shared { program: shared, arguments: sharing.arguments })
}

struct Sharing<'a> {
    parameters: &'a [Arc<str>],
    arguments: RelationNo,
    /// By relation: does it depend on a parameter?
    depends: Vec<bool>,
}

fn too_wide(what: &str, limit: usize) -> DatalogError {
    DatalogError::new(ErrorKind::Limit, format!("with its parameters {what} than {limit}"), Span::default())
        .with_hint("use fewer parameters")
}

fn names_one(terms: &[Term]) -> bool {
    terms.iter().any(|term| matches!(term, Term::Parameter(_)))
}

impl<'a> Sharing<'a> {
    fn of(program: &'a Program) -> Sharing<'a> {
        let mut depends = vec![false; program.relations.len()];
        for (relation, terms) in &program.facts {
            depends[*relation] |= names_one(terms);
        }
        loop {
            let before = depends.clone();
            for rule in &program.rules {
                let mut is_bound = names_one(&rule.head.terms);
                for literal in &rule.body {
                    literal.each_term(&mut |term| is_bound |= matches!(term, Term::Parameter(_)));
                    is_bound |= literal.relation().is_some_and(|read| depends[read]);
                }
                depends[rule.head.relation] |= is_bound;
            }
            for aggregate in &program.aggregates {
                depends[aggregate.output] |= depends[aggregate.input];
            }
            if depends == before {
                return Sharing { parameters: &program.parameters, arguments: depends.len(), depends };
            }
        }
    }
    fn width(&self) -> usize {
        self.parameters.len()
    }
    fn program(&mut self, program: &Program) -> Result<Program, DatalogError> {
        let width = self.width();
        let mut shared = Program { rules: Vec::new(), facts: Vec::new(), ..program.clone() };
        for (relation, depends) in shared.relations.iter_mut().zip(&self.depends) {
            if *depends {
                relation.arity += width;
                // Its facts are rules from now on.
                if relation.source == Source::Facts {
                    relation.source = Source::Rules;
                }
            }
            if relation.arity > ARITY_MAX {
                return Err(too_wide(&format!("the relation {} has more columns", relation.name), ARITY_MAX));
            }
        }
        let source = Source::Facts;
        shared.relations.push(Relation { name: "@arguments".into(), arity: width, source });
        for (relation, terms) in &program.facts {
            if self.depends[*relation] {
                let head = Atom { relation: *relation, terms: terms.clone() };
                shared.rules.push(self.rule(&Rule { head, body: Vec::new(), slots: 0 })?);
            } else {
                shared.facts.push((*relation, terms.clone()));
            }
        }
        for rule in &program.rules {
            shared.rules.push(match self.depends[rule.head.relation] {
                true => self.rule(rule)?,
                false => rule.clone(),
            });
        }
        for aggregate in &mut shared.aggregates {
            if self.depends[aggregate.input] {
                aggregate.group += width;
                aggregate.calls.iter_mut().for_each(|(_, column)| *column += width);
            }
        }
        Ok(shared)
    }
    /// A rule for all arguments: they are in the slots behind its own.
    fn rule(&self, rule: &Rule) -> Result<Rule, DatalogError> {
        let slots = rule.slots + self.width();
        if slots > VARIABLES_MAX {
            return Err(too_wide("a rule has more variables", VARIABLES_MAX));
        }
        let mut body: Vec<Literal> = Vec::with_capacity(rule.body.len() + 1);
        let is_given =
            |literal: &Literal| matches!(literal, Literal::Holds(atom) if self.depends[atom.relation]);
        if !rule.body.iter().any(is_given) {
            let terms = (rule.slots..slots).map(Term::Slot).collect();
            body.push(Literal::Holds(Atom { relation: self.arguments, terms }));
        }
        body.extend(rule.body.iter().map(|literal| match literal {
            Literal::Holds(atom) => Literal::Holds(self.atom(atom, rule.slots)),
            Literal::Absent(atom) => Literal::Absent(self.atom(atom, rule.slots)),
            Literal::Compare(order, left, right) => {
                Literal::Compare(*order, self.expr(left, rule.slots), self.expr(right, rule.slots))
            }
            Literal::Let(slot, value) => Literal::Let(*slot, self.expr(value, rule.slots)),
        }));
        Ok(Rule { head: self.atom(&rule.head, rule.slots), body, slots })
    }
    fn atom(&self, atom: &Atom, first: usize) -> Atom {
        let given = if self.depends[atom.relation] { first..first + self.width() } else { 0..0 };
        let own = atom.terms.iter().map(|term| self.term(term, first));
        Atom { relation: atom.relation, terms: given.map(Term::Slot).chain(own).collect() }
    }
    fn term(&self, term: &Term, first: usize) -> Term {
        match term {
            Term::Parameter(name) => {
                let at = self.parameters.iter().position(|known| known == name);
                Term::Slot(first + at.expect("the program lists its parameters"))
            }
            other => other.clone(),
        }
    }
    fn expr(&self, expr: &Expr, first: usize) -> Expr {
        let inner = |expr: &Expr| Box::new(self.expr(expr, first));
        match expr {
            Expr::Term(term) => Expr::Term(self.term(term, first)),
            Expr::Binary(operator, left, right) => Expr::Binary(*operator, inner(left), inner(right)),
            Expr::Negate(value) => Expr::Negate(inner(value)),
        }
    }
    /// The question for all arguments; one that depends on none is answered for each.
    fn question(&self, question: &Question, shared: &mut Program) -> Question {
        let names = self.parameters.iter().chain(&question.names).cloned().collect();
        if self.depends[question.relation] {
            return Question { relation: question.relation, names };
        }
        let (width, columns) = (self.width(), question.names.len());
        let terms = |from: usize, until: usize| (from..until).map(Term::Slot).collect::<Vec<Term>>();
        let relation = shared.relations.len();
        let arity = width + columns;
        shared.relations.push(Relation { name: "@answer".into(), arity, source: Source::Rules });
        let body = vec![
            Literal::Holds(Atom { relation: self.arguments, terms: terms(0, width) }),
            Literal::Holds(Atom { relation: question.relation, terms: terms(width, arity) }),
        ];
        shared.rules.push(Rule { head: Atom { relation, terms: terms(0, arity) }, body, slots: arity });
        Question { relation, names }
    }
}
