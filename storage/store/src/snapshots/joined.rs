//! Both directions of one edge type, for all chunks of a snapshot: the joined lists of each (see `joined_view`), collected on demand. Dirty vertices,
//! and those with edges in one direction only, are left to the view of the adjacency.

use super::collected::{Collected, questions_for_array, split};
use crate::StoreError;
use crate::versions::directory::Chunks;
use crate::versions::joined_view::JoinedView;
use model::{ChunkNo, EdgeTypeId};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// All chunks; belongs to one snapshot, as layers do.
pub(crate) struct Joined {
    edge_type: EdgeTypeId,
    bound: ChunkNo,
    places: OnceLock<Collected<JoinedView>>,
    /// Requests before the array was made.
    questions: AtomicU32,
}

impl Joined {
    pub(crate) fn new(edge_type: EdgeTypeId, bound: ChunkNo) -> Joined {
        Joined { edge_type, bound, places: OnceLock::new(), questions: AtomicU32::new(0) }
    }
    pub(crate) fn edge_type(&self) -> EdgeTypeId {
        self.edge_type
    }
    /// The neighbours of a clean vertex of a joined chunk.
    #[inline(always)]
    pub(crate) fn ready(&self, vertex: u32) -> Option<&[u32]> {
        let (chunk, slot) = split(vertex);
        self.places.get()?.get(chunk)?.ready(slot)
    }
    /// The list of a vertex that was not ready was put together.
    pub(crate) fn keep(&self, vertex: u32, list: &[u32]) {
        let (chunk, slot) = split(vertex);
        let view = self.places.get().and_then(|places| places.get(chunk));
        if let Some(ranked) = view.and_then(JoinedView::ranked) {
            ranked.keep(slot, list);
        }
    }
    /// Counts a request for a vertex that is not ready.
    pub(crate) fn ask(&self, vertex: u32, chunks: Chunks<'_>) -> Result<(), StoreError> {
        let (chunk, _) = split(vertex);
        let places = match self.places.get() {
            Some(places) => places,
            // As with layers: a few questions about a large graph must not pay for all its chunks.
            None if self.questions.fetch_add(1, Ordering::Relaxed) < questions_for_array(self.bound) => {
                return Ok(());
            }
            None => self.places.get_or_init(|| Collected::new(self.bound, chunks.pager)),
        };
        if places.get(chunk).is_some() {
            return Ok(());
        }
        if let Some(cell) = chunks.directory.get(chunk as ChunkNo)
            && let Some(view) = cell.joined_view(self.edge_type, chunk)?
        {
            places.place(chunk, view);
        }
        Ok(())
    }
}
