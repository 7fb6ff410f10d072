//! One layer of a view: the adjacency of one edge type, followed one way, as a flat array over chunk numbers.
//!
//! The array is made only when a layer has been asked often enough to pay for it; until then each question goes through the
//! directory, so a view for a handful of vertices of a large graph costs nothing to make. Cells are filled chunk by chunk on first
//! touch. A layer belongs to one snapshot, which caches it, and is given that snapshot with every question: holding it would make
//! a cycle.

use crate::StoreError;
use crate::chunk::merge;
use crate::delta::{Delta, ListDelta, bit};
use crate::edge_set::{neighbour_of, slot_of};
use crate::snapshot::Snapshot;
use crate::table::{EdgeTable, Lane};
use model::{ChunkNo, EdgeId, VertexId};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Questions answered through the directory before the array is made: a quarter of its length, and at least this many.
const QUESTIONS_MIN: u32 = 32;

/// One chunk in one lane; within a cache line.
struct LayerCell {
    /// The table's own arrays, so that a look-up does not pass through its head.
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    table: Arc<EdgeTable>,
    /// Only where some list of this lane changed.
    delta: Option<Arc<Delta>>,
}

/// A chunk's edges in one lane, wherever they were found.
#[derive(Clone, Copy)]
pub(crate) struct LaneRef<'a> {
    pub(crate) table: &'a EdgeTable,
    delta: Option<&'a Delta>,
}

impl<'a> LaneRef<'a> {
    #[inline]
    pub(crate) fn is_dirty(self, slot: usize) -> bool {
        self.delta.is_some_and(|delta| bit(&delta.dirty, slot))
    }
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
    /// The edges of a clean vertex of a chunk met before; the fast path of everything.
    #[inline(always)]
    pub(crate) fn clean(&self, chunk: usize, slot: usize) -> Option<&[u32]> {
        let cell = self.cells.get()?.get(chunk)?.get()?;
        if cell.delta.as_ref().is_some_and(|delta| bit(&delta.dirty, slot)) {
            return None;
        }
        match (cell.offsets.get(slot), cell.offsets.get(slot + 1)) {
            (Some(start), Some(end)) => Some(&cell.neighbours[*start as usize..*end as usize]),
            _ => Some(&[]),
        }
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
                    Some(cell) => Ok(LaneRef { table: &cell.table, delta: cell.delta.as_deref() }),
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
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        let cell = cell.get_or_init(|| LayerCell { offsets, neighbours, table, delta });
        Ok(LaneRef { table: &cell.table, delta: cell.delta.as_deref() })
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
    /// Calls `found` with the packed edges of `vertex`, in order.
    pub(crate) fn for_each(
        &self,
        vertex: u32,
        snapshot: &Snapshot,
        found: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let (chunk, slot) = split(vertex);
        let edges = self.of_chunk(chunk, snapshot)?;
        merge(Some(edges.table), slot, edges.list_delta(slot, self.lane), found);
        Ok(())
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
