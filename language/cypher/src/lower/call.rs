//! `CALL { }`: a query run for each row, and `CALL procedure(…)`.

use std::sync::Arc;

use plan::Plan;
use plan::algebra::{Apply, ApplyKind, CallProcedure, Filter};
use plan::expr::{Expr, Name};
use plan::statement::{Mode, StatementKind};

use plan::procedures::{
    BACKED_UP, BACKUP, EXPORT, EXPORTED, HISTORY_SET, LIST_CONFIG, LISTED_SETTINGS, Procedure, SET_HISTORY,
};

use super::argument::set_argument;
use super::procedure;
use super::query::{ClauseContext, Column, Rows};
use super::scope::Scope;
use super::subquery::{carry, has_with};
use super::types::Type;
use super::{Lowered, Lowerer, fail, fail_with_hint};
use crate::ast::{
    self, CallSubquery, Clause, ClauseKind, ExpressionKind, Imports, Projection, Query, SingleQuery,
};
use crate::error::ErrorKind;
use text::Span;

impl Lowerer<'_> {
    pub(super) fn call_subquery(&mut self, call: &CallSubquery, rows: &mut Rows, span: Span) -> Lowered<()> {
        if call.in_transactions.is_some() && self.mode != Mode::Explain {
            let hint = "only a clause of the whole statement can be, not of a subquery or a part of a UNION, and only one";
            return fail_with_hint(ErrorKind::NotSupported, "IN TRANSACTIONS cannot stand here", span, hint);
        }
        self.subquery_for_each(call, rows, span)
    }

    /// Runs the query of the clause for each row.
    pub(super) fn subquery_for_each(
        &mut self,
        call: &CallSubquery,
        rows: &mut Rows,
        span: Span,
    ) -> Lowered<()> {
        check_named(&call.query)?;
        let (first_own, first_used) = (self.variables.len(), self.used.len());
        let leaf = Plan::Argument(Vec::new());
        let (scope, place) = match &call.imports {
            None => (rows.scope.clone(), ClauseContext::ImportingCall),
            Some(imports) => (self.scope_clause(imports, &rows.scope)?, ClauseContext::Call),
        };
        let outcome = self.query(&call.query, &leaf, &scope, place)?;
        let imports = self.imports_since(first_own, first_used);
        let mut inner = outcome.plan;
        if place == ClauseContext::Call && has_with(&call.query) {
            carry(&mut inner, &imports);
        }
        set_argument(&mut inner, &imports);
        let kind = self.join_back(call, outcome.columns, rows, span)?;
        rows.plan = Plan::Apply(Box::new(Apply {
            input: rows.plan.take(),
            inner,
            imports,
            kind,
            scope: Default::default(),
            rank: None,
        }));
        Ok(())
    }

    /// The names that a scope clause lets in.
    fn scope_clause(&mut self, imports: &Imports, scope: &Scope) -> Lowered<Scope> {
        let Imports::Names(names) = imports else { return Ok(scope.as_outer()) };
        let mut inner = Scope::default();
        for name in names {
            let binding = self.find(scope, &name.text, name.span)?;
            inner.declare(&name.text, binding.var, binding.kind.clone());
        }
        Ok(inner.as_outer())
    }

    fn join_back(
        &mut self,
        call: &CallSubquery,
        columns: Option<Vec<Column>>,
        rows: &mut Rows,
        span: Span,
    ) -> Lowered<ApplyKind> {
        let Some(columns) = columns else { return Ok(ApplyKind::Unit) };
        for column in &columns {
            if rows.scope.get(&column.name).is_some() {
                let message =
                    format!("the subquery returns `{}`, which is already declared outside", column.name);
                return fail_with_hint(ErrorKind::VariableAlreadyBound, message, span, "rename it with AS");
            }
            rows.scope.declare(&column.name, column.var, column.kind.clone());
        }
        let vars = columns.iter().map(|column| column.var).collect();
        Ok(if call.optional { ApplyKind::Optional(vars) } else { ApplyKind::Inner(vars) })
    }

    /// A query inside `CALL { }` without scope clause: a leading `WITH` names its imports. Returns these and the other clauses.
    pub(super) fn importing_with<'q>(
        &mut self,
        query: &'q SingleQuery,
        scope: &Scope,
    ) -> Lowered<(Scope, &'q [Clause])> {
        let Some((Clause { kind: ClauseKind::With(projection, condition), span }, rest)) =
            query.clauses.split_first()
        else {
            return Ok((Scope::default(), &query.clauses));
        };
        if !is_importing(projection) || condition.is_some() {
            let names_outer = projection.items.iter().any(|item| match &item.expression.kind {
                ExpressionKind::Variable(name) => scope.get(name).is_some(),
                _ => false,
            });
            if !names_outer {
                return Ok((Scope::default(), &query.clauses));
            }
            let message = "the WITH that begins a subquery may only name variables";
            let hint = "import with WITH a, b and go on with another WITH";
            return fail_with_hint(ErrorKind::UnexpectedSyntax, message, *span, hint);
        }
        let mut inner = Scope::default();
        if projection.star {
            for binding in scope.columns() {
                self.used.push(binding.var);
                inner.declare(&binding.name, binding.var, binding.kind.clone());
            }
        }
        for item in &projection.items {
            if let ExpressionKind::Variable(name) = &item.expression.kind {
                let binding = self.find(scope, name, item.span)?;
                inner.declare(name, binding.var, binding.kind.clone());
            }
        }
        Ok((inner, rest))
    }

    // --- procedures ---

    /// A statement that is one procedure call: its columns are the result.
    pub(super) fn standalone_call(&mut self, query: &Query) -> Lowered<Option<StatementKind>> {
        let [Clause { kind: ClauseKind::CallProcedure(call), span }] = query.first.clauses.as_slice() else {
            return Ok(None);
        };
        if !query.unions.is_empty() {
            return Ok(None);
        }
        let procedure = find_procedure(call, *span)?;
        let everything = ast::Yield { star: true, items: Vec::new(), condition: None };
        let mut call = call.clone();
        call.yields = Some(call.yields.unwrap_or(everything));
        let parameter =
            |name: &&str| ast::Expression { kind: ExpressionKind::Parameter(name.to_string()), span: *span };
        call.arguments = call.arguments.or_else(|| {
            Some(
                procedure.arguments[..procedure.arguments_min()]
                    .iter()
                    .map(|(name, _)| name)
                    .map(parameter)
                    .collect(),
            )
        });
        let mut rows = Rows { plan: Plan::Unit, scope: Scope::default() };
        let yielded = self.call_with(&call, procedure, &mut rows)?;
        let columns = yielded.into_iter().map(|column| (column.name, column.var)).collect();
        Ok(Some(StatementKind::Query { plan: rows.plan, columns }))
    }

    /// A procedure call among other clauses.
    pub(super) fn call_procedure(
        &mut self,
        call: &ast::CallProcedure,
        rows: &mut Rows,
        span: Span,
    ) -> Lowered<()> {
        let procedure = find_procedure(call, span)?;
        if call.arguments.is_none() {
            let message = "arguments can only be left to the parameters when the call stands alone";
            return fail_with_hint(ErrorKind::InvalidArgumentPassingMode, message, span, "add ()");
        }
        match &call.yields {
            Some(yields) if yields.star => {
                let message = "YIELD * can only be used when the call stands alone";
                return fail_with_hint(ErrorKind::UnexpectedSyntax, message, span, "name the columns");
            }
            None if !procedure.fields.is_empty() => {
                let message = "a call among other clauses needs YIELD";
                let hint = format!("it yields {}", procedure.field_names().join(", "));
                return fail_with_hint(ErrorKind::UnexpectedSyntax, message, span, &hint);
            }
            _ => {}
        }
        self.call_with(call, procedure, rows).map(|_| ())
    }

    pub(super) fn call_with(
        &mut self,
        call: &ast::CallProcedure,
        procedure: &'static Procedure,
        rows: &mut Rows,
    ) -> Lowered<Vec<Column>> {
        if procedure.writes() {
            // Clauses stand in its place wherever one may write.
            let message = format!("{} writes, so it cannot stand here", procedure.name);
            let hint = "write with CALL { … } instead";
            return fail_with_hint(ErrorKind::InvalidClauseComposition, message, call.name[0].span, hint);
        }
        if call.optional {
            return self.optional_call(call, procedure, rows);
        }
        let arguments = self.procedure_arguments(call, procedure, rows)?;
        let mut columns = Vec::new();
        let mut yields = Vec::new();
        for (field, name, span) in yielded_fields(call, procedure)? {
            if rows.scope.get(&name).is_some() {
                let message = format!("variable `{name}` is already declared");
                return fail_with_hint(ErrorKind::VariableAlreadyBound, message, span, "rename it with AS");
            }
            let var = self.variable(&name);
            rows.scope.declare(&name, var, Type::Any);
            columns.push(Column { name: Arc::from(name.as_str()), var, kind: Type::Any });
            yields.push((Name::from(field), var));
        }
        let name = Name::from(procedure.planned_name(&full_name(call)));
        let is_cached = call.is_cached;
        if is_cached && plan::procedures::program_name(&name).is_none() {
            let message = format!("{name} is no node program, so its result is not cached");
            let hint = "leave out CACHED; it may stand behind program.NAME(…)";
            return fail_with_hint(ErrorKind::InvalidClauseComposition, message, call.name[0].span, hint);
        }
        rows.plan = Plan::CallProcedure(Box::new(CallProcedure {
            input: rows.plan.take(),
            name,
            arguments,
            yields,
            is_cached,
        }));
        if let Some(condition) = call.yields.as_ref().and_then(|yields| yields.condition.as_ref()) {
            let predicate = self.predicate(condition, &mut rows.scope)?.expr;
            rows.plan = Plan::Filter(Box::new(Filter { input: rows.plan.take(), predicate }));
        }
        Ok(columns)
    }

    /// `OPTIONAL CALL procedure(…)`: the call is a sub-query of each row, and a row without a result is kept, with nulls.
    fn optional_call(
        &mut self,
        call: &ast::CallProcedure,
        procedure: &'static Procedure,
        rows: &mut Rows,
    ) -> Lowered<Vec<Column>> {
        let (first_own, first_used) = (self.variables.len(), self.used.len());
        let mut inner = Rows { plan: Plan::Argument(Vec::new()), scope: rows.scope.as_outer() };
        let plain = ast::CallProcedure { optional: false, ..call.clone() };
        let columns = self.call_with(&plain, procedure, &mut inner)?;
        let imports = self.imports_since(first_own, first_used);
        set_argument(&mut inner.plan, &imports);
        for column in &columns {
            rows.scope.declare(&column.name, column.var, column.kind.clone());
        }
        let kind = ApplyKind::Optional(columns.iter().map(|column| column.var).collect());
        let (input, inner) = (rows.plan.take(), inner.plan);
        rows.plan = Plan::Apply(Box::new(Apply {
            input,
            inner,
            imports,
            kind,
            scope: Default::default(),
            rank: None,
        }));
        Ok(columns)
    }

    fn procedure_arguments(
        &mut self,
        call: &ast::CallProcedure,
        procedure: &Procedure,
        rows: &mut Rows,
    ) -> Lowered<Vec<Expr>> {
        let arguments = call.arguments.as_deref().unwrap_or_default();
        if !(procedure.arguments_min()..=procedure.arguments.len()).contains(&arguments.len()) {
            let (wanted, found) = (procedure.arguments.len(), arguments.len());
            let message = format!("{} takes {wanted} arguments, not {found}", procedure.name);
            let (span, signature) = (call.name[0].span, procedure.signature());
            return fail_with_hint(ErrorKind::InvalidNumberOfArguments, message, span, &signature);
        }
        for (name, told, what) in
            [(BACKUP, BACKED_UP, "the folder"), (SET_HISTORY, HISTORY_SET, "how far back is kept")]
        {
            if procedure.name == name {
                return self.argument_of_interface(&arguments[0], told, what).map(|told| vec![told]);
            }
        }
        if procedure.name == EXPORT {
            let begins = format!("{EXPORTED}{} ", export_format(arguments.get(1))?);
            let told = self.argument_of_interface(&arguments[0], &begins, "the folder")?;
            return Ok(vec![told, Expr::literal(model::Value::Null)]);
        }
        let mut exprs = Vec::with_capacity(procedure.arguments.len());
        for argument in arguments {
            exprs.push(self.expression(argument, &mut rows.scope)?.expr);
        }
        // What is left out is null, for which the procedure takes its default.
        exprs.resize(procedure.arguments.len(), Expr::literal(model::Value::Null));
        if procedure.name == LIST_CONFIG {
            exprs.push(Expr::Parameter(self.parameter(LISTED_SETTINGS)));
        }
        Ok(exprs)
    }

    /// The argument of a procedure that an interface carries out before the statement runs; the interface passes in the result.
    fn argument_of_interface(&mut self, given: &ast::Expression, told: &str, what: &str) -> Lowered<Expr> {
        let name = match &given.kind {
            ExpressionKind::Parameter(name) => format!("{told}${name}"),
            ExpressionKind::Literal(ast::Literal::String(text)) => format!("{told}{text}"),
            _ => {
                let message = format!("{what} is a text or a parameter");
                return fail(ErrorKind::InvalidArgumentType, message, given.span);
            }
        };
        if let ExpressionKind::Parameter(name) = &given.kind {
            self.parameter(name);
        }
        Ok(Expr::Parameter(self.parameter(&name)))
    }
}

/// The format of an export, in lower case; the default where none is given.
fn export_format(argument: Option<&ast::Expression>) -> Lowered<String> {
    let Some(argument) = argument else { return Ok("csv".into()) };
    match &argument.kind {
        ExpressionKind::Literal(ast::Literal::String(text))
            if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            Ok(text.to_ascii_lowercase())
        }
        _ => {
            let message = "the format of an export is a text of letters, such as 'csv'";
            fail(ErrorKind::InvalidArgumentType, message, argument.span)
        }
    }
}

/// The columns of a sub-query are variables of the query around it: each needs a name that the text gives.
fn check_named(query: &Query) -> Lowered<()> {
    let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|union| &union.query));
    for clause in parts.filter_map(|part| part.clauses.last()) {
        let ClauseKind::Return(projection) = &clause.kind else { continue };
        let unnamed = |item: &&ast::ProjectionItem| {
            item.alias.is_none() && !matches!(item.expression.kind, ExpressionKind::Variable(_))
        };
        if let Some(item) = projection.items.iter().find(unnamed) {
            let message = "what a subquery returns needs a name";
            return fail_with_hint(ErrorKind::UnexpectedSyntax, message, item.span, "name it with AS");
        }
    }
    Ok(())
}

fn is_importing(projection: &Projection) -> bool {
    let plain = |item: &ast::ProjectionItem| {
        matches!(&item.expression.kind, ExpressionKind::Variable(name)
            if item.alias.as_ref().is_none_or(|alias| alias.text == *name))
    };
    let bare = projection.order.is_empty() && projection.skip.is_none() && projection.limit.is_none();
    bare && !projection.distinct && projection.items.iter().all(plain)
}

fn full_name(call: &ast::CallProcedure) -> String {
    let parts: Vec<&str> = call.name.iter().map(|part| part.text.as_str()).collect();
    parts.join(".")
}

fn find_procedure(call: &ast::CallProcedure, span: Span) -> Lowered<&'static Procedure> {
    procedure::find(&full_name(call), span)
}

/// What a call yields: field, name, place.
fn yielded_fields(
    call: &ast::CallProcedure,
    procedure: &'static Procedure,
) -> Lowered<Vec<(&'static str, String, Span)>> {
    let whole = call.name[0].span;
    let Some(yields) = &call.yields else { return Ok(Vec::new()) };
    if yields.star {
        return Ok(procedure.fields.iter().map(|(field, _)| (*field, field.to_string(), whole)).collect());
    }
    let mut fields = Vec::new();
    for (column, alias) in &yields.items {
        let Some((field, _)) = procedure.fields.iter().find(|(field, _)| *field == column.text) else {
            let message = format!("{} does not yield `{}`", procedure.name, column.text);
            let hint = format!("it yields {}", procedure.field_names().join(", "));
            return fail_with_hint(ErrorKind::UndefinedVariable, message, column.span, &hint);
        };
        let name = alias.as_ref().unwrap_or(column);
        fields.push((*field, name.text.clone(), name.span));
    }
    Ok(fields)
}
