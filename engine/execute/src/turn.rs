//! The few shapes that operators have, and what they may ask for while they run.
//!
//! A [`Step`] turns one batch into one. A [`FanOut`] turns each row into any number of rows, and can be left and re-entered in the
//! middle of one. A [`Breaker`] takes all its input before it hands anything on. Each shape is adapted to the dataflow runtime
//! once, here; an operator's own file holds only what is its own. The first two can also be a [`Stage`] within another operator.

use crate::access::{Environment, Home};
use crate::demand::{DemandPort, RowDemand};
use crate::rows::Rows;
use dataflow::{Context, Failure, Flow, Operator, Outcome, Tag};
use expression::{Compiled, Scope};
use model::{Batch, Column, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::Snapshot;

/// What an operator does may fail in many ways; the result stream sorts them out.
pub(crate) type Try<T> = Result<T, Failure>;

/// An operator's place in its statement: what is shared, and the view it took when its first rows came.
pub(crate) struct Here {
    pub(crate) environment: Arc<Environment>,
    snapshot: Option<Snapshot>,
}

impl Here {
    pub(crate) fn new(home: &Home) -> Here {
        Here { environment: home.environment(), snapshot: None }
    }
    /// The view; taken at the first call.
    pub(crate) fn snapshot(&mut self) -> &Snapshot {
        self.snapshot.get_or_insert_with(|| self.environment.view())
    }
    /// The view and the request, for expressions.
    pub(crate) fn scope(&mut self) -> Scope<'_> {
        let snapshot = self.snapshot.get_or_insert_with(|| self.environment.view());
        Scope::new(snapshot, &self.environment.request)
    }
    /// The values of expressions for one row.
    pub(crate) fn values(&mut self, expressions: &[Compiled], batch: &Batch, row: usize) -> Try<Vec<Value>> {
        let scope = self.scope();
        let values = expressions.iter().map(|expression| expression.evaluate_row(batch, row, &scope));
        Ok(values.collect::<Result<_, _>>()?)
    }
    /// Writes what is pending and reads on behind it: for writing operators that must see their own writes.
    pub(crate) fn refresh(&mut self) -> Try<()> {
        self.snapshot = Some(self.environment.refresh()?);
        Ok(())
    }
}

/// One batch in, one batch out.
pub(crate) trait Step: Send {
    fn step(&mut self, port: usize, batch: Batch, here: &mut Here) -> Try<Batch>;
    /// Is it as if nothing had come yet, so that it may serve another scope instance?
    fn is_fresh(&self) -> bool {
        false
    }
}

/// Runs a [`Step`].
pub(crate) struct Stepping<S> {
    pub(crate) step: S,
    pub(crate) here: Here,
}

impl<S: Step> Operator<Rows> for Stepping<S> {
    fn receive(&mut self, port: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        let batch = self.step.step(port, batch, &mut self.here)?;
        if !batch.is_empty() {
            context.send(Rows(batch));
        }
        Ok(Flow::Ready)
    }
    fn recycle(&mut self) -> bool {
        self.step.is_fresh() && self.here.environment.is_reading()
    }
}

/// Did a slice of work exhaust the batch?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// Each row in becomes any number of rows out.
pub(crate) trait FanOut: Send {
    /// A new batch of input.
    fn begin(&mut self, batch: &Batch, here: &mut Here) -> Try<()>;
    /// Works for a slice of some tens of microseconds, or until `rows` has `rows_max` entries: appends to `rows` the input row of
    /// each output row, and keeps the new columns' values.
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress>;
    /// The new columns of the rows since the last call.
    fn columns(&mut self) -> Vec<Column>;
    /// Forgets what it was at; true if it may then serve another scope instance. What [`charged`](Self::charged) falls by is given
    /// back for it.
    fn recycle(&mut self) -> bool {
        false
    }
    /// Bytes that are charged for what it holds.
    fn charged(&self) -> usize {
        0
    }
}

/// What a breaker or fan-out may ask for.
pub(crate) struct Turn<'a, 'c> {
    pub(crate) here: &'a mut Here,
    pub(crate) context: &'a mut Context<'c, Rows>,
    /// The demand for the rows that are made; of a breaker, none.
    pub(crate) demand: Option<&'a mut DemandPort>,
}

impl Turn<'_, '_> {
    /// Hands on a batch, unless it is empty.
    pub(crate) fn emit(&mut self, batch: Batch) {
        if !batch.is_empty() {
            self.context.send(Rows(batch));
        }
    }
    /// How many rows are wanted that are made of this row: with none, it is passed over.
    #[inline]
    pub(crate) fn wanted(&self, batch: &Batch, row: usize) -> usize {
        self.demand.as_ref().map_or(usize::MAX, |demand| demand.wanted(batch, row))
    }
    /// So many rows were made of a row; returns whether that is enough.
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

/// A [`FanOut`] at work on a batch: collects the rows that it fills, and what is kept of the input.
struct Filling<F> {
    fan: F,
    carry: Arc<[usize]>,
    current: Option<Batch>,
    rows: Vec<u32>,
}

impl<F: FanOut> Filling<F> {
    fn new(fan: F, carry: Arc<[usize]>) -> Filling<F> {
        Filling { fan, carry, current: None, rows: Vec::new() }
    }
    fn begin(&mut self, batch: Batch, here: &mut Here) -> Try<()> {
        self.fan.begin(&batch, here)?;
        self.current = Some(batch);
        Ok(())
    }
    /// Forgets what it was at; true if it may then begin again.
    fn drop_work(&mut self) -> bool {
        self.current = None;
        self.rows.clear();
        self.fan.recycle()
    }
    /// A slice of work: rows, once there are as many as are handed on together or no more come, and whether the batch is exhausted.
    fn slice(
        &mut self,
        demand: &mut DemandPort,
        here: &mut Here,
        context: &mut Context<'_, Rows>,
    ) -> Try<(Option<Batch>, Progress)> {
        let Some(batch) = &self.current else { return Ok((None, Progress::Done)) };
        let batch_rows = here.environment.batch_rows;
        let rows_max = demand.piece(self.rows.len(), batch_rows);
        let progress = if demand.is_over() {
            Progress::Done
        } else {
            let mut turn = Turn { here, context, demand: Some(&mut *demand) };
            self.fan.fill(batch, &mut self.rows, rows_max, &mut turn)?
        };
        let is_whole =
            self.rows.len() >= rows_max || progress == Progress::Done || demand.is_eager(batch_rows);
        let output = (is_whole && !self.rows.is_empty()).then(|| {
            let mut output = batch.project(&self.carry).select(std::mem::take(&mut self.rows));
            self.fan.columns().into_iter().for_each(|column| output.push(column));
            output
        });
        if progress == Progress::Done {
            self.current = None;
        }
        Ok((output, progress))
    }
}

/// An operator of a line that runs within another operator: batches are put in, and slices of work taken out.
pub(crate) trait Stage: Send {
    /// A new batch, once the one before is exhausted; in a test, `demand` tells of which outer rows something is wanted.
    fn begin(&mut self, batch: Batch, demand: Option<&Arc<RowDemand>>, here: &mut Here) -> Try<()>;
    /// A slice of work: rows, if there are any, and whether the batch is exhausted.
    fn slice(&mut self, turn: &mut Turn<'_, '_>) -> Try<(Option<Batch>, Progress)>;
    /// Drops what it is at; true if it may then begin again. What [`charged`](Self::charged) falls by, the caller gives back.
    fn drop_work(&mut self) -> bool;
    /// Bytes that are charged for what it holds.
    fn charged(&self) -> usize {
        0
    }
}

/// A [`FanOut`] as a stage.
struct FanStage<F> {
    filling: Filling<F>,
    demand: DemandPort,
}

impl<F: FanOut> Stage for FanStage<F> {
    fn begin(&mut self, batch: Batch, demand: Option<&Arc<RowDemand>>, here: &mut Here) -> Try<()> {
        self.demand.enter_stage(demand, batch.len());
        self.filling.begin(batch, here)
    }
    fn slice(&mut self, turn: &mut Turn<'_, '_>) -> Try<(Option<Batch>, Progress)> {
        let batch_rows = turn.here.environment.batch_rows;
        let outcome = self.filling.slice(&mut self.demand, turn.here, turn.context)?;
        if outcome.0.is_some() {
            self.demand.handed_on(batch_rows);
        }
        Ok(outcome)
    }
    fn drop_work(&mut self) -> bool {
        self.filling.drop_work()
    }
    fn charged(&self) -> usize {
        self.filling.fan.charged()
    }
}

/// A stage of rows that fan out; counts them where told to.
pub(crate) fn fan_stage<F: FanOut + 'static>(
    fan: F,
    carry: Arc<[usize]>,
    demand: DemandPort,
    rows: Option<&Arc<AtomicU64>>,
) -> Box<dyn Stage> {
    counted(FanStage { filling: Filling::new(fan, carry), demand }, rows)
}

/// The stage, and where it is asked for, that it is counted how many rows come out of it.
pub(crate) fn counted<S: Stage + 'static>(stage: S, rows: Option<&Arc<AtomicU64>>) -> Box<dyn Stage> {
    match rows {
        Some(rows) => Box::new(Counted { stage, rows: rows.clone() }),
        None => Box::new(stage),
    }
}

/// A stage of which it is counted how many rows come out.
struct Counted<S> {
    stage: S,
    rows: Arc<AtomicU64>,
}

impl<S: Stage> Stage for Counted<S> {
    fn begin(&mut self, batch: Batch, demand: Option<&Arc<RowDemand>>, here: &mut Here) -> Try<()> {
        self.stage.begin(batch, demand, here)
    }
    fn drop_work(&mut self) -> bool {
        self.stage.drop_work()
    }
    fn charged(&self) -> usize {
        self.stage.charged()
    }
    fn slice(&mut self, turn: &mut Turn<'_, '_>) -> Try<(Option<Batch>, Progress)> {
        let (rows, progress) = self.stage.slice(turn)?;
        if let Some(rows) = &rows {
            self.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        }
        Ok((rows, progress))
    }
}

/// A [`Step`] as a stage.
struct StepStage<S> {
    step: S,
    waiting: Option<Batch>,
}

impl<S: Step> Stage for StepStage<S> {
    fn begin(&mut self, batch: Batch, _: Option<&Arc<RowDemand>>, _: &mut Here) -> Try<()> {
        self.waiting = Some(batch);
        Ok(())
    }
    fn drop_work(&mut self) -> bool {
        self.waiting = None;
        self.step.is_fresh()
    }
    fn slice(&mut self, turn: &mut Turn<'_, '_>) -> Try<(Option<Batch>, Progress)> {
        let Some(batch) = self.waiting.take() else { return Ok((None, Progress::Done)) };
        let output = self.step.step(0, batch, turn.here)?;
        Ok(((!output.is_empty()).then_some(output), Progress::Done))
    }
}

/// A stage of one batch for one batch, likewise.
pub(crate) fn step_stage<S: Step + 'static>(step: S, rows: Option<&Arc<AtomicU64>>) -> Box<dyn Stage> {
    counted(StepStage { step, waiting: None }, rows)
}

/// Runs a [`FanOut`].
pub(crate) struct Fanning<F> {
    filling: Filling<F>,
    here: Here,
    demand: DemandPort,
}

impl<F: FanOut> Fanning<F> {
    /// `carry`: the columns of the input that are kept.
    pub(crate) fn new(fan: F, here: Here, carry: Arc<[usize]>, demand: DemandPort) -> Fanning<F> {
        Fanning { filling: Filling::new(fan, carry), here, demand }
    }
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        let batch_rows = self.here.environment.batch_rows;
        while self.filling.current.is_some() {
            let (output, progress) = self.filling.slice(&mut self.demand, &mut self.here, context)?;
            let mut asks = false;
            if let Some(output) = output {
                context.send(Rows(output));
                asks = self.demand.handed_on(batch_rows);
            }
            if progress == Progress::Done {
                return Ok(Flow::Ready);
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
        self.demand.enter(context.executor(), context.tag(), batch.len());
        self.filling.begin(batch, &mut self.here)?;
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
    fn recycle(&mut self) -> bool {
        self.demand.recycle();
        // All that was charged has been given back: what is kept for later rows would be held without a charge.
        let serves = self.filling.drop_work() && self.filling.fan.charged() == 0;
        serves && self.here.environment.is_reading()
    }
}

/// All input first, then output.
pub(crate) trait Breaker: Send {
    /// A batch of input.
    fn take(&mut self, port: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()>;
    /// A slice of the work after the end of the input; emits as it goes.
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress>;
}

/// Runs a [`Breaker`].
pub(crate) struct Breaking<B> {
    breaker: B,
    here: Here,
    ports_open: usize,
    draining: bool,
}

impl<B: Breaker> Breaking<B> {
    pub(crate) fn new(breaker: B, here: Here, ports: usize) -> Breaking<B> {
        Breaking { breaker, here, ports_open: ports, draining: false }
    }
    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while self.draining {
            let mut turn = Turn { here: &mut self.here, context, demand: None };
            let progress = self.breaker.drain(&mut turn)?;
            self.draining = progress == Progress::More;
            if self.draining && context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

impl<B: Breaker> Operator<Rows> for Breaking<B> {
    fn receive(&mut self, port: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.breaker.take(port, batch, &mut Turn { here: &mut self.here, context, demand: None })?;
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
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
}

/// Takes batches in and works them off as it may, some of it only once all have come: what opens scope instances, and MERGE.
pub(crate) trait Intake: Send {
    /// A batch of input.
    fn take(&mut self, batch: Batch, context: &mut Context<'_, Rows>) -> Try<()>;
    /// Works on what it has; `complete` says that no more will come.
    fn run(&mut self, complete: bool, context: &mut Context<'_, Rows>) -> Outcome;
}

/// A batch that waits for the rows before it to be worked off, and what it was charged: to be released with it.
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

/// An operator at a leaf of the plan: it is given the one empty row itself.
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
}
