//! The changed lists of one version of a chunk, found by rank in a bitmap: two loads instead of the five through the delta.

use crate::chunks::delta::{Delta, SlotBits, VertexDelta};
use crate::paging::pager::{Charge, Pager};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Questions about changed lists, and at least as many as changes, after which an array of them is made.
const RANKED_QUESTIONS_MIN: usize = 64;

/// Changed lists of one chunk, found by rank in a bitmap.
pub(crate) struct RankedLists {
    bits: SlotBits,
    /// Bits set before each word.
    ranks: [u16; 64],
    /// One for every bit; filled from the delta by its first reader.
    lists: Box<[OnceLock<Arc<[u32]>>]>,
    charge: Charge,
}

impl RankedLists {
    /// Of the vertices that `changed` picks, with the list that is there, if one is.
    pub(crate) fn new(
        delta: &Delta,
        pager: &Arc<Pager>,
        changed: impl Fn(&VertexDelta) -> Option<Option<Arc<[u32]>>>,
    ) -> RankedLists {
        let (mut bits, mut ranks, mut lists): (SlotBits, _, _) = ([0; 64], [0; 64], Vec::new());
        delta.for_each(|slot, vertex| {
            if let Some(kept) = changed(vertex) {
                bits[slot / 64] |= 1 << (slot % 64);
                lists.push(kept.map_or_else(OnceLock::new, OnceLock::from));
            }
        });
        (1..64).for_each(|word| ranks[word] = ranks[word - 1] + bits[word - 1].count_ones() as u16);
        let bytes = size_of::<RankedLists>() + size_of_val(lists.as_slice());
        RankedLists { bits, ranks, lists: lists.into(), charge: Charge::new(pager, bytes) }
    }
    /// The slot of a changed list; none for an unchanged one.
    #[inline]
    pub(crate) fn place(&self, slot: usize) -> Option<&OnceLock<Arc<[u32]>>> {
        let (word, before) = (self.bits[slot / 64], (1 << (slot % 64)) - 1);
        if word >> (slot % 64) & 1 == 0 {
            return None;
        }
        Some(&self.lists[self.ranks[slot / 64] as usize + (word & before).count_ones() as usize])
    }
    /// Keeps a list that is nowhere else.
    pub(crate) fn keep(&self, slot: usize, list: &[u32]) {
        if let Some(place) = self.place(slot)
            && place.get().is_none()
            && self.charge.pager().may_pin(size_of_val(list))
            && place.set(list.into()).is_ok()
        {
            self.charge.add(size_of_val(list));
        }
    }
}

/// Were there enough requests for changed lists of a version to rank them? Counts this one.
pub(crate) fn is_ranking_due(questions: &AtomicU32, delta: &Delta) -> bool {
    questions.fetch_add(1, Ordering::Relaxed) as usize >= RANKED_QUESTIONS_MIN.max(delta.weight)
}
