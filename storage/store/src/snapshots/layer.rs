//! One layer of a view: the adjacency of one edge type, followed in one direction, as a flat array over chunk numbers.
//!
//! The array is made only when a layer has had enough requests to pay for it; until then each request goes through the directory, so a view for a
//! handful of vertices of a large graph costs nothing to make. Its slots are filled chunk by chunk on first touch, with the cached view of the
//! chunk's version, which all snapshots share (see `views`). Where the pager refuses the pin that this takes, because the graph is larger than the
//! budget, each request reads the page anew and is answered by a copy. A layer belongs to one snapshot, which caches it, and gets the chunks of that
//! snapshot with every request: holding them would make a cycle.

use crate::StoreError;
use crate::chunks::chunk::PartName;
use crate::chunks::edge_list::{EdgeList, EdgeRun};
use crate::chunks::edge_set::{neighbour_of, slot_of};
use crate::chunks::table::Lane;
use crate::snapshots::collected::{Collected, questions_for_array, split};
use crate::versions::directory::Chunks;
use crate::versions::views::{LaneRef, LaneView};
use model::{ChunkNo, EdgeId, Slot, VertexId};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Refused pins after which a layer is made anew, and at least as many as there are chunks.
const REFUSALS_MIN: u32 = 4096;
/// Edges of a list that count as one request more: lists outside of the array are copied.
const EDGES_PER_QUESTION: usize = 64;

/// All chunks in one lane.
pub(crate) struct Layer {
    pub(crate) lane: Lane,
    bound: ChunkNo,
    cells: OnceLock<Collected<LaneView>>,
    questions: AtomicU32,
    /// Questions that went the slow way because the pager refused a pin.
    refusals: AtomicU32,
}

impl Layer {
    pub(crate) fn new(lane: Lane, bound: ChunkNo) -> Layer {
        let (questions, refusals) = (AtomicU32::new(0), AtomicU32::new(0));
        Layer { lane, bound, cells: OnceLock::new(), questions, refusals }
    }
    /// Does it hold pages that may be out of date? Then the next view begins with a new layer.
    pub(crate) fn is_stale(&self) -> bool {
        self.refusals.load(Ordering::Relaxed) >= REFUSALS_MIN.max(self.bound)
    }
    #[inline(always)]
    fn view(&self, chunk: usize) -> Option<&LaneView> {
        self.cells.get()?.get(chunk)
    }
    /// The neighbours of a vertex of a chunk in the array, unless its list is dirty and not assembled yet; the fast path of everything.
    #[inline(always)]
    pub(crate) fn ready(&self, vertex: u32) -> Option<&[u32]> {
        let (chunk, slot) = split(vertex);
        self.view(chunk)?.ready(slot)
    }
    /// The chunk's view, if it is or can be kept in this layer.
    #[inline]
    fn view_for(&self, chunk: usize, chunks: Chunks<'_>) -> Result<Option<&LaneView>, StoreError> {
        match self.view(chunk) {
            Some(view) => Ok(Some(view)),
            None => self.collect(chunk, chunks),
        }
    }
    /// The edges of a vertex, if its chunk is or can be kept in this layer.
    #[inline]
    pub(crate) fn held(&self, vertex: u32, chunks: Chunks<'_>) -> Result<Option<EdgeList<'_>>, StoreError> {
        let (chunk, slot) = split(vertex);
        Ok(self.view_for(chunk, chunks)?.map(|view| view.list(slot)))
    }
    /// The lists of vertices of one chunk as one, up to the first that changed, if the chunk is or can be kept in this layer.
    pub(crate) fn run(
        &self,
        first: u32,
        count: usize,
        chunks: Chunks<'_>,
    ) -> Result<Option<EdgeRun<'_>>, StoreError> {
        let (chunk, slot) = split(first);
        let Some(view) = self.view_for(chunk, chunks)? else { return Ok(None) };
        let lane = view.lane_ref();
        let count = lane.unchanged(slot..slot + count, self.lane);
        Ok(EdgeRun::of_base(lane.table, first, count, self.lane))
    }
    /// Calls `read` with the edges of a vertex.
    #[inline]
    pub(crate) fn with_list<R>(
        &self,
        vertex: u32,
        chunks: Chunks<'_>,
        read: impl FnOnce(EdgeList<'_>) -> R,
    ) -> Result<R, StoreError> {
        self.with_lane(vertex, chunks, |lane, slot| read(lane.list(slot, self.lane)))
    }
    /// Calls `read` with the chunk's edges in this lane, and the slot.
    #[inline]
    fn with_lane<R>(
        &self,
        vertex: u32,
        chunks: Chunks<'_>,
        read: impl FnOnce(LaneRef<'_>, usize) -> R,
    ) -> Result<R, StoreError> {
        let (chunk, slot) = split(vertex);
        match self.view_for(chunk, chunks)? {
            Some(view) => Ok(read(view.lane_ref(), slot)),
            None => self.through_directory(vertex, chunks, read),
        }
    }
    #[inline(never)]
    fn through_directory<R>(
        &self,
        vertex: u32,
        chunks: Chunks<'_>,
        read: impl FnOnce(LaneRef<'_>, usize) -> R,
    ) -> Result<R, StoreError> {
        let (chunk, slot) = split(vertex);
        let read = |lane: LaneRef<'_>| {
            let weight = 1 + (lane.length(slot) / EDGES_PER_QUESTION) as u32;
            self.questions.fetch_add(weight, Ordering::Relaxed);
            read(lane, slot)
        };
        let Some(cell) = chunks.directory.get(chunk as ChunkNo) else {
            return Ok(read(LaneRef::none()));
        };
        match cell.views().lane_before(self.lane) {
            Some(view) => Ok(read(view.lane_ref())),
            None => Ok(read(LaneRef::of(&cell.part(PartName::lists(self.lane, slot as Slot))?, self.lane))),
        }
    }
    /// The view of a chunk, after enough requests and if the pager has room for it.
    #[inline(never)]
    fn collect(&self, chunk: usize, chunks: Chunks<'_>) -> Result<Option<&LaneView>, StoreError> {
        let cells = match self.cells.get() {
            Some(cells) => cells,
            None if self.questions.load(Ordering::Relaxed) < questions_for_array(self.bound) => {
                return Ok(None);
            }
            None => self.cells.get_or_init(|| Collected::new(self.bound, chunks.pager)),
        };
        let Some(cell) = chunks.directory.get(chunk as ChunkNo) else {
            return Ok(cells.place(chunk, Arc::new(LaneView::empty(self.lane))));
        };
        let view = cell.lane_view(self.lane)?;
        if view.is_none() {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
        Ok(view.and_then(|view| cells.place(chunk, view)))
    }
    #[inline]
    pub(crate) fn degree(&self, vertex: u32, chunks: Chunks<'_>) -> Result<usize, StoreError> {
        self.with_lane(vertex, chunks, |edges, slot| {
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
        chunks: Chunks<'_>,
        mut found: impl FnMut(u64),
    ) -> Result<(), StoreError> {
        self.with_lane(vertex, chunks, |edges, slot| {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;
    use crate::paging::pager::Pager;
    use crate::snapshots::collected::QUESTIONS_MIN;
    use crate::versions::directory::Directory;

    /// Commits make new layers, so that a few reads after each must not pay for all chunks.
    #[test]
    fn an_array_is_made_only_when_enough_was_asked() {
        let (directory, pager) = (Directory::default(), Pager::new(None));
        let chunks = Chunks { directory: &directory, pager: &pager };
        for (bound, free) in [(10, QUESTIONS_MIN), (1000, 62)] {
            let layer = Layer::new(Lane::out(model::EdgeTypeId(0)), bound);
            let is_empty = || layer.with_list(5000, chunks, |list| list.neighbours.is_empty()).unwrap();
            for _ in 0..free {
                assert!(is_empty());
            }
            assert!(layer.cells.get().is_none(), "{free} questions make no array");
            assert!(is_empty());
            assert_eq!(layer.cells.get().unwrap().views.len(), bound as usize);
            assert!(is_empty());
        }
    }
}
