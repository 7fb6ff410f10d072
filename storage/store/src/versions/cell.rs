//! A cell: one immutable version of a chunk: its meta, a base that is paged (see `page`), a delta that is not, and caches for readers.
//!
//! Versions share the base until a compaction.

use crate::StoreError;
use crate::chunks::chunk::{Base, BaseKnown, Chunk, ChunkMeta, ChunkRead, PartName};
use crate::chunks::delta::{Delta, set_property};
use crate::chunks::parts::{ChunkParts, Part, StoredBase};
use crate::chunks::table::Lane;
use crate::paging::page::{Page, Pin, Read};
use crate::paging::pager::Pager;
use crate::paging::source::BlobKey;
use crate::versions::joined_view::JoinedView;
use crate::versions::views::{LaneView, Views};
use model::{EdgeTypeId, KeyId, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The number that the next version of any chunk gets.
static NEXT_VERSION: AtomicU64 = AtomicU64::new(1);

/// One version of a chunk. Without a delta it is stored when its base is; with one, when a checkpoint wrote both as one.
pub(crate) struct Cell {
    /// No other version of any chunk has this number, nor had or will have it in this process; never 0.
    pub(crate) version: u64,
    pub(crate) meta: Arc<ChunkMeta>,
    base: Arc<Page<Base>>,
    delta: Option<Arc<Delta>>,
    /// The version as a whole, where it has a delta.
    compacted: OnceLock<BlobKey>,
    /// Keeps the base in memory, where it could not be read again.
    held: OnceLock<Arc<Pin<Base>>>,
    views: Views,
}

impl Cell {
    /// A version whose base is new.
    pub(crate) fn new(chunk: Chunk, pager: &Arc<Pager>) -> Cell {
        let known = BaseKnown { slot_bound: chunk.meta.slot_bound, live: chunk.meta.live };
        let page = Page::new(chunk.base, StoredBase::whole(known, pager), pager);
        Cell::over(page, chunk.meta, chunk.delta)
    }
    /// A version over a base that others share.
    pub(crate) fn over(base: Arc<Page<Base>>, meta: Arc<ChunkMeta>, delta: Option<Arc<Delta>>) -> Cell {
        base.pager().cells.fetch_add(1, Ordering::Relaxed);
        Cell {
            version: NEXT_VERSION.fetch_add(1, Ordering::Relaxed),
            meta,
            base,
            delta,
            compacted: OnceLock::new(),
            held: OnceLock::new(),
            views: Views::default(),
        }
    }
    pub(crate) fn stored(meta: Arc<ChunkMeta>, blob: BlobKey, pager: &Arc<Pager>) -> Cell {
        let known = BaseKnown { slot_bound: meta.slot_bound, live: meta.live };
        Cell::over(Page::stored(blob, StoredBase::whole(known, pager), pager), meta, None)
    }
    pub(crate) fn base(&self) -> &Arc<Page<Base>> {
        &self.base
    }
    pub(crate) fn delta(&self) -> Option<&Arc<Delta>> {
        self.delta.as_ref()
    }
    /// The caches of this version for readers.
    pub(crate) fn views(&self) -> &Views {
        &self.views
    }
    /// The chunk, its base loaded if need be.
    #[inline]
    pub(crate) fn chunk(&self) -> Result<ChunkRef<'_>, StoreError> {
        Ok(ChunkRef { cell: self, base: self.base.read()? })
    }
    /// The chunk, with at least the head and this part of its base; that part alone is loaded where the whole left memory.
    #[inline]
    pub(crate) fn part(&self, name: PartName) -> Result<ChunkRef<'_>, StoreError> {
        let base = match self.base.read_loaded() {
            Some(base) => base,
            None => self.read_part(name)?,
        };
        Ok(ChunkRef { cell: self, base })
    }
    #[cold]
    fn read_part(&self, name: PartName) -> Result<Read<Base>, StoreError> {
        match self.stored_part(name)? {
            Some(Part::Page(page)) => page.read(),
            Some(Part::Resident(base)) => Ok(Read::resident(base)),
            None => self.base.read(),
        }
    }
    /// A part of a base that is not in memory; none where the whole is to be read.
    fn stored_part(&self, name: PartName) -> Result<Option<Part<'_>>, StoreError> {
        // The head is in memory, once the parts are known.
        let counts = !matches!(name, PartName::Head | PartName::Absent);
        let parts = self.parts_to_read(counts)?;
        Ok(parts.map(|(parts, blob)| parts.part(name, blob, self.base.pager())))
    }
    fn parts_to_read(&self, counts: bool) -> Result<Option<(&ChunkParts, BlobKey)>, StoreError> {
        let Some(blob) = self.base.blob() else { return Ok(None) };
        let parts = self.base.known.parts_to_read(blob, self.base.bytes_before(), counts)?;
        Ok(parts.map(|parts| (parts, blob)))
    }
    /// The names of the parts of the base, and a reader of each; none while it is in memory as a whole, or where the whole is to be read.
    fn split(&self) -> Result<Option<SplitBase<'_>>, StoreError> {
        if self.base.is_loaded() {
            return Ok(None);
        }
        Ok(self.parts_to_read(true)?.map(|(parts, blob)| SplitBase { cell: self, parts, blob }))
    }
    /// The parts in memory beside the whole.
    pub(crate) fn loaded_parts(&self) -> impl Iterator<Item = Arc<Base>> {
        self.base.known.parts().into_iter().flat_map(ChunkParts::loaded)
    }
    /// Bytes of the whole base, about, if the pager has room for them.
    fn room_for_whole(&self) -> Result<Option<usize>, StoreError> {
        let pager = self.base.pager();
        let Some(blob) = self.base.blob().filter(|_| !pager.is_short()) else { return Ok(None) };
        let bytes = self.base.known.whole_bytes(blob, self.base.bytes_before())?;
        Ok(pager.has_room(bytes).then_some(bytes))
    }
    /// Keeps a part of the base in memory, if the pager has room for it: with the whole, where that is in memory and memory is not short. No pin where
    /// the part is not paged.
    pub(crate) fn pin_part(&self, name: PartName) -> Result<Option<PinnedPart>, StoreError> {
        let with_pin = |(pin, base)| (Some(pin), base);
        let prefers_whole = match self.base.is_loaded() {
            true => !self.base.pager().is_short() || self.base.is_pinned(),
            false => self.room_for_whole()?.is_some_and(|bytes| self.base.pager().may_pin(bytes)),
        };
        if prefers_whole && let Some(pinned) = self.base.pin()? {
            return Ok(Some(with_pin(pinned)));
        }
        Ok(match self.stored_part(name)? {
            Some(Part::Page(page)) => page.pin()?.map(with_pin),
            Some(Part::Resident(base)) => Some((None, Read::resident(base))),
            None => self.base.pin()?.map(with_pin),
        })
    }
    /// The chunk if its base is in memory.
    pub(crate) fn loaded(&self) -> Option<ChunkRef<'_>> {
        Some(ChunkRef { cell: self, base: self.base.peek()? })
    }
    /// The blob that holds all of this version.
    pub(crate) fn blob(&self) -> Option<BlobKey> {
        match self.delta {
            None => self.base.blob(),
            Some(_) => self.compacted.get().copied(),
        }
    }
    pub(crate) fn set_stored(&self, blob: BlobKey) {
        match self.delta {
            None => self.base.set_stored(blob),
            Some(_) => {
                self.compacted.get_or_init(|| blob);
            }
        }
    }
    /// The base stays in memory as long as this version has a delta over it.
    pub(crate) fn hold(&self, pin: Arc<Pin<Base>>) {
        if self.delta.is_some() {
            self.held.get_or_init(|| pin);
        }
    }
    /// The pin of its base, if it must stay in memory.
    pub(crate) fn held(&self) -> Option<&Arc<Pin<Base>>> {
        self.held.get()
    }
    /// All blobs that this version may still be read from.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = BlobKey> {
        self.base.blob().into_iter().chain(self.compacted.get().copied())
    }
    /// The same version without its delta, to be read from the blob that has both.
    pub(crate) fn without_delta(&self) -> Option<Cell> {
        let (Some(_), Some(blob)) = (&self.delta, self.compacted.get()) else { return None };
        Some(Cell::stored(self.meta.clone(), *blob, self.base.pager()))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.base.pager().cells.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Cell {
    /// All properties of a vertex, in key order.
    pub(crate) fn properties(&self, slot: usize) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let Some(split) = self.split()? else { return Ok(self.chunk()?.properties(slot)) };
        // The head knows of changes, which part of them is in no column yet.
        let mut properties = split.part(PartName::Absent)?.changed_properties(slot);
        for name in split.parts.names() {
            let PartName::Column(key) = name else { continue };
            let chunk = split.part(name)?;
            set_property(&mut properties, key, chunk.property(slot, key).to_value());
        }
        properties.retain(|(_, value)| !value.is_null());
        Ok(properties)
    }
    /// All properties of the edge with this type and slot, in key order.
    pub(crate) fn edge_properties(
        &self,
        edge_type: EdgeTypeId,
        slot: u32,
    ) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let Some(split) = self.split()? else {
            return Ok(self.chunk()?.edge_properties(edge_type, slot));
        };
        let mut properties = split.part(PartName::Absent)?.changed_edge_properties(edge_type, slot);
        for name in split.parts.names() {
            let PartName::EdgeColumn(other, key) = name else { continue };
            if other == edge_type {
                let chunk = split.part(name)?;
                set_property(&mut properties, key, chunk.edge_property(edge_type, slot, key).to_value());
            }
        }
        properties.retain(|(_, value)| !value.is_null());
        Ok(properties)
    }
}

/// A base that is not in memory, to be read part by part.
struct SplitBase<'a> {
    cell: &'a Cell,
    parts: &'a ChunkParts,
    blob: BlobKey,
}

impl<'a> SplitBase<'a> {
    fn part(&self, name: PartName) -> Result<ChunkRef<'a>, StoreError> {
        let base = match self.parts.part(name, self.blob, self.cell.base.pager()) {
            Part::Page(page) => page.read()?,
            Part::Resident(base) => Read::resident(base),
        };
        Ok(ChunkRef { cell: self.cell, base })
    }
}

/// A part of a base that stays in memory, with the pin that it needs.
pub(crate) type PinnedPart = (Option<Pin<Base>>, Read<Base>);

/// A chunk being read: its base stays alive as long as this.
pub(crate) struct ChunkRef<'a> {
    cell: &'a Cell,
    base: Read<Base>,
}

impl<'a> ChunkRef<'a> {
    pub(crate) fn cell(&self) -> &'a Cell {
        self.cell
    }
}

impl ChunkRead for ChunkRef<'_> {
    #[inline(always)]
    fn meta(&self) -> &Arc<ChunkMeta> {
        &self.cell.meta
    }
    #[inline(always)]
    fn base(&self) -> &Arc<Base> {
        self.base.shared()
    }
    #[inline(always)]
    fn delta(&self) -> Option<&Arc<Delta>> {
        self.cell.delta.as_ref()
    }
}

/// Bytes of room below which no pin is tried: the test must be cheap where every answer is no.
pub(crate) const PIN_ROOM_MIN: usize = 16 << 10;

impl Cell {
    /// The view of a lane, made on first use; none where the pager has no room for it.
    pub(crate) fn lane_view(&self, lane: Lane) -> Result<Option<Arc<LaneView>>, StoreError> {
        if let Some(view) = self.views.lane_before(lane) {
            return Ok(Some(view));
        }
        let pager = self.base.pager();
        let name = PartName::Table(lane);
        let pinned = if pager.may_pin(PIN_ROOM_MIN) { self.pin_part(name)? } else { None };
        let Some((pin, base)) = pinned else { return Ok(None) };
        let view = Arc::new(LaneView::new(lane, pin, &base, self.delta.as_ref(), pager));
        self.views.add_lane(&view);
        Ok(Some(view))
    }
    /// The joined lists of this chunk, after enough requests, or if they were joined before.
    #[cold]
    pub(crate) fn joined_view(
        &self,
        edge_type: EdgeTypeId,
        chunk: usize,
    ) -> Result<Option<Arc<JoinedView>>, StoreError> {
        if let Some(view) = self.views.joined_before(edge_type) {
            return Ok(Some(view));
        }
        // Lists are joined only of chunks that are in memory as a whole.
        if !self.base.is_loaded() && self.base.known.is_split() && self.room_for_whole()?.is_none() {
            return Ok(None);
        }
        let content = self.chunk()?;
        let (out, into) = (Lane::out(edge_type), Lane::into(edge_type));
        let (Some(outgoing), Some(incoming)) = (content.base().table(out), content.base().table(into)) else {
            return Ok(None);
        };
        let Some(table) = outgoing.joined.with(outgoing, incoming, chunk, self.base.pager()) else {
            return Ok(None);
        };
        let speaks_of_it = |delta: &&Arc<Delta>| delta.lanes.iter().any(|lane| *lane == out || *lane == into);
        let view = JoinedView::new(edge_type, table, self.delta.as_ref().filter(speaks_of_it).cloned());
        self.views.add_joined(&view);
        Ok(Some(view))
    }
}
