//! One layer of a view: the adjacency of one edge type, followed one way, as a flat array over chunk numbers.
//!
//! The array is made only when a layer has been asked often enough to pay for it; until then each question goes through the
//! directory, so a view for a handful of vertices of a large graph costs nothing to make. Cells are filled chunk by chunk on first
//! touch, and pin the chunk's base, so that slices of it can be handed out. Where the pager refuses the pin, because the graph is larger than the
//! budget, each question reads the page anew and is answered by a copy. A vertex whose list changed is read from the list its
//! first reader put together. A layer belongs to one snapshot, which caches it, and is given that snapshot with every question: holding
//! it would make a cycle.

use crate::StoreError;
use crate::chunk::{Base, ChunkRead};
use crate::delta::{Delta, ListDelta, SlotBits, bit};
use crate::directory::ChunkRef;
use crate::edge_list::EdgeList;
use crate::edge_set::{neighbour_of, slot_of};
use crate::page::Pin;
use crate::pager::{Charge, Pager};
use crate::snapshot::Snapshot;
use crate::table::{EdgeTable, Lane};
use model::{ChunkNo, EdgeId, VertexId};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Questions answered through the directory before the array is made: a quarter of its length, and at least this many.
const QUESTIONS_MIN: u32 = 32;
/// Bytes of room below which no pin is tried for: asking must be cheap where every answer is no.
const PIN_ROOM_MIN: usize = 16 << 10;
/// Refused pins after which a layer is made anew, and at least as many as there are chunks.
const REFUSALS_MIN: u32 = 4096;

/// Edges of a list that count as one question more: what is not in the array is copied out.
const EDGES_PER_QUESTION: usize = 64;

/// One chunk in one lane; one cache line.
#[repr(align(64))]
struct LayerCell {
    /// The table's own arrays, so that a look-up does not pass through its head.
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// Only where some list of this lane changed.
    dirty: Option<Box<DirtyLists>>,
    table: Arc<EdgeTable>,
    /// Keeps the base in memory; none where there is no chunk.
    _pin: Option<Pin<Base>>,
}

/// The changed lists of one chunk in one lane, found by rank in a bitmap.
struct DirtyLists {
    bits: SlotBits,
    /// Bits set before each word.
    ranks: [u16; 64],
    /// One for every bit; filled from the delta by its first reader.
    lists: Box<[OnceLock<Arc<[u32]>>]>,
    delta: Arc<Delta>,
    _charge: Charge,
}

impl DirtyLists {
    fn new(delta: Arc<Delta>, lane: Lane, pager: &Arc<Pager>) -> DirtyLists {
        let (mut bits, mut ranks, mut lists): (SlotBits, _, _) = ([0; 64], [0; 64], Vec::new());
        delta.for_each(|slot, vertex| {
            if let Some(list) = vertex.list(lane) {
                bits[slot / 64] |= 1 << (slot % 64);
                lists
                    .push(list.kept_before().map_or_else(OnceLock::new, |kept| OnceLock::from(kept.clone())));
            }
        });
        (1..64).for_each(|word| ranks[word] = ranks[word - 1] + bits[word - 1].count_ones() as u16);
        let bytes = size_of::<DirtyLists>() + size_of_val(lists.as_slice());
        DirtyLists { bits, ranks, lists: lists.into(), delta, _charge: Charge::new(pager, bytes) }
    }
    #[inline(always)]
    fn place(&self, slot: usize) -> &OnceLock<Arc<[u32]>> {
        let before = self.bits[slot / 64] & ((1 << (slot % 64)) - 1);
        &self.lists[self.ranks[slot / 64] as usize + before.count_ones() as usize]
    }
}

impl LayerCell {
    fn lane_ref(&self) -> LaneRef<'_> {
        LaneRef { table: &self.table, delta: self.dirty.as_ref().map(|dirty| &*dirty.delta) }
    }
    /// The edges of a vertex; the slot's dirty list is put together if nobody did before.
    #[inline]
    fn list(&self, slot: usize, lane: Lane) -> EdgeList<'_> {
        if let Some(dirty) = &self.dirty
            && bit(&dirty.bits, slot)
        {
            let place = dirty.place(slot);
            let list = || dirty.delta.vertex(slot).and_then(|vertex| vertex.list(lane));
            let kept = || {
                let list = list().expect("the bit says that the delta has this list");
                list.kept(&self.table, slot, &dirty.delta).clone()
            };
            return EdgeList::of_kept(place.get_or_init(kept));
        }
        EdgeList::of_base(&self.table, slot)
    }
}

/// A chunk's edges in one lane, wherever they were found.
#[derive(Clone, Copy)]
pub(crate) struct LaneRef<'a> {
    pub(crate) table: &'a EdgeTable,
    delta: Option<&'a Delta>,
}

impl<'a> LaneRef<'a> {
    fn new(table: &'a EdgeTable, delta: Option<&'a Delta>) -> LaneRef<'a> {
        LaneRef { table, delta }
    }
    pub(crate) fn list_delta(self, slot: usize, lane: Lane) -> Option<&'a ListDelta> {
        let delta = self.delta?;
        if bit(&delta.dirty, slot) { delta.vertex(slot)?.list(lane) } else { None }
    }
    fn list(self, slot: usize, lane: Lane) -> EdgeList<'a> {
        match (self.list_delta(slot, lane), self.delta) {
            (Some(list), Some(delta)) => EdgeList::of_kept(list.kept(self.table, slot, delta)),
            _ => EdgeList::of_base(self.table, slot),
        }
    }
    /// Edges of the base, before changes: about the length of the list.
    fn length(self, slot: usize) -> usize {
        self.table.range(slot).len()
    }
}

/// All cells of a layer, by chunk number.
struct Cells {
    cells: Box<[OnceLock<LayerCell>]>,
    _charge: Charge,
}

/// All chunks in one lane.
pub(crate) struct Layer {
    pub(crate) lane: Lane,
    bound: ChunkNo,
    cells: OnceLock<Cells>,
    questions: AtomicU32,
    /// Questions that went the slow way because the pager refused a pin.
    refusals: AtomicU32,
}

impl Layer {
    pub(crate) fn new(lane: Lane, bound: ChunkNo) -> Layer {
        let (questions, refusals) = (AtomicU32::new(0), AtomicU32::new(0));
        Layer { lane, bound, cells: OnceLock::new(), questions, refusals }
    }
    /// Does it hold pages that may no longer be the ones asked for? Then the next view begins with a new layer.
    pub(crate) fn is_stale(&self) -> bool {
        self.refusals.load(Ordering::Relaxed) >= REFUSALS_MIN.max(self.bound)
    }
    #[inline(always)]
    fn cell(&self, chunk: usize) -> Option<&LayerCell> {
        self.cells.get()?.cells.get(chunk)?.get()
    }
    /// The neighbours of a vertex of a chunk met before, unless its list is dirty and nobody read it yet; the fast path of everything.
    #[inline(always)]
    pub(crate) fn ready(&self, vertex: u32) -> Option<&[u32]> {
        let (chunk, slot) = split(vertex);
        let cell = self.cell(chunk)?;
        if let Some(dirty) = &cell.dirty
            && bit(&dirty.bits, slot)
        {
            return dirty.place(slot).get().map(|kept| &kept[..kept.len() / 2]);
        }
        match cell.offsets.get(slot + 1) {
            Some(end) => cell.neighbours.get(cell.offsets[slot] as usize..*end as usize),
            None => Some(&[]),
        }
    }
    /// The edges of a vertex, if its chunk is or can be kept in this layer.
    #[inline]
    pub(crate) fn held(&self, vertex: u32, snapshot: &Snapshot) -> Result<Option<EdgeList<'_>>, StoreError> {
        let (chunk, slot) = split(vertex);
        let cell = match self.cell(chunk) {
            Some(cell) => Some(cell),
            None => self.hold(chunk, slot, snapshot)?,
        };
        Ok(cell.map(|cell| cell.list(slot, self.lane)))
    }
    /// Calls `read` with the edges of a vertex.
    #[inline]
    pub(crate) fn with_list<R>(
        &self,
        vertex: u32,
        snapshot: &Snapshot,
        read: impl FnOnce(EdgeList<'_>) -> R,
    ) -> Result<R, StoreError> {
        match self.held(vertex, snapshot)? {
            Some(list) => Ok(read(list)),
            None => self.through_directory(vertex, snapshot, |lane, slot| read(lane.list(slot, self.lane))),
        }
    }
    /// Calls `read` with the chunk's edges in this lane, and the slot.
    #[inline]
    fn with_lane<R>(
        &self,
        vertex: u32,
        snapshot: &Snapshot,
        read: impl FnOnce(LaneRef<'_>, usize) -> R,
    ) -> Result<R, StoreError> {
        let (chunk, slot) = split(vertex);
        if let Some(cell) = self.cell(chunk) {
            return Ok(read(cell.lane_ref(), slot));
        }
        match self.hold(chunk, slot, snapshot)? {
            Some(cell) => Ok(read(cell.lane_ref(), slot)),
            None => self.through_directory(vertex, snapshot, read),
        }
    }
    #[inline(never)]
    fn through_directory<R>(
        &self,
        vertex: u32,
        snapshot: &Snapshot,
        read: impl FnOnce(LaneRef<'_>, usize) -> R,
    ) -> Result<R, StoreError> {
        let (chunk, slot) = split(vertex);
        match snapshot.chunk(chunk as ChunkNo)? {
            Some(content) => Ok(read(lane_of(&content, self.lane), slot)),
            None => Ok(read(LaneRef::new(no_edges(), None), slot)),
        }
    }
    /// The cell of a chunk, made if enough was asked and the pager has room for it.
    #[inline(never)]
    fn hold(&self, chunk: usize, slot: usize, snapshot: &Snapshot) -> Result<Option<&LayerCell>, StoreError> {
        let cells = match self.cells.get() {
            Some(cells) => cells,
            None => {
                let content = snapshot.chunk(chunk as ChunkNo)?;
                let edges = content.map_or(0, |content| lane_of(&content, self.lane).length(slot));
                let weight = 1 + (edges / EDGES_PER_QUESTION) as u32;
                let asked = self.questions.fetch_add(weight, Ordering::Relaxed) + weight;
                if asked <= QUESTIONS_MIN.max(self.bound / 4) {
                    return Ok(None);
                }
                self.cells.get_or_init(|| Cells::new(self.bound, &snapshot.root.pager))
            }
        };
        match cells.cells.get(chunk) {
            Some(cell) => self.fill(cell, chunk, snapshot),
            None => Ok(None),
        }
    }
    #[cold]
    fn fill<'a>(
        &'a self,
        cell: &'a OnceLock<LayerCell>,
        chunk: usize,
        snapshot: &Snapshot,
    ) -> Result<Option<&'a LayerCell>, StoreError> {
        let Some(content) = snapshot.root.directory.get(chunk as ChunkNo) else {
            let table = no_edges().clone();
            return Ok(Some(cell.get_or_init(|| LayerCell::new(table, None, None))));
        };
        let may_pin = snapshot.root.pager.may_pin(PIN_ROOM_MIN);
        let Some((pin, base)) = (if may_pin { content.base().pin()? } else { None }) else {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        };
        let table = base.table(self.lane).unwrap_or_else(|| no_edges()).clone();
        let delta = content.delta().filter(|delta| delta.lanes.binary_search(&self.lane).is_ok());
        let dirty =
            delta.map(|delta| Box::new(DirtyLists::new(delta.clone(), self.lane, &snapshot.root.pager)));
        Ok(Some(cell.get_or_init(|| LayerCell::new(table, dirty, Some(pin)))))
    }
    #[inline]
    pub(crate) fn degree(&self, vertex: u32, snapshot: &Snapshot) -> Result<usize, StoreError> {
        self.with_lane(vertex, snapshot, |edges, slot| {
            let base = edges.table.range(slot).len();
            edges
                .list_delta(slot, self.lane)
                .map_or(base, |list| base + list.added.len() - list.removed.len())
        })
    }
    /// Calls `found` with the packed edges from `vertex` to `neighbour`.
    pub(crate) fn for_each_to(
        &self,
        vertex: u32,
        neighbour: u32,
        snapshot: &Snapshot,
        mut found: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        self.with_lane(vertex, snapshot, |edges, slot| {
            let delta = edges.list_delta(slot, self.lane);
            for position in edges.table.positions_to(slot, neighbour) {
                let edge = edges.table.packed(position);
                if !delta.is_some_and(|list| list.removed.contains(edge)) {
                    found(edge);
                }
            }
            if let Some(list) = delta {
                list.added.for_each_to(neighbour, found);
            }
        })
    }
    /// Id of a packed edge found at `vertex`.
    #[inline]
    pub(crate) fn edge_id(&self, vertex: u32, packed: u64) -> EdgeId {
        let source = if self.lane.is_out() { vertex } else { neighbour_of(packed) };
        EdgeId::new(VertexId::from_dense(source).chunk(), self.lane.edge_type(), slot_of(packed))
    }
}

impl Cells {
    fn new(bound: ChunkNo, pager: &Arc<Pager>) -> Cells {
        let cells: Box<[OnceLock<LayerCell>]> = (0..bound).map(|_| OnceLock::new()).collect();
        let charge = Charge::new(pager, size_of_val(&*cells));
        Cells { cells, _charge: charge }
    }
}

impl LayerCell {
    fn new(table: Arc<EdgeTable>, dirty: Option<Box<DirtyLists>>, pin: Option<Pin<Base>>) -> LayerCell {
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        LayerCell { offsets, neighbours, dirty, table, _pin: pin }
    }
}

/// A chunk's edges in one lane.
fn lane_of<'a>(content: &'a ChunkRef<'_>, lane: Lane) -> LaneRef<'a> {
    LaneRef::new(
        content.base().table(lane).unwrap_or_else(|| no_edges()),
        content.delta().map(|delta| &**delta),
    )
}

/// Chunk and slot of a dense vertex number.
#[inline]
pub(crate) fn split(vertex: u32) -> (usize, usize) {
    ((vertex >> model::id::SLOT_BITS) as usize, vertex as usize & (model::CHUNK_SLOTS - 1))
}

fn no_edges() -> &'static Arc<EdgeTable> {
    static NO_EDGES: OnceLock<Arc<EdgeTable>> = OnceLock::new();
    NO_EDGES.get_or_init(|| Arc::new(EdgeTable::empty()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;
    use crate::{Names, StoreOptions};

    /// Commits make new layers, so that a few reads after each must not pay for all chunks.
    #[test]
    fn an_array_is_made_only_when_enough_was_asked() {
        let snapshot = Snapshot::empty(Arc::new(Names::new()), StoreOptions::default());
        for (bound, free) in [(10, QUESTIONS_MIN), (1000, 250)] {
            let layer = Layer::new(Lane::out(model::EdgeTypeId(0)), bound);
            let is_empty = || layer.with_list(5000, &snapshot, |list| list.neighbours.is_empty()).unwrap();
            for _ in 0..free {
                assert!(is_empty());
            }
            assert!(layer.cells.get().is_none(), "{free} questions make no array");
            assert!(is_empty());
            assert_eq!(layer.cells.get().unwrap().cells.len(), bound as usize);
            assert!(is_empty());
        }
    }
}
