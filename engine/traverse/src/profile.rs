//! `profile`: time and output of each step of a traversal. Nested traversals count for the step that runs them.

use crate::traverser::Traversers;
use gremlin::{Metrics, Traversal};
use std::cell::RefCell;
use std::ops::Range;

/// The counters of one step.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    duration_ns: u64,
    traversers: u64,
    elements: u64,
}

/// The counters of each step of the outermost traversal.
pub(crate) struct Profile {
    steps: RefCell<Vec<Measured>>,
}

impl Profile {
    pub fn new(steps: usize) -> Profile {
        Profile { steps: RefCell::new(vec![Measured::default(); steps]) }
    }
    /// Adds a turn of a step with its duration and output.
    pub fn add(&self, step: usize, duration_ns: u64, given: &Traversers) {
        if let Some(measured) = self.steps.borrow_mut().get_mut(step) {
            measured.duration_ns += duration_ns;
            measured.traversers += given.len() as u64;
            let elements = given.iter().fold(0_u64, |sum, one| sum.saturating_add(one.bulk));
            measured.elements = measured.elements.saturating_add(elements);
        }
    }
    /// The counters of each step so far, named by its instructions.
    pub fn metrics(&self, traversal: &Traversal, origins: &[Range<usize>]) -> Vec<Metrics> {
        let steps = self.steps.borrow();
        let part = |(at, measured): (usize, &Measured)| Metrics {
            id: format!("{at}").into(),
            name: written(traversal, origins.get(at)).into(),
            duration_ns: measured.duration_ns,
            elements: measured.elements,
            traversers: measured.traversers,
        };
        steps.iter().enumerate().map(part).collect()
    }
}

/// Instructions as text.
fn written(traversal: &Traversal, origin: Option<&Range<usize>>) -> String {
    let steps = origin.and_then(|range| traversal.steps.get(range.clone())).unwrap_or_default();
    let texts: Vec<String> = steps.iter().map(ToString::to_string).collect();
    texts.join(".")
}
