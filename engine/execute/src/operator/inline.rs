//! Inline: a sub-query that is a line of operators, run within one operator ([`plan::algebra::Apply::is_inline`]).
//!
//! ```text
//!   outer batch ─ number its rows ─► stage ─► stage ─► … ─► count by number, join back ─► rows
//! ```
//!
//! The stages are the inner plan's own operators ([`stages`]). At the end of an outer batch it is known which of its rows had none: an OPTIONAL MATCH keeps those with nulls. Invariant: stages keep the
//! order of rows, so where the outer rows stand in order, inner rows come in the order of their numbers. Cost: a column of numbers and a
//! counter for each outer row; no scope, no instance.

use crate::ExecuteError;
use crate::columns::{concatenate, piece};
use crate::compile::Compiler;
use crate::done::number;
use crate::liveness::VarSet;
use crate::operator::apply::added;
use crate::rows::Rows;
use crate::stream::{Feed, Stream};
use crate::turn::{Here, Progress, Try, Turn};
use dataflow::{Context, Flow, Operator, Outcome};
use model::{Batch, Column, Nulls, Value};
use plan::algebra::{Apply, ApplyKind};
use std::sync::Arc;

mod stages;

pub(crate) use stages::{Line, Stages};

struct Inlining {
    kind: ApplyKind,
    line: Line,
    /// Outer columns that are kept.
    carry: Arc<[usize]>,
    /// Inner columns that are added, or the one that is collected.
    inner: Vec<usize>,
    /// Outer rows must come out in their order.
    ordered: bool,
}

struct Inline {
    plan: Arc<Inlining>,
    stages: Stages,
    here: Here,
    outer: Option<Batch>,
    counts: Vec<i64>,
    lists: Vec<Vec<Value>>,
    /// Inner rows that wait for the end of the batch, where order counts.
    held: Vec<Batch>,
    charged: usize,
    /// What is handed on at the end of the batch, and how much of it was.
    output: Option<(Batch, usize)>,
}

impl Inline {
    fn begin(&mut self, outer: Batch) -> Try<()> {
        let argument = self.plan.line.argument(&outer);
        self.counts = vec![0; outer.len()];
        if matches!(self.plan.kind, ApplyKind::Collect { .. }) {
            self.lists = vec![Vec::new(); outer.len()];
        }
        self.outer = Some(outer);
        self.stages.begin(argument, &mut self.here)
    }

    /// Rows that came out of the last stage.
    fn take(&mut self, inner: Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        let numbers: Vec<u32> =
            (0..inner.len()).map(|row| number(&inner, self.plan.line.row, row) as u32).collect();
        numbers.iter().for_each(|number| self.counts[*number as usize] += 1);
        match self.plan.kind {
            ApplyKind::Inner(_) | ApplyKind::Optional(_) if self.plan.ordered => {
                self.charge(inner.bytes(), context)?;
                self.held.push(inner);
            }
            ApplyKind::Inner(_) | ApplyKind::Optional(_) => {
                let mut output = select(&self.kept(), numbers);
                self.plan.inner.iter().for_each(|at| output.push_carried(inner.column(*at).clone()));
                context.send(Rows(output));
            }
            ApplyKind::Collect { .. } => {
                let column = inner.column(self.plan.inner[0]);
                for (row, number) in numbers.iter().enumerate() {
                    self.lists[*number as usize].push(column.get(row));
                }
                self.charge(inner.len() * size_of::<Value>(), context)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn charge(&mut self, bytes: usize, context: &mut Context<'_, Rows>) -> Try<()> {
        self.charged += bytes;
        context.charge(bytes)
    }

    /// The outer rows, as far as they are read above.
    fn kept(&self) -> Batch {
        self.outer.as_ref().expect("a batch was begun").project(&self.plan.carry)
    }

    /// What the end of the batch makes known.
    fn finish(&mut self) -> Batch {
        let kept = self.kept();
        let where_count = |passes: fn(i64) -> bool| -> Vec<u32> {
            (0..kept.len() as u32).filter(|row| passes(self.counts[*row as usize])).collect()
        };
        let column = match &self.plan.kind {
            ApplyKind::Semi => return select(&kept, where_count(|count| count > 0)),
            ApplyKind::Anti => return select(&kept, where_count(|count| count == 0)),
            ApplyKind::Optional(_) if self.plan.ordered => {
                return self.in_order(&kept, where_count(|count| count == 0));
            }
            ApplyKind::Inner(_) if self.plan.ordered => return self.in_order(&kept, Vec::new()),
            ApplyKind::Optional(_) => {
                let bare = where_count(|count| count == 0);
                let len = bare.len();
                let mut batch = select(&kept, bare);
                self.plan.inner.iter().for_each(|_| batch.push(Column::Constant(Value::Null, len)));
                return batch;
            }
            ApplyKind::Exists(_) => {
                Column::Bool(self.counts.iter().map(|count| *count > 0).collect(), Nulls::none())
            }
            ApplyKind::Count(_) => Column::Int(std::mem::take(&mut self.counts), Nulls::none()),
            ApplyKind::Collect { .. } => {
                Column::Any(std::mem::take(&mut self.lists).into_iter().map(Value::list).collect())
            }
            ApplyKind::Inner(_) | ApplyKind::Unit | ApplyKind::Repeat(_) => return Batch::default(),
        };
        let mut batch = kept;
        batch.push(column);
        batch
    }

    /// All inner rows, which stand in order, with the bare outer rows between them.
    fn in_order(&mut self, kept: &Batch, bare: Vec<u32>) -> Batch {
        let inner = concatenate(&std::mem::take(&mut self.held), self.plan.line.layout.len());
        let numbers = (0..inner.len()).map(|row| number(&inner, self.plan.line.row, row) as u32);
        if bare.is_empty() {
            let mut output = select(kept, numbers.collect());
            self.plan.inner.iter().for_each(|at| output.push_carried(inner.column(*at).clone()));
            return output;
        }
        let mut order: Vec<(u32, Option<usize>)> =
            numbers.enumerate().map(|(at, row)| (row, Some(at))).collect();
        order.extend(bare.into_iter().map(|row| (row, None)));
        order.sort_by_key(|(row, _)| *row);
        let mut output = select(kept, order.iter().map(|(row, _)| *row).collect());
        for at in &self.plan.inner {
            let column = inner.column(*at);
            output.push(order.iter().map(|(_, at)| at.map_or(Value::Null, |at| column.get(at))).collect());
        }
        output
    }

    /// Hands on what the end of the batch gave, piece by piece.
    fn hand_on(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while let Some((output, next)) = &mut self.output {
            let rows = piece(output, *next, self.here.environment.batch_rows);
            *next += rows.len();
            let done = *next >= output.len();
            if !rows.is_empty() {
                context.send(Rows(rows));
            }
            if done {
                self.output = None;
                context.release(std::mem::take(&mut self.charged));
            } else if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }

    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while self.outer.is_some() && self.output.is_none() {
            let mut turn = Turn { here: &mut self.here, context, early: None };
            let (rows, progress) = self.stages.slice(&mut turn)?;
            if let Some(rows) = rows {
                self.take(rows, context)?;
            }
            if progress == Progress::Done {
                self.output = Some((self.finish(), 0));
                self.outer = None;
                break;
            }
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        self.hand_on(context)
    }
}

fn select(batch: &Batch, rows: Vec<u32>) -> Batch {
    if batch.width() == 0 { Batch::new(Vec::new(), rows.len()) } else { batch.select(rows) }
}

impl Operator<Rows> for Inline {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if batch.is_empty() {
            return Ok(Flow::Ready);
        }
        self.begin(batch)?;
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &Apply,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let (new, inner_required) = added(&node.kind, required);
    let below = required.clone().without(new.iter().copied()).with(node.imports.iter().copied());
    let input = compiler.plan(&node.input, &below)?;
    let (carry, mut output) = compiler.carry(&input.layout, required);
    let line = Line::compile(compiler, &node.inner, &node.imports, &input, inner_required)?;
    let columns = match &node.kind {
        ApplyKind::Inner(_) | ApplyKind::Optional(_) => new.clone(),
        ApplyKind::Collect { column, .. } => vec![*column],
        _ => Vec::new(),
    };
    new.iter().for_each(|variable| {
        output.push(*variable);
    });
    let inner = columns.iter().map(|column| Compiler::position(&line.layout, *column));
    let plan = Arc::new(Inlining {
        kind: node.kind.clone(),
        carry,
        inner: inner.collect::<Result<_, _>>()?,
        ordered: input.ordered,
        line,
    });
    let environment = compiler.environment.clone();
    let make = move || Inline {
        stages: plan.line.stages(),
        plan: plan.clone(),
        here: Here::new(&environment),
        outer: None,
        counts: Vec::new(),
        lists: Vec::new(),
        held: Vec::new(),
        charged: 0,
        output: None,
    };
    let fans_out = matches!(node.kind, ApplyKind::Inner(_) | ApplyKind::Optional(_));
    let stream = compiler.attach("Inline", &Feed::Rows(input), output, make);
    Ok(Stream { fans_out, ..stream })
}
