//! The few shapes of operators, and their calls into the runtime.
//!
//! A [`Step`] turns one batch into one. A [`FanOut`] turns each row into any number of rows, and can be left and re-entered in the middle of one. A
//! [`Breaker`] takes all its input before it emits anything. Each shape becomes an operator of the dataflow runtime once, here; an operator's own
//! file holds only its own algorithm. No operator depends on the driver that calls it.

use crate::access::{EnvironmentSlot, RunEnvironment};
use crate::demand::DemandPort;
use crate::fetch::fetches_vertices;
use crate::reads::ReadView;
use crate::rows::Rows;
use dataflow::{Context, Failure, Flow, Operator, Outcome, Tag};
use expression::{Compiled, Scope};
use model::{Batch, Column, Value};
use std::sync::Arc;
use store::Snapshot;

/// Operators fail for many reasons; the result stream distinguishes them.
pub(crate) type Try<T> = Result<T, Failure>;

/// A batch waits for its chunks so often; then its reads wait. All are requested together, so a further round means that some were removed before they were read.
const FETCH_ROUNDS_MAX: u8 = 3;

/// An operator's execution context: the shared environment, and the view it took when its first rows came.
pub(crate) struct ExecutionContext {
    pub(crate) environment: RunEnvironment,
    view: Option<ReadView>,
    /// How often a batch has waited for chunks already.
    fetch_rounds: u8,
}

impl ExecutionContext {
    pub(crate) fn new(environment_slot: &EnvironmentSlot) -> ExecutionContext {
        ExecutionContext { environment: RunEnvironment::new(environment_slot), view: None, fetch_rounds: 0 }
    }
    /// The run is over: nothing of it is held.
    fn end_run(&mut self) {
        self.environment.end_run();
        (self.view, self.fetch_rounds) = (None, 0);
    }
    /// The view; taken at the first call.
    pub(crate) fn snapshot(&mut self) -> &Arc<Snapshot> {
        let environment = &self.environment;
        self.view.get_or_insert_with(|| ReadView::new(environment.view(), environment)).snapshot()
    }
    /// Are chunks that these columns of a batch need on their way from another machine? Then the operator is woken when they have come.
    fn fetches(&mut self, batch: &Batch, columns: &[usize], context: &mut Context<'_, Rows>) -> bool {
        // No view is taken for nothing.
        let waits = !columns.is_empty()
            && self.fetch_rounds < FETCH_ROUNDS_MAX
            && fetches_vertices(self.snapshot(), batch, columns, context);
        self.fetch_rounds = if waits { self.fetch_rounds + 1 } else { 0 };
        waits
    }
    /// The view and the request, for expressions: what they read is recorded.
    pub(crate) fn scope(&mut self) -> Scope<'_> {
        let environment = &self.environment;
        let view = self.view.get_or_insert_with(|| ReadView::new(environment.view(), environment));
        Scope::new(view.graph(), &environment.request)
    }
    /// The values of expressions for one row.
    pub(crate) fn values(&mut self, expressions: &[Compiled], batch: &Batch, row: usize) -> Try<Vec<Value>> {
        let scope = self.scope();
        let values = expressions.iter().map(|expression| expression.evaluate_row(batch, row, &scope));
        Ok(values.collect::<Result<_, _>>()?)
    }
    /// Writes pending changes and reads behind them: for writing operators that must see their own writes.
    pub(crate) fn refresh(&mut self) -> Try<()> {
        self.view = Some(ReadView::new(self.environment.refresh()?, &self.environment));
        Ok(())
    }
}

/// One batch in, one batch out.
pub(crate) trait Step: Send {
    /// Columns whose vertices it reads: their chunks are fetched before, where another machine has them.
    fn reads(&self) -> &[usize] {
        &[]
    }
    fn step(&mut self, port: usize, batch: Batch, execution: &mut ExecutionContext) -> Try<Batch>;
    /// Is it as if nothing had come yet, so that it may serve another scope instance, and another run?
    fn is_fresh(&self) -> bool {
        false
    }
}

/// Runs a [`Step`].
pub(crate) struct Stepping<S> {
    step: S,
    execution: ExecutionContext,
    /// A batch whose chunks are on their way, and its port.
    waiting: Option<(usize, Batch)>,
}

impl<S: Step> Stepping<S> {
    pub(crate) fn new(step: S, execution: ExecutionContext) -> Stepping<S> {
        Stepping { step, execution, waiting: None }
    }
    fn run(&mut self, port: usize, batch: Batch, context: &mut Context<'_, Rows>) -> Outcome {
        let batch = self.step.step(port, batch, &mut self.execution)?;
        if !batch.is_empty() {
            context.send(Rows(batch));
        }
        Ok(Flow::Ready)
    }
}

impl<S: Step> Operator<Rows> for Stepping<S> {
    fn receive(&mut self, port: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        let columns = self.step.reads();
        if self.execution.fetches(&batch, columns, context) {
            self.waiting = Some((port, batch));
            return Ok(Flow::Waiting);
        }
        self.run(port, batch, context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        match self.waiting.take() {
            // What came early may have been swept away since: it is asked for again.
            Some((port, batch)) => self.receive(port, Rows(batch), context),
            None => Ok(Flow::Ready),
        }
    }
    fn recycle(&mut self) -> bool {
        self.waiting = None;
        self.step.is_fresh() && self.execution.environment.has_one_view()
    }
    fn end_run(&mut self) -> bool {
        self.waiting = None;
        self.execution.end_run();
        self.step.is_fresh()
    }
    fn begin_run(&mut self) {
        self.execution.environment.begin_run();
    }
}

/// Did a slice of work exhaust the batch?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// Its next input is being fetched; the operator that asked for a waker will be called.
    Waiting,
    Done,
}

/// Each row in becomes any number of rows out.
pub(crate) trait FanOut: Send {
    /// Columns whose vertices it reads: their chunks are fetched before, where another machine has them.
    fn reads(&self) -> &[usize] {
        &[]
    }
    /// A new batch of input.
    fn begin(&mut self, batch: &Batch, execution: &mut ExecutionContext) -> Try<()>;
    /// Works for a slice of some tens of microseconds, or until `rows` has `rows_max` entries: appends to `rows` the input row of
    /// each output row, and keeps the new columns' values.
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress>;
    /// Called before rows are emitted: makes columns that are computed for all of them at once.
    fn complete(&mut self, _: &mut ExecutionContext) -> Try<()> {
        Ok(())
    }
    /// The new columns of the rows since the last call.
    fn columns(&mut self) -> Vec<Column>;
    /// Drops its state; true if it may then serve another scope instance. The decrease of [`charged`](Self::charged) is released by the caller.
    fn recycle(&mut self) -> bool {
        false
    }
    /// Drops its state with all that is of this run; true if it may then serve the next run.
    fn end_run(&mut self) -> bool {
        false
    }
    /// Bytes that are charged for its state.
    fn charged(&self) -> usize {
        0
    }
    /// Are the rows since the last call of [`columns`](Self::columns) emitted although there is room for more, since their values are large?
    fn is_full(&self) -> bool {
        false
    }
}

/// Takes the collected values, and leaves a list for the next ones: where there were many, as many are expected, and the list need not grow again.
pub(crate) fn taken<T>(collected: &mut Vec<T>) -> Vec<T> {
    let room = if collected.len() >= COLLECTED_MANY { collected.len() } else { 0 };
    std::mem::replace(collected, Vec::with_capacity(room))
}

/// Entries from which on a list is made with room for as many again.
const COLLECTED_MANY: usize = 256;

/// Calls of a breaker or fan-out into the runtime.
pub(crate) struct Turn<'a, 'c> {
    pub(crate) execution: &'a mut ExecutionContext,
    pub(crate) context: &'a mut Context<'c, Rows>,
    /// The demand for the rows that are made; of a breaker, none.
    pub(crate) demand: Option<&'a mut DemandPort>,
    /// Does it matter which row of the input a row is made of? It does not where no column of the input is kept.
    pub(crate) keeps_rows: bool,
}

impl Turn<'_, '_> {
    /// Emits a batch, unless it is empty.
    pub(crate) fn emit(&mut self, batch: Batch) {
        if !batch.is_empty() {
            self.context.send(Rows(batch));
        }
    }
    /// How many rows of this row are wanted: with none, it is passed over.
    #[inline]
    pub(crate) fn wanted(&self, batch: &Batch, row: usize) -> usize {
        self.demand.as_ref().map_or(usize::MAX, |demand| demand.wanted(batch, row))
    }
    /// `count` rows were made of a row; returns whether that is enough.
    #[inline]
    pub(crate) fn made(&mut self, batch: &Batch, row: usize, count: usize) -> bool {
        self.demand.as_mut().is_some_and(|demand| demand.made(batch, row, count))
    }
    /// Is it unknown how many rows each outer row needs? Then rows that could go on for long are taken in turns.
    pub(crate) fn takes_turns(&self) -> bool {
        self.demand.as_ref().is_some_and(|demand| demand.takes_turns())
    }
    /// May outer rows have enough one by one?
    pub(crate) fn is_by_row(&self) -> bool {
        self.demand.as_ref().is_some_and(|demand| demand.is_by_row())
    }
}

/// Runs a [`FanOut`]: collects the rows that it fills, with the kept columns of the input.
pub(crate) struct Fanning<F> {
    fan: F,
    execution: ExecutionContext,
    carry: Arc<[usize]>,
    demand: DemandPort,
    current: Option<Batch>,
    /// The operator does not know the current batch yet: its chunks are on their way.
    is_new: bool,
    rows: Vec<u32>,
}

impl<F: FanOut> Fanning<F> {
    /// `carry`: the columns of the input that are kept.
    pub(crate) fn new(
        fan: F,
        execution: ExecutionContext,
        carry: Arc<[usize]>,
        demand: DemandPort,
    ) -> Fanning<F> {
        Fanning { fan, execution, carry, demand, current: None, is_new: false, rows: Vec::new() }
    }
    /// A slice of work: rows, once there are as many as are handed on together or no more come, and whether the batch is exhausted.
    fn slice(&mut self, context: &mut Context<'_, Rows>) -> Try<(Option<Batch>, Progress)> {
        let Some(batch) = &self.current else { return Ok((None, Progress::Done)) };
        let batch_rows = self.execution.environment.batch_rows;
        let rows_max = self.demand.piece(self.rows.len(), batch_rows);
        let progress = if self.demand.is_over() {
            Progress::Done
        } else {
            let mut turn = Turn {
                execution: &mut self.execution,
                context,
                demand: Some(&mut self.demand),
                keeps_rows: !self.carry.is_empty(),
            };
            self.fan.fill(batch, &mut self.rows, rows_max, &mut turn)?
        };
        let is_whole = self.rows.len() >= rows_max
            || progress == Progress::Done
            || self.fan.is_full()
            || self.demand.is_eager(batch_rows);
        let is_handed_on = is_whole && !self.rows.is_empty();
        if is_handed_on {
            self.fan.complete(&mut self.execution)?;
        }
        let output = is_handed_on.then(|| {
            let mut output = batch.project(&self.carry).select(taken(&mut self.rows));
            self.fan.columns().into_iter().for_each(|column| output.push(column));
            output
        });
        if progress == Progress::Done {
            self.current = None;
        }
        Ok((output, progress))
    }
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if std::mem::take(&mut self.is_new)
            && let Some(batch) = &self.current
        {
            self.fan.begin(batch, &mut self.execution)?;
        }
        let batch_rows = self.execution.environment.batch_rows;
        while self.current.is_some() {
            let (output, progress) = self.slice(context)?;
            let mut asks = false;
            if let Some(output) = output {
                context.send(Rows(output));
                asks = self.demand.handed_on(batch_rows);
            }
            match progress {
                Progress::Done => return Ok(Flow::Ready),
                Progress::Waiting => return Ok(Flow::Waiting),
                Progress::More => {}
            }
            if asks || context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

impl<F: FanOut> Operator<Rows> for Fanning<F> {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if batch.is_empty() {
            return Ok(Flow::Ready);
        }
        self.demand.enter(context, batch.len());
        (self.current, self.is_new) = (Some(batch), true);
        self.resume(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        // What nobody wants any more is not waited for.
        if self.is_new
            && !self.demand.is_over()
            && let Some(batch) = &self.current
            && self.execution.fetches(batch, self.fan.reads(), context)
        {
            return Ok(Flow::Waiting);
        }
        self.run(context)
    }
    fn recycle(&mut self) -> bool {
        self.demand.recycle();
        (self.current, self.is_new) = (None, false);
        self.rows.clear();
        // All that was charged has been given back: what is kept for later rows would be held without a charge.
        let serves = self.fan.recycle() && self.fan.charged() == 0;
        serves && self.execution.environment.has_one_view()
    }
    fn end_run(&mut self) -> bool {
        self.demand.recycle();
        (self.current, self.is_new, self.rows) = (None, false, Vec::new());
        self.execution.end_run();
        self.fan.end_run()
    }
    fn begin_run(&mut self) {
        self.execution.environment.begin_run();
    }
}

/// All input first, then output.
pub(crate) trait Breaker: Send {
    /// Columns whose vertices it reads: their chunks are fetched before, where another machine has them.
    fn reads(&self) -> &[usize] {
        &[]
    }
    /// A batch of input.
    fn take(&mut self, port: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()>;
    /// A slice of work before more input is taken, such as spilling rows; emits nothing.
    fn make_room(&mut self, _: &mut Turn<'_, '_>) -> Try<Progress> {
        Ok(Progress::Done)
    }
    /// A slice of the work after the end of the input; emits as it goes.
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress>;
    /// Drops its state with all that is of this run; true if it may then serve the next run.
    fn end_run(&mut self) -> bool {
        false
    }
}

/// Runs a [`Breaker`].
pub(crate) struct Breaking<B> {
    breaker: B,
    execution: ExecutionContext,
    /// A batch whose chunks are on their way, and its port.
    waiting: Option<(usize, Batch)>,
    ports: usize,
    ports_open: usize,
    making_room: bool,
    draining: bool,
}

impl<B: Breaker> Breaking<B> {
    pub(crate) fn new(breaker: B, execution: ExecutionContext, ports: usize) -> Breaking<B> {
        let (ports_open, making_room, draining) = (ports, false, false);
        Breaking { breaker, execution, waiting: None, ports, ports_open, making_room, draining }
    }
    fn take(&mut self, port: usize, batch: Batch, context: &mut Context<'_, Rows>) -> Outcome {
        self.breaker.take(
            port,
            batch,
            &mut Turn { execution: &mut self.execution, context, demand: None, keeps_rows: true },
        )?;
        self.making_room = true;
        self.run(context)
    }
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while self.making_room || self.draining {
            let mut turn = Turn { execution: &mut self.execution, context, demand: None, keeps_rows: true };
            if self.making_room {
                self.making_room = self.breaker.make_room(&mut turn)? != Progress::Done;
            } else {
                self.draining = self.breaker.drain(&mut turn)? != Progress::Done;
            }
            if (self.making_room || self.draining) && context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

impl<B: Breaker> Operator<Rows> for Breaking<B> {
    fn receive(&mut self, port: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        let columns = self.breaker.reads();
        if self.execution.fetches(&batch, columns, context) {
            self.waiting = Some((port, batch));
            return Ok(Flow::Waiting);
        }
        self.take(port, batch, context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        match self.waiting.take() {
            Some((port, batch)) => self.receive(port, Rows(batch), context),
            None => self.run(context),
        }
    }
    fn on_instance_end(&mut self, _: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        self.draining = true;
        self.run(context)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Rows>) -> Outcome {
        self.ports_open -= 1;
        self.draining = self.ports_open == 0;
        self.run(context)
    }
    fn end_run(&mut self) -> bool {
        (self.waiting, self.ports_open) = (None, self.ports);
        (self.making_room, self.draining) = (false, false);
        self.execution.end_run();
        self.breaker.end_run()
    }
    fn begin_run(&mut self) {
        self.execution.environment.begin_run();
    }
}

/// Takes batches in and processes them when it may, some of it only once all have come: operators that open scope instances, and MERGE.
pub(crate) trait Intake: Send {
    /// A batch of input.
    fn take(&mut self, batch: Batch, context: &mut Context<'_, Rows>) -> Try<()>;
    /// Works on what it has; `complete` says that no more will come.
    fn run(&mut self, complete: bool, context: &mut Context<'_, Rows>) -> Outcome;
}

/// A batch that waits for the rows before it, and its charge: to be released with it.
pub(crate) fn charged(batch: Batch, context: &mut Context<'_, Rows>) -> Try<(Batch, usize)> {
    let batch = batch.flatten();
    let bytes = batch.bytes();
    context.charge(bytes)?;
    Ok((batch, bytes))
}

/// Runs an [`Intake`].
pub(crate) struct TakingIn<I> {
    intake: I,
    complete: bool,
}

impl<I: Intake> TakingIn<I> {
    pub(crate) fn new(intake: I) -> TakingIn<I> {
        TakingIn { intake, complete: false }
    }
    fn end(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.complete = true;
        self.intake.run(true, context)
    }
}

impl<I: Intake> Operator<Rows> for TakingIn<I> {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.intake.take(batch, context)?;
        self.intake.run(self.complete, context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.intake.run(self.complete, context)
    }
    fn on_instance_end(&mut self, _: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        self.end(context)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Rows>) -> Outcome {
        self.end(context)
    }
}

/// An operator at a leaf of the plan: it gets the one empty row itself.
pub(crate) struct Leaf<O> {
    pub(crate) inner: O,
    pub(crate) started: bool,
}

impl<O: Operator<Rows>> Operator<Rows> for Leaf<O> {
    fn receive(&mut self, port: usize, rows: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.inner.receive(port, rows, context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if std::mem::replace(&mut self.started, true) {
            return self.inner.resume(context);
        }
        self.inner.receive(0, Rows(Batch::unit()), context)
    }
    fn end_run(&mut self) -> bool {
        self.started = false;
        self.inner.end_run()
    }
    fn begin_run(&mut self) {
        self.inner.begin_run();
    }
}
