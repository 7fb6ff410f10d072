//! Sorted runs and their merge: a sort of any size that never works longer than a slice.
//!
//! Rows are sorted in runs of a few thousand as they come. At the end the runs lie end to end in one batch, and a heap of their heads
//! gives the order row by row. Rows of equal keys come in the order of their runs, and so in the order they arrived.

use super::Sorting;
use super::keys::SortKeys;
use model::Batch;
use std::cmp::Ordering;
use std::sync::Arc;

/// Runs in the middle of being merged.
pub(super) struct Merge {
    plan: Arc<Sorting>,
    all: Batch,
    keys: SortKeys,
    /// By run: its next row and where it ends.
    cursors: Vec<(usize, usize)>,
    /// Runs that are not exhausted; the one whose next row is first stands at the top.
    heap: Vec<usize>,
}

impl Merge {
    /// `all`: the runs end to end, with the keys behind the columns; `lengths`: of the runs, none empty.
    pub(super) fn new(plan: Arc<Sorting>, all: Batch, lengths: &[usize]) -> Merge {
        let keys = SortKeys::of(&plan, &all);
        let mut start = 0;
        let mut cursors = Vec::with_capacity(lengths.len());
        for length in lengths {
            cursors.push((start, start + length));
            start += length;
        }
        let heap: Vec<usize> = (0..lengths.len()).collect();
        let mut merge = Merge { plan, all, keys, cursors, heap };
        (0..merge.heap.len() / 2).rev().for_each(|at| merge.sink(at));
        merge
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        // Runs lie in the order they came in, so of equal keys the row of the earlier run comes first.
        let row = |run: usize| self.keys.row(self.cursors[run].0);
        self.keys.compare(&self.plan, row(a), row(b)) == Ordering::Less
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut first = at;
            if left < self.heap.len() && self.is_before(left, first) {
                first = left;
            }
            if right < self.heap.len() && self.is_before(right, first) {
                first = right;
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }

    /// The next rows in order; empty at the end.
    pub(super) fn next(&mut self, rows_max: usize) -> Batch {
        let mut rows = Vec::with_capacity(rows_max);
        while rows.len() < rows_max
            && let Some(run) = self.heap.first().copied()
        {
            rows.push(self.cursors[run].0 as u32);
            self.cursors[run].0 += 1;
            if self.cursors[run].0 == self.cursors[run].1 {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        let columns: Vec<usize> = (0..self.plan.width).collect();
        let kept = self.all.project(&columns);
        if kept.width() == 0 { Batch::new(Vec::new(), rows.len()) } else { kept.select(rows) }
    }
}
