//! One version of a chunk, both directions of one edge type: its lists joined (see `joined_lists`), and the delta over it. Dirty vertices are left to
//! the caller, until there were enough requests for an array of their lists.

use crate::chunks::delta::{Delta, VertexDelta, bit};
use crate::chunks::joined_lists::JoinedTable;
use crate::chunks::table::Lane;
use crate::versions::ranked::{RankedLists, is_ranking_due};
use model::EdgeTypeId;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// One version of a chunk.
pub(crate) struct JoinedView {
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// Only where some list changed, one way or the other.
    delta: Option<Arc<Delta>>,
    edge_type: EdgeTypeId,
    /// Requests for changed lists, and the joined lists of these after enough of them (see `ranked`).
    questions: AtomicU32,
    ranked: OnceLock<Box<RankedLists>>,
    table: Arc<JoinedTable>,
}

impl JoinedView {
    /// Of the lists joined of a chunk, and the delta over it where that speaks of them.
    pub(crate) fn new(
        edge_type: EdgeTypeId,
        table: Arc<JoinedTable>,
        delta: Option<Arc<Delta>>,
    ) -> Arc<JoinedView> {
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        let (questions, ranked) = (AtomicU32::new(0), OnceLock::new());
        Arc::new(JoinedView { offsets, neighbours, delta, edge_type, questions, ranked, table })
    }
    pub(crate) fn ranked(&self) -> Option<&RankedLists> {
        self.ranked.get().map(|ranked| &**ranked)
    }
    pub(crate) fn edge_type(&self) -> EdgeTypeId {
        self.edge_type
    }
    #[cfg(test)]
    pub(crate) fn is_ranked(&self) -> bool {
        self.ranked.get().is_some()
    }
    /// The neighbours of a vertex, if it is clean or its joined list is cached.
    #[inline(always)]
    pub(crate) fn ready(&self, slot: usize) -> Option<&[u32]> {
        if let Some(delta) = &self.delta
            && bit(&delta.dirty, slot)
        {
            return self.ready_dirty(delta, slot);
        }
        self.clean(slot)
    }
    fn ready_dirty(&self, delta: &Arc<Delta>, slot: usize) -> Option<&[u32]> {
        let ranked = match self.ranked.get() {
            Some(ranked) => ranked,
            None if !is_ranking_due(&self.questions, delta) => return None,
            None => {
                let (out, into) = (Lane::out(self.edge_type), Lane::into(self.edge_type));
                let is_changed =
                    |vertex: &VertexDelta| vertex.list(out).or_else(|| vertex.list(into)).is_some();
                let changed = |vertex: &VertexDelta| is_changed(vertex).then_some(None);
                let pager = self.table.charge.pager();
                self.ranked.get_or_init(|| Box::new(RankedLists::new(delta, pager, changed)))
            }
        };
        match ranked.place(slot) {
            Some(place) => place.get().map(|list| &**list),
            None => self.clean(slot),
        }
    }
    #[inline(always)]
    fn clean(&self, slot: usize) -> Option<&[u32]> {
        match self.offsets.get(slot + 1) {
            Some(end) => self.neighbours.get(self.offsets[slot] as usize..*end as usize),
            None => Some(&[]),
        }
    }
}
