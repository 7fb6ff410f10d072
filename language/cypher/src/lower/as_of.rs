//! `AS OF`: the version of the graph that a whole reading query reads.
//!
//! The expression is lowered without any name in scope, so that it can be computed before the statement runs.

use plan::expr::Expr;

use super::query::writes;
use super::scope::Scope;
use super::sort::reads_rows;
use super::types::Type;
use super::{Lowered, Lowerer, aggregate, fail, fail_with_hint};
use crate::ast::{Expression, Query, Statement, StatementBody};
use crate::error::ErrorKind;

impl Lowerer<'_> {
    /// The version after `AS OF`, for a statement that may have one.
    pub(super) fn as_of(&mut self, version: &Expression, body: &StatementBody) -> Lowered<Expr> {
        let composition = ErrorKind::InvalidClauseComposition;
        let hint = "leave AS OF out: only the newest version can be changed";
        match body {
            StatementBody::Query(query) if query_writes(query) => {
                return fail_with_hint(
                    composition,
                    "AS OF asks an older version, which cannot be changed",
                    version.span,
                    hint,
                );
            }
            StatementBody::Query(_) => {}
            _ => return fail(composition, "AS OF stands before queries only", version.span),
        }
        if let Some(span) = reads_rows(version).or_else(|| aggregate::find(version)) {
            let message = "the version after AS OF cannot depend on the graph";
            let hint = "use a commit's place, a point in time, or a parameter with one";
            return fail_with_hint(ErrorKind::NonConstantExpression, message, span, hint);
        }
        let lowered = self.expression(version, &mut Scope::default())?;
        if !lowered.kind.may_be(&[Type::Integer, Type::String, Type::Composed]) {
            let message =
                format!("a version is a commit's place or a point in time, not a {}", lowered.kind.name());
            return fail(ErrorKind::InvalidArgumentType, message, version.span);
        }
        Ok(lowered.expr)
    }
    /// May a statement read a snapshot that is a moment old?
    pub(super) fn check_bound(&self, statement: &Statement, body: &StatementBody) -> Lowered<()> {
        let (composition, span) = (ErrorKind::InvalidClauseComposition, statement.span);
        match body {
            _ if statement.no_older_than_ms.is_none() => Ok(()),
            _ if statement.as_of.is_some() => {
                fail(composition, "AS OF says which version is read: leave READ NO OLDER THAN out", span)
            }
            StatementBody::Query(query) if query_writes(query) => {
                let message = "a statement that writes reads the newest version";
                fail_with_hint(composition, message, span, "leave READ NO OLDER THAN out")
            }
            StatementBody::Query(_) => Ok(()),
            _ => fail(composition, "READ NO OLDER THAN stands before queries only", span),
        }
    }
}

fn query_writes(query: &Query) -> bool {
    let parts = query.unions.iter().map(|union| &union.query);
    std::iter::once(&query.first).chain(parts).any(|part| part.clauses.iter().any(writes))
}
