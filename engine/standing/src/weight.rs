//! What the steps of a query keep, in bytes, as the allocator gave it.
//!
//! Rows and texts are shared by the steps that keep them, so each holder counts its part of them: all together count the whole, once.
//! Cost: a walk over everything that is kept. So it is not done at every commit: [`Weighed`] says when as much has changed as a part of what
//! there was, as a table grows, and in between adds what the changed rows weigh.

use crate::row::Row;
use crate::table::{HashMap, HashSet};
use model::Value;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::mem::size_of;
use std::sync::Arc;

/// Counts and length in front of what is shared.
const SHARED_BYTES: usize = 2 * size_of::<usize>();

/// Something that keeps bytes besides its own size.
pub(crate) trait Weight {
    /// Bytes behind it.
    fn bytes_behind(&self) -> usize;
}

impl Weight for Row {
    fn bytes_behind(&self) -> usize {
        let values = self.values();
        let own: usize = values.iter().map(Weight::bytes_behind).sum();
        (SHARED_BYTES + size_of_val(values) + own) / self.holders()
    }
}

impl Weight for Value {
    fn bytes_behind(&self) -> usize {
        let holders = match self {
            Value::String(text) => Arc::strong_count(text),
            Value::Bytes(bytes) => Arc::strong_count(bytes),
            _ => 1,
        };
        self.heap_bytes() / holders.max(1)
    }
}

macro_rules! flat {
    ($($kind:ty),*) => {$(
        impl Weight for $kind {
            fn bytes_behind(&self) -> usize {
                0
            }
        }
    )*};
}
flat!(isize, usize, u32, model::VertexId);

impl<A: Weight, B: Weight> Weight for (A, B) {
    fn bytes_behind(&self) -> usize {
        self.0.bytes_behind() + self.1.bytes_behind()
    }
}

impl<T: Weight> Weight for Option<T> {
    fn bytes_behind(&self) -> usize {
        self.as_ref().map_or(0, Weight::bytes_behind)
    }
}

impl<T: Weight> Weight for Box<T> {
    fn bytes_behind(&self) -> usize {
        size_of::<T>() + (**self).bytes_behind()
    }
}

impl<T: Weight> Weight for Vec<T> {
    fn bytes_behind(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(Weight::bytes_behind).sum::<usize>()
    }
}

impl<K: Weight + Eq + Hash, V: Weight> Weight for HashMap<K, V> {
    fn bytes_behind(&self) -> usize {
        let inner = self.iter().map(|(key, value)| key.bytes_behind() + value.bytes_behind());
        self.allocation_size() + inner.sum::<usize>()
    }
}

impl<K: Weight + Eq + Hash> Weight for HashSet<K> {
    fn bytes_behind(&self) -> usize {
        self.allocation_size() + self.iter().map(Weight::bytes_behind).sum::<usize>()
    }
}

impl<K: Weight, V: Weight> Weight for BTreeMap<K, V> {
    fn bytes_behind(&self) -> usize {
        /// Entries of a node, and its links.
        const NODE_ENTRIES: usize = 11;
        const NODE_BYTES: usize = 16;
        let node = NODE_ENTRIES * size_of::<(K, V)>() + NODE_BYTES;
        // Nodes are half to wholly full; those above the leaves are few.
        let nodes = (self.len() * 3).div_ceil(2 * NODE_ENTRIES);
        let inner = self.iter().map(|(key, value)| key.bytes_behind() + value.bytes_behind());
        nodes * node + inner.sum::<usize>()
    }
}

impl<T: Weight> Weight for std::collections::VecDeque<T> {
    fn bytes_behind(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(Weight::bytes_behind).sum::<usize>()
    }
}

/// A weight that is taken now and then.
#[derive(Default)]
pub(crate) struct Weighed {
    bytes: usize,
    /// Bytes of the rows that came and went since.
    since: usize,
}

/// Part of what there was that must have changed before all is weighed again: a quarter.
const CHANGED_PART: usize = 4;
/// But so many bytes at least.
const CHANGED_BYTES_MIN: usize = 1 << 16;

impl Weighed {
    /// Rows of so many bytes came or went.
    pub fn changed(&mut self, bytes: usize) {
        self.since += bytes;
    }
    /// Is it time to weigh again?
    pub fn is_due(&self) -> bool {
        self.since > (self.bytes / CHANGED_PART).max(CHANGED_BYTES_MIN)
    }
    /// Everything was weighed, while nobody else held the rows.
    pub fn weighed(&mut self, bytes: usize) {
        *self = Weighed { bytes, since: 0 };
    }
    /// What was weighed, and what came since.
    pub fn bytes(&self) -> usize {
        self.bytes + self.since
    }
}
