//! How many entries of an index lie between two values, for the planner: the leaves are a histogram of equal heights that every commit
//! keeps up to date anyway.
//!
//! Whole leaves between the bounds are counted, the leaf at each end by search where it is in memory, else by half; nothing is loaded. Error:
//! half a leaf at each bound, and the deltas within it. Cost: two searches, and one addition a leaf up to
//! [`LEAVES_COUNTED_MAX`]; beyond, leaves are taken to be equally full.

use crate::chunks::column::PropertyRef;
use crate::indexes::leaf::Leaf;
use crate::indexes::range::Limits;
use crate::indexes::tree::{Index, LeafPlace};
use model::Value;
use std::ops::Bound;
use std::sync::Arc;

/// Buckets of a histogram: leaves whose entries are counted one by one, a few microseconds.
const LEAVES_COUNTED_MAX: usize = 512;

impl Index {
    /// Entries whose first key lies between the bounds, roughly.
    pub(crate) fn estimate(&self, lower: Bound<&Value>, upper: Bound<&Value>) -> f64 {
        let Some(limits) = Limits::new(lower, upper) else { return 0.0 };
        let within = self.rank(&|value| limits.within_upper(value));
        (within - self.rank(&|value| !limits.past_lower(value))).max(0.0)
    }

    /// Entries that pass; `passes` is true, then false, along the index.
    fn rank(&self, passes: &dyn Fn(PropertyRef<'_>) -> bool) -> f64 {
        let leading = |values: &[Value]| values.first().is_some_and(|value| passes(PropertyRef::from(value)));
        let behind = self.partition_point(|first| leading(first.key.values()));
        let Some(last) = self.before(behind) else { return 0.0 };
        self.entries_before(last) + self.leaf(last).map_or(0.0, |leaf| part(leaf, passes))
    }

    fn entries_before(&self, place: LeafPlace) -> f64 {
        let all = self.leaf_count();
        let number = self.leaves_before(place);
        if all > LEAVES_COUNTED_MAX {
            return self.entry_count() as f64 * number as f64 / all as f64;
        }
        self.leaves().take(number).map(|leaf| leaf.entry_count()).sum::<u64>() as f64
    }
}

/// Entries of one leaf that pass.
fn part(leaf: &Arc<Leaf>, passes: &dyn Fn(PropertyRef<'_>) -> bool) -> f64 {
    let all = leaf.entry_count() as f64;
    let Some(run) = leaf.page.peek() else { return all / 2.0 };
    match run.len() {
        0 => all / 2.0,
        entries => all * run.partition_point(|at| passes(run.leading(at))) as f64 / entries as f64,
    }
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
