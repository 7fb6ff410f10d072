//! Changes of one vertex's edges in one lane since the base: added and removed ones; and the merge with the base.

use super::edge_set::{EdgeSet, neighbour_of, slot_of};
use super::table::{EdgeTable, Lane};
use crate::paging::pager::{Charge, Pager};
use std::sync::{Arc, OnceLock};

#[derive(Clone, Debug)]
pub(crate) struct ListDelta {
    pub(crate) lane: Lane,
    /// Edges the base does not have.
    pub(crate) added: EdgeSet,
    /// Edges of the base that are gone.
    pub(crate) removed: EdgeSet,
    /// The whole list, put together by its first reader (see `edge_list`). A delta never outlives its base, so it stays true.
    kept: OnceLock<CachedList>,
}

/// A list assembled for readers, and its charge to the budget.
#[derive(Clone, Debug)]
struct CachedList {
    list: Arc<[u32]>,
    _charge: Arc<Charge>,
}

impl ListDelta {
    pub(super) fn new(lane: Lane) -> ListDelta {
        ListDelta { lane, added: EdgeSet::default(), removed: EdgeSet::default(), kept: OnceLock::new() }
    }
    /// The whole list; `table` and `slot` are the base's, and `pager` that of the delta that this is part of.
    pub(crate) fn kept(&self, table: &EdgeTable, slot: usize, pager: &Arc<Pager>) -> &Arc<[u32]> {
        let kept = || {
            let list = assemble(table, slot, self);
            let charge = Charge::new(pager, size_of_val(&*list) + size_of::<Charge>());
            CachedList { list, _charge: Arc::new(charge) }
        };
        &self.kept.get_or_init(kept).list
    }
    /// Drops the cached list: the delta is going to change.
    pub(super) fn forget_kept(&mut self) {
        self.kept = OnceLock::new();
    }
    pub(crate) fn kept_before(&self) -> Option<&Arc<[u32]>> {
        self.kept.get().map(|kept| &kept.list)
    }
}

/// Calls `found` with the edges of `slot`: base without the removed, merged with the added, in order.
pub(crate) fn merge(
    table: Option<&EdgeTable>,
    slot: usize,
    delta: Option<&ListDelta>,
    mut found: impl FnMut(u64),
) {
    let positions = table.map_or(0..0, |table| table.range(slot));
    let base = positions.map(|position| table.expect("positions come from the table").packed(position));
    let Some(delta) = delta else { return base.for_each(found) };
    let mut removed = delta.removed.iter().peekable();
    let mut added = delta.added.iter().peekable();
    for edge in base {
        if removed.peek() == Some(&edge) {
            removed.next();
            continue;
        }
        while let Some(new) = added.next_if(|new| *new < edge) {
            found(new);
        }
        found(edge);
    }
    added.for_each(found);
}

/// Puts a dirty list together: see `edge_list`.
fn assemble(table: &EdgeTable, slot: usize, delta: &ListDelta) -> Arc<[u32]> {
    let length = table.range(slot).len() + delta.added.len() - delta.removed.len();
    let (mut list, mut slots) = (Vec::with_capacity(length * 2), Vec::with_capacity(length));
    merge(Some(table), slot, Some(delta), |edge| {
        list.push(neighbour_of(edge));
        slots.push(slot_of(edge));
    });
    list.append(&mut slots);
    list.into()
}
