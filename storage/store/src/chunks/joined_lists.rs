//! Both directions of one edge type as one list a vertex, for readers that follow edges in any direction.
//!
//! Idea: such a reader would look up two lists and concatenate them for each vertex, which is three times the work of one flat list. Once a chunk has
//! been asked often enough to pay for it, its clean lists are joined once: outgoing, then incoming without self-loops, which are among the outgoing.
//! The result is cached with the outgoing table it was made of, so every snapshot with the same tables shares it, and it is freed with them. Cost: 4
//! bytes an edge and direction, and 4 a vertex, charged to the budget.

use super::edge_list::without;
use super::table::EdgeTable;
use crate::paging::pager::{Charge, Pager};
use model::CHUNK_SLOTS;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// Questions about a chunk after which its lists are joined: an eighth of its vertices.
const QUESTIONS_MIN: u32 = CHUNK_SLOTS as u32 / 8;

/// The joined lists cached with an outgoing table, and a count of the requests for them.
#[derive(Debug, Default)]
pub(crate) struct JoinedSlot {
    table: Mutex<Option<Arc<JoinedTable>>>,
    questions: AtomicU32,
}

impl JoinedSlot {
    /// The joined lists of these two tables; none after too few requests, or where there is no room.
    pub(crate) fn with(
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
    pub(crate) offsets: Arc<[u32]>,
    pub(crate) neighbours: Arc<[u32]>,
    /// The incoming table; the outgoing one holds this.
    incoming: Weak<EdgeTable>,
    pub(crate) charge: Charge,
}

impl JoinedTable {
    fn build(out: &EdgeTable, into: &Arc<EdgeTable>, chunk: usize, pager: &Arc<Pager>) -> JoinedTable {
        let slots = out.offsets.len().max(into.offsets.len()) - 1;
        let mut offsets = Vec::with_capacity(slots + 1);
        let mut neighbours = Vec::with_capacity(out.len() + into.len());
        offsets.push(0);
        for slot in 0..slots {
            neighbours.extend_from_slice(out.list(slot));
            let (before, behind) = without(into.list(slot), (chunk * CHUNK_SLOTS + slot) as u32);
            neighbours.extend_from_slice(before);
            neighbours.extend_from_slice(behind);
            offsets.push(neighbours.len() as u32);
        }
        let charge = Charge::new(pager, (offsets.len() + neighbours.len()) * 4);
        let incoming = Arc::downgrade(into);
        JoinedTable { offsets: offsets.into(), neighbours: neighbours.into(), incoming, charge }
    }
}
