//! A graph procedure on all executors: the executor that gets the calling row begins, and calls its twins once the call has proved to be large; they
//! draw morsels within their quotas, and each emits the rows that it draws at the end, so rows come out in no order.

use super::work::{ProcedureRows, ProcedureRun, ProcedureWorker, Turn};
use super::{ProcedureCall, picked, recharge};
use crate::demand::DemandPort;
use crate::rows::Rows;
use crate::turn::{ExecutionContext, Try};
use dataflow::{Context, Flow, Operator, Outcome};
use model::Batch;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Twins are called after this many edges: several times the cost of waking one.
const EDGES_ALONE_MAX: u64 = 65_536;

/// A row with a call.
struct Job {
    batch: Batch,
    row: u32,
    running: ProcedureRun,
    workers: AtomicUsize,
}

/// State shared by the twins.
#[derive(Default)]
pub(super) struct Jobs {
    open: Mutex<Vec<Arc<Job>>>,
}

pub(super) struct Shared {
    asked: Arc<ProcedureCall>,
    carry: Arc<[usize]>,
    execution: ExecutionContext,
    jobs: Arc<Jobs>,
    demand: DemandPort,
    /// The plan node, for PROFILE.
    node: usize,
    /// Rows with calls, and the next one.
    batch: Option<(Batch, usize)>,
    job: Option<(Arc<Job>, ProcedureWorker)>,
    /// The job is of this twin's own batch.
    is_mine: bool,
    has_called: bool,
    charged: usize,
    output: ProcedureRows,
}

impl Shared {
    pub(super) fn new(
        asked: Arc<ProcedureCall>,
        carry: Arc<[usize]>,
        execution: ExecutionContext,
        jobs: Arc<Jobs>,
        (node, demand): (usize, DemandPort),
    ) -> Shared {
        Shared {
            output: asked.output(),
            asked,
            carry,
            execution,
            jobs,
            demand,
            node,
            batch: None,
            job: None,
            is_mine: false,
            has_called: false,
            charged: 0,
        }
    }

    /// The next row of this twin's batch, or a job that another one called for.
    fn begin(&mut self, context: &mut Context<'_, Rows>) -> Try<bool> {
        let number = context.executor();
        if let Some((batch, row)) = self.batch.as_mut().filter(|(batch, row)| *row < batch.len()) {
            let arguments = self.execution.values(&self.asked.arguments, batch, *row)?;
            let snapshot = self.execution.snapshot().clone();
            let environment = &self.execution.environment;
            let running = ProcedureRun::new(&self.asked.kind, &arguments, &snapshot, environment)?;
            let (batch, at) = (batch.clone(), *row as u32);
            *row += 1;
            recharge(&mut self.charged, running.bytes_min(), context)?;
            let job = Job { batch, row: at, running, workers: AtomicUsize::new(1) };
            let helper = job.running.helper(number);
            self.job = Some((Arc::new(job), helper));
            (self.is_mine, self.has_called) = (true, false);
            return Ok(true);
        }
        self.batch = None;
        let open = self.jobs.open.lock().first().cloned();
        if let Some(job) = open {
            job.workers.fetch_add(1, Relaxed);
            let helper = job.running.helper(number);
            self.job = Some((job, helper));
            self.is_mine = false;
        }
        Ok(self.job.is_some())
    }

    fn run(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        loop {
            if self.job.is_none() && !self.begin(context)? {
                return Ok(Flow::Ready);
            }
            let Some((job, helper)) = &mut self.job else { return Ok(Flow::Ready) };
            let job = job.clone();
            if self.demand.is_over() {
                self.batch = None;
                self.leave(&job, context)?;
                return Ok(Flow::Ready);
            }
            let batch_rows = self.execution.environment.batch_rows;
            let turn = job.running.step(helper, self.demand.piece(0, batch_rows), &mut self.output)?;
            let asks = self.send(&job, context) && self.demand.handed_on(batch_rows);
            self.account(&job, context)?;
            match turn {
                Turn::Done => self.leave(&job, context)?,
                Turn::Idle => return Ok(Flow::Waiting),
                Turn::More if asks || context.should_yield() => return Ok(Flow::Again),
                Turn::More => {}
            }
        }
    }

    /// The executor that began is charged for the state, and calls its twins when the call is large.
    fn account(&mut self, job: &Arc<Job>, context: &mut Context<'_, Rows>) -> Try<()> {
        if !self.is_mine {
            return Ok(());
        }
        let bytes = job.running.bytes().max(job.running.bytes_min());
        recharge(&mut self.charged, bytes, context)?;
        if !self.has_called && job.running.edges_visited() > EDGES_ALONE_MAX {
            self.has_called = true;
            self.jobs.open.lock().push(job.clone());
            context.invite_peers();
        }
        Ok(())
    }

    /// The job is over.
    fn leave(&mut self, job: &Arc<Job>, context: &mut Context<'_, Rows>) -> Try<()> {
        if self.is_mine {
            let told = job.running.told(job.workers.load(Relaxed));
            self.execution.environment.told.lock().insert(self.node, told);
            recharge(&mut self.charged, 0, context)?;
        }
        self.jobs.open.lock().retain(|open| !Arc::ptr_eq(open, job));
        self.job = None;
        Ok(())
    }

    /// Emits results; were there any?
    fn send(&mut self, job: &Job, context: &mut Context<'_, Rows>) -> bool {
        let count = self.output.count();
        if count == 0 {
            return false;
        }
        self.demand.made_all(count);
        let mut output = job.batch.project(&self.carry).select(vec![job.row; count]);
        for column in picked(&self.asked, self.output.take()) {
            output.push(column);
        }
        context.send(Rows(output));
        true
    }
}

impl Operator<Rows> for Shared {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        self.asked.record(&self.execution);
        self.batch = Some((batch, 0));
        self.run(context)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.run(context)
    }
}
