//! Queries and patterns inside expressions. Each becomes a plan of its own that starts from the outer variables it reads.

use plan::Plan;
use plan::algebra::{Apply, ApplyKind, Project};
use plan::expr::{Expr, Subquery, SubqueryKind, Var};
use plan::{Function, Vars, expr};

use super::argument::set_argument;
use super::matching;
use super::pattern::Names;
use super::query::{ClauseContext, Rows};
use super::scope::{Scope, UNWRITABLE};
use super::types::Type;
use super::{Lowered, Lowerer, Typed, fail, fail_with_hint};
use crate::ast::{self, ClauseKind, Expression, ExpressionKind, PathPattern, Query, Selector};
use crate::error::ErrorKind;
use text::Span;

/// The answer of a subquery's plan, and its type.
type Answer = (Plan, SubqueryKind, Type);

impl Lowerer<'_> {
    /// `EXISTS { }`, `COUNT { }`, `COLLECT { }`.
    pub(super) fn subquery(&mut self, expression: &Expression, scope: &Scope) -> Lowered<Typed> {
        match &expression.kind {
            ExpressionKind::Exists(subquery) => self.within(expression.span, |lowerer| {
                let plan = lowerer.subquery_plan(subquery, scope)?;
                Ok((plan, SubqueryKind::Exists, Type::Boolean))
            }),
            ExpressionKind::Count(subquery) => self.within(expression.span, |lowerer| {
                let plan = lowerer.subquery_plan(subquery, scope)?;
                Ok((plan, SubqueryKind::Count, Type::Integer))
            }),
            ExpressionKind::Collect(query) => {
                self.within(expression.span, |lowerer| lowerer.collect_query(query, scope, expression.span))
            }
            _ => fail(ErrorKind::UnexpectedSyntax, "a subquery is needed here", expression.span),
        }
    }

    /// Runs `lower` for a plan that starts from `Argument`, and fills in its imports.
    fn within(&mut self, span: Span, lower: impl FnOnce(&mut Self) -> Lowered<Answer>) -> Lowered<Typed> {
        let aggregation = self.aggregation.take();
        let sorting = self.sorting.take();
        // A hint is about this sub-query, not about those inside.
        let (hint, rank) = (self.scope_hint.take(), self.scope_rank.take());
        let (first_own, first_used) = (self.variables.len(), self.used.len());
        let answer = lower(self);
        self.aggregation = aggregation;
        self.sorting = sorting;
        (self.scope_hint, self.scope_rank) = (hint.clone(), rank.clone());
        let (mut plan, kind, of_type) = answer?;
        let imports = self.imports_since(first_own, first_used);
        self.check_imports(&imports, span)?;
        set_argument(&mut plan, &imports);
        let expr = Expr::Subquery(Box::new(Subquery { kind, imports, plan, hint, rank }));
        Ok(Typed { expr, kind: of_type })
    }

    /// The variables used since a moment that are older than it, each once.
    pub(super) fn imports_since(&self, first_own: usize, first_used: usize) -> Vec<Var> {
        let used = self.used[first_used..].iter().copied();
        used.filter(|var| (var.0 as usize) < first_own).collect::<Vars>().into_vec()
    }

    fn subquery_plan(&mut self, subquery: &ast::Subquery, scope: &Scope) -> Lowered<Plan> {
        match subquery {
            ast::Subquery::Pattern(patterns, condition) => {
                let mut rows = inner_rows(scope);
                self.find_inner(patterns, condition.as_deref(), Names::New, &mut rows)?;
                Ok(rows.plan)
            }
            ast::Subquery::Query(query) => {
                self.inner_query(query, scope, ClauseContext::Test).map(|(plan, _)| plan)
            }
        }
    }

    /// A whole query inside an expression. The outer names stay in sight across `WITH`, so their columns are carried along.
    fn inner_query(
        &mut self,
        query: &Query,
        scope: &Scope,
        place: ClauseContext,
    ) -> Lowered<(Plan, Vec<(Var, Type)>)> {
        let (first_own, first_used) = (self.variables.len(), self.used.len());
        let leaf = Plan::Argument(Vec::new());
        let mut outcome = self.query(query, &leaf, &scope.as_outer(), place)?;
        if has_with(query) {
            let imports = self.imports_since(first_own, first_used);
            carry(&mut outcome.plan, &imports);
        }
        let columns = outcome.columns.unwrap_or_default();
        Ok((outcome.plan, columns.into_iter().map(|column| (column.var, column.kind)).collect()))
    }

    fn collect_query(&mut self, query: &Query, scope: &Scope, span: Span) -> Lowered<Answer> {
        let (plan, columns) = self.inner_query(query, scope, ClauseContext::Collect)?;
        match columns.as_slice() {
            [(var, kind)] => Ok((plan, SubqueryKind::Collect(*var), Type::list(kind.clone()))),
            _ => fail(ErrorKind::UnexpectedSyntax, "COLLECT needs a query that returns one column", span),
        }
    }

    pub(super) fn find_inner(
        &mut self,
        patterns: &[PathPattern],
        condition: Option<&Expression>,
        names: Names,
        rows: &mut Rows,
    ) -> Lowered<()> {
        let mut matched = self.pattern(patterns, &mut rows.scope, names)?;
        if let Some(condition) = condition {
            let predicate = self.predicate(condition, &mut rows.scope)?.expr;
            matched.pattern.predicates.extend(predicate.conjuncts());
        }
        matching::find(matched, false, Vec::new(), rows);
        Ok(())
    }

    /// A pattern that is a condition: it holds where the pattern is found.
    pub(super) fn pattern_exists(&mut self, pattern: &PathPattern, scope: &Scope) -> Lowered<Typed> {
        self.within(pattern.span, |lowerer| {
            let mut rows = inner_rows(scope);
            lowerer.find_inner(std::slice::from_ref(pattern), None, Names::Known, &mut rows)?;
            Ok((rows.plan, SubqueryKind::Exists, Type::Boolean))
        })
    }

    /// `shortestPath(…)` and `allShortestPaths(…)` as values.
    pub(super) fn pattern_value(
        &mut self,
        pattern: &PathPattern,
        span: Span,
        scope: &Scope,
    ) -> Lowered<Typed> {
        if !matches!(pattern.selector, Selector::ShortestPath | Selector::AllShortestPaths) {
            let message = "a pattern is a condition, not a value";
            let hint = "write EXISTS { (a)-->(b) }, COUNT { (a)-->(b) } or [(a)-->(b) | b]";
            return fail_with_hint(ErrorKind::UnexpectedSyntax, message, span, hint);
        }
        let paths = self.within(span, |lowerer| {
            // Another path around this one, of whose condition it is a part, has the same name; it cannot be asked for here.
            let scope = scope.as_outer_written();
            let mut rows = Rows { plan: Plan::Argument(Vec::new()), scope };
            let named = ast::Name { text: UNWRITABLE.to_string(), span };
            let pattern = PathPattern { variable: Some(named), ..pattern.clone() };
            lowerer.find_inner(std::slice::from_ref(&pattern), None, Names::Known, &mut rows)?;
            let var = rows.scope.get(UNWRITABLE).expect("the path was just declared").var;
            lowerer.variables[var.0 as usize] = " path".into();
            Ok((rows.plan, SubqueryKind::Collect(var), Type::list(Type::Path)))
        })?;
        if pattern.selector == Selector::AllShortestPaths {
            return Ok(paths);
        }
        Ok(Typed { expr: Expr::Call(Function::Head, vec![paths.expr]), kind: Type::Path })
    }

    /// `[(a)-->(b) WHERE condition | projection]`.
    pub(super) fn pattern_comprehension(&mut self, expression: &Expression, scope: &Scope) -> Lowered<Typed> {
        let ExpressionKind::PatternComprehension { pattern, condition, projection } = &expression.kind else {
            return fail(ErrorKind::UnexpectedSyntax, "this expression has no value", expression.span);
        };
        if let Some(span) = super::aggregate::find(projection) {
            let message = "an aggregate cannot stand inside an expression over a list";
            return fail(ErrorKind::InvalidAggregation, message, span);
        }
        self.within(expression.span, |lowerer| {
            let mut rows = inner_rows(scope);
            lowerer.find_inner(std::slice::from_ref(pattern), condition.as_deref(), Names::New, &mut rows)?;
            let value = lowerer.expression(projection, &mut rows.scope)?;
            let column = lowerer.unnamed("element");
            let items = vec![(column, value.expr)];
            let plan = Plan::Project(Box::new(Project { input: rows.plan, items }));
            Ok((plan, SubqueryKind::Collect(column), Type::list(value.kind)))
        })
    }
}

fn inner_rows(scope: &Scope) -> Rows {
    Rows { plan: Plan::Argument(Vec::new()), scope: scope.as_outer() }
}

/// Whether a query projects before its end.
pub(super) fn has_with(query: &Query) -> bool {
    let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|union| &union.query));
    parts.flat_map(|part| &part.clauses).any(|clause| matches!(clause.kind, ClauseKind::With(..)))
}

/// Keeps the imported columns across the projections of a plan's main line.
///
/// One row comes out of an aggregation without keys, even over no rows, and it has no outer columns. Where later clauses read an import, the
/// aggregation is run for the row of imports, and its columns put beside them; where none does, imports end there.
pub(super) fn carry(plan: &mut Plan, imports: &[Var]) {
    let mut waiting = vec![plan];
    while let Some(mut at) = waiting.pop() {
        let (end, nodes_above) = end_of(at, imports);
        for _ in 0..nodes_above {
            if end != LineEnd::OneRow {
                carry_across(at, imports);
            }
            // Its end was found by going down the same way.
            let Some(below) = at.input_mut() else { return };
            at = below;
        }
        if end == LineEnd::OneRowBesideImports {
            let mut inner = at.take();
            set_argument(&mut inner, imports);
            let kind = ApplyKind::Inner(inner.makes().into_vec());
            let (input, imports) = (Plan::Argument(imports.to_vec()), imports.to_vec());
            let apply = Apply { input, inner, imports, kind, scope: Default::default(), rank: None };
            *at = Plan::Apply(Box::new(apply));
        }
        match at {
            Plan::Union(union) => waiting.extend([&mut union.left, &mut union.right]),
            Plan::Aggregate(node) => waiting.push(&mut node.input),
            Plan::Apply(node) if end == LineEnd::OneRowBesideImports => {
                waiting.extend(node.inner.input_mut())
            }
            _ => {}
        }
    }
}

/// Where a stretch of a plan's main line ends, from above.
#[derive(PartialEq)]
enum LineEnd {
    /// At a union, or at the leaf.
    Rows,
    /// At an aggregation without keys, and nothing above reads an import.
    OneRow,
    /// Likewise, and something does.
    OneRowBesideImports,
}

/// The end, and how many nodes stand above it.
fn end_of(mut at: &Plan, imports: &[Var]) -> (LineEnd, usize) {
    let (mut is_read, mut nodes_above) = (false, 0);
    while !is_single_row(at) {
        let below = if matches!(at, Plan::Union(_)) { None } else { at.input() };
        let Some(below) = below else { return (LineEnd::Rows, nodes_above) };
        is_read = is_read || at.reads().iter().any(|var| imports.contains(var));
        (at, nodes_above) = (below, nodes_above + 1);
    }
    (if is_read { LineEnd::OneRowBesideImports } else { LineEnd::OneRow }, nodes_above)
}

fn is_single_row(plan: &Plan) -> bool {
    matches!(plan, Plan::Aggregate(node) if node.keys.is_empty())
}

fn carry_across(plan: &mut Plan, imports: &[Var]) {
    match plan {
        Plan::Project(project) => carry_items(&mut project.items, imports),
        Plan::Aggregate(aggregate) => carry_items(&mut aggregate.keys, imports),
        Plan::Distinct(distinct) => {
            let columns = std::mem::take(&mut distinct.columns).into_iter().chain(imports.iter().copied());
            distinct.columns = columns.collect::<Vars>().into_vec();
        }
        _ => {}
    }
}

fn carry_items(items: &mut Vec<(Var, expr::Expr)>, imports: &[Var]) {
    let made: Vars = items.iter().map(|(item, _)| *item).collect();
    let missing = imports.iter().filter(|var| !made.contains(var));
    items.extend(missing.map(|var| (*var, Expr::Variable(*var))));
}
