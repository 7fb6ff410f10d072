//! ApplyClose: joins the inner rows back to the outer rows of its instance, by the kind of the Apply.

use super::Opened;
use crate::ExecuteError;
use crate::columns::{concatenate, piece};
use crate::compile::Compiler;
use crate::demand::{Counters, RowDemand, number};
use crate::rows::Rows;
use crate::scope_rows::ScopeRows;
use crate::stream::Stream;
use crate::turn::Try;
use dataflow::{Context, Flow, Operator, Outcome, Tag};
use expression::Layout;
use model::batch::Carried;
use model::{Batch, Column, Nulls, Value};
use plan::Var;
use plan::VarSet;
use plan::algebra::ApplyKind;
use std::sync::Arc;

/// How an inner row changes its outer row's output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rows as they come.
    Inner,
    /// Rows, and outer rows without any.
    Optional,
    Semi,
    Anti,
    Exists,
    Count,
    Collect,
    Unit,
}

struct Closing {
    kind: Kind,
    /// Column of the inner rows that holds the number of their outer row.
    row: usize,
    /// Outer columns that are kept.
    carry: Arc<[usize]>,
    /// Inner columns that are added, or the one that is collected.
    inner: Vec<usize>,
    inner_width: usize,
    /// Outer rows must come out in their order.
    ordered: bool,
    batch_rows: usize,
    rows: Arc<ScopeRows>,
    /// Where one inner row is enough: where that is said.
    answers: Option<Counters>,
}

struct ApplyClose {
    plan: Arc<Closing>,
    outer: Option<Batch>,
    /// Inner rows that wait for the end.
    held: Vec<Batch>,
    counts: Vec<i64>,
    answers: Option<Arc<RowDemand>>,
    /// Outer rows that a test has no answer for yet.
    unanswered: usize,
    lists: Vec<Vec<Value>>,
    output: Option<Batch>,
    next: usize,
}

impl ApplyClose {
    fn number(&self, batch: &Batch, row: usize) -> usize {
        number(batch, self.plan.row, row)
    }
    /// The outer rows of these inner rows, with the inner columns.
    fn joined(&self, inner: &Batch) -> Batch {
        let outer = self.outer.as_ref().expect("the outer rows come first");
        let numbers: Vec<u32> = (0..inner.len()).map(|row| self.number(inner, row) as u32).collect();
        let mut output = select(&outer.project(&self.plan.carry), numbers);
        self.plan.inner.iter().for_each(|at| output.push_carried(inner.column(*at).clone()));
        output
    }
    fn take(&mut self, batch: Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        match self.plan.kind {
            Kind::Inner | Kind::Optional => {
                (0..batch.len()).for_each(|row| {
                    let number = self.number(&batch, row);
                    self.counts[number] += 1;
                });
                if self.plan.ordered {
                    context.charge(batch.bytes())?;
                    self.held.push(batch);
                } else if !batch.is_empty() {
                    context.send(Rows(self.joined(&batch)));
                }
            }
            Kind::Collect => {
                let column: &Carried = batch.column(self.plan.inner[0]);
                for row in 0..batch.len() {
                    let number = self.number(&batch, row);
                    self.lists[number].push(column.get(row));
                }
                context.charge(batch.len() * size_of::<Value>())?;
            }
            Kind::Unit => {}
            // A row that passes goes on at once: who wants few rows may then have them.
            Kind::Semi if !self.plan.ordered => {
                let mut passed = Vec::new();
                for row in 0..batch.len() {
                    let number = self.number(&batch, row);
                    if std::mem::replace(&mut self.counts[number], 1) == 0 {
                        passed.push(number as u32);
                        self.unanswered -= 1;
                        if let Some(answers) = &self.answers {
                            answers.end(number);
                        }
                    }
                }
                if !passed.is_empty() {
                    let outer = self.outer.as_ref().expect("the outer rows come first");
                    context.send(Rows(select(&outer.project(&self.plan.carry), passed)));
                }
            }
            _ => (0..batch.len()).for_each(|row| {
                let number = self.number(&batch, row);
                self.unanswered -= usize::from(self.counts[number] == 0);
                self.counts[number] += 1;
                if let Some(answers) = &self.answers {
                    answers.end(number);
                }
            }),
        }
        Ok(())
    }
    /// A test of which every row has its answer ends its instance, with all that is under way in it.
    fn end_early(&mut self, context: &mut Context<'_, Rows>) {
        if self.answers.is_none() || self.unanswered > 0 {
            return;
        }
        let output = self.finish();
        if !output.is_empty() {
            context.send(Rows(output));
        }
        self.plan.rows.close(context.executor(), context.tag());
        context.finish_instance();
    }
    fn finish(&mut self) -> Batch {
        let Some(outer) = self.outer.clone() else { return Batch::default() };
        let kept = outer.project(&self.plan.carry);
        let where_count = |passes: fn(i64) -> bool| -> Vec<u32> {
            (0..kept.len() as u32).filter(|row| passes(self.counts[*row as usize])).collect()
        };
        let with = |column: Column| {
            let mut batch = kept.clone();
            batch.push(column);
            batch
        };
        match self.plan.kind {
            Kind::Unit => kept,
            Kind::Semi if !self.plan.ordered => Batch::default(),
            Kind::Semi => select(&kept, where_count(|count| count > 0)),
            Kind::Anti => select(&kept, where_count(|count| count == 0)),
            Kind::Exists => {
                with(Column::Bool(self.counts.iter().map(|count| *count > 0).collect(), Nulls::none()))
            }
            Kind::Count => with(Column::Int(std::mem::take(&mut self.counts), Nulls::none())),
            Kind::Collect => {
                with(Column::Any(std::mem::take(&mut self.lists).into_iter().map(Value::list).collect()))
            }
            Kind::Inner | Kind::Optional if self.plan.ordered => self.in_order(&kept),
            Kind::Inner => Batch::default(),
            Kind::Optional => self.bare(&kept, where_count(|count| count == 0)),
        }
    }
    /// Outer rows with nulls for the inner columns.
    fn bare(&self, kept: &Batch, rows: Vec<u32>) -> Batch {
        let len = rows.len();
        let mut batch = select(kept, rows);
        self.plan.inner.iter().for_each(|_| batch.push(Column::Constant(Value::Null, len)));
        batch
    }
    /// All inner rows by outer row; with outer rows that have none, where the kind asks for it.
    fn in_order(&mut self, kept: &Batch) -> Batch {
        let held = std::mem::take(&mut self.held);
        let inner = concatenate(&held, self.plan.inner_width);
        let bare: Vec<u32> = match self.plan.kind {
            Kind::Optional => (0..kept.len() as u32).filter(|row| self.counts[*row as usize] == 0).collect(),
            _ => Vec::new(),
        };
        let mut numbers: Vec<u32> = (0..inner.len()).map(|row| self.number(&inner, row) as u32).collect();
        numbers.extend(&bare);
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        order.sort_by_key(|at| numbers[*at as usize]);
        let outer_rows = order.iter().map(|at| numbers[*at as usize]).collect();
        let mut output = select(kept, outer_rows);
        for at in &self.plan.inner {
            let column = inner.column(*at);
            let value =
                |at: &u32| if (*at as usize) < inner.len() { column.get(*at as usize) } else { Value::Null };
            output.push(order.iter().map(value).collect());
        }
        output
    }
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while let Some(output) = &self.output {
            let rows = piece(output, self.next, self.plan.batch_rows);
            self.next += rows.len();
            let done = self.next >= output.len();
            if !rows.is_empty() {
                context.send(Rows(rows));
            }
            if done {
                self.output = None;
                self.plan.rows.close(context.executor(), context.tag());
            } else if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

fn select(batch: &Batch, rows: Vec<u32>) -> Batch {
    if batch.width() == 0 { Batch::new(Vec::new(), rows.len()) } else { batch.select(rows) }
}

impl Operator<Rows> for ApplyClose {
    fn receive(&mut self, port: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if port == 0 {
            self.counts.clear();
            self.counts.resize(batch.len(), 0);
            self.unanswered = batch.len();
            self.lists =
                if self.plan.kind == Kind::Collect { vec![Vec::new(); batch.len()] } else { Vec::new() };
            let answers = self.plan.answers.as_ref();
            self.answers = answers.map(|answers| answers.of(context.executor(), context.tag()));
            self.outer = Some(batch);
        } else {
            self.take(batch, context)?;
            self.end_early(context);
        }
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
    fn on_instance_end(&mut self, _: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        self.output = Some(self.finish());
        self.run(context)
    }
    fn recycle(&mut self) -> bool {
        (self.outer, self.answers, self.output, self.unanswered, self.next) = (None, None, None, 0, 0);
        self.held.clear();
        self.counts.clear();
        self.lists.clear();
        true
    }
}

fn kind(kind: &ApplyKind) -> Kind {
    match kind {
        ApplyKind::Inner(_) => Kind::Inner,
        ApplyKind::Optional(_) => Kind::Optional,
        ApplyKind::Semi => Kind::Semi,
        ApplyKind::Anti => Kind::Anti,
        ApplyKind::Exists(_) => Kind::Exists,
        ApplyKind::Count(_) => Kind::Count,
        ApplyKind::Collect { .. } => Kind::Collect,
        // Rounds have operators of their own.
        ApplyKind::Unit | ApplyKind::Repeat(_) => Kind::Unit,
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    apply: &ApplyKind,
    opened: Opened,
    required: &VarSet,
    new: &[Var],
) -> Result<Stream, ExecuteError> {
    let (carry, mut layout): (_, Layout) = compiler.carry(&opened.outer.layout, required);
    let inner_columns = match apply {
        ApplyKind::Inner(_) | ApplyKind::Optional(_) => new.to_vec(),
        ApplyKind::Collect { column, .. } => vec![*column],
        _ => Vec::new(),
    };
    let position = |variable: &Var| Compiler::position(&opened.inner.layout, *variable);
    let plan = Arc::new(Closing {
        kind: kind(apply),
        row: position(&opened.row)?,
        carry,
        inner: inner_columns.iter().map(position).collect::<Result<_, _>>()?,
        inner_width: opened.inner.layout.len(),
        ordered: opened.outer.ordered,
        batch_rows: compiler.environment.batch_rows,
        rows: opened.rows.clone(),
        answers: opened.answers.clone(),
    });
    new.iter().for_each(|variable| {
        layout.push(*variable);
    });
    let vertex = compiler.vertex("ApplyClose", opened.options.clone(), move || ApplyClose {
        plan: plan.clone(),
        outer: None,
        held: Vec::new(),
        counts: Vec::new(),
        answers: None,
        unanswered: 0,
        lists: Vec::new(),
        output: None,
        next: 0,
    });
    compiler.builder.connect(opened.outer.vertex, opened.outer.output, vertex, 0, dataflow::Route::Local);
    compiler.builder.connect(opened.inner.vertex, opened.inner.output, vertex, 1, dataflow::Route::Local);
    let fans_out = matches!(apply, ApplyKind::Inner(_) | ApplyKind::Optional(_));
    Ok(Stream {
        vertex,
        output: 0,
        layout,
        parallel: opened.outer.parallel,
        ordered: opened.outer.ordered,
        fans_out,
    })
}
