//! One layer of a view: the adjacency of one edge type, followed one way, as a flat array over chunk numbers.
//!
//! The array is made only when a layer has been asked often enough to pay for it; until then each question goes through the
//! directory, so a view for a handful of vertices of a large graph costs nothing to make. Cells are filled chunk by chunk on first
//! touch. A vertex whose list changed is read from the list its first reader put together. A layer belongs to one snapshot, which caches it, and is given that snapshot with every question: holding it would make
//! a cycle.

use crate::StoreError;
use crate::delta::{Delta, ListDelta, SlotBits, bit};
use crate::edge_list::EdgeList;
use crate::edge_set::{neighbour_of, slot_of};
use crate::snapshot::Snapshot;
use crate::table::{EdgeTable, Lane};
use model::{ChunkNo, EdgeId, VertexId};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Questions answered through the directory before the array is made: a quarter of its length, and at least this many.
const QUESTIONS_MIN: u32 = 32;

/// One chunk in one lane; one cache line.
#[repr(align(64))]
struct LayerCell {
    /// The table's own arrays, so that a look-up does not pass through its head.
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// Only where some list of this lane changed.
    dirty: Option<Box<DirtyLists>>,
    table: Arc<EdgeTable>,
}

/// The changed lists of one chunk in one lane, found by rank in a bitmap.
struct DirtyLists {
    bits: SlotBits,
    /// Bits set before each word.
    ranks: [u16; 64],
    /// One for every bit; filled from the delta by its first reader.
    lists: Box<[OnceLock<Arc<[u32]>>]>,
    delta: Arc<Delta>,
}

impl DirtyLists {
    fn new(delta: Arc<Delta>, lane: Lane) -> DirtyLists {
        let (mut bits, mut ranks, mut lists): (SlotBits, _, _) = ([0; 64], [0; 64], Vec::new());
        delta.for_each(|slot, vertex| {
            if let Some(list) = vertex.list(lane) {
                bits[slot / 64] |= 1 << (slot % 64);
                lists
                    .push(list.kept_before().map_or_else(OnceLock::new, |kept| OnceLock::from(kept.clone())));
            }
        });
        (1..64).for_each(|word| ranks[word] = ranks[word - 1] + bits[word - 1].count_ones() as u16);
        DirtyLists { bits, ranks, lists: lists.into(), delta }
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
            let kept =
                || list().expect("the bit says that the delta has this list").kept(&self.table, slot).clone();
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
    pub(crate) fn list_delta(self, slot: usize, lane: Lane) -> Option<&'a ListDelta> {
        let delta = self.delta?;
        if bit(&delta.dirty, slot) { delta.vertex(slot)?.list(lane) } else { None }
    }
}

/// All chunks in one lane.
pub(crate) struct Layer {
    pub(crate) lane: Lane,
    bound: ChunkNo,
    cells: OnceLock<Box<[OnceLock<LayerCell>]>>,
    questions: AtomicU32,
}

impl Layer {
    pub(crate) fn new(lane: Lane, bound: ChunkNo) -> Layer {
        Layer { lane, bound, cells: OnceLock::new(), questions: AtomicU32::new(0) }
    }
    #[inline(always)]
    fn cell(&self, chunk: usize) -> Option<&LayerCell> {
        self.cells.get()?.get(chunk)?.get()
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
    /// The edges of a vertex.
    #[inline]
    pub(crate) fn list<'a>(
        &'a self,
        vertex: u32,
        snapshot: &'a Snapshot,
    ) -> Result<EdgeList<'a>, StoreError> {
        let (chunk, slot) = split(vertex);
        match self.cell(chunk) {
            Some(cell) => Ok(cell.list(slot, self.lane)),
            None => self.list_slowly(chunk, slot, snapshot),
        }
    }
    #[inline(never)]
    fn list_slowly<'a>(
        &'a self,
        chunk: usize,
        slot: usize,
        snapshot: &'a Snapshot,
    ) -> Result<EdgeList<'a>, StoreError> {
        let edges = self.of_chunk(chunk, snapshot)?;
        Ok(match (self.cell(chunk), edges.list_delta(slot, self.lane)) {
            (Some(cell), _) => cell.list(slot, self.lane),
            (None, Some(list)) => EdgeList::of_kept(list.kept(edges.table, slot)),
            (None, None) => EdgeList::of_base(edges.table, slot),
        })
    }
    /// The edges of a chunk in this lane.
    #[inline]
    pub(crate) fn of_chunk<'a>(
        &'a self,
        chunk: usize,
        snapshot: &'a Snapshot,
    ) -> Result<LaneRef<'a>, StoreError> {
        match self.cells.get() {
            Some(cells) => match cells.get(chunk) {
                Some(cell) => match cell.get() {
                    Some(cell) => Ok(cell.lane_ref()),
                    None => self.fill(cell, chunk, snapshot),
                },
                None => Ok(LaneRef { table: no_edges(), delta: None }),
            },
            None => self.through_directory(chunk, snapshot),
        }
    }
    #[cold]
    fn fill<'a>(
        &'a self,
        cell: &'a OnceLock<LayerCell>,
        chunk: usize,
        snapshot: &Snapshot,
    ) -> Result<LaneRef<'a>, StoreError> {
        let content = snapshot.chunk(chunk as ChunkNo)?;
        let table =
            content.and_then(|content| content.base.table(self.lane)).unwrap_or_else(|| no_edges()).clone();
        let delta = content.and_then(|content| content.delta.clone());
        let delta = delta.filter(|delta| delta.lanes.binary_search(&self.lane).is_ok());
        let dirty = delta.map(|delta| Box::new(DirtyLists::new(delta, self.lane)));
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        let cell = cell.get_or_init(|| LayerCell { offsets, neighbours, dirty, table });
        Ok(cell.lane_ref())
    }
    #[inline(never)]
    fn through_directory<'a>(
        &'a self,
        chunk: usize,
        snapshot: &'a Snapshot,
    ) -> Result<LaneRef<'a>, StoreError> {
        let content = snapshot.chunk(chunk as ChunkNo)?;
        let table = content.and_then(|content| content.base.table(self.lane)).unwrap_or_else(|| no_edges());
        let delta = content.and_then(|content| content.delta.as_deref());
        if self.questions.fetch_add(1, Ordering::Relaxed) >= QUESTIONS_MIN.max(self.bound / 4) {
            self.cells.get_or_init(|| (0..self.bound).map(|_| OnceLock::new()).collect());
        }
        Ok(LaneRef { table, delta })
    }
    #[inline]
    pub(crate) fn degree(&self, vertex: u32, snapshot: &Snapshot) -> Result<usize, StoreError> {
        let (chunk, slot) = split(vertex);
        let edges = self.of_chunk(chunk, snapshot)?;
        let base = edges.table.range(slot).len();
        Ok(edges
            .list_delta(slot, self.lane)
            .map_or(base, |list| base + list.added.len() - list.removed.len()))
    }
    /// Calls `found` with the packed edges from `vertex` to `neighbour`.
    pub(crate) fn for_each_to(
        &self,
        vertex: u32,
        neighbour: u32,
        snapshot: &Snapshot,
        mut found: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let (chunk, slot) = split(vertex);
        let edges = self.of_chunk(chunk, snapshot)?;
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
        Ok(())
    }
    /// Id of a packed edge found at `vertex`.
    #[inline]
    pub(crate) fn edge_id(&self, vertex: u32, packed: u64) -> EdgeId {
        let source = if self.lane.is_out() { vertex } else { neighbour_of(packed) };
        EdgeId::new(VertexId::from_dense(source).chunk(), self.lane.edge_type(), slot_of(packed))
    }
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
            for _ in 0..free {
                assert!(layer.list(5000, &snapshot).unwrap().neighbours.is_empty());
            }
            assert!(layer.cells.get().is_none(), "{free} questions make no array");
            layer.list(5000, &snapshot).unwrap();
            assert_eq!(layer.cells.get().unwrap().len(), bound as usize);
            assert!(layer.list(5000, &snapshot).unwrap().neighbours.is_empty());
        }
    }
}
