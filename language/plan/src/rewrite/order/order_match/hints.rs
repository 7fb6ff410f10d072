//! Hints on an order, as a price: an order that ignores one costs more than any that follows them.
//!
//! A hinted vertex is bound by its look-up or scan, not by walking to it; a hinted join yields a discount wherever two parts are joined on its
//! vertex. So the search is unchanged, and where a hint cannot be followed (no such index, no condition that it answers) the cheapest order is chosen
//! as if it had not been given. A notification then tells the user.

use super::problem::Problem;
use super::ways::{How, INPUT, Set, Step, VertexBinding};
use crate::pattern::OrderHint;

/// The price of not following a hint: more than any plan that would be run, and little enough to leave sums exact.
pub(super) const PRICE: f64 = 1e15;

impl VertexBinding {
    /// The cost of this step beyond its work.
    pub fn price(&self, step: Step) -> f64 {
        let follows = match (self, step) {
            (VertexBinding::Nothing, _) | (VertexBinding::Scan, Step::Scan(_)) => true,
            (VertexBinding::Seek(starts), Step::Seek(_, which)) => starts.contains(&which),
            _ => false,
        };
        if follows { 0.0 } else { PRICE }
    }
}

/// Notes the hints that can be followed.
pub(super) fn heed(problem: &mut Problem<'_>, hints: &[OrderHint]) {
    for hint in hints {
        match hint {
            OrderHint::Join(var) => problem.joined |= problem.bit(*var) & !INPUT,
            OrderHint::Index(var, label, keys) => {
                let Some(vertex) = problem.vertices.iter_mut().find(|vertex| vertex.variable == *var) else {
                    continue;
                };
                let is_it = |how: &How| match how {
                    How::Index { label: own, keys: of, .. } => {
                        own == label && of.len() == keys.len() && of.iter().all(|key| keys.contains(key))
                    }
                    _ => false,
                };
                let starts = vertex.seeks.iter().enumerate().filter(|(_, start)| is_it(&start.how));
                let starts: Vec<usize> = starts.map(|(which, _)| which).collect();
                if !starts.is_empty() {
                    vertex.told = VertexBinding::Seek(starts);
                }
            }
            OrderHint::Scan(var, label) => {
                let found = problem.vertices.iter_mut().find(|vertex| vertex.variable == *var);
                if let Some(vertex) = found.filter(|vertex| vertex.labels.required().contains(label)) {
                    vertex.told = VertexBinding::Scan;
                }
            }
        }
    }
}

/// The discount of a join on this vertex.
pub(super) fn discount(problem: &Problem<'_>, shared: Set) -> f64 {
    if shared != 0 && problem.joined & shared == shared { PRICE } else { 0.0 }
}
