//! Expressions over rows: batches hold only the columns that an expression reads.

use crate::StandingError;
use crate::event_context::Changes;
use expression::error::ErrorClass;
use expression::{Compiled, EvalError, Layout, NamesOnly, Parameters, Request, Scope, compile};
use model::{Batch, Column, ColumnBuilder, Value};
use plan::{Expr, Var};
use std::sync::Arc;
use store::Snapshot;

/// An expression ready to run.
pub(crate) struct Evaluator {
    compiled: Compiled,
    /// Columns of the rows that it reads, in the order of its layout.
    reads: Vec<usize>,
    names: NamesOnly,
    request: Arc<Request>,
}

/// Shared by all expressions of a query.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub names: Snapshot,
    pub request: Arc<Request>,
}

impl Surroundings {
    /// For expressions that are compiled now.
    pub fn new(names: Snapshot) -> Surroundings {
        Surroundings { names, request: Arc::new(Request::fixed(Parameters::new(), 0, 0).without_deletes()) }
    }
    /// Compiles an expression over rows with these variables.
    pub fn compile(&self, expr: &Expr, layout: &[Var]) -> Result<Evaluator, StandingError> {
        let free = expr.free_variables();
        let reads = free.iter().map(|var| {
            let place = layout.iter().position(|other| other == var);
            place.ok_or_else(|| StandingError::unsupported("an expression over what is not bound"))
        });
        let reads = reads.collect::<Result<Vec<usize>, _>>()?;
        let compiled = compile(expr, &Layout::new(&free), &self.names, &self.request.parameters)?;
        Ok(Evaluator {
            compiled,
            reads,
            names: NamesOnly::of(self.names.names().clone(), refusal),
            request: self.request.clone(),
        })
    }
}

impl Evaluator {
    fn batch<'r>(
        &self,
        reads: &[usize],
        rows: impl Iterator<Item = &'r [Value]> + Clone,
        len: usize,
    ) -> Batch {
        let columns: Vec<Column> = reads
            .iter()
            .map(|column| {
                let mut builder = ColumnBuilder::new();
                rows.clone().for_each(|row| builder.push(row[*column].clone()));
                builder.finish()
            })
            .collect();
        Batch::new(columns, len)
    }
    /// Its value for each row.
    pub fn values<'r>(
        &self,
        rows: impl ExactSizeIterator<Item = &'r [Value]> + Clone,
    ) -> Result<Vec<Value>, StandingError> {
        let len = rows.len();
        let batch = self.batch(&self.reads, rows, len);
        let column = self.compiled.evaluate(&batch, &Scope::new(&self.names, &self.request))?;
        Ok((0..len).map(|row| column.get(row)).collect())
    }
    /// Rows for which it is true; `reads` says where its variables stand in these rows.
    pub fn select<'r>(
        &self,
        reads: &[usize],
        rows: impl ExactSizeIterator<Item = &'r [Value]> + Clone,
    ) -> Result<Vec<u32>, StandingError> {
        Ok(self.try_select(reads, rows)?)
    }
    /// As [`Evaluator::select`], for rows that may turn out to be no rows of the answer: those on which it fails pass, too. Also returns whether
    /// there are such.
    pub fn sift<'r>(
        &self,
        reads: &[usize],
        rows: impl ExactSizeIterator<Item = &'r [Value]> + Clone,
    ) -> Result<(Vec<u32>, bool), StandingError> {
        match self.try_select(reads, rows.clone()) {
            Ok(selected) => return Ok((selected, false)),
            Err(error) if !is_of_a_row(&error) => return Err(error.into()),
            Err(_) => {}
        }
        let mut selected = Vec::new();
        for (at, row) in rows.enumerate() {
            match self.try_select(reads, std::iter::once(row)) {
                Ok(passes) if passes.is_empty() => {}
                Err(error) if !is_of_a_row(&error) => return Err(error.into()),
                Ok(_) | Err(_) => selected.push(at as u32),
            }
        }
        Ok((selected, true))
    }
    fn try_select<'r>(
        &self,
        reads: &[usize],
        rows: impl ExactSizeIterator<Item = &'r [Value]> + Clone,
    ) -> Result<Vec<u32>, EvalError> {
        let len = rows.len();
        let batch = self.batch(reads, rows, len);
        let mut selected = Vec::new();
        self.compiled.select(&batch, &Scope::new(&self.names, &self.request), &mut selected)?;
        Ok(selected)
    }
}

/// Those of the rows for which all conditions are true. A row that one condition refuses is refused, also where another fails on it: so the order of
/// evaluation makes no difference.
///
/// # Errors
/// A condition fails on a row that no other refuses.
pub(crate) fn satisfying(conditions: &[Evaluator], mut changes: Changes) -> Result<Changes, StandingError> {
    let mut doubts = false;
    for condition in conditions {
        if changes.is_empty() {
            break;
        }
        let rows = changes.iter().map(|(row, _)| row.values());
        let (passing, fails) = condition.sift(&condition.reads, rows)?;
        doubts |= fails;
        if passing.len() < changes.len() {
            changes = passing.into_iter().map(|row| changes[row as usize].clone()).collect();
        }
    }
    for condition in conditions.iter().filter(|_| doubts) {
        condition.select(&condition.reads, changes.iter().map(|(row, _)| row.values()))?;
    }
    Ok(changes)
}

/// Did it fail because of the row's values?
fn is_of_a_row(error: &EvalError) -> bool {
    use ErrorClass::{Argument, Arithmetic, Limit, Syntax, Type};
    matches!(error.class, Type | Arithmetic | Argument | Syntax | Limit)
}

/// Only the names of the graph can be read: everything else that expressions read has become columns.
fn refusal() -> EvalError {
    let why = "a standing query cannot read the properties of a node or relationship that was put into a list, map or path; \
               read them in the clause that matches it";
    EvalError::new(ErrorClass::Argument, why)
}
