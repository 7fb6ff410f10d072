//! The answer of `profile()`: time and counts of each part of a traversal, as drivers know it.

use std::sync::Arc;

/// How a traversal ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraversalMetrics {
    /// From its beginning to its end.
    pub duration_ns: u64,
    /// Its parts, in the order in which they are written.
    pub parts: Vec<Metrics>,
    /// The same for people: the plan with rows and times.
    pub text: String,
}

/// How a part of it ran: a step, or an operator of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// Tells it from the others.
    pub id: Arc<str>,
    /// Its name, with its arguments.
    pub name: Arc<str>,
    /// Time in it, without the steps around it.
    pub duration_ns: u64,
    /// Objects it gave, each as often as it was there.
    pub elements: u64,
    /// Traversers it gave: those that stand on one object count as one.
    pub traversers: u64,
}

impl TraversalMetrics {
    /// A part's share of all parts' time, of a hundred.
    pub fn percent(&self, part: &Metrics) -> f64 {
        let all: u64 = self.parts.iter().map(|part| part.duration_ns).sum();
        100.0 * part.duration_ns as f64 / all.max(1) as f64
    }
}
