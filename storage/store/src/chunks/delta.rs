//! The changes of a chunk since its base was made: small, immutable once shared, copied along one path on write.
//!
//! ```text
//! Delta ─ dirty bits (adjacency) ─ altered bits (everything else of a vertex)
//!       ├ 16 branches ─ 16 leaves ─ up to 16 Arc<VertexDelta> ─ ListDelta {added, removed}
//!       └ overridden edge properties by (type, edge slot)
//! ```
//! A write copies the delta's head, one branch, one leaf and one vertex: at most 48 pointers, since each one copied touches a
//! reference count that may lie in cold memory; never the base, never a hub's list. Short lists lie inline, so that a dirty vertex costs few loads.

use crate::chunks::list_delta::ListDelta;
use crate::chunks::table::Lane;
use crate::paging::pager::{Charge, Pager};
use imbl::OrdMap;
use model::{EdgeTypeId, KeyId, LabelSetId, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// Property values laid over a base, in key order; null removes.
pub(crate) type Overrides = Vec<(KeyId, Value)>;

/// One bit for every slot of a chunk.
pub(crate) type SlotBits = [u64; 64];

#[inline]
pub(crate) fn bit(bits: &SlotBits, slot: usize) -> bool {
    bits[slot / 64] >> (slot % 64) & 1 == 1
}

/// Upper bound of the bytes that one change adds to a delta, without long texts: a vertex, its leaf and its branch.
const CHANGE_BYTES: usize = 320;

/// Did the delta change whether the vertex is there?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Life {
    /// As the base says.
    #[default]
    AsBase,
    /// Born since.
    Born,
    /// Gone since.
    Gone,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct VertexDelta {
    pub(crate) life: Life,
    pub(crate) labels: Option<LabelSetId>,
    pub(crate) properties: Overrides,
    /// In lane order.
    pub(crate) lists: SmallVec<[ListDelta; 1]>,
}

impl VertexDelta {
    pub(crate) fn list(&self, lane: Lane) -> Option<&ListDelta> {
        self.lists.binary_search_by_key(&lane, |list| list.lane).ok().map(|at| &self.lists[at])
    }
    /// The list to write to; its cached form for readers is dropped.
    pub(crate) fn list_mut(&mut self, lane: Lane) -> &mut ListDelta {
        let at = match self.lists.binary_search_by_key(&lane, |list| list.lane) {
            Ok(at) => at,
            Err(at) => {
                self.lists.insert(at, ListDelta::new(lane));
                at
            }
        };
        self.lists[at].forget_kept();
        &mut self.lists[at]
    }
    pub(crate) fn property(&self, key: KeyId) -> Option<&Value> {
        find_property(&self.properties, key)
    }
}

pub(crate) fn find_property(properties: &[(KeyId, Value)], key: KeyId) -> Option<&Value> {
    properties.binary_search_by_key(&key, |(other, _)| *other).ok().map(|at| &properties[at].1)
}

pub(crate) fn set_property(properties: &mut Overrides, key: KeyId, value: Value) {
    match properties.binary_search_by_key(&key, |(other, _)| *other) {
        Ok(at) => properties[at].1 = value,
        Err(at) => properties.insert(at, (key, value)),
    }
}

/// Heap bytes of properties.
pub(crate) fn outside(properties: &[(KeyId, Value)]) -> usize {
    properties.iter().map(|(_, value)| size_of::<(KeyId, Value)>() + value.heap_bytes()).sum()
}

/// Sixteen slots.
#[derive(Clone, Debug, Default)]
struct Leaf {
    mask: u16,
    /// One for every bit of the mask, in slot order.
    vertices: SmallVec<[Arc<VertexDelta>; 2]>,
}

/// Sixteen leaves: 256 slots.
#[derive(Clone, Debug, Default)]
struct Branch {
    leaves: [Option<Arc<Leaf>>; 16],
}

#[derive(Clone, Debug)]
pub(crate) struct Delta {
    /// Vertices with a list delta.
    pub(crate) dirty: SlotBits,
    /// Vertices whose life, labels or properties changed.
    pub(crate) altered: SlotBits,
    branches: [Option<Arc<Branch>>; 16],
    /// Lanes some list delta speaks of, sorted.
    pub(crate) lanes: Vec<Lane>,
    /// Overrides of edge properties, by type and edge slot.
    pub(crate) edge_properties: OrdMap<(EdgeTypeId, u32), Arc<Overrides>>,
    /// Changes taken since the base was made.
    pub(crate) weight: usize,
    /// The charge of all deltas over this base, until the last of them is gone.
    charge: Arc<Charge>,
}

impl Delta {
    pub(crate) fn new(pager: &Arc<Pager>) -> Delta {
        Delta {
            dirty: [0; 64],
            altered: [0; 64],
            branches: [const { None }; 16],
            lanes: Vec::new(),
            edge_properties: OrdMap::new(),
            weight: 0,
            charge: Arc::new(Charge::new(pager, size_of::<Delta>())),
        }
    }
    /// The budget that its lists are charged to.
    pub(crate) fn pager(&self) -> &Arc<Pager> {
        self.charge.pager()
    }
    /// Counts one more change, with `outside` heap bytes.
    pub(crate) fn count_change(&mut self, outside: usize) {
        self.count_changes(1, outside);
    }
    /// Counts `count` changes, with `outside` heap bytes.
    pub(crate) fn count_changes(&mut self, count: usize, outside: usize) {
        self.weight += count;
        self.charge.add(count * CHANGE_BYTES + outside);
    }
    #[inline]
    pub(crate) fn vertex(&self, slot: usize) -> Option<&VertexDelta> {
        let leaf = self.branches[slot / 256].as_ref()?.leaves[slot / 16 % 16].as_ref()?;
        let here = 1u16 << (slot % 16);
        (leaf.mask & here != 0).then(|| &*leaf.vertices[(leaf.mask & (here - 1)).count_ones() as usize])
    }
    /// Did anything but a list change, of any vertex?
    pub(crate) fn has_altered(&self) -> bool {
        self.altered.iter().any(|word| *word != 0)
    }
    /// The vertex, if anything but its lists changed.
    #[inline]
    pub(crate) fn altered(&self, slot: usize) -> Option<&VertexDelta> {
        if bit(&self.altered, slot) { self.vertex(slot) } else { None }
    }
    /// The vertex to write anything to but its lists; marks it as altered.
    pub(crate) fn altered_mut(&mut self, slot: usize) -> &mut VertexDelta {
        self.altered[slot / 64] |= 1 << (slot % 64);
        self.vertex_mut(slot)
    }
    /// The vertex to write to, made if it is missing; shared parts are copied first.
    fn vertex_mut(&mut self, slot: usize) -> &mut VertexDelta {
        let branch = Arc::make_mut(self.branches[slot / 256].get_or_insert_default());
        let leaf = Arc::make_mut(branch.leaves[slot / 16 % 16].get_or_insert_default());
        let here = 1u16 << (slot % 16);
        let at = (leaf.mask & (here - 1)).count_ones() as usize;
        if leaf.mask & here == 0 {
            leaf.mask |= here;
            leaf.vertices.insert(at, Arc::default());
        }
        Arc::make_mut(&mut leaf.vertices[at])
    }
    /// The list to write to; marks vertex and lane as dirty.
    pub(crate) fn list_mut(&mut self, slot: usize, lane: Lane) -> &mut ListDelta {
        self.dirty[slot / 64] |= 1 << (slot % 64);
        if let Err(at) = self.lanes.binary_search(&lane) {
            self.lanes.insert(at, lane);
        }
        self.vertex_mut(slot).list_mut(lane)
    }
    /// Calls `found` with every changed vertex, in slot order.
    pub(crate) fn for_each<'a>(&'a self, mut found: impl FnMut(usize, &'a VertexDelta)) {
        let branches =
            self.branches.iter().enumerate().filter_map(|(at, branch)| Some((at, branch.as_ref()?)));
        for (high, branch) in branches {
            let leaves = branch.leaves.iter().enumerate().filter_map(|(at, leaf)| Some((at, leaf.as_ref()?)));
            for (middle, leaf) in leaves {
                let mut left = leaf.mask;
                for vertex in &leaf.vertices {
                    found(high * 256 + middle * 16 + left.trailing_zeros() as usize, vertex);
                    left &= left - 1;
                }
            }
        }
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        let mut bytes = size_of::<Delta>() + self.edge_properties.len() * 96;
        self.for_each(|_, vertex| {
            bytes += size_of::<VertexDelta>() + 24;
            bytes += vertex.properties.iter().map(|(_, value)| 32 + value.heap_bytes()).sum::<usize>();
            bytes += vertex
                .lists
                .iter()
                .map(|list| {
                    let kept = list.kept_before().map_or(0, |kept| kept.len() * 4 + 16);
                    96 + list.added.heap_bytes() + list.removed.heap_bytes() + kept
                })
                .sum::<usize>();
        });
        bytes
    }
}
