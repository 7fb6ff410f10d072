//! Projections that aggregate: columns without aggregates are the keys of the groups.

use plan::Plan;
use plan::Vars;
use plan::algebra::{Aggregate, Project};
use plan::expr::Expr;

use super::columns::{Aggregation, Key};
use super::entries::Entries;
use super::projection::{Item, Lowering};
use super::query::Rows;
use super::{Lowered, Lowerer};
use crate::ast::{Expression, ExpressionKind};

impl Lowerer<'_> {
    /// Groups the rows; the plan then has exactly the columns of the items.
    pub(super) fn group(&mut self, items: &[Item], rows: &mut Rows) -> Lowered<Vec<Lowering>> {
        let keys = self.group_keys(items, rows)?;
        let simple = items.iter().zip(&keys).filter_map(|(item, key)| simple_key(item, key.as_ref()?));
        let keys_found: Entries<Expression, Key> = simple.collect();
        self.aggregation = Some(Aggregation {
            key_columns: keys_found.iter().map(|key| key.var).collect(),
            keys: keys_found,
            calls: Entries::default(),
            inside: false,
        });
        let columns = self.group_columns(items, &keys, rows);
        let aggregation = self.aggregation.take().expect("set above, and put back by whoever takes it");
        let (columns, computed) = columns?;
        let keys = keys.into_iter().flatten().map(|key| (key.var, key.expr)).collect();
        let calls = aggregation.calls.into_entries().into_iter();
        let aggregates = calls.map(|(call, var)| (var, call)).collect();
        rows.plan = Plan::Aggregate(Box::new(Aggregate { input: rows.plan.take(), keys, aggregates }));
        if computed {
            let items = columns.iter().map(|column| (column.var, column.expr.clone())).collect();
            rows.plan = Plan::Project(Box::new(Project { input: rows.plan.take(), items }));
        }
        Ok(columns)
    }

    fn group_keys(&mut self, items: &[Item], rows: &mut Rows) -> Lowered<Vec<Option<Lowering>>> {
        let key = |item: &Item| match item.aggregates {
            true => Ok(None),
            false => self.plain_column(item, rows).map(Some),
        };
        items.iter().map(key).collect()
    }

    /// The columns over the groups, and whether any of them is more than a key or an aggregate.
    fn group_columns(
        &mut self,
        items: &[Item],
        keys: &[Option<Lowering>],
        rows: &mut Rows,
    ) -> Lowered<(Vec<Lowering>, bool)> {
        let mut columns: Vec<Lowering> = Vec::with_capacity(items.len());
        let mut taken = Vars::new();
        let mut computed = false;
        for (item, key) in items.iter().zip(keys) {
            if let Some(key) = key {
                taken.add(key.var);
                columns.push(Lowering {
                    var: key.var,
                    expr: Expr::Variable(key.var),
                    kind: key.kind.clone(),
                });
                continue;
            }
            let value = self.expression(&item.expression, &mut rows.scope)?;
            let var = match value.expr {
                Expr::Variable(var) if !taken.contains(&var) => {
                    self.variables[var.0 as usize] = item.name.as_str().into();
                    var
                }
                _ => {
                    computed = true;
                    self.variable(&item.name)
                }
            };
            taken.add(var);
            columns.push(Lowering { var, expr: value.expr, kind: value.kind });
        }
        // An aggregate that is a column may also be part of another, so all parts must be columns, or be dropped.
        Ok((columns, computed))
    }
}

/// Keys that may stand in a column beside an aggregate: variables and their properties.
fn simple_key(item: &Item, key: &Lowering) -> Option<(Expression, Key)> {
    fn is_simple(expression: &Expression) -> bool {
        match &expression.kind {
            ExpressionKind::Variable(_) => true,
            ExpressionKind::Property(target, _) => is_simple(target),
            _ => false,
        }
    }
    let simple = is_simple(&item.expression);
    simple.then(|| (item.expression.clone(), Key { var: key.var, kind: key.kind.clone() }))
}
