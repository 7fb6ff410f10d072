//! Shared by all searches of a dispatcher: the graph in both directions, and the question.

use crate::adjacency::Adjacency;
use crate::hops::{Hops, Orientation};
use crate::reach::Keep;
use crate::spare::WORDS;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(super) struct Ground<A> {
    pub(super) graph: A,
    /// The same edges the other way, where looking from below is allowed.
    pub(super) against: Option<A>,
    /// The same for rebuilding paths, where they are wanted.
    pub(super) back: Option<A>,
    pub(super) hops: Hops,
    pub(super) orientation: Orientation,
    pub(super) keep: Keep,
    /// Entries of all lists, roughly.
    pub(super) edges: u64,
    /// Workers that took part so far, and those of them that were idle at their last turn.
    pub(super) present: AtomicUsize,
    pub(super) idle: AtomicUsize,
    /// Levels taken from above and from below, of all searches.
    pub(super) above: AtomicUsize,
    pub(super) below: AtomicUsize,
    /// Sources in searches not begun, and searches begun and not over.
    pub(super) pending: AtomicUsize,
    pub(super) open: AtomicUsize,
    /// Bytes held by workers for paths, and the most that was held at once by all.
    pub(super) tracing: AtomicUsize,
    pub(super) peak: AtomicUsize,
}

impl<A: Adjacency> Ground<A> {
    pub(super) fn has_failed(&self) -> bool {
        let failed = |graph: &Option<A>| graph.as_ref().is_some_and(Adjacency::failure);
        self.graph.failure() || failed(&self.against) || failed(&self.back)
    }
    /// A path that comes back to its source is met as any other: directed, with at least one hop.
    pub(super) fn sources_return(&self) -> bool {
        self.hops.min == 1 && self.hops.max > 0 && self.orientation == Orientation::Directed
    }
    /// Whether paths come back is a question of its own: undirected, with at least one hop.
    pub(super) fn closes(&self) -> bool {
        self.hops.min == 1 && self.hops.max > 0 && self.orientation == Orientation::Undirected
    }
    pub(super) fn lists_ends(&self) -> bool {
        self.keep != Keep::Count
    }
    /// Are paths handed out, and not only ends?
    pub(super) fn traces(&self) -> bool {
        self.back.is_some()
    }
    /// Has a worker nothing to do, or will one soon?
    pub(super) fn has_idle(&self) -> bool {
        let present = self.present.load(Ordering::Relaxed);
        let runs_dry =
            || self.pending.load(Ordering::Relaxed) == 0 && self.open.load(Ordering::Relaxed) < present;
        present > 1 && (self.idle.load(Ordering::Relaxed) > 0 || runs_dry())
    }
}

/// A bit a vertex, set by several workers. Each method says whether others may set bits of the same words at the time.
pub(super) struct Bits(Vec<AtomicU64>);

impl Bits {
    pub(super) fn new(vertex_bound: u32) -> Bits {
        Bits(WORDS.take(vertex_bound.div_ceil(64) as usize))
    }
    pub(super) fn words(&self) -> &[AtomicU64] {
        &self.0
    }
    #[inline(always)]
    pub(super) fn contains(&self, vertex: u32) -> bool {
        self.0[vertex as usize / 64].load(Ordering::Relaxed) >> (vertex % 64) & 1 == 1
    }
    /// Sets the bit and says whether it was clear.
    #[inline(always)]
    pub(super) fn insert<const SHARED: bool>(&self, vertex: u32) -> bool {
        let bit = 1 << (vertex % 64);
        merge::<SHARED>(&self.0[vertex as usize / 64], bit) & bit == 0
    }
    pub(super) fn clear(&self) {
        self.0.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * 8
    }
}

impl Drop for Bits {
    fn drop(&mut self) {
        WORDS.give_used(std::mem::take(&mut self.0));
    }
}

/// Sets bits of a word and returns what it was; alone on the word that costs no locked instruction.
#[inline(always)]
pub(super) fn merge<const SHARED: bool>(word: &AtomicU64, bits: u64) -> u64 {
    if SHARED {
        return word.fetch_or(bits, Ordering::Relaxed);
    }
    let before = word.load(Ordering::Relaxed);
    word.store(before | bits, Ordering::Relaxed);
    before
}
