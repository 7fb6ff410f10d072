//! A traversal as a program on the executors, and its results for the client.

use super::graph_adapter::{GraphAdapter, TRAVERSER_BYTES};
use super::outcome::{AnswerError, Objects};
use crate::machine::Machine;
use crate::pipeline::{Pipeline, Worked};
use crate::{Compiled, TraverseError};
use execute::program::{Program, Turned};
use execute::{ExecuteError, ResultStream};
use gremlin::{Metrics, Traversal};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The results of a running traversal, and why it ended.
#[derive(Clone, Default)]
pub struct Found {
    shared: Arc<Mutex<(VecDeque<Objects>, Option<TraverseError>)>>,
}

/// Where a traversal stores the counters of its steps, when it has ended.
#[derive(Clone)]
pub struct Measures {
    traversal: Traversal,
    parts: Arc<Mutex<Vec<Metrics>>>,
}

impl Measures {
    /// Of the steps of this traversal.
    pub fn of(traversal: &Traversal) -> Measures {
        Measures { traversal: traversal.clone(), parts: Arc::default() }
    }
    /// The counters of each step; none before it has ended.
    pub fn take(self) -> Vec<Metrics> {
        std::mem::take(&mut self.parts.lock())
    }
}

/// A traversal that runs.
pub struct Started {
    machine: Machine,
    pipeline: Pipeline,
    found: Found,
    measures: Option<Measures>,
}

impl Started {
    /// A traversal at its beginning, over this graph.
    pub fn new(
        graph: GraphAdapter,
        compiled: Arc<Compiled>,
        found: Found,
        measures: Option<Measures>,
    ) -> Started {
        let mut machine = Machine::new(Box::new(graph), compiled);
        if measures.is_some() {
            machine = machine.measuring();
        }
        let pipeline = machine.start();
        Started { machine, pipeline, found, measures }
    }
}

impl Program for Started {
    fn turn(&mut self) -> Result<Turned, Box<dyn std::error::Error + Send + Sync>> {
        match self.pipeline.work_on(&self.machine) {
            Ok(Worked::Found(traversers)) => {
                let objects: Objects = traversers.into_iter().map(|one| (one.object, one.bulk)).collect();
                let count = objects.len();
                self.found.shared.lock().0.push_back(objects);
                Ok(Turned::Found(count))
            }
            Ok(Worked::Working) => Ok(Turned::Working),
            Ok(Worked::Done) => {
                if let Some(measures) = &self.measures {
                    *measures.parts.lock() = self.machine.metrics(&measures.traversal);
                }
                Ok(Turned::Done)
            }
            Err(error) => {
                let message = error.to_string();
                self.found.shared.lock().1 = Some(error);
                Err(message.into())
            }
        }
    }
    fn bytes(&self) -> usize {
        self.pipeline.waiting() * TRAVERSER_BYTES
    }
    fn drop_some(&mut self) -> bool {
        self.pipeline.drop_some() || self.machine.sides.get_mut().drop_some()
    }
}

/// Waits for the next results; none at the end.
pub(super) fn wait(stream: &mut ResultStream, found: &Found) -> Result<Option<Objects>, AnswerError> {
    match stream.next() {
        None => Ok(None),
        Some(Ok(_)) => Ok(found.shared.lock().0.pop_front()),
        Some(Err(error)) => Err(why(error, found)),
    }
}

/// A traversal that was ended from outside does not know why; of its own errors it knows more than the query does.
fn why(error: ExecuteError, found: &Found) -> AnswerError {
    use ExecuteError::{Cancelled, OverBudget, TimedOut};
    let own = found.shared.lock().1.take();
    match (error, own) {
        (outside @ (Cancelled(_) | TimedOut { .. } | OverBudget { .. }), _) => outside.into(),
        (_, Some(own)) => own.into(),
        (error, None) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ended_a_traversal_says_why() {
        let told = |error: ExecuteError| {
            let found = Found::default();
            let (code, message) = ("Neo.TransientError.Transaction.Terminated", "the traversal was ended");
            let own = TraverseError::Graph {
                code: code.into(),
                message: message.into(),
                hint: None,
                retryable: false,
            };
            found.shared.lock().1 = Some(own);
            why(error, &found)
        };
        let cancelled = told(ExecuteError::Cancelled("enough was seen".into()));
        assert!(
            matches!(&cancelled, AnswerError::Execute(ExecuteError::Cancelled(why)) if why == "enough was seen"),
            "{cancelled:?}"
        );
        let late = told(ExecuteError::TimedOut { after_ms: 7 });
        assert!(matches!(late, AnswerError::Execute(ExecuteError::TimedOut { .. })), "{late:?}");
        let by_itself = told(ExecuteError::Plan("the traversal was ended".into()));
        assert!(
            matches!(&by_itself, AnswerError::Traverse(TraverseError::Graph { code, .. }) if code.contains("Terminated")),
            "{by_itself:?}"
        );
    }
}
