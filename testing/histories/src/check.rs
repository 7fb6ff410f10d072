//! The checker: is there one order of all transactions, in agreement with real time, that explains all answers?

use crate::anomaly::Anomaly;
use crate::cycle::{Graph, cycles};
use crate::history::{History, Object};
use crate::infer::infer;
use std::fmt;

/// The anomalies that the checker found; empty for a clean history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// The anomalies, the plainest first.
    pub anomalies: Vec<Anomaly>,
    stories: Vec<String>,
}

/// Checks a history for strict serializability.
///
/// ```
/// use tanglewood_histories::check::check;
/// use tanglewood_histories::history::{History, Observed, Operation, Outcome};
///
/// let one = |process, invoked, operation| Observed {
///     process, invoked, returned: invoked + 1, outcome: Outcome::Committed, operations: vec![operation],
/// };
/// let stale = History { transactions: vec![
///     one(0, 0, Operation::Append(7, 1)),
///     one(1, 2, Operation::ReadList(7, vec![])),
///     one(0, 4, Operation::ReadList(7, vec![1])),
/// ] };
/// let findings = check(&stale);
/// assert!(findings.to_string().contains("T1 read list 7 without the 1 that T0 wrote"));
/// ```
pub fn check(history: &History) -> Findings {
    let (graph, mut anomalies) = infer(history);
    anomalies.extend(cycles_of(history, &graph));
    let stories = anomalies.iter().map(|anomaly| anomaly.explain(history)).collect();
    Findings { anomalies, stories }
}

fn cycles_of(history: &History, graph: &Graph) -> Vec<Anomaly> {
    let wrote = |number: usize, object: Object| {
        let operations = &history.transactions[number].operations;
        operations.iter().any(|one| one.object() == object && one.written().is_some())
    };
    cycles(graph, wrote)
}

impl Findings {
    /// Is there nothing?
    pub fn is_clean(&self) -> bool {
        self.anomalies.is_empty()
    }
    /// Names of the anomalies.
    pub fn names(&self) -> Vec<&'static str> {
        self.anomalies.iter().map(Anomaly::name).collect()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return write!(f, "strictly serializable");
        }
        self.stories.iter().try_for_each(|story| write!(f, "{story}"))
    }
}
