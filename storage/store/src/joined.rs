//! Both ways of one edge type as one list a vertex, for views that follow edges without looking at their direction.
//!
//! Idea: such a view would look up two lists and copy them together for each vertex, which is three times the work of one flat list. Once a chunk
//! was asked often enough to pay for it, its clean lists are put together once: outgoing, then incoming without the self-loops that were
//! among the outgoing. The result lies beside the outgoing table it was made of, so every snapshot with the same tables shares it,
//! and it goes with them. Dirty vertices are left to the view. Cost: 4 bytes an edge and way, and 4 a vertex, charged to the budget;
//! where there is no room, or a vertex has edges one way alone, the view does as before.

use crate::chunk::ChunkRead;
use crate::delta::{Delta, VertexDelta, bit};
use crate::directory::Cell;
use crate::layer::{Collected, questions_for_array, split};
use crate::pager::{Charge, Pager};
use crate::snapshot::Snapshot;
use crate::table::{EdgeTable, Lane};
use crate::views::{RankedLists, is_ranking_due};
use crate::{StoreError, adjacency};
use model::{CHUNK_SLOTS, ChunkNo, EdgeTypeId};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Questions about a chunk after which its lists are joined: an eighth of its vertices.
const QUESTIONS_MIN: u32 = CHUNK_SLOTS as u32 / 8;

/// Where an outgoing table keeps the lists joined of it, and counts who asked for them.
#[derive(Debug, Default)]
pub(crate) struct JoinedSlot {
    table: Mutex<Option<Arc<JoinedTable>>>,
    questions: AtomicU32,
}

impl JoinedSlot {
    /// The lists joined of these two tables; none as long as too few asked, or where there is no room.
    fn with(
        &self,
        outgoing: &EdgeTable,
        incoming: &Arc<EdgeTable>,
        chunk: usize,
        pager: &Arc<Pager>,
    ) -> Option<Arc<JoinedTable>> {
        if self.questions.load(Ordering::Relaxed) < QUESTIONS_MIN
            && self.questions.fetch_add(1, Ordering::Relaxed) + 1 < QUESTIONS_MIN
        {
            return None;
        }
        let mut joined = self.table.lock();
        let of_these =
            |known: &&Arc<JoinedTable>| std::ptr::eq(known.incoming.as_ptr(), Arc::as_ptr(incoming));
        if let Some(known) = joined.as_ref().filter(of_these) {
            return Some(known.clone());
        }
        if !pager.may_pin((outgoing.len() + incoming.len() + CHUNK_SLOTS) * 4) {
            return None;
        }
        let table = Arc::new(JoinedTable::build(outgoing, incoming, chunk, pager));
        *joined = Some(table.clone());
        Some(table)
    }
}

/// The joined lists of a chunk.
#[derive(Debug)]
pub(crate) struct JoinedTable {
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// The incoming table; the outgoing one holds this.
    incoming: Weak<EdgeTable>,
    charge: Charge,
}

impl JoinedTable {
    fn build(out: &EdgeTable, into: &Arc<EdgeTable>, chunk: usize, pager: &Arc<Pager>) -> JoinedTable {
        let slots = out.offsets.len().max(into.offsets.len()) - 1;
        let mut offsets = Vec::with_capacity(slots + 1);
        let mut neighbours = Vec::with_capacity(out.len() + into.len());
        offsets.push(0);
        for slot in 0..slots {
            neighbours.extend_from_slice(out.list(slot));
            let (before, behind) = adjacency::without(into.list(slot), (chunk * CHUNK_SLOTS + slot) as u32);
            neighbours.extend_from_slice(before);
            neighbours.extend_from_slice(behind);
            offsets.push(neighbours.len() as u32);
        }
        let charge = Charge::new(pager, (offsets.len() + neighbours.len()) * 4);
        let incoming = Arc::downgrade(into);
        JoinedTable { offsets: offsets.into(), neighbours: neighbours.into(), incoming, charge }
    }
}

/// One version of a chunk.
pub(crate) struct JoinedView {
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// Only where some list changed, one way or the other.
    delta: Option<Arc<Delta>>,
    edge_type: EdgeTypeId,
    /// Questions about changed lists, and the joined lists of these once enough was asked (see `views`).
    questions: AtomicU32,
    ranked: OnceLock<Box<RankedLists>>,
    table: Arc<JoinedTable>,
}

impl JoinedView {
    pub(crate) fn edge_type(&self) -> EdgeTypeId {
        self.edge_type
    }
    #[cfg(test)]
    pub(crate) fn is_ranked(&self) -> bool {
        self.ranked.get().is_some()
    }
    /// The joined lists of a chunk, if it was asked often enough, or somebody joined them before.
    #[cold]
    fn find(edge_type: EdgeTypeId, chunk: usize, cell: &Cell) -> Result<Option<Arc<JoinedView>>, StoreError> {
        if let Some(view) = cell.views().joined_before(edge_type) {
            return Ok(Some(view));
        }
        let content = cell.chunk()?;
        let (out, into) = (Lane::out(edge_type), Lane::into(edge_type));
        let (Some(outgoing), Some(incoming)) = (content.base().table(out), content.base().table(into)) else {
            return Ok(None);
        };
        let Some(table) = outgoing.joined.with(outgoing, incoming, chunk, cell.base().pager()) else {
            return Ok(None);
        };
        let speaks_of_it = |delta: &&Arc<Delta>| delta.lanes.iter().any(|lane| *lane == out || *lane == into);
        let delta = content.delta().filter(speaks_of_it).cloned();
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        let (questions, ranked) = (AtomicU32::new(0), OnceLock::new());
        let view = Arc::new(JoinedView { offsets, neighbours, delta, edge_type, questions, ranked, table });
        cell.views().add_joined(&view);
        Ok(Some(view))
    }
    /// The neighbours of a vertex, if it is clean or its joined list was kept.
    #[inline(always)]
    fn ready(&self, slot: usize) -> Option<&[u32]> {
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

/// All chunks; belongs to one snapshot, as layers do.
pub(crate) struct Joined {
    edge_type: EdgeTypeId,
    bound: ChunkNo,
    places: OnceLock<Collected<JoinedView>>,
    /// Questions before the places were made.
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
        if let Some(ranked) = view.and_then(|view| view.ranked.get()) {
            ranked.keep(slot, list);
        }
    }
    /// A vertex was asked for that is not ready.
    pub(crate) fn ask(&self, vertex: u32, snapshot: &Snapshot) -> Result<(), StoreError> {
        let (chunk, _) = split(vertex);
        let places = match self.places.get() {
            Some(places) => places,
            // As with layers: a few questions about a large graph must not pay for all its chunks.
            None if self.questions.fetch_add(1, Ordering::Relaxed) < questions_for_array(self.bound) => {
                return Ok(());
            }
            None => self.places.get_or_init(|| Collected::new(self.bound, &snapshot.root.pager)),
        };
        if places.get(chunk).is_some() {
            return Ok(());
        }
        if let Some(cell) = snapshot.root.directory.get(chunk as ChunkNo)
            && let Some(view) = JoinedView::find(self.edge_type, chunk, cell)?
        {
            places.place(chunk, view);
        }
        Ok(())
    }
}
