//! `profile`: time in each step of a traversal and what it gave. Nested traversals count for the step that runs them.

use crate::traverser::Traverser;
use gremlin::{Metrics, Traversal};
use std::cell::RefCell;
use std::ops::Range;

/// What was measured of one step.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    duration_ns: u64,
    traversers: u64,
    elements: u64,
}

/// What is measured of each step of the whole traversal.
pub(crate) struct Profile {
    steps: RefCell<Vec<Measured>>,
}

impl Profile {
    pub fn new(steps: usize) -> Profile {
        Profile { steps: RefCell::new(vec![Measured::default(); steps]) }
    }
    /// A turn of a step that took so long and gave these.
    pub fn add(&self, step: usize, duration_ns: u64, given: &[Traverser]) {
        if let Some(measured) = self.steps.borrow_mut().get_mut(step) {
            measured.duration_ns += duration_ns;
            measured.traversers += given.len() as u64;
            let elements = given.iter().fold(0_u64, |sum, one| sum.saturating_add(one.bulk));
            measured.elements = measured.elements.saturating_add(elements);
        }
    }
    /// What each step did so far, called by the instructions that it was made of.
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

/// Instructions as they are written.
fn written(traversal: &Traversal, origin: Option<&Range<usize>>) -> String {
    let steps = origin.and_then(|range| traversal.steps.get(range.clone())).unwrap_or_default();
    let texts: Vec<String> = steps.iter().map(ToString::to_string).collect();
    texts.join(".")
}
