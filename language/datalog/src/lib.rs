//! # datalog: from rules as text to a validated program
//!
//! A program is facts, rules and at most one question. Relations are those of its rules, and those of the graph: labels
//! (`Person(v)`), edge types (`KNOWS(a, b)`), properties (`Person.name(v, n)`, `KNOWS.since(a, b, s)`).
//!
//! Reading order: [`token`], [`parse`] (text to clauses), [`clause`] (their form), [`check`] (clauses to a [`Program`]: every variable bound, every
//! relation of one width), [`strata`] (dependencies of relations, and no negation in a circle), [`arguments`] (parameters as facts), [`magic`]
//! (reduction to a question).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod arguments;
mod check;
mod clause;
mod error;
mod limits;
mod magic;
mod parse;
mod program;
mod strata;
mod token;

pub use arguments::{Shared, share};
pub use error::{DatalogError, ErrorKind};
pub use limits::{ARITY_MAX, RULES_MAX, TEXT_BYTES_MAX, VARIABLES_MAX};
pub use magic::{focus, focus_while};
pub use program::{
    Aggregate, AggregateKind, Atom, Component, Expr, GraphRelation, Literal, Operator, Order, Program,
    Question, Relation, RelationNo, Rule, Source, Suspect, Term,
};
pub use text::Span;

/// Reads a program.
///
/// # Errors
/// The text is no Datalog, or says something that has no meaning; with the place and, where there is one, a hint.
pub fn compile(text: &str) -> Result<Program, DatalogError> {
    check::check(&parse::parse(text)?)
}
