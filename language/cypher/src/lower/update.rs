//! `SET`, `REMOVE`, `DELETE` and `FOREACH`.

use plan::Plan;
use plan::algebra::{Delete, ForEach, Set, SetItem};
use plan::expr::Expr;

use super::argument::set_argument;
use super::query::Rows;
use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, fail, fail_with_hint, name};
use crate::ast::{self, Expression, ExpressionKind, Foreach, Name, RemoveItem};
use crate::error::ErrorKind;

impl Lowerer<'_> {
    pub(super) fn set(&mut self, items: &[ast::SetItem], rows: &mut Rows) -> Lowered<()> {
        let items = self.set_items(items, &mut rows.scope)?;
        rows.plan = Plan::Set(Box::new(Set { input: rows.plan.take(), items }));
        Ok(())
    }

    pub(super) fn set_items(&mut self, items: &[ast::SetItem], scope: &mut Scope) -> Lowered<Vec<SetItem>> {
        let mut lowered = Vec::with_capacity(items.len());
        for item in items {
            match item {
                ast::SetItem::Labels(variable, labels) => {
                    self.change_labels(variable, labels, true, scope, &mut lowered)?
                }
                item => lowered.push(self.set_item(item, scope)?),
            }
        }
        Ok(lowered)
    }

    fn set_item(&mut self, item: &ast::SetItem, scope: &mut Scope) -> Lowered<SetItem> {
        match item {
            ast::SetItem::Property(owner, key, value) => {
                let owner = self.owner(owner, scope)?;
                Ok(SetItem::Property(owner, name(key), self.expression(value, scope)?.expr))
            }
            ast::SetItem::DynamicProperty(owner, key, value) => {
                let owner = self.owner(owner, scope)?;
                let key = self.expression(key, scope)?.expr;
                Ok(SetItem::DynamicProperty(owner, key, self.expression(value, scope)?.expr))
            }
            ast::SetItem::Replace(variable, value) => self.set_properties(variable, value, false, scope),
            ast::SetItem::Merge(variable, value) => self.set_properties(variable, value, true, scope),
            ast::SetItem::Labels(variable, _) => {
                fail(ErrorKind::UnexpectedSyntax, "labels are changed in one place", variable.span)
            }
        }
    }

    /// `variable:A:$(b)`, added or removed: plain names together, then each value by itself.
    fn change_labels(
        &mut self,
        variable: &Name,
        labels: &[ast::LabelExpression],
        add: bool,
        scope: &mut Scope,
        items: &mut Vec<SetItem>,
    ) -> Lowered<()> {
        let variable_of = self.labelled(variable, scope)?;
        let (names, dynamic) = self.given_labels(labels, variable.span, scope)?;
        if !names.is_empty() {
            let plain = if add { SetItem::AddLabels } else { SetItem::RemoveLabels };
            items.push(plain(variable_of, names));
        }
        let of_value = |labels| SetItem::DynamicLabels { variable: variable_of, labels, add };
        items.extend(dynamic.into_iter().map(of_value));
        Ok(())
    }

    fn set_properties(
        &mut self,
        variable: &Name,
        value: &Expression,
        merge: bool,
        scope: &mut Scope,
    ) -> Lowered<SetItem> {
        let binding = self.find(scope, &variable.text, variable.span)?;
        if !binding.kind.may_be(&[Type::Node, Type::Relationship]) {
            return super::pattern::type_conflict(variable, &binding.kind, "Node or Relationship");
        }
        let var = binding.var;
        let map = self.expression(value, scope)?;
        if !map.kind.may_be(&[Type::Map, Type::Node, Type::Relationship]) {
            let message =
                format!("properties are set from a map, not from a value of type {}", map.kind.name());
            return fail_with_hint(
                ErrorKind::InvalidArgumentType,
                message,
                value.span,
                "to set one property write n.key = value",
            );
        }
        Ok(SetItem::Properties { variable: var, value: map.expr, merge })
    }

    /// The entity that a property is set on or removed from.
    fn owner(&mut self, owner: &Expression, scope: &mut Scope) -> Lowered<Expr> {
        let value = self.expression(owner, scope)?;
        if value.kind.may_be(&[Type::Node, Type::Relationship]) {
            return Ok(value.expr);
        }
        let message =
            format!("only nodes and relationships have properties to change, not a {}", value.kind.name());
        fail(ErrorKind::InvalidArgumentType, message, owner.span)
    }

    fn labelled(&mut self, variable: &Name, scope: &Scope) -> Lowered<plan::Var> {
        let binding = self.find(scope, &variable.text, variable.span)?;
        if binding.kind.may_be(&[Type::Node]) {
            return Ok(binding.var);
        }
        super::pattern::type_conflict(variable, &binding.kind, "Node")
    }

    pub(super) fn remove(&mut self, items: &[RemoveItem], rows: &mut Rows) -> Lowered<()> {
        let null = || Expr::literal(model::Value::Null);
        let mut lowered = Vec::with_capacity(items.len());
        for item in items {
            lowered.push(match item {
                RemoveItem::Property(owner, key) => {
                    SetItem::Property(self.owner(owner, &mut rows.scope)?, name(key), null())
                }
                RemoveItem::DynamicProperty(owner, key) => {
                    let owner = self.owner(owner, &mut rows.scope)?;
                    SetItem::DynamicProperty(owner, self.expression(key, &mut rows.scope)?.expr, null())
                }
                RemoveItem::Labels(variable, labels) => {
                    self.change_labels(variable, labels, false, &mut rows.scope, &mut lowered)?;
                    continue;
                }
            });
        }
        rows.plan = Plan::Set(Box::new(Set { input: rows.plan.take(), items: lowered }));
        Ok(())
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete, rows: &mut Rows) -> Lowered<()> {
        let mut targets = Vec::with_capacity(delete.targets.len());
        for target in &delete.targets {
            if matches!(target.kind, ExpressionKind::HasLabels(..)) {
                let message = "DELETE removes nodes, relationships and paths, not labels";
                return fail_with_hint(ErrorKind::InvalidDelete, message, target.span, "use REMOVE n:Label");
            }
            let value = self.expression(target, &mut rows.scope)?;
            if !matches!(value.kind, Type::Node | Type::Relationship | Type::Path)
                && self.is_property_of_entity(target, &mut rows.scope)?
            {
                let message = "DELETE removes nodes, relationships and paths, not properties";
                return fail_with_hint(
                    ErrorKind::InvalidArgumentType,
                    message,
                    target.span,
                    "use REMOVE n.key",
                );
            }
            let is_computed = matches!(target.kind, ExpressionKind::Binary(..) | ExpressionKind::Unary(..));
            if is_computed || !value.kind.may_be(&[Type::Node, Type::Relationship, Type::Path]) {
                let message = format!(
                    "DELETE takes nodes, relationships and paths, not a value of type {}",
                    value.kind.name()
                );
                if !matches!(value.kind, Type::List(_)) {
                    return fail(ErrorKind::InvalidArgumentType, message, target.span);
                }
                let hint = "FOREACH (element IN list | DELETE element) deletes what a list holds";
                return fail_with_hint(ErrorKind::InvalidArgumentType, message, target.span, hint);
            }
            targets.push(value.expr);
        }
        rows.plan =
            Plan::Delete(Box::new(Delete { input: rows.plan.take(), targets, detach: delete.detach }));
        Ok(())
    }

    /// `n.key` or `n['key']` of a node or relationship, or a component of that, such as `n.day.year`; of a map, it may be a node itself.
    fn is_property_of_entity(&mut self, target: &Expression, scope: &mut Scope) -> Lowered<bool> {
        let mut owner = target;
        while let ExpressionKind::Property(below, _) | ExpressionKind::Index(below, _) = &owner.kind {
            owner = below;
            if matches!(self.expression(owner, scope)?.kind, Type::Node | Type::Relationship) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn foreach(&mut self, foreach: &Foreach, rows: &mut Rows) -> Lowered<()> {
        let list = self.expression(&foreach.list, &mut rows.scope)?;
        if !list.kind.may_be_list() {
            let message = format!("FOREACH needs a list, not a value of type {}", list.kind.name());
            return fail(ErrorKind::InvalidArgumentType, message, foreach.list.span);
        }
        let (first_own, first_used) = (self.variables.len(), self.used.len());
        let variable = self.variable(&foreach.variable.text);
        let mut inner = Rows { plan: Plan::Argument(Vec::new()), scope: rows.scope.clone() };
        inner.scope.declare(&foreach.variable.text, variable, list.kind.element());
        for clause in &foreach.body {
            self.foreach_clause(clause, &mut inner)?;
        }
        let imports = self.imports_since(first_own, first_used);
        let mut columns = imports.clone();
        columns.push(variable);
        set_argument(&mut inner.plan, &columns);
        let node = ForEach { input: rows.plan.take(), variable, list: list.expr, body: inner.plan, imports };
        rows.plan = Plan::ForEach(Box::new(node));
        Ok(())
    }

    fn foreach_clause(&mut self, clause: &ast::Clause, rows: &mut Rows) -> Lowered<()> {
        if matches!(clause.kind, ast::ClauseKind::CallSubquery(_)) {
            let message = "CALL cannot stand inside FOREACH";
            return fail_with_hint(
                ErrorKind::InvalidClauseComposition,
                message,
                clause.span,
                "use UNWIND instead of FOREACH",
            );
        }
        self.update(clause, rows)
    }
}
