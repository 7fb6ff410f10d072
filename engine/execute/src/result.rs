//! The client's side of a statement: batches, one end, and the counters.

use crate::ExecuteError;
use crate::access::{Counters, Environment};
use crate::compile::Staged;
use crate::rows::Rows;
use dataflow::{Fault, QueryHandle, QueryId};
use model::Batch;
use plan::expr::Name;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::Snapshot;

/// Counters of one plan node so far, summed over its vertices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeProfile {
    /// Its operators' names, or empty if it became none of its own.
    pub operators: Vec<String>,
    /// Rows it received.
    pub rows_in: u64,
    /// Rows it handed on.
    pub rows_out: u64,
    /// Batches it handed on.
    pub batches: u64,
    /// Time in its calls, in nanoseconds.
    pub cpu_ns: u64,
    /// The same by executor; empty where there is only one.
    pub cpu_by_executor_ns: Vec<u64>,
    /// Most bytes held at once.
    pub bytes_peak: u64,
    /// Remarks of its operators: policies, sides, sizes. Empty where they have none.
    pub told: String,
}

/// The rows of a running statement. Dropping it cancels the statement if it still runs.
pub struct ResultStream {
    source: Source,
    columns: Arc<[Name]>,
    environment: Arc<Environment>,
}

enum Source {
    /// It ran on the calling thread: the rest of its rows, or its error.
    Done(std::vec::IntoIter<Rows>, Option<Fault>),
    /// It runs on executors.
    Running(Running),
}

struct Running {
    handle: QueryHandle<Rows>,
    /// Plan node of each vertex.
    nodes: Vec<usize>,
    node_count: usize,
    staged: Vec<Staged>,
}

impl ResultStream {
    pub(crate) fn of_done(
        outcome: Result<Vec<Rows>, Fault>,
        columns: Arc<[Name]>,
        environment: Arc<Environment>,
    ) -> ResultStream {
        let (batches, fault) = match outcome {
            Ok(batches) => (batches, None),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        ResultStream { source: Source::Done(batches.into_iter(), fault), columns, environment }
    }
    pub(crate) fn new(
        handle: QueryHandle<Rows>,
        columns: Arc<[Name]>,
        nodes: Vec<usize>,
        node_count: usize,
        environment: Arc<Environment>,
    ) -> ResultStream {
        let running = Running { handle, nodes, node_count, staged: Vec::new() };
        ResultStream { source: Source::Running(running), columns, environment }
    }
    /// The same, with nodes that run within other nodes' vertices.
    pub(crate) fn with_staged(mut self, nodes: Vec<Staged>) -> ResultStream {
        if let Source::Running(running) = &mut self.source {
            running.staged = nodes;
        }
        self
    }
    /// Column titles; empty for a statement without RETURN, which yields no rows.
    pub fn columns(&self) -> &Arc<[Name]> {
        &self.columns
    }
    /// Number of the running query, for lists and kills; none where it was over before it could get one.
    pub fn id(&self) -> Option<QueryId> {
        match &self.source {
            Source::Done(..) => None,
            Source::Running(running) => Some(running.handle.id()),
        }
    }
    /// Waits for the next batch: flat columns in the order of [`ResultStream::columns`]. `None` after the last; an error comes once.
    #[allow(clippy::should_implement_trait, reason = "a wait, not an iteration")]
    pub fn next(&mut self) -> Option<Result<Batch, ExecuteError>> {
        match &mut self.source {
            Source::Done(batches, fault) => next_done(batches, fault, &self.environment),
            Source::Running(running) => {
                running.handle.next().map(|next| rows_or_error(next, &self.environment))
            }
        }
    }
    /// The next batch if there is one now: `None` means nothing yet, `Some(None)` the end.
    pub fn try_next(&mut self) -> Option<Option<Result<Batch, ExecuteError>>> {
        match &mut self.source {
            Source::Done(batches, fault) => Some(next_done(batches, fault, &self.environment)),
            Source::Running(running) => {
                let next = running.handle.try_next();
                next.map(|next| next.map(|next| rows_or_error(next, &self.environment)))
            }
        }
    }
    /// As [`ResultStream::try_next`], after waiting at most this long.
    pub fn next_timeout(&mut self, timeout: Duration) -> Option<Option<Result<Batch, ExecuteError>>> {
        match &mut self.source {
            Source::Done(batches, fault) => Some(next_done(batches, fault, &self.environment)),
            Source::Running(running) => {
                let next = running.handle.next_timeout(timeout);
                next.map(|next| next.map(|next| rows_or_error(next, &self.environment)))
            }
        }
    }
    /// Calls `waker`, on an executor's thread, whenever a batch or the end became available.
    pub fn set_waker(&mut self, waker: Arc<dyn Fn() + Send + Sync>) {
        match &mut self.source {
            Source::Done(..) => waker(),
            Source::Running(running) => running.handle.set_waker(waker),
        }
    }
    /// Charges further bytes to the statement's account; false where that ends it.
    pub fn hold(&self, bytes: u64) -> bool {
        match &self.source {
            Source::Done(..) => true,
            Source::Running(running) => running.handle.hold(bytes),
        }
    }
    /// Releases bytes that were charged so.
    pub fn release(&self, bytes: u64) {
        if let Source::Running(running) = &self.source {
            running.handle.release(bytes);
        }
    }
    /// Ends the statement with [`ExecuteError::Cancelled`] unless it ended before.
    pub fn cancel(&self, reason: &str) {
        if let Source::Running(running) = &self.source {
            running.handle.cancel(reason);
        }
    }
    /// Its changes so far.
    pub fn counters(&self) -> Counters {
        self.environment.counting.read()
    }
    /// The graph as the statement sees it now, in which entities of its rows are resolved.
    pub fn view(&self) -> Snapshot {
        Snapshot::clone(&self.environment.view())
    }
    /// Counters of each plan node so far, by pre-order number (a node, then its inputs as they stand in its struct). Empty for runs on the calling
    /// thread; for stages within an operator only where the statement's mode is PROFILE.
    pub fn profile(&self) -> Vec<NodeProfile> {
        let Source::Running(running) = &self.source else { return Vec::new() };
        let mut profile = vec![NodeProfile::default(); running.node_count];
        for (vertex, node) in running.handle.profile().into_iter().zip(&running.nodes) {
            let into = &mut profile[*node];
            // Of several vertices in a row, what comes in is the first one's and what goes out is the last one's.
            if into.operators.is_empty() {
                into.rows_in = vertex.rows_in;
            }
            into.rows_out = vertex.rows_out;
            into.batches = vertex.batches;
            into.cpu_ns += vertex.cpu_ns;
            into.cpu_by_executor_ns.resize(vertex.cpu_by_executor_ns.len(), 0);
            let shares = into.cpu_by_executor_ns.iter_mut().zip(&vertex.cpu_by_executor_ns);
            shares.for_each(|(sum, ns)| *sum += ns);
            into.bytes_peak += vertex.bytes_peak;
            into.operators.push(vertex.name);
        }
        for (node, words) in &*self.environment.told.lock() {
            profile[*node].told.clone_from(words);
        }
        for staged in &running.staged {
            let into = &mut profile[staged.node];
            into.rows_out = staged.rows.load(Ordering::Relaxed);
            into.operators.push(staged.name.clone());
        }
        profile
    }
}

fn next_done(
    batches: &mut std::vec::IntoIter<Rows>,
    fault: &mut Option<Fault>,
    environment: &Environment,
) -> Option<Result<Batch, ExecuteError>> {
    let next = fault.take().map(Err).or_else(|| batches.next().map(Ok));
    next.map(|next| rows_or_error(next, environment))
}

fn rows_or_error(next: Result<Rows, Fault>, environment: &Environment) -> Result<Batch, ExecuteError> {
    next.map(|Rows(batch)| batch).map_err(|fault| match ExecuteError::from(fault) {
        ExecuteError::OverBudget { level, limit, held, .. } => {
            ExecuteError::OverBudget { level, limit, held, instead: environment.instead.get().copied() }
        }
        other => other,
    })
}
