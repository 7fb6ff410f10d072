//! Distribution of a level to workers.
//!
//! Idea: a level is a list; workers draw ranges of it from one counter, and the one who finishes the last range turns to
//! the next level. Invariant: every position is drawn by exactly one worker, and finished once. Cost: two atomic
//! additions a morsel.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a level is cut. A value, so that it can be chosen per query and changed between levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MorselPolicy {
    /// Vertices in one morsel.
    pub vertices_max: usize,
}

impl Default for MorselPolicy {
    /// 256 vertices: some microseconds of drawing against tens of microseconds of work, yet a level of a thousand
    /// vertices is shared.
    fn default() -> Self {
        MorselPolicy { vertices_max: 256 }
    }
}

/// A range of positions in the level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Morsel {
    /// Positions to expand.
    pub positions: Range<usize>,
}

/// Hands out one level.
#[derive(Debug)]
pub struct MorselDispatcher {
    policy: MorselPolicy,
    count: usize,
    drawn: AtomicUsize,
    finished: AtomicUsize,
}

impl MorselDispatcher {
    /// For a level of `count` vertices.
    pub fn new(count: usize, policy: MorselPolicy) -> MorselDispatcher {
        let policy = MorselPolicy { vertices_max: policy.vertices_max.max(1) };
        MorselDispatcher { policy, count, drawn: AtomicUsize::new(0), finished: AtomicUsize::new(0) }
    }

    /// Positions in the level.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The next morsel, if one is left.
    pub fn draw(&self) -> Option<Morsel> {
        // The look before the addition keeps waiting workers from counting to overflow.
        if self.drawn.load(Ordering::Relaxed) >= self.count {
            return None;
        }
        let start = self.drawn.fetch_add(self.policy.vertices_max, Ordering::Relaxed);
        let end = self.count.min(start.saturating_add(self.policy.vertices_max));
        (start < end).then_some(Morsel { positions: start..end })
    }

    /// Says that a morsel is done; true for the one call that ends the level. Everything done before the other
    /// calls is then visible.
    pub fn finish(&self, morsel: &Morsel) -> bool {
        let size = morsel.positions.len();
        let before = self.finished.fetch_add(size, Ordering::AcqRel);
        debug_assert!(before + size <= self.count, "a morsel was finished twice");
        before + size == self.count
    }
}
