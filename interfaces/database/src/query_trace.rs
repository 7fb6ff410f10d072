//! Traces of queries for a collector: the query with its outcome, and each operator of its plan with its rows and its time.
//!
//! Idea: one query of every `n` is measured while it runs on the executors, which count per operator anyway; when it ends, a [`QueryTrace`] goes to
//! the listener. The listener is called on the thread that ends the query and must not block. Texts and names are those of the log: no trace holds
//! values of parameters. Cost: without a listener, one load for each query.

use crate::Value;
use crate::query_log::QueryLog;
use plan::explain::PlanDescription;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Operators of one query in a trace; a plan with more is cut off there.
pub const TRACED_OPERATORS_MAX: usize = 256;
/// Bytes of the context that a client hands on.
const PARENT_BYTES_MAX: usize = 128;

/// Receives traces, on the thread where the query ends, so it must not block.
pub type TraceListener = Arc<dyn Fn(QueryTrace) + Send + Sync>;

/// A query that has ended.
#[derive(Clone, Debug)]
pub struct QueryTrace {
    /// `cypher`, `gremlin` or `datalog`.
    pub language: &'static str,
    /// `read`, `write`, `administration` or `unknown`.
    pub kind: &'static str,
    /// `completed`, `client_error` and so on, as the metrics name it.
    pub outcome: &'static str,
    /// The code of the error it ended with.
    pub code: Option<String>,
    /// Its text as the log shows it.
    pub text: String,
    /// The user.
    pub user: Option<String>,
    /// When it began, on the clock of [`QueryTrace::ended_ns`].
    pub started_ns: u64,
    /// When its first rows were there.
    pub first_ns: Option<u64>,
    /// When it ended.
    pub ended_ns: u64,
    /// Rows that it answered.
    pub rows: u64,
    /// The parent trace, as the client wrote it (`traceparent` of W3C Trace Context).
    pub parent: Option<String>,
    /// Operators of its plan, each behind the one above it. Empty where no plan was measured.
    pub operators: Vec<OperatorTrace>,
}

/// Counters of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorTrace {
    /// Its name in `EXPLAIN`.
    pub name: &'static str,
    /// Index of the operator above it in the list; none for the topmost.
    pub above: Option<usize>,
    /// Rows that it handed on.
    pub rows: u64,
    /// Rows that were expected.
    pub estimated_rows: Option<f64>,
    /// Time in its calls, on all executors together.
    pub busy_ns: u64,
}

/// The listener of traces, and the sampling rate.
#[derive(Default)]
pub(crate) struct Tracing {
    listener: OnceLock<(TraceListener, u64)>,
    queries: AtomicU64,
}

impl Tracing {
    /// From now on, passes one of every `every` queries to this listener. There is at most one: false if there was one before.
    pub fn listen(&self, listener: TraceListener, every: u64) -> bool {
        self.listener.set((listener, every.max(1))).is_ok()
    }
    /// Is the query that begins now one of those?
    pub fn takes_next(&self) -> bool {
        let Some((_, every)) = self.listener.get() else { return false };
        self.queries.fetch_add(1, Ordering::Relaxed).is_multiple_of(*every)
    }
    /// Passes a trace to the listener.
    pub fn tell(&self, trace: impl FnOnce() -> QueryTrace) {
        if let Some((listener, _)) = self.listener.get() {
            listener(trace());
        }
    }
}

impl QueryLog {
    /// Is the query that begins now traced?
    pub fn traces_next(&self) -> bool {
        self.tracing().takes_next()
    }
}

/// The context that a client hands on with its transaction.
pub(crate) fn parent_of(metadata: &Value) -> Option<String> {
    let Value::Map(told) = metadata else { return None };
    let parent = told.get("traceparent").and_then(Value::as_str)?;
    (parent.len() <= PARENT_BYTES_MAX).then(|| parent.to_string())
}

/// The operators of a plan, from the topmost on.
pub(crate) fn operators(plan: &PlanDescription) -> Vec<OperatorTrace> {
    let mut found = Vec::new();
    let mut waiting = vec![(plan, None)];
    while let Some((plan, above)) = waiting.pop() {
        if found.len() == TRACED_OPERATORS_MAX {
            break;
        }
        let place = found.len();
        let profile = plan.profile.unwrap_or_default();
        found.push(OperatorTrace {
            name: plan.name,
            above,
            rows: profile.rows,
            estimated_rows: plan.estimated_rows,
            busy_ns: profile.time_ns,
        });
        waiting.extend(plan.children.iter().rev().map(|child| (child, Some(place))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(number: usize, children: Vec<PlanDescription>) -> PlanDescription {
        PlanDescription {
            number,
            name: "Filter",
            arguments: Vec::new(),
            identifiers: Vec::new(),
            estimated_rows: Some(number as f64),
            profile: None,
            children,
        }
    }

    #[test]
    fn operators_stand_behind_the_one_above_them_up_to_the_limit() {
        let tree = plan(0, vec![plan(1, vec![plan(2, Vec::new())]), plan(3, Vec::new())]);
        let found = operators(&tree);
        let above: Vec<_> =
            found.iter().map(|one| (one.estimated_rows.unwrap() as usize, one.above)).collect();
        assert_eq!(above, [(0, None), (1, Some(0)), (2, Some(1)), (3, Some(0))]);
        let wide = plan(0, (1..=TRACED_OPERATORS_MAX).map(|at| plan(at, Vec::new())).collect());
        assert_eq!(operators(&wide).len(), TRACED_OPERATORS_MAX);
    }

    #[test]
    fn one_of_so_many_queries_is_traced_and_none_where_nobody_listens() {
        let tracing = Tracing::default();
        assert!(!tracing.takes_next());
        assert!(tracing.listen(Arc::new(|_| {}), 3) && !tracing.listen(Arc::new(|_| {}), 1));
        let taken: Vec<bool> = (0..7).map(|_| tracing.takes_next()).collect();
        assert_eq!(taken, [true, false, false, true, false, false, true]);
    }
}
