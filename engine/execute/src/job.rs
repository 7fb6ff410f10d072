//! Job: work that is one call, run on the executors like any query.
//!
//! Problem: work that keeps its state on the stack (a Datalog program, the first answer of a standing query) needs an id, a tenant, a budget, a
//! deadline and an end. Idea: it is the one operator of a graph of its own. The scheduler lists it, charges it and shares the executor between it and
//! others, because the call pauses when its turn is over ([`dataflow::watch`]). Invariant: the work calls [`dataflow::watch::spend`] often and
//! returns its error; it holds no lock meanwhile that others wait for.

use crate::ExecuteError;
use crate::access::{Access, Environment};
use crate::execution::{Effects, ExecuteOptions, Execution};
use crate::result::ResultStream;
use crate::rows::Rows;
use dataflow::{
    Context, Failure, Flow, GraphBuilder, Operator, Outcome, QueryHandle, Runtime, VertexOptions,
};
use model::Batch;
use parking_lot::Mutex;
use plan::expr::Name;
use std::sync::Arc;

/// The result of a job, read batch by batch.
pub trait Answer: Send {
    /// The next batch; `None` after the last.
    fn next(&mut self) -> Option<Batch>;
    /// Bytes that it holds.
    fn bytes(&self) -> usize;
}

/// The empty answer of a job that is run for its effects.
pub struct NoAnswer;

impl Answer for NoAnswer {
    fn next(&mut self) -> Option<Batch> {
        None
    }
    fn bytes(&self) -> usize {
        0
    }
}

/// The call. An error ends the query with it.
pub type Work = Box<dyn FnOnce() -> Result<Box<dyn Answer>, Failure> + Send>;

enum Job {
    /// Not begun; on executors other than the home there is nothing to do.
    Waiting(Option<Work>),
    /// Being handed out, and the bytes that were charged for it.
    Answering(Box<dyn Answer>, usize),
}

impl Operator<Rows> for Job {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        if let Job::Waiting(work) = self {
            let Some(work) = work.take() else { return Ok(Flow::Ready) };
            let answer = work()?;
            let bytes = answer.bytes();
            context.charge(bytes)?;
            *self = Job::Answering(answer, bytes);
        }
        let Job::Answering(answer, charged) = self else { return Ok(Flow::Ready) };
        while let Some(batch) = answer.next() {
            context.send(Rows(batch));
            if context.should_yield() || context.is_crowded() {
                return Ok(Flow::Again);
            }
        }
        *answer = Box::new(NoAnswer);
        context.release(std::mem::take(charged));
        Ok(Flow::Ready)
    }
}

/// The operator of a query that stands for its parts: it sends its batch once the query is admitted, and then waits until the query is ended.
struct Waiter(Option<Rows>);

impl Operator<Rows> for Waiter {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        let Some(begun) = self.0.take() else { return Ok(Flow::Ready) };
        context.send(begun);
        // Nobody calls it: only the end of the query ends the wait.
        drop(context.waker());
        Ok(Flow::Waiting)
    }
}

impl Execution {
    /// Starts a job; its answer has these columns.
    ///
    /// # Errors
    /// None today; a runtime that is closing ends the stream with one.
    pub fn start_job(
        runtime: &Runtime<Rows>,
        work: Work,
        columns: Arc<[Name]>,
        access: Access,
        options: ExecuteOptions,
    ) -> Result<ResultStream, ExecuteError> {
        let effects = Effects { writes: false, deletes: false };
        let (handle, run) =
            Execution::start_source(runtime, ("Job", effects), (work, Job::Waiting), access, options)?;
        Ok(ResultStream::new(handle, columns, vec![0], 1, run))
    }
    /// Starts a query that stands for its parts: its stream has one batch, when it is admitted, and ends only when the query is ended.
    ///
    /// # Errors
    /// None today; a runtime that is closing ends the stream with one.
    pub fn start_whole(
        runtime: &Runtime<Rows>,
        access: Access,
        options: ExecuteOptions,
    ) -> Result<ResultStream, ExecuteError> {
        let effects = Effects { writes: false, deletes: false };
        let begun = Rows(Batch::from_rows(0, &[Vec::new()]));
        let (handle, run) =
            Execution::start_source(runtime, ("Whole", effects), (begun, Waiter), access, options)?;
        Ok(ResultStream::new(handle, Arc::from([]), vec![0], 1, run))
    }
    /// Starts a query of one source. It gets `content` once, on the query's home executor; on the other executors it gets none, and has nothing to
    /// do.
    pub(crate) fn start_source<T: Send + 'static, O: Operator<Rows> + 'static>(
        runtime: &Runtime<Rows>,
        (name, effects): (&str, Effects),
        (content, make): (T, fn(Option<T>) -> O),
        access: Access,
        options: ExecuteOptions,
    ) -> Result<(QueryHandle<Rows>, Arc<Environment>), ExecuteError> {
        let run = crate::execution::environment(access, Arc::default(), &options, (effects, None));
        let mut builder = GraphBuilder::new();
        let content = Mutex::new(Some(content));
        let source =
            builder.vertex(name, VertexOptions::source(), move |_| Box::new(make(content.lock().take())));
        builder.output(source);
        let graph = builder.finish()?;
        Ok((runtime.submit(graph, options.into_query()), run))
    }
}
