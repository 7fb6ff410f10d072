//! Schema commands, `SHOW` and `KILL QUERY`.

use model::ValueType;
use plan::Plan;
use plan::algebra::Filter;
use plan::expr::Name;
use plan::procedures::Procedure;
use plan::standing::{Resume, StandingCommand};
use plan::statement::{Rule, SchemaCommand, StatementKind, Target};
use plan::types::{Alternative, TypeKind, TypeTest};
use std::sync::Arc;

use super::query::{Column, Rows};
use super::scope::Scope;
use super::{Lowered, Lowerer, fail, fail_with_hint, name};
use crate::ast::{
    self, Expression, ExpressionKind, IndexKind, Literal, Requirement, SchemaEntity, ShowTarget,
};
use crate::error::ErrorKind;
use text::Span;

/// `YIELD a AS b ORDER BY … WHERE …` as `YIELD a WITH a AS b ORDER BY … WHERE …`: later parts may name a column either way.
fn renamed(yields: ast::Yield, page: Option<&ast::Projection>) -> (ast::Yield, Option<ast::Projection>) {
    if yields.items.iter().all(|(_, alias)| alias.is_none()) {
        return (yields, page.cloned());
    }
    let item = |(field, alias): &(ast::Name, Option<ast::Name>)| ast::ProjectionItem {
        expression: Expression { kind: ExpressionKind::Variable(field.text.clone()), span: field.span },
        alias: alias.clone(),
        span: field.span,
    };
    let span = yields.items[0].0.span;
    let empty = || ast::Projection {
        distinct: false,
        star: false,
        items: Vec::new(),
        order: Vec::new(),
        skip: None,
        limit: None,
        span,
    };
    let items = yields.items.iter().map(item).collect();
    let page = ast::Projection { star: false, items, ..page.cloned().unwrap_or_else(empty) };
    let plain = yields.items.into_iter().map(|(field, _)| (field, None)).collect();
    (ast::Yield { items: plain, ..yields }, Some(page))
}

impl Lowerer<'_> {
    pub(super) fn schema_command(&mut self, command: &ast::SchemaCommand) -> Lowered<SchemaCommand> {
        match command {
            ast::SchemaCommand::CreateIndex(index) => self.create_index(index),
            ast::SchemaCommand::CreateConstraint(constraint) => self.create_constraint(constraint),
            ast::SchemaCommand::DropIndex(drop) => {
                Ok(SchemaCommand::DropIndex { name: name(&drop.name), if_exists: drop.if_exists })
            }
            ast::SchemaCommand::DropConstraint(drop) => {
                Ok(SchemaCommand::DropConstraint { name: name(&drop.name), if_exists: drop.if_exists })
            }
        }
    }

    fn create_index(&mut self, index: &ast::CreateIndex) -> Lowered<SchemaCommand> {
        let span = entity_span(&index.entity);
        match index.kind {
            IndexKind::Range => {}
            kind => return refused(kind, span),
        }
        Ok(SchemaCommand::CreateIndex {
            name: index.name.as_ref().map(name),
            target: target(&index.entity)?,
            keys: keys(&index.properties)?,
            if_not_exists: index.if_not_exists,
        })
    }

    fn create_constraint(&mut self, constraint: &ast::CreateConstraint) -> Lowered<SchemaCommand> {
        let rule = match &constraint.requirement {
            Requirement::Unique => Rule::Unique,
            Requirement::NotNull => Rule::Exists,
            Requirement::Key => Rule::NodeKey,
            Requirement::Type(wanted) => Rule::Typed(value_type(wanted, constraint.properties[0].span)?),
        };
        let single = matches!(rule, Rule::Exists | Rule::Typed(_));
        if single && constraint.properties.len() > 1 {
            let message = "this constraint is about one property";
            return fail(ErrorKind::UnexpectedSyntax, message, constraint.properties[1].span);
        }
        Ok(SchemaCommand::CreateConstraint {
            name: constraint.name.as_ref().map(name),
            target: target(&constraint.entity)?,
            keys: keys(&constraint.properties)?,
            rule,
            if_not_exists: constraint.if_not_exists,
        })
    }

    /// `SHOW …`: a call of the procedure that lists it, with the clauses behind it.
    pub(super) fn show(&mut self, show: &ast::Show) -> Lowered<StatementKind> {
        let whole = Span::new(0, self.text.len());
        let procedure = match show.target {
            ShowTarget::Indexes => "show indexes",
            ShowTarget::Constraints => "show constraints",
            ShowTarget::Functions => "show functions",
            ShowTarget::Procedures => "show procedures",
            ShowTarget::Caches => "show caches",
            ShowTarget::Programs => "show programs",
            ShowTarget::Queries => "show queries",
            ShowTarget::Transactions => "show transactions",
            ShowTarget::StandingQueries => "show standing queries",
            ShowTarget::Cluster => "show cluster",
            ShowTarget::Order => "show order",
            ShowTarget::Tablets => "show tablets",
            ShowTarget::Tenants => "show tenants",
            ShowTarget::Users => "show users",
            ShowTarget::CurrentUser => "show current user",
            ShowTarget::Databases => "show databases",
            ShowTarget::Settings => "show settings",
            ShowTarget::Roles => "show roles",
            ShowTarget::Privileges => "show privileges",
            ShowTarget::RolePrivileges => "show role privileges",
            ShowTarget::UserPrivileges => "show user privileges",
        };
        let procedure = Procedure::by_name(procedure).expect("SHOW names entries of the table");
        let named = |(field, _): &(&str, &str)| (ast::Name { text: field.to_string(), span: whole }, None);
        let usual = || procedure.fields[..procedure.shown].iter().map(named).collect();
        let yields =
            show.yields.clone().unwrap_or(ast::Yield { star: false, items: usual(), condition: None });
        let mut rows = Rows { plan: Plan::Unit, scope: Scope::default() };
        let name = vec![ast::Name { text: procedure.name.into(), span: whole }];
        let only = || ast::Literal::String(show.only.clone().unwrap_or_default());
        let argument = |(name, _): &(&str, &str)| match *name {
            "only" => ExpressionKind::Literal(only()),
            _ => ExpressionKind::Parameter(format!(" {}", procedure.name)),
        };
        let arguments =
            procedure.arguments.iter().map(|named| Expression { kind: argument(named), span: whole });
        let arguments = Some(arguments.collect());
        let (yields, page) = renamed(yields, show.page.as_ref());
        let call =
            ast::CallProcedure { optional: false, name, arguments, is_cached: false, yields: Some(yields) };
        let mut columns = self.call_with(&call, procedure, &mut rows)?;
        match page {
            Some(page) => columns = self.show_page(&page, show.condition.as_ref(), &mut rows)?,
            None => self.keep(show.condition.as_ref(), &mut rows)?,
        }
        if let Some(projection) = &show.projection {
            columns = self.returning(projection, &mut rows)?;
        }
        let columns = columns.into_iter().map(|column| (column.name, column.var)).collect();
        Ok(StatementKind::Query { plan: rows.plan, columns })
    }

    /// The part between YIELD and RETURN: the columns that it leaves.
    fn show_page(
        &mut self,
        page: &ast::Projection,
        condition: Option<&Expression>,
        rows: &mut Rows,
    ) -> Lowered<Vec<Column>> {
        self.with(page, condition, rows)?;
        let column = |binding: &super::scope::Binding| Column {
            name: Arc::from(binding.name.as_str()),
            var: binding.var,
            kind: binding.kind.clone(),
        };
        Ok(rows.scope.columns().map(column).collect())
    }

    /// Rows for which the condition holds.
    fn keep(&mut self, condition: Option<&Expression>, rows: &mut Rows) -> Lowered<()> {
        if let Some(condition) = condition {
            let predicate = self.predicate(condition, &mut rows.scope)?.expr;
            rows.plan = Plan::Filter(Box::new(Filter { input: rows.plan.take(), predicate }));
        }
        Ok(())
    }

    /// A command about standing queries; a parameter that it resumes from must be given like any other.
    pub(super) fn standing(&mut self, command: &StandingCommand) -> StatementKind {
        if let StandingCommand::Subscribe { from: Some(Resume::Parameter(name)), .. } = command {
            self.parameters.push(name.clone());
        }
        StatementKind::Standing(command.clone())
    }

    /// The one query that `KILL QUERY` names.
    pub(super) fn terminate(&mut self, targets: &[Expression]) -> Lowered<String> {
        match targets {
            [Expression { kind: ExpressionKind::Literal(Literal::String(id)), .. }] => Ok(id.clone()),
            [Expression { kind: ExpressionKind::Literal(Literal::Integer(id)), .. }] => Ok(id.to_string()),
            [target] => fail(
                ErrorKind::InvalidArgumentType,
                "the query is named by a string or a number",
                target.span,
            ),
            _ => fail(ErrorKind::NotSupported, "one query is ended at a time", targets[1].span),
        }
    }
}

/// An index of another kind than requested is not created in silence.
fn refused<T>(kind: IndexKind, span: Span) -> Lowered<T> {
    let (what, hint) = match kind {
        IndexKind::Text => {
            ("a TEXT index", "CREATE INDEX makes a RANGE index, which finds equal texts and STARTS WITH")
        }
        IndexKind::Point => ("a POINT index", "CREATE INDEX makes a RANGE index, which finds equal points"),
        IndexKind::Fulltext => {
            ("a FULLTEXT index", "CREATE INDEX makes a RANGE index, which finds equal texts and STARTS WITH")
        }
        IndexKind::Vector => ("a VECTOR index", "vector.similarity.cosine() compares vectors without one"),
        IndexKind::Range | IndexKind::Lookup => {
            ("a LOOKUP index", "those of all labels and types exist always")
        }
    };
    fail_with_hint(ErrorKind::NotSupported, format!("{what} cannot be made"), span, hint)
}

fn entity_span(entity: &SchemaEntity) -> Span {
    let (SchemaEntity::Node(variable, _) | SchemaEntity::Relationship(variable, _)) = entity;
    variable.span
}

fn target(entity: &SchemaEntity) -> Lowered<Target> {
    match entity {
        SchemaEntity::Node(_, labels) if labels.len() == 1 => Ok(Target::Vertices(name(&labels[0]))),
        SchemaEntity::Relationship(_, types) if types.len() == 1 => Ok(Target::Edges(name(&types[0]))),
        _ => fail(
            ErrorKind::UnexpectedSyntax,
            "one label or relationship type is needed here",
            entity_span(entity),
        ),
    }
}

fn keys(properties: &[ast::Name]) -> Lowered<Vec<Name>> {
    let mut seen = std::collections::HashSet::new();
    for property in properties {
        if !seen.insert(property.text.as_str()) {
            let message = format!("property `{}` stands twice", property.text);
            return fail(ErrorKind::UnexpectedSyntax, message, property.span);
        }
    }
    Ok(properties.iter().map(name).collect())
}

/// The types that a constraint can demand.
fn value_type(wanted: &TypeTest, span: Span) -> Lowered<ValueType> {
    let any = TypeTest(vec![Alternative { kind: TypeKind::Any, not_null: false }]);
    if let [Alternative { kind: TypeKind::List(elements), .. }] = &wanted.0[..]
        && *elements == any
    {
        return Ok(ValueType::List);
    }
    let storable = |value_type: &ValueType| {
        let entity = [ValueType::Vertex, ValueType::Edge, ValueType::Path, ValueType::Map];
        !entity.contains(value_type)
    };
    match wanted.plain().filter(storable) {
        Some(value_type) => Ok(value_type),
        None => fail_with_hint(
            ErrorKind::NotSupported,
            format!("properties of type {wanted} cannot be demanded"),
            span,
            "demand one simple type, or LIST<ANY>",
        ),
    }
}
