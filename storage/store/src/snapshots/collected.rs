//! Views of chunks by chunk number, collected on demand, after enough requests to pay for an array over all of them.

use crate::paging::pager::{Charge, Pager};
use model::ChunkNo;
use std::sync::{Arc, OnceLock};

/// Requests answered through the directory before an array over chunks is made: at least this many.
pub(super) const QUESTIONS_MIN: u32 = 8;

/// And one for this many chunks: a slot of the array takes 16 bytes, a request through the directory some ten cache lines.
const CHUNKS_PER_QUESTION: u32 = 16;

/// Views by chunk number, collected on demand.
pub(crate) struct Collected<V> {
    pub(super) views: Box<[OnceLock<Arc<V>>]>,
    _charge: Charge,
}

impl<V> Collected<V> {
    pub(crate) fn new(bound: ChunkNo, pager: &Arc<Pager>) -> Collected<V> {
        let views: Box<[OnceLock<Arc<V>>]> = (0..bound).map(|_| OnceLock::new()).collect();
        let charge = Charge::new(pager, size_of_val(&*views));
        Collected { views, _charge: charge }
    }
    #[inline(always)]
    pub(crate) fn get(&self, chunk: usize) -> Option<&V> {
        self.views.get(chunk)?.get().map(|view| &**view)
    }
    /// Stores it, unless there is one already; returns the stored one. None beyond the bound.
    pub(crate) fn place(&self, chunk: usize, view: Arc<V>) -> Option<&V> {
        Some(self.views.get(chunk)?.get_or_init(|| view))
    }
}

/// Requests after which an array over this many chunks is worthwhile.
pub(crate) fn questions_for_array(bound: ChunkNo) -> u32 {
    QUESTIONS_MIN.max(bound / CHUNKS_PER_QUESTION)
}

/// Chunk and slot of a dense vertex number.
#[inline]
pub(crate) fn split(vertex: u32) -> (usize, usize) {
    ((vertex >> model::id::SLOT_BITS) as usize, vertex as usize & (model::CHUNK_SLOTS - 1))
}
