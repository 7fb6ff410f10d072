//! The vertices of one version of a chunk that are visible to a restricted reader: a bit for each slot.
//!
//! Idea: a reader follows edges to many vertices of which some are hidden, and whether one is depends on its label set alone. So a version of a chunk
//! that holds both kinds caches the answers for all its slots, and every snapshot that shares the version shares them. Making them reads only the
//! vertices whose labels differ from those of their birth.
//! Invariant: the answers of one reader never change, nor does a version. Cost: 512 bytes a version and reader, charged to the budget.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::chunk::PartName;
use crate::chunks::delta::SlotBits;
use crate::paging::pager::{Charge, Pager};
use crate::versions::cell::Cell;
use model::LabelSetId;
use std::sync::{Arc, Weak};

/// Names one restricted reader as long as it lives.
pub(crate) type ReaderId = Arc<()>;

/// Vertices that are there and shown.
pub(crate) struct ShownBits {
    pub(crate) bits: SlotBits,
    reader: Weak<()>,
    _charge: Charge,
}

impl ShownBits {
    fn new(reader: &ReaderId, bits: SlotBits, pager: &Arc<Pager>) -> Arc<ShownBits> {
        let charge = Charge::new(pager, size_of::<ShownBits>());
        Arc::new(ShownBits { bits, reader: Arc::downgrade(reader), _charge: charge })
    }
    pub(crate) fn is_of(&self, reader: &ReaderId) -> bool {
        std::ptr::eq(self.reader.as_ptr(), Arc::as_ptr(reader))
    }
    pub(crate) fn is_like(&self, other: &ShownBits) -> bool {
        self.reader.ptr_eq(&other.reader)
    }
    /// Is the reader still there?
    pub(crate) fn is_wanted(&self) -> bool {
        self.reader.strong_count() > 0
    }
}

impl Cell {
    /// The vertices that are visible to this reader, by the visibility of each label set; none where there is no room to cache them.
    pub(crate) fn shown_bits(
        &self,
        reader: &ReaderId,
        shows: impl Fn(LabelSetId) -> bool,
    ) -> Result<Option<Arc<ShownBits>>, StoreError> {
        if let Some(bits) = self.views().shown_before(reader) {
            return Ok(Some(bits));
        }
        let pager = self.base().pager();
        if !pager.may_pin(size_of::<ShownBits>()) {
            return Ok(None);
        }
        let bits = ShownBits::new(reader, shown_slots(&self.part(PartName::Head)?, shows), pager);
        self.views().add_shown(&bits);
        Ok(Some(bits))
    }
}

/// The slots of vertices that are there and have label sets that are shown.
fn shown_slots(chunk: &impl ChunkRead, shows: impl Fn(LabelSetId) -> bool) -> SlotBits {
    let mut bits = if shows(chunk.meta().birth) { chunk.existing() } else { [0; 64] };
    let mut judge = |slot: usize| {
        let is_shown = chunk.labels(slot).is_some_and(&shows);
        let word = &mut bits[slot / 64];
        *word = *word & !(1 << (slot % 64)) | u64::from(is_shown) << (slot % 64);
    };
    chunk.base().labels.iter().for_each(|(slot, _)| judge(usize::from(*slot)));
    if let Some(delta) = chunk.delta() {
        for (word, altered) in delta.altered.iter().enumerate() {
            let mut left = *altered;
            while left != 0 {
                judge(word * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
    bits
}
