//! Both ways of one edge type as one list a vertex, for views that follow edges without looking at their direction.
//!
//! Idea: such a view would look up two lists and copy them together for each vertex, which is three times the work of one flat list. Once a chunk
//! was asked often enough to pay for it, its clean lists are put together once: outgoing, then incoming without the self-loops that were
//! among the outgoing. The result lies beside the outgoing table it was made of, so every snapshot with the same tables shares it,
//! and it goes with them. Dirty vertices are left to the view. Cost: 4 bytes an edge and way, and 4 a vertex, charged to the budget;
//! where there is no room, or a vertex has edges one way alone, the view does as before.

use crate::chunk::ChunkRead;
use crate::delta::{SlotBits, bit};
use crate::layer::split;
use crate::pager::{Charge, Pager};
use crate::snapshot::Snapshot;
use crate::table::{EdgeTable, Lane};
use crate::{StoreError, adjacency};
use model::{CHUNK_SLOTS, ChunkNo, EdgeTypeId};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Questions about a chunk after which its lists are joined: an eighth of its vertices.
const QUESTIONS_MIN: u32 = CHUNK_SLOTS as u32 / 8;

/// The joined lists of a chunk.
#[derive(Debug)]
pub(crate) struct JoinedTable {
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// The incoming table; the outgoing one holds this.
    incoming: Weak<EdgeTable>,
    _charge: Charge,
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
        JoinedTable { offsets: offsets.into(), neighbours: neighbours.into(), incoming, _charge: charge }
    }
}

/// One chunk.
struct JoinedCell {
    offsets: Arc<[u32]>,
    neighbours: Arc<[u32]>,
    /// Vertices with changed lists, one way or the other.
    dirty: Option<Box<SlotBits>>,
    _table: Arc<JoinedTable>,
}

/// A chunk's place.
#[derive(Default)]
struct Place {
    cell: OnceLock<JoinedCell>,
    questions: AtomicU32,
}

/// All chunks; belongs to one snapshot, as layers do.
pub(crate) struct Joined {
    edge_type: EdgeTypeId,
    bound: ChunkNo,
    places: OnceLock<Places>,
    /// Questions before the places were made.
    questions: AtomicU32,
}

struct Places {
    places: Box<[Place]>,
    _charge: Charge,
}

impl Places {
    fn new(bound: ChunkNo, pager: &Arc<Pager>) -> Places {
        let places: Box<[Place]> = (0..bound).map(|_| Place::default()).collect();
        let charge = Charge::new(pager, size_of_val(&*places));
        Places { places, _charge: charge }
    }
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
        let cell = self.places.get()?.places.get(chunk)?.cell.get()?;
        if let Some(dirty) = &cell.dirty
            && bit(dirty, slot)
        {
            return None;
        }
        match cell.offsets.get(slot + 1) {
            Some(end) => cell.neighbours.get(cell.offsets[slot] as usize..*end as usize),
            None => Some(&[]),
        }
    }
    /// A vertex was asked for that is not ready.
    pub(crate) fn ask(&self, vertex: u32, snapshot: &Snapshot) -> Result<(), StoreError> {
        let (chunk, _) = split(vertex);
        let Some(places) = self.places.get() else {
            // As with layers: a few questions about a large graph must not pay for all its chunks.
            if self.questions.fetch_add(1, Ordering::Relaxed) > QUESTIONS_MIN.max(self.bound / 4) {
                self.places.get_or_init(|| Places::new(self.bound, &snapshot.root.pager));
            }
            return Ok(());
        };
        let Some(place) = places.places.get(chunk) else { return Ok(()) };
        if place.cell.get().is_some() || place.questions.fetch_add(1, Ordering::Relaxed) % QUESTIONS_MIN != 0
        {
            return Ok(());
        }
        let first = place.questions.load(Ordering::Relaxed) <= QUESTIONS_MIN;
        self.join(place, chunk, snapshot, first)
    }
    /// Joins a chunk; at its first question only if somebody did before.
    #[cold]
    fn join(&self, place: &Place, chunk: usize, snapshot: &Snapshot, first: bool) -> Result<(), StoreError> {
        let Some(content) = snapshot.chunk(chunk as ChunkNo)? else { return Ok(()) };
        let (out, into) = (Lane::out(self.edge_type), Lane::into(self.edge_type));
        let (Some(outgoing), Some(incoming)) = (content.base().table(out), content.base().table(into)) else {
            return Ok(());
        };
        let mut joined = outgoing.joined.lock();
        let known =
            joined.as_ref().filter(|known| std::ptr::eq(known.incoming.as_ptr(), Arc::as_ptr(incoming)));
        let table = match known {
            Some(known) => known.clone(),
            None if first => return Ok(()),
            None => {
                let pager = &snapshot.root.pager;
                if !pager.may_pin((outgoing.len() + incoming.len() + CHUNK_SLOTS) * 4) {
                    return Ok(());
                }
                let table = Arc::new(JoinedTable::build(outgoing, incoming, chunk, pager));
                *joined = Some(table.clone());
                table
            }
        };
        drop(joined);
        let delta = content
            .delta()
            .filter(|delta| [out, into].iter().any(|lane| delta.lanes.binary_search(lane).is_ok()));
        let dirty = delta.map(|delta| Box::new(delta.dirty));
        let (offsets, neighbours) = (table.offsets.clone(), table.neighbours.clone());
        place.cell.get_or_init(|| JoinedCell { offsets, neighbours, dirty, _table: table });
        Ok(())
    }
}
