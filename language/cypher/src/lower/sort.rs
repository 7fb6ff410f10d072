//! `ORDER BY`, `SKIP`, `LIMIT`, and the condition after `WITH`: the clauses after the columns of a projection.
//!
//! Where the projection neither groups nor removes duplicates, these see the rows before it as well as its columns; else
//! only its columns, and expressions that are columns.

use plan::algebra::{Filter, KeyOrder, Limit, Skip, Sort, SortKey};
use plan::expr::{Expr, Var};
use plan::{Plan, Vars};

use super::aggregate;
use super::columns::{SortColumns, Sorting};
use super::scope::Scope;
use super::{Lowered, Lowerer, Typed, fail, fail_with_hint};
use crate::ast::{Expression, ExpressionKind, Literal, Projection};
use crate::error::ErrorKind;

/// The clauses after the columns, lowered.
#[derive(Default)]
pub(crate) struct Tail {
    keys: Vec<SortKey>,
    skip: Option<Expr>,
    limit: Option<Expr>,
    condition: Option<Expr>,
}

impl Tail {
    /// The row variables it reads.
    pub fn reads(&self) -> Vars {
        let exprs = self.keys.iter().map(|key| &key.expr).chain(&self.condition);
        exprs.flat_map(Expr::free_variables).collect()
    }

    /// Puts it on top of a plan.
    pub fn apply(self, mut plan: Plan) -> Plan {
        if !self.keys.is_empty() {
            plan = Plan::Sort(Box::new(Sort { input: plan, keys: self.keys, limit: None }));
        }
        if let Some(count) = self.skip {
            plan = Plan::Skip(Box::new(Skip { input: plan, count }));
        }
        if let Some(count) = self.limit {
            plan = Plan::Limit(Box::new(Limit { input: plan, count, scope: Default::default() }));
        }
        if let Some(predicate) = self.condition {
            plan = Plan::Filter(Box::new(Filter { input: plan, predicate }));
        }
        plan
    }
}

impl Lowerer<'_> {
    /// Lowers the clauses after the columns. `columns` is given where only they are visible.
    pub(super) fn tail(
        &mut self,
        projection: &Projection,
        condition: Option<&Expression>,
        scope: &mut Scope,
        columns: Option<SortColumns>,
    ) -> Lowered<Tail> {
        let grouped = columns.is_some();
        self.sorting = columns.map(|columns| Sorting { columns });
        let keys = self.sort_keys(projection, scope, grouped);
        let condition = condition.map(|condition| self.predicate(condition, scope)).transpose();
        self.sorting = None;
        Ok(Tail {
            keys: keys?,
            condition: condition?.map(|typed| typed.expr),
            skip: projection.skip.as_ref().map(|count| self.row_count(count)).transpose()?,
            limit: projection.limit.as_ref().map(|count| self.row_count(count)).transpose()?,
        })
    }

    fn sort_keys(
        &mut self,
        projection: &Projection,
        scope: &mut Scope,
        grouped: bool,
    ) -> Lowered<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(projection.order.len());
        for item in &projection.order {
            if let Some(span) = aggregate::find(&item.expression).filter(|_| !grouped) {
                let hint = "aggregate as a column of the projection, then sort by that column";
                let message = "ORDER BY cannot aggregate rows that the projection does not group";
                return fail_with_hint(ErrorKind::InvalidAggregation, message, span, hint);
            }
            let expr = match self.whole_column(&item.expression) {
                Some(var) => Expr::Variable(var),
                None => self.expression(&item.expression, scope)?.expr,
            };
            keys.push(SortKey { expr, descending: item.descending, order: KeyOrder::Total });
        }
        Ok(keys)
    }

    /// The column that a whole sort key computes again.
    fn whole_column(&self, expression: &Expression) -> Option<Var> {
        if matches!(expression.kind, ExpressionKind::Variable(_)) {
            return None;
        }
        let columns = &self.sorting.as_ref()?.columns;
        columns.find(expression).map(|column| column.var)
    }

    /// The column that a part of a sort key computes again: an aggregate, a variable out of sight, or a property of one.
    pub(super) fn sorted_column(&self, expression: &Expression, scope: &Scope) -> Option<Typed> {
        let columns = &self.sorting.as_ref()?.columns;
        let simple = match &expression.kind {
            ExpressionKind::Variable(name) => scope.get(name).is_none(),
            ExpressionKind::Property(..) | ExpressionKind::CountAll => true,
            ExpressionKind::Function(call) => aggregate::aggregate_of(call).is_some(),
            _ => false,
        };
        let found = simple.then(|| columns.find(expression)).flatten()?;
        Some(Typed { expr: Expr::Variable(found.var), kind: found.kind.clone() })
    }

    /// The number after `SKIP` or `LIMIT`: the same for all rows, not negative.
    fn row_count(&mut self, count: &Expression) -> Lowered<Expr> {
        match &count.kind {
            ExpressionKind::Literal(Literal::Integer(value)) if *value < 0 => {
                return fail(
                    ErrorKind::NegativeIntegerArgument,
                    "a number of rows cannot be negative",
                    count.span,
                );
            }
            ExpressionKind::Literal(Literal::Integer(_)) => {}
            ExpressionKind::Literal(_) => {
                return fail(ErrorKind::InvalidArgumentType, "a number of rows is an integer", count.span);
            }
            _ => {}
        }
        if let Some(span) = reads_rows(count) {
            let hint = "use a number, a parameter, or a computation with them";
            let message = "a number of rows cannot depend on the rows";
            return fail_with_hint(ErrorKind::NonConstantExpression, message, span, hint);
        }
        Ok(self.expression(count, &mut Scope::default())?.expr)
    }
}

/// The first part of an expression that reads a row or the graph.
pub(super) fn reads_rows(expression: &Expression) -> Option<text::Span> {
    let here = matches!(
        expression.kind,
        ExpressionKind::Variable(_)
            | ExpressionKind::MapProjection(..)
            | ExpressionKind::PatternComprehension { .. }
            | ExpressionKind::Pattern(_)
            | ExpressionKind::Exists(_)
            | ExpressionKind::Count(_)
            | ExpressionKind::Collect(_)
    );
    let mut found = here.then_some(expression.span);
    expression.children(&mut |child| found = found.or_else(|| reads_rows(child)));
    found
}
