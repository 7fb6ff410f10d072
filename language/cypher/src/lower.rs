//! Syntax tree to plan: names become variables, clauses become operators, and errors that the grammar cannot show are found: unknown names, clashing
//! kinds, misplaced aggregates.
//!
//! Patterns stay unordered (`Plan::Match`); the planner decides where to begin and which way to walk. The walk over the tree carries a [`Scope`] (the
//! meaning of names) and the plan built so far, clause by clause.
//!
//! Invariant: a plan variable means one thing in a statement. Passing a variable on under its name keeps its number; any
//! other column gets a new one.

mod aggregate;
mod argument;
mod as_of;
mod call;
mod case;
mod check;
mod columns;
mod create;
mod dynamic;
mod entries;
mod expression;
mod function;
mod group;
mod in_transactions;
mod matching;
mod pattern;
mod procedure;
mod projection;
mod query;
mod repeat;
mod schema;
mod scope;
mod search;
mod sort;
mod steps;
mod subquery;
mod types;
mod update;
mod value;
mod writing_calls;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use plan::expr::{Expr, Name, Var};
use plan::statement::{Mode, Statement, StatementKind};

use crate::ast;
use crate::error::{CypherError, ErrorKind};
use crate::parser;
use columns::{Aggregation, Sorting};
use scope::Scope;
use text::Span;
use types::Type;

/// The result of a lowering step; boxed as in the parser, for the sake of the frames of the recursion.
pub(crate) type Lowered<T> = Result<T, Box<CypherError>>;

/// Parses and lowers one statement.
pub fn compile(text: &str) -> Result<Statement, CypherError> {
    lower(text, &parser::parse(text)?)
}

/// Lowers a parsed statement; `text` is its source, which names its columns.
pub fn lower(text: &str, statement: &ast::Statement) -> Result<Statement, CypherError> {
    let mut lowerer = Lowerer::new(text);
    let mode = match statement.mode {
        ast::Mode::Run => Mode::Run,
        ast::Mode::Explain => Mode::Explain,
        ast::Mode::Profile => Mode::Profile,
    };
    lowerer.mode = mode;
    lowerer.hints.extend(statement.scopes_off.then(|| plan::scope::SCOPES_OFF.to_string()));
    lowerer
        .hints
        .extend(statement.recursive.iter().map(|policy| format!("{}{policy}", plan::statement::RECURSIVE)));
    let written_out = writing_calls::written_out(&statement.body).map_err(|error| *error)?;
    let body = written_out.as_ref().unwrap_or(&statement.body);
    let as_of = statement.as_of.as_ref().map(|version| lowerer.as_of(version, body));
    let as_of = as_of.transpose().map_err(|error| *error)?;
    lowerer.check_bound(statement, body).map_err(|error| *error)?;
    let kind = lowerer.body(body).map_err(|error| *error)?;
    Ok(Statement {
        kind,
        variables: lowerer.variables,
        // A plan that is only shown needs no values.
        parameters: if mode == Mode::Explain { Vec::new() } else { lowerer.parameters },
        mode,
        hints: lowerer.hints,
        as_of,
        no_older_than: statement.no_older_than_ms.map(Duration::from_millis),
        in_transactions: lowerer.in_transactions.take(),
        physical: Default::default(),
    })
}

/// An expression with the known type of its value.
pub(crate) struct Typed {
    pub expr: Expr,
    pub kind: Type,
}

/// The state of lowering one statement.
pub(crate) struct Lowerer<'t> {
    text: &'t str,
    variables: Vec<Name>,
    parameters: Vec<Name>,
    /// The same, to be found.
    known_parameters: HashSet<Name>,
    hints: Vec<String>,
    mode: Mode,
    in_transactions: Option<Box<plan::statement::InTransactions>>,
    /// Every variable that was read, in order: those that a subquery has read since it began are its imports.
    used: Vec<Var>,
    /// Set while a column of a grouping projection is lowered.
    aggregation: Option<Aggregation>,
    /// Set while a test of the subject of a CASE is lowered.
    case_subject: Option<Typed>,
    /// Set while a sort key is lowered.
    sorting: Option<Sorting>,
    /// The hint for the scopes that are being lowered.
    scope_hint: Option<plan::scope::ScopeHint>,
    /// Of the clause whose pattern is lowered next: `REPEATABLE ELEMENTS`.
    is_repeatable: bool,
    /// The rank of their instances, if the hint says `BY`.
    scope_rank: Option<Expr>,
}

impl<'t> Lowerer<'t> {
    fn new(text: &'t str) -> Lowerer<'t> {
        Lowerer {
            text,
            variables: Vec::new(),
            parameters: Vec::new(),
            known_parameters: HashSet::new(),
            hints: Vec::new(),
            mode: Mode::Run,
            in_transactions: None,
            used: Vec::new(),
            aggregation: None,
            case_subject: None,
            sorting: None,
            scope_hint: None,
            is_repeatable: false,
            scope_rank: None,
        }
    }

    fn body(&mut self, body: &ast::StatementBody) -> Lowered<StatementKind> {
        match body {
            ast::StatementBody::Query(query) => self.top_query(query),
            ast::StatementBody::Schema(command) => self.schema_command(command).map(StatementKind::Schema),
            ast::StatementBody::Tenant(command) => Ok(StatementKind::Account(command.clone())),
            ast::StatementBody::Program(command) => {
                if let plan::node_programs::ProgramCommand::Create { module, .. } = command {
                    self.parameters.push(module.clone());
                }
                Ok(StatementKind::Program(command.clone()))
            }
            ast::StatementBody::User(command) => {
                self.parameters.extend(command.parameters().cloned());
                Ok(StatementKind::Users(command.clone()))
            }
            ast::StatementBody::Role(command) => Ok(StatementKind::Roles(command.clone())),
            ast::StatementBody::Standing(command) => Ok(self.standing(command)),
            ast::StatementBody::Show(show) => self.show(show),
            ast::StatementBody::Terminate(targets) => self.terminate(targets).map(StatementKind::Kill),
        }
    }

    /// A new variable under a name of the text.
    fn variable(&mut self, name: &str) -> Var {
        self.variables.push(Arc::from(name));
        Var(self.variables.len() as u32 - 1)
    }

    /// A new variable that no text can name.
    fn unnamed(&mut self, what: &str) -> Var {
        let number = self.variables.len();
        self.variable(&format!(" {what}{number}"))
    }

    fn parameter(&mut self, name: &str) -> Name {
        if let Some(known) = self.known_parameters.get(name) {
            return known.clone();
        }
        let name: Name = Arc::from(name);
        self.parameters.push(name.clone());
        self.known_parameters.insert(name.clone());
        name
    }

    /// Looks a variable up, or says that it is not defined.
    fn find<'s>(&mut self, scope: &'s Scope, name: &str, span: Span) -> Lowered<&'s scope::Binding> {
        let Some(binding) = scope.get(name) else { return Err(self.undefined(scope, name, span)) };
        match &binding.instead {
            Some(expr) => self.used.extend(expr.free_variables()),
            None => self.used.push(binding.var),
        }
        Ok(binding)
    }

    fn undefined(&self, scope: &Scope, name: &str, span: Span) -> Box<CypherError> {
        let error =
            CypherError::new(ErrorKind::UndefinedVariable, format!("variable `{name}` is not defined"), span);
        let elsewhere = self.variables.iter().any(|known| known.as_ref() == name);
        Box::new(match text::nearest(name, scope.names()) {
            None if elsewhere => error.with_hint(format!(
                "`{name}` is out of sight here: pass it on in WITH, or let it in with CALL ({name}) {{ … }}"
            )),
            suggestion => error.with_suggestion(suggestion),
        })
    }
}

/// An error of a kind at a place.
pub(crate) fn fail<T>(kind: ErrorKind, message: impl Into<String>, span: Span) -> Lowered<T> {
    Err(Box::new(CypherError::new(kind, message, span)))
}

/// The same, with a hint.
pub(crate) fn fail_with_hint<T>(
    kind: ErrorKind,
    message: impl Into<String>,
    span: Span,
    hint: &str,
) -> Lowered<T> {
    Err(Box::new(CypherError::new(kind, message, span).with_hint(hint)))
}

/// A name of the syntax tree as a name of the plan.
pub(crate) fn name(name: &ast::Name) -> Name {
    Arc::from(name.text.as_str())
}
