//! The clauses of a text, before anything is resolved.

use crate::program::{AggregateKind, Operator, Order};
use model::Value;
use std::sync::Arc;
use text::Span;

#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// `_`
    Any,
    /// A variable, or `?` as one of its own.
    Variable(Arc<str>),
    Constant(Value),
    Parameter(Arc<str>),
    Binary(Operator, Box<SaidExpr>, Box<SaidExpr>),
    Negate(Box<SaidExpr>),
    Aggregate(AggregateKind, Option<Box<SaidExpr>>),
}

#[derive(Clone, Debug)]
pub(crate) struct SaidExpr {
    pub said: Said,
    pub span: Span,
}

/// A name, perhaps of two parts: `Person.name`; the first `_` stands for any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SaidName {
    pub first: Arc<str>,
    pub second: Option<Arc<str>>,
}

impl std::fmt::Display for SaidName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.second {
            None => f.write_str(&self.first),
            Some(second) => write!(f, "{}.{second}", self.first),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SaidAtom {
    pub name: SaidName,
    pub terms: Vec<SaidExpr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum SaidLiteral {
    Holds(SaidAtom),
    Absent(SaidAtom),
    Compare(Order, SaidExpr, SaidExpr),
}

#[derive(Clone, Debug)]
pub(crate) enum Clause {
    /// A fact has no body.
    Rule {
        head: SaidAtom,
        body: Vec<SaidLiteral>,
    },
    Question(SaidAtom),
    /// `.input name(…)`: the term is a text or a parameter.
    Input {
        name: SaidName,
        from: SaidExpr,
        columns: usize,
        span: Span,
    },
}
