//! `WITH` and `RETURN`: columns, their names, and the rows they are computed from.

use std::sync::Arc;

use plan::algebra::{Distinct, Extend, Project};
use plan::expr::{Expr, Var};
use plan::{Plan, Vars};

use super::aggregate;
use super::columns::{SortColumn, SortColumns};
use super::query::{Column, Rows};
use super::scope::Scope;
use super::types::Type;
use super::writing_calls::MADE;
use super::{Lowered, Lowerer, fail_with_hint};
use crate::ast::{Expression, ExpressionKind, Projection, ProjectionItem};
use crate::error::ErrorKind;
use text::Span;

/// A column before it is lowered.
pub(crate) struct Item {
    pub expression: Expression,
    pub name: String,
    pub span: Span,
    pub aggregates: bool,
}

/// A column after it is lowered.
pub(crate) struct Lowering {
    pub var: Var,
    pub expr: Expr,
    pub kind: Type,
}

impl Lowering {
    /// Whether the column is a variable passed on under its name.
    pub fn passes_on(&self) -> bool {
        self.expr == Expr::Variable(self.var)
    }
}

impl Lowerer<'_> {
    /// `WITH`.
    pub(super) fn with(
        &mut self,
        projection: &Projection,
        condition: Option<&Expression>,
        rows: &mut Rows,
    ) -> Lowered<()> {
        for item in &projection.items {
            let named = item.alias.is_some() || matches!(item.expression.kind, ExpressionKind::Variable(_));
            if !named {
                let message = "a column of WITH that is not a variable needs a name";
                return fail_with_hint(ErrorKind::NoExpressionAlias, message, item.span, "add AS name");
            }
        }
        self.project(projection, condition, rows, false).map(|_| ())
    }

    /// `RETURN`.
    pub(super) fn returning(&mut self, projection: &Projection, rows: &mut Rows) -> Lowered<Vec<Column>> {
        self.project(projection, None, rows, true)
    }

    fn project(
        &mut self,
        projection: &Projection,
        condition: Option<&Expression>,
        rows: &mut Rows,
        returning: bool,
    ) -> Lowered<Vec<Column>> {
        let items = self.items(projection, rows, returning)?;
        check_names(&items)?;
        let grouping = items.iter().any(|item| item.aggregates);
        // Where each row stays one, what LOAD CSV says of it goes with it.
        let load_csv = rows.scope.load_csv.filter(|_| !grouping && !projection.distinct && !returning);
        let lowered = if grouping { self.group(&items, rows)? } else { self.plain_columns(&items, rows)? };
        let columns = self.name_columns(&items, &lowered);
        let mut after = rows.scope.outer_only();
        if returning && grouping && items.iter().all(|item| item.aggregates) {
            // One row comes out even of none, with nothing of the outside in it, and nothing follows.
            after = Scope::default();
        }
        for column in &columns {
            after.declare(&column.name, column.var, column.kind.clone());
        }
        if grouping || projection.distinct {
            if !grouping {
                self.project_only(&lowered, rows);
            }
            if projection.distinct {
                let columns = lowered.iter().map(|column| column.var).collect();
                rows.plan = Plan::Distinct(Box::new(Distinct {
                    input: rows.plan.take(),
                    columns,
                    carried: Vec::new(),
                }));
            }
            let known = sort_columns(&items, &lowered);
            let tail = self.tail(projection, condition, &mut after.clone(), Some(known))?;
            rows.plan = tail.apply(rows.plan.take());
        } else {
            self.project_with_tail(projection, condition, rows, (lowered, &columns), load_csv)?;
        }
        after.load_csv = load_csv;
        rows.scope = after;
        Ok(columns)
    }

    /// Columns whose tail sees the rows before the projection too: these are kept until the tail is done, if it reads them.
    fn project_with_tail(
        &mut self,
        projection: &Projection,
        condition: Option<&Expression>,
        rows: &mut Rows,
        (mut lowered, columns): (Vec<Lowering>, &[Column]),
        load_csv: Option<[Var; 2]>,
    ) -> Lowered<()> {
        let kept = load_csv.into_iter().flatten();
        lowered.extend(kept.clone().map(|var| Lowering { var, expr: Expr::Variable(var), kind: Type::Any }));
        let mut both = rows.scope.clone();
        for column in columns {
            both.declare(&column.name, column.var, column.kind.clone());
        }
        let tail = self.tail(projection, condition, &mut both, None)?;
        let made: Vars = columns.iter().map(|column| column.var).collect();
        let reads_before = tail.reads().iter().any(|var| !made.contains(var));
        if !reads_before {
            self.project_only(&lowered, rows);
            rows.plan = tail.apply(rows.plan.take());
            return Ok(());
        }
        let computed: Vec<(Var, Expr)> = lowered
            .iter()
            .filter(|column| !column.passes_on())
            .map(|column| (column.var, column.expr.clone()))
            .collect();
        if !computed.is_empty() {
            rows.plan = Plan::Extend(Box::new(Extend { input: rows.plan.take(), items: computed }));
        }
        let passed = columns.iter().map(|column| column.var).chain(kept);
        let items = passed.map(|var| (var, Expr::Variable(var))).collect();
        let input = tail.apply(rows.plan.take());
        rows.plan = Plan::Project(Box::new(Project { input, items }));
        Ok(())
    }

    fn project_only(&mut self, lowered: &[Lowering], rows: &mut Rows) {
        let items = lowered.iter().map(|column| (column.var, column.expr.clone())).collect();
        rows.plan = Plan::Project(Box::new(Project { input: rows.plan.take(), items }));
    }

    fn plain_columns(&mut self, items: &[Item], rows: &mut Rows) -> Lowered<Vec<Lowering>> {
        items.iter().map(|item| self.plain_column(item, rows)).collect()
    }

    /// A column without aggregates. A variable passed on under its name keeps its number.
    pub(super) fn plain_column(&mut self, item: &Item, rows: &mut Rows) -> Lowered<Lowering> {
        let value = self.expression(&item.expression, &mut rows.scope)?;
        let same_name = matches!(&item.expression.kind, ExpressionKind::Variable(name) if *name == item.name);
        let var = match value.expr {
            Expr::Variable(var) if same_name => var,
            _ => self.variable(&item.name),
        };
        Ok(Lowering { var, expr: value.expr, kind: value.kind })
    }

    fn name_columns(&self, items: &[Item], lowered: &[Lowering]) -> Vec<Column> {
        let pairs = items.iter().zip(lowered);
        let column = |(item, lowering): (&Item, &Lowering)| Column {
            name: Arc::from(item.name.as_str()),
            var: lowering.var,
            kind: lowering.kind.clone(),
        };
        pairs.map(column).collect()
    }

    /// The columns, with `*` spelt out.
    fn items(&mut self, projection: &Projection, rows: &Rows, returning: bool) -> Lowered<Vec<Item>> {
        let mut items = Vec::new();
        if projection.star {
            // What no text can name, a rewriting made for the clause before. A name in backticks may begin with a blank.
            let names = rows.scope.columns().map(|binding| binding.name.as_str());
            let mut names: Vec<&str> = names.filter(|name| *name != MADE).collect();
            if names.is_empty() && returning && projection.items.is_empty() {
                let message = "RETURN * needs at least one variable";
                let hint = "name a node or a relationship in a pattern";
                return fail_with_hint(ErrorKind::NoVariablesInScope, message, projection.span, hint);
            }
            if returning {
                names.sort_unstable();
            }
            items.extend(names.into_iter().map(|name| variable_item(name, projection.span)));
        }
        for item in &projection.items {
            items.push(self.item(item));
        }
        Ok(items)
    }

    fn item(&self, item: &ProjectionItem) -> Item {
        let name = match (&item.alias, &item.expression.kind) {
            (Some(alias), _) => alias.text.clone(),
            (None, ExpressionKind::Variable(name)) => name.clone(),
            (None, _) => item.span.text(self.text).to_string(),
        };
        let aggregates = aggregate::find(&item.expression).is_some();
        let span = item.alias.as_ref().map_or(item.span, |alias| alias.span);
        Item { expression: item.expression.clone(), name, span, aggregates }
    }
}

fn variable_item(name: &str, span: Span) -> Item {
    let expression = Expression { kind: ExpressionKind::Variable(name.to_string()), span };
    Item { expression, name: name.to_string(), span, aggregates: false }
}

fn check_names(items: &[Item]) -> Lowered<()> {
    let mut seen = std::collections::HashSet::new();
    for item in items {
        if !seen.insert(item.name.as_str()) {
            let message = format!("there are two columns named `{}`", item.name);
            return fail_with_hint(
                ErrorKind::ColumnNameConflict,
                message,
                item.span,
                "rename one of them with AS",
            );
        }
    }
    Ok(())
}

fn sort_columns(items: &[Item], lowered: &[Lowering]) -> SortColumns {
    let pairs = items.iter().zip(lowered);
    let column = |(item, lowering): (&Item, &Lowering)| {
        (item.expression.clone(), SortColumn { var: lowering.var, kind: lowering.kind.clone() })
    };
    pairs.map(column).collect()
}
