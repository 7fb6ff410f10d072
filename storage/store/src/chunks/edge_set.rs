//! A small persistent set of edges beside one vertex: pairs of neighbour and edge slot, sorted.
//!
//! A few edges lie in a plain sorted vector; many lie in a persistent B-tree, so that one more edge at a hub copies one path of the tree and not the
//! list. Cost of a copy plus an insertion: O(64) or O(log n).

use imbl::OrdSet;
use smallvec::SmallVec;

/// Edges kept in the plain vector; copying 64 of them costs less than one path of the tree.
const FEW_MAX: usize = 64;

/// One edge at a vertex: neighbour in the high half, edge slot in the low half, so order is (neighbour, slot).
#[inline]
pub(crate) fn pack(neighbour: u32, slot: u32) -> u64 {
    (neighbour as u64) << 32 | slot as u64
}

#[inline]
pub(crate) fn neighbour_of(packed: u64) -> u32 {
    (packed >> 32) as u32
}

#[inline]
pub(crate) fn slot_of(packed: u64) -> u32 {
    packed as u32
}

#[derive(Clone, Debug)]
pub(crate) enum EdgeSet {
    Few(SmallVec<[u64; 2]>),
    Many(OrdSet<u64>),
}

impl Default for EdgeSet {
    fn default() -> EdgeSet {
        EdgeSet::Few(SmallVec::new())
    }
}

impl EdgeSet {
    pub(crate) fn len(&self) -> usize {
        match self {
            EdgeSet::Few(edges) => edges.len(),
            EdgeSet::Many(edges) => edges.len(),
        }
    }
    pub(crate) fn contains(&self, edge: u64) -> bool {
        match self {
            EdgeSet::Few(edges) => edges.binary_search(&edge).is_ok(),
            EdgeSet::Many(edges) => edges.contains(&edge),
        }
    }
    /// Adds `edge`; was it new?
    pub(crate) fn insert(&mut self, edge: u64) -> bool {
        match self {
            EdgeSet::Few(edges) => match edges.binary_search(&edge) {
                Ok(_) => false,
                Err(_) if edges.len() >= FEW_MAX => {
                    let mut many: OrdSet<u64> = edges.iter().copied().collect();
                    many.insert(edge);
                    *self = EdgeSet::Many(many);
                    true
                }
                Err(at) => {
                    edges.insert(at, edge);
                    true
                }
            },
            EdgeSet::Many(edges) => edges.insert(edge).is_none(),
        }
    }
    /// Takes `edge` out; was it there?
    pub(crate) fn remove(&mut self, edge: u64) -> bool {
        match self {
            EdgeSet::Few(edges) => match edges.binary_search(&edge) {
                Ok(at) => {
                    edges.remove(at);
                    true
                }
                Err(_) => false,
            },
            EdgeSet::Many(edges) => edges.remove(&edge).is_some(),
        }
    }
    /// All edges in order.
    pub(crate) fn iter(&self) -> EdgeSetIter<'_> {
        match self {
            EdgeSet::Few(edges) => EdgeSetIter::Few(edges.iter()),
            EdgeSet::Many(edges) => EdgeSetIter::Many(edges.iter()),
        }
    }
    /// Calls `found` with the edges to `neighbour`, in order.
    pub(crate) fn for_each_to(&self, neighbour: u32, mut found: impl FnMut(u64)) {
        let (first, last) = (pack(neighbour, 0), pack(neighbour, u32::MAX));
        match self {
            EdgeSet::Few(edges) => {
                let start = edges.partition_point(|edge| *edge < first);
                edges[start..].iter().take_while(|edge| **edge <= last).for_each(|edge| found(*edge));
            }
            EdgeSet::Many(edges) => edges.range(first..=last).for_each(|edge| found(*edge)),
        }
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            EdgeSet::Few(edges) => {
                if edges.spilled() {
                    edges.capacity() * 8
                } else {
                    0
                }
            }
            EdgeSet::Many(edges) => edges.len() * 12,
        }
    }
}

pub(crate) enum EdgeSetIter<'a> {
    Few(std::slice::Iter<'a, u64>),
    Many(imbl::ordset::Iter<'a, u64, imbl::shared_ptr::DefaultSharedPtr>),
}

impl Iterator for EdgeSetIter<'_> {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        match self {
            EdgeSetIter::Few(edges) => edges.next().copied(),
            EdgeSetIter::Many(edges) => edges.next().copied(),
        }
    }
}
