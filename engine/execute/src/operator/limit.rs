//! Limit: keeps the first rows, and cancels all work below that leads nowhere else once it has them. Writing operators below run on.
//!
//! Inside a sub-query it counts for each outer row, and marks those that have enough, so that nothing more is begun for them.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::done::{Domain, DoneRows, number};
use crate::liveness::VarSet;
use crate::rows::Rows;
use crate::stream::Stream;
use dataflow::{Context, Flow, Operator, Outcome};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Batch, Value};
use plan::Expr;
use std::sync::Arc;

/// Rows seen so far, in all or by outer row.
pub(crate) struct Counted {
    row: Option<usize>,
    all: u64,
    by_row: HashMap<i64, u64, FixedState>,
}

impl Counted {
    pub(crate) fn new(row: Option<usize>) -> Counted {
        Counted { row, all: 0, by_row: HashMap::default() }
    }
    /// The rows of a batch whose number, from 0, passes.
    pub(crate) fn keep(&mut self, batch: Batch, passes: impl Fn(u64) -> bool) -> Batch {
        let Some(row) = self.row else {
            let first = self.all;
            self.all += batch.len() as u64;
            let kept: Vec<u32> =
                (0..batch.len() as u32).filter(|at| passes(first + u64::from(*at))).collect();
            return if kept.len() == batch.len() { batch } else { select(&batch, kept) };
        };
        let mut kept = Vec::new();
        for at in 0..batch.len() {
            let seen = self.by_row.entry(batch.get(at, row).as_int().unwrap_or(0)).or_default();
            if passes(*seen) {
                kept.push(at as u32);
            }
            *seen += 1;
        }
        select(&batch, kept)
    }
    pub(crate) fn total(&self) -> u64 {
        self.all
    }
}

fn select(batch: &Batch, rows: Vec<u32>) -> Batch {
    if batch.width() == 0 { Batch::new(Vec::new(), rows.len()) } else { batch.select(rows) }
}

/// The value of a SKIP or LIMIT, known when the statement starts.
pub(crate) fn row_count(compiler: &Compiler, count: &Expr, clause: &str) -> Result<u64, ExecuteError> {
    match compiler.value(count)? {
        Value::Int(count) if count >= 0 => Ok(count as u64),
        Value::Int(count) => {
            Err(ExecuteError::RowCount(format!("{clause} must not be negative, but is {count}")))
        }
        other => Err(ExecuteError::RowCount(format!(
            "{clause} must be an Integer, but is a {}",
            other.value_type().name()
        ))),
    }
}

struct Limit {
    count: u64,
    seen: Counted,
    closed: bool,
    domain: Option<Domain>,
    done: Option<Arc<DoneRows>>,
}

impl Limit {
    /// Marks the outer rows of this batch that have enough by now.
    fn mark(&mut self, batch: &Batch, context: &Context<'_, Rows>) {
        let (Some(domain), Some(column)) = (&self.domain, self.seen.row) else { return };
        let done = self.done.get_or_insert_with(|| domain.bitmap(context.executor(), context.tag()));
        for row in 0..batch.len() {
            let number = number(batch, column, row);
            if self.seen.by_row.get(&(number as i64)).is_some_and(|seen| *seen >= self.count) {
                done.mark(number);
            }
        }
    }
}

impl Operator<Rows> for Limit {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        let count = self.count;
        let kept =
            if self.closed { Batch::default() } else { self.seen.keep(batch, |number| number < count) };
        if !kept.is_empty() {
            self.mark(&kept, context);
            context.send(Rows(kept));
        }
        if !self.closed && self.seen.row.is_none() && self.seen.total() >= count {
            self.closed = true;
            context.close_inputs();
        }
        Ok(Flow::Ready)
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Limit,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let count = row_count(compiler, &node.count, "LIMIT")?;
    let input = compiler.plan(&node.input, required)?;
    let row = compiler.row().map(|row| Compiler::position(&input.layout, row)).transpose()?;
    let domain = compiler.domain_below();
    let vertex = compiler.vertex("Limit", compiler.options(1), move || Limit {
        count,
        seen: Counted::new(row),
        closed: false,
        domain: domain.clone(),
        done: None,
    });
    compiler.gather(&input, vertex, 0);
    Ok(Stream { vertex, output: 0, parallel: false, fans_out: false, ..input })
}
