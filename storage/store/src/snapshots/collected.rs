//! Views of chunks by chunk number, collected as they are asked for, once enough was asked to pay for an array over all of them.

use crate::paging::pager::{Charge, Pager};
use model::ChunkNo;
use std::sync::{Arc, OnceLock};

/// Questions answered through the directory before an array over chunks is made: at least so many.
pub(super) const QUESTIONS_MIN: u32 = 8;

/// And one for so many chunks: a place in the array takes 16 bytes, a question through the directory some ten cache lines.
const CHUNKS_PER_QUESTION: u32 = 16;

/// Views by chunk number, collected as they are asked for.
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
    /// Places it, unless somebody did before; what is there then. None beyond the bound.
    pub(crate) fn place(&self, chunk: usize, view: Arc<V>) -> Option<&V> {
        Some(self.views.get(chunk)?.get_or_init(|| view))
    }
}

/// Questions after which an array over so many chunks is worth its while.
pub(crate) fn questions_for_array(bound: ChunkNo) -> u32 {
    QUESTIONS_MIN.max(bound / CHUNKS_PER_QUESTION)
}

/// Chunk and slot of a dense vertex number.
#[inline]
pub(crate) fn split(vertex: u32) -> (usize, usize) {
    ((vertex >> model::id::SLOT_BITS) as usize, vertex as usize & (model::CHUNK_SLOTS - 1))
}
