//! Limit: keeps the first rows, and then cancels all operators below that lead nowhere else. Writing operators below run on.
//!
//! Inside a sub-query it counts for each outer row, and ends the demand for those that have enough, so that no more work is begun for them. It wants
//! at most as many rows as its own consumer.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::demand::{Counters, DemandPort, NodeDemand, RowDemand, number};
use crate::rows::Rows;
use crate::stream::{Feed, Stream};
use dataflow::{Context, Flow, Operator, Outcome};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Batch, Value};
use plan::{Expr, Wanted};
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
    /// The demand for its own rows.
    above: DemandPort,
    /// In a sub-query: its demand for the rows below.
    below: Option<Counters>,
    demand: Option<Arc<RowDemand>>,
}

impl Limit {
    /// The rows of a batch that count, where it counts by outer row. Those that have enough, or of which nothing is wanted, are ended.
    fn keep_by_row(&mut self, batch: Batch, context: &Context<'_, Rows>) -> Batch {
        let count = self.count;
        let (Some(below), Some(column)) = (&self.below, self.seen.row) else {
            return self.seen.keep(batch, |number| number < count);
        };
        let demand = self.demand.get_or_insert_with(|| below.of(context.executor(), context.tag()));
        self.above.enter(context, batch.len());
        for row in 0..batch.len() {
            if self.above.wanted(&batch, row) == 0 {
                demand.end(number(&batch, column, row));
            }
        }
        let kept = self.seen.keep(batch, |number| number < count);
        for row in 0..kept.len() {
            let number = number(&kept, column, row);
            if self.seen.by_row.get(&(number as i64)).is_some_and(|seen| *seen >= count) {
                demand.end(number);
            }
        }
        kept
    }
}

impl Operator<Rows> for Limit {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        let kept = if self.closed { Batch::default() } else { self.keep_by_row(batch, context) };
        if !kept.is_empty() {
            context.send(Rows(kept));
        }
        if !self.closed && self.seen.row.is_none() && self.seen.total() >= self.count {
            self.closed = true;
            context.close_inputs();
        }
        Ok(Flow::Ready)
    }
}

/// The demand for the rows of its input, below a demand for its own.
pub(crate) fn demand(
    compiler: &mut Compiler,
    node: &plan::algebra::Limit,
    above: NodeDemand,
) -> Result<NodeDemand, ExecuteError> {
    let wanted = match node.count {
        _ if !node.scope.early => Wanted::All,
        Expr::Literal(_) | Expr::Parameter(_) => {
            above.wanted.at_most(row_count(compiler, &node.count, "LIMIT")?)
        }
        // It may be another each time that it is computed.
        _ => Wanted::Some,
    };
    Ok(compiler.stated(wanted))
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Limit,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let count = row_count(compiler, &node.count, "LIMIT")?;
    let below = compiler.of_input.and_then(|demand| compiler.counters(demand));
    let input = compiler.rows(feed)?;
    let row = compiler.row().map(|row| Compiler::position(&input.layout, row)).transpose()?;
    let above = compiler.demand_port(&input.layout);
    let vertex = compiler.vertex("Limit", compiler.options(1), move || Limit {
        count,
        seen: Counted::new(row),
        closed: false,
        above: above.clone(),
        below: below.clone(),
        demand: None,
    });
    compiler.gather(&input, vertex, 0);
    Ok(Stream { vertex, output: 0, parallel: false, fans_out: false, ..input })
}
