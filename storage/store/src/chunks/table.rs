//! The base adjacency of a chunk for one edge type and direction: a small CSR over the chunk's slots.
//!
//! Invariants: `offsets` rises from 0 to `neighbours.len()`; the edges of a vertex are sorted by (neighbour, edge slot). Slots
//! beyond the table have no edges. Where the slot of an edge equals its position, as a bulk load makes it, slots are implicit.
//! Cost: 4 bytes an edge, 6 with slots (8 where one is above 16 bits), and 4 bytes a vertex.

use crate::chunks::edge_set::pack;
use crate::chunks::joined_lists::JoinedSlot;
use model::{CHUNK_SLOTS, EdgeTypeId};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Edge type and way (out or in), as one number that sorts by type first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Lane(pub(crate) u32);

impl Lane {
    pub(crate) fn out(edge_type: EdgeTypeId) -> Lane {
        Lane((edge_type.0 as u32) << 1)
    }
    pub(crate) fn into(edge_type: EdgeTypeId) -> Lane {
        Lane((edge_type.0 as u32) << 1 | 1)
    }
    pub(crate) fn edge_type(self) -> EdgeTypeId {
        EdgeTypeId((self.0 >> 1) as u16)
    }
    pub(crate) fn is_out(self) -> bool {
        self.0 & 1 == 0
    }
}

/// Slots of a group, whose lists can be read by themselves.
pub(crate) const GROUP_SLOTS: usize = 512;
/// Groups of a table at most.
pub(crate) const GROUPS_MAX: usize = CHUNK_SLOTS / GROUP_SLOTS;

/// The slots of a group of a table with this many slots; none where the table ends before it.
pub(crate) fn group_slots(group: usize, slot_count: usize) -> Range<usize> {
    let start = slot_count.min(group * GROUP_SLOTS);
    start..slot_count.min(start + GROUP_SLOTS)
}

/// The slots that a table has lists of.
#[derive(Clone, Copy, Debug, Default)]
struct Cover {
    /// The first of them.
    first: u16,
    is_group: bool,
}

/// Marks an edge slot that no edge of the table has.
const NO_POSITION: u32 = u32::MAX;

/// Edge slots by position.
#[derive(Debug)]
pub(crate) enum EdgeSlots {
    /// Slot = position + this, which is 0 in a whole table.
    Rising(u32),
    Short(Box<[u16]>),
    Long(Box<[u32]>),
}

impl EdgeSlots {
    fn new(slots: Option<Box<[u32]>>) -> EdgeSlots {
        let Some(slots) = slots else { return EdgeSlots::Rising(0) };
        if slots.iter().enumerate().all(|(at, slot)| at as u32 == *slot) {
            EdgeSlots::Rising(0)
        } else if slots.iter().all(|slot| *slot <= u16::MAX as u32) {
            EdgeSlots::Short(slots.iter().map(|slot| *slot as u16).collect())
        } else {
            EdgeSlots::Long(slots)
        }
    }
    #[inline(always)]
    fn get(&self, position: usize) -> u32 {
        match self {
            EdgeSlots::Rising(first) => position as u32 + first,
            EdgeSlots::Short(slots) => slots[position] as u32,
            EdgeSlots::Long(slots) => slots[position],
        }
    }
    fn heap_bytes(&self) -> usize {
        match self {
            EdgeSlots::Rising(_) => 0,
            EdgeSlots::Short(slots) => slots.len() * 2,
            EdgeSlots::Long(slots) => slots.len() * 4,
        }
    }
}

#[derive(Debug)]
pub(crate) struct EdgeTable {
    /// Slots that have a list here: all, or those of one group (see `parts`).
    cover: Cover,
    /// Shared, so that a view holds them without a load of this head.
    pub(crate) offsets: Arc<[u32]>,
    pub(crate) neighbours: Arc<[u32]>,
    pub(crate) slots: EdgeSlots,
    /// Position by edge slot, made on first use.
    positions: OnceLock<Box<[u32]>>,
    /// For an outgoing table: its lists joined with the incoming ones, for views with many requests (see `joined_lists`).
    pub(crate) joined: JoinedSlot,
}

impl EdgeTable {
    pub(crate) fn empty() -> EdgeTable {
        EdgeTable::new(Arc::new([0]), Arc::new([]), None)
    }
    pub(crate) fn new(offsets: Arc<[u32]>, neighbours: Arc<[u32]>, slots: Option<Box<[u32]>>) -> EdgeTable {
        debug_assert_eq!(offsets.last().copied(), Some(neighbours.len() as u32));
        EdgeTable {
            cover: Cover::default(),
            offsets,
            neighbours,
            slots: EdgeSlots::new(slots),
            positions: OnceLock::new(),
            joined: JoinedSlot::default(),
        }
    }
    /// As the lists of a group of slots from `first` on, whose edges begin at `first_edge` in the whole table.
    pub(crate) fn into_group(mut self, first: usize, first_edge: u32, has_slots: bool) -> EdgeTable {
        self.cover = Cover { first: first as u16, is_group: true };
        if !has_slots {
            self.slots = EdgeSlots::Rising(first_edge);
        }
        self
    }
    /// Does it have the lists of all slots?
    pub(crate) fn is_whole(&self) -> bool {
        !self.cover.is_group
    }
    /// Positions of the edges of vertex slot `slot`.
    #[inline]
    pub(crate) fn range(&self, slot: usize) -> Range<usize> {
        debug_assert!(self.is_whole() || slot / GROUP_SLOTS == usize::from(self.cover.first) / GROUP_SLOTS);
        let at = slot.wrapping_sub(usize::from(self.cover.first));
        match self.offsets.get(at..at.wrapping_add(2)) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }
    /// Neighbours of vertex slot `slot`, sorted.
    #[inline]
    pub(crate) fn list(&self, slot: usize) -> &[u32] {
        &self.neighbours[self.range(slot)]
    }
    #[inline]
    pub(crate) fn edge_slot(&self, position: usize) -> u32 {
        self.slots.get(position)
    }
    pub(crate) fn packed(&self, position: usize) -> u64 {
        pack(self.neighbours[position], self.edge_slot(position))
    }
    /// Does vertex slot `slot` have this edge?
    pub(crate) fn contains(&self, slot: usize, edge: u64) -> bool {
        let range = self.range(slot);
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.packed(middle) < edge {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low < range.end && self.packed(low) == edge
    }
    /// Positions of the edges from vertex slot `slot` to `neighbour`.
    pub(crate) fn positions_to(&self, slot: usize, neighbour: u32) -> Range<usize> {
        let range = self.range(slot);
        let list = &self.neighbours[range.clone()];
        let start = list.partition_point(|other| *other < neighbour);
        let count = list[start..].iter().take_while(|other| **other == neighbour).count();
        range.start + start..range.start + start + count
    }
    /// Vertex slot and neighbour of the edge with this slot; only meant for outgoing tables.
    pub(crate) fn ends_of(&self, edge_slot: u32) -> Option<(usize, u32)> {
        debug_assert!(self.is_whole());
        let position = match &self.slots {
            EdgeSlots::Rising(_) => edge_slot,
            slots => *self.positions.get_or_init(|| invert(slots, self.len())).get(edge_slot as usize)?,
        };
        let neighbour = *self.neighbours.get(position as usize)?;
        Some((self.offsets.partition_point(|offset| *offset <= position) - 1, neighbour))
    }
    pub(crate) fn len(&self) -> usize {
        self.neighbours.len()
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        let positions = self.positions.get().map_or(0, |positions| positions.len());
        (self.offsets.len() + self.neighbours.len() + positions) * 4 + self.slots.heap_bytes()
    }
    /// Bytes it may come to take: with positions, which only an outgoing table makes ([`EdgeTable::ends_of`]).
    pub(crate) fn room_bytes(&self, lane: Lane) -> usize {
        let has_positions = self.is_whole() && lane.is_out() && !matches!(self.slots, EdgeSlots::Rising(_));
        let positions = if has_positions { self.len() } else { 0 };
        let lists = (self.offsets.len() + self.neighbours.len() + positions) * 4;
        size_of::<EdgeTable>() + lists + self.slots.heap_bytes()
    }
}

fn invert(slots: &EdgeSlots, len: usize) -> Box<[u32]> {
    let bound = (0..len).map(|at| slots.get(at) as usize + 1).max().unwrap_or(0);
    let mut positions = vec![NO_POSITION; bound].into_boxed_slice();
    (0..len).for_each(|at| positions[slots.get(at) as usize] = at as u32);
    positions
}
