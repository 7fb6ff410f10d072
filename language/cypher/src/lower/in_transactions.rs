//! `CALL { … } IN TRANSACTIONS`: a statement becomes three, and rows go from one to the next as a parameter.
//!
//! The part before the clause reads rows; the clause runs on a batch of them, each in a transaction of its own; the part after it goes on with all of
//! them. `EXPLAIN` shows the statement as if it were one.

use plan::Plan;
use plan::algebra::{Extend, Unwind};
use plan::expr::{Expr, Name, Var};
use plan::statement::{InTransactions, Mode, OnError, ROWS_PARAMETER, Statement, StatementKind};

use super::query::{ClauseContext, Rows, check_composition, writes};
use super::types::Type;
use super::{Lowered, Lowerer, fail, fail_with_hint};
use crate::ast::{self, Clause, ClauseKind, ExpressionKind, Literal, Query};
use crate::error::ErrorKind;

/// Columns with their titles.
type Columns = Vec<(Name, Var)>;

impl Lowerer<'_> {
    /// A query with the clause, and the part after it.
    pub(super) fn batched(&mut self, query: &Query) -> Lowered<Option<StatementKind>> {
        let clauses = &query.first.clauses;
        let found = clauses.iter().position(|clause| in_transactions(clause).is_some());
        let Some(at) = found.filter(|_| query.unions.is_empty() && self.mode != Mode::Explain) else {
            return Ok(None);
        };
        check_composition(&query.first, ClauseContext::Top)?;
        let Some((call, clause)) = in_transactions(&clauses[at]) else { return Ok(None) };
        if let Some(before) = clauses[..at].iter().find(|clause| writes(clause)) {
            let message = "what stands before IN TRANSACTIONS cannot write";
            let hint = "write inside the braces, or in a statement of its own";
            return fail_with_hint(ErrorKind::InvalidClauseComposition, message, before.span, hint);
        }
        let mut rows = Rows { plan: Plan::Unit, scope: Default::default() };
        for clause in &clauses[..at] {
            self.clause(clause, &mut rows)?;
        }
        let continues = at + 1 < clauses.len();
        let columns: Columns =
            rows.scope.columns().map(|binding| (Name::from(binding.name.as_str()), binding.var)).collect();
        let input = self.statement_of(rows.plan.take(), columns.clone());
        rows.plan = self.handed_on(&columns);
        self.subquery_for_each(call, &mut rows, clauses[at].span)?;
        let columns: Columns = match continues {
            true => {
                rows.scope.columns().map(|binding| (Name::from(binding.name.as_str()), binding.var)).collect()
            }
            false => Vec::new(),
        };
        let batch = self.statement_of(rows.plan.take(), columns.clone());
        let handed = self.with_report(clause, columns, &mut rows)?;
        let batches = InTransactions {
            input,
            batch,
            size: self.batch_size(clause)?,
            on_error: on_error(clause.on_error),
            reports: clause.report.is_some(),
            continues,
        };
        rows.plan = if continues { self.handed_on(&handed) } else { Plan::Unit };
        let mut returned = None;
        for clause in &clauses[at + 1..] {
            returned = self.clause(clause, &mut rows)?;
        }
        self.in_transactions = Some(Box::new(self.complete(batches)));
        let columns =
            returned.unwrap_or_default().into_iter().map(|column| (column.name, column.var)).collect();
        Ok(Some(StatementKind::Query { plan: rows.plan, columns }))
    }

    /// The columns that follow the clause, with the one that reports.
    fn with_report(
        &mut self,
        clause: &ast::InTransactions,
        mut columns: Columns,
        rows: &mut Rows,
    ) -> Lowered<Columns> {
        let Some(name) = &clause.report else { return Ok(columns) };
        if clause.on_error == ast::OnError::Fail {
            let message = "REPORT STATUS needs ON ERROR CONTINUE or ON ERROR BREAK";
            return fail(ErrorKind::InvalidClauseComposition, message, name.span);
        }
        if rows.scope.get(&name.text).is_some() {
            let message = format!("variable `{}` is already declared", name.text);
            return fail(ErrorKind::VariableAlreadyBound, message, name.span);
        }
        let var = self.variable(&name.text);
        rows.scope.declare(&name.text, var, Type::Map);
        columns.push((Name::from(name.text.as_str()), var));
        Ok(columns)
    }

    fn batch_size(&mut self, clause: &ast::InTransactions) -> Lowered<Option<Expr>> {
        let Some(rows) = &clause.rows else { return Ok(None) };
        match &rows.kind {
            ExpressionKind::Literal(Literal::Integer(count)) if *count > 0 => Ok(Some(Expr::literal(*count))),
            ExpressionKind::Parameter(name) => Ok(Some(Expr::Parameter(self.parameter(name)))),
            _ => {
                let message = "the rows of a transaction are a positive number or a parameter";
                fail(ErrorKind::InvalidArgumentType, message, rows.span)
            }
        }
    }

    /// Rows as the statement before left them.
    fn handed_on(&mut self, columns: &[(Name, Var)]) -> Plan {
        let row = self.unnamed("row");
        let list = Expr::Parameter(ROWS_PARAMETER.into());
        let unwind = Plan::Unwind(Box::new(Unwind { input: Plan::Unit, list, variable: row }));
        let item = |(at, (_, var)): (usize, &(Name, Var))| {
            let place = Box::new(Expr::literal(at as i64));
            (*var, Expr::Index(Box::new(Expr::Variable(row)), place))
        };
        let items: Vec<(Var, Expr)> = columns.iter().enumerate().map(item).collect();
        if items.is_empty() {
            return unwind;
        }
        Plan::Extend(Box::new(Extend { input: unwind, items }))
    }

    /// A statement whose names are yet to be filled in.
    fn statement_of(&self, plan: Plan, columns: Columns) -> Statement {
        Statement {
            kind: StatementKind::Query { plan, columns },
            variables: Vec::new(),
            parameters: Vec::new(),
            mode: Mode::Run,
            hints: Vec::new(),
            as_of: None,
            no_older_than: None,
            in_transactions: None,
            physical: Default::default(),
        }
    }

    /// Names are known once everything is lowered.
    fn complete(&self, mut batches: InTransactions) -> InTransactions {
        batches.input.variables = self.variables.clone();
        batches.batch.variables = self.variables.clone();
        batches
    }
}

fn in_transactions(clause: &Clause) -> Option<(&ast::CallSubquery, &ast::InTransactions)> {
    match &clause.kind {
        ClauseKind::CallSubquery(call) => Some((call, call.in_transactions.as_ref()?)),
        _ => None,
    }
}

fn on_error(way: ast::OnError) -> OnError {
    match way {
        ast::OnError::Fail => OnError::Fail,
        ast::OnError::Continue => OnError::Continue,
        ast::OnError::Break => OnError::Break,
    }
}
