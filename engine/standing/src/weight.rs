//! Bytes of the state of a query's steps, as allocated.
//!
//! Rows and texts are shared by the steps that keep them, so each holder counts its part of them: all together count the whole, once. Cost: a walk
//! over all state. So it is not done at every commit: [`Weighed`] says when enough has changed, as a part of the state, as a table grows, and in
//! between adds the weight of the changed rows.

use crate::row::Row;
use crate::table::{HashMap, HashSet};
use model::Value;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::mem::size_of;
use std::sync::Arc;

/// Reference counts and length in front of shared content.
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

/// Part of the state that must have changed before all is weighed again: half, so that one that grows is walked three times in all.
const CHANGED_PART: usize = 2;
/// But at least this many bytes.
const CHANGED_BYTES_MIN: usize = 1 << 16;

impl Weighed {
    /// Rows of `bytes` bytes came or went.
    pub fn changed(&mut self, bytes: usize) {
        self.since += bytes;
    }
    /// Is it time to weigh again?
    pub fn is_due(&self) -> bool {
        self.since > (self.bytes / CHANGED_PART).max(CHANGED_BYTES_MIN)
    }
    /// Everything was weighed, while the rows had no other holders.
    pub fn weighed(&mut self, bytes: usize) {
        *self = Weighed { bytes, since: 0 };
    }
    /// The weighed bytes, and those since.
    pub fn bytes(&self) -> usize {
        self.bytes + self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use world::chance::Chance;

    /// Bytes that dropping a structure frees, compared with its own weight.
    fn check<T: Weight>(what: &str, made: T, slack: usize) {
        let (said, before) = (made.bytes_behind(), heap::held_by_thread());
        drop(made);
        let given = (before - heap::held_by_thread()) as usize;
        assert!(said.abs_diff(given) <= slack, "{what}: {said} bytes are said, {given} were given");
    }

    fn value(chance: &mut Chance) -> Value {
        match chance.below(5) {
            0 => Value::Int(chance.below(9) as i64),
            1 => Value::Null,
            2 => "a text that is long enough to lie on the heap".into(),
            3 => Value::Bytes(Arc::from(vec![7; 1 + chance.index(90)])),
            _ => Value::list(vec![Value::Int(1), "an inner text, long enough as well".into()]),
        }
    }

    fn row(chance: &mut Chance) -> Row {
        let width = chance.index(4);
        Row::new((0..width).map(|_| value(chance)).collect::<Vec<_>>())
    }

    /// Every kind of structure that steps keep rows in.
    #[test]
    fn weights_are_those_of_the_allocator() {
        let mut chance = Chance::seeded(4);
        for round in 0..60 {
            let count = chance.index(200);
            let mut rows = || (0..count).map(|_| row(&mut chance)).collect::<Vec<Row>>();
            check(&format!("{count} rows, round {round}"), rows(), 0);
            check("rows in turn", rows().into_iter().collect::<VecDeque<Row>>(), 0);
            check("boxes", rows().into_iter().map(Box::new).collect::<Vec<_>>(), 0);
            check("some", rows().into_iter().map(Some).collect::<Vec<_>>(), 0);
            check("pairs", rows().into_iter().map(|row| (row, 1_usize)).collect::<Vec<_>>(), 0);
            // A table has a group of control bytes at its end, and what aligns them.
            let set: HashSet<Row> = rows().into_iter().collect();
            check("a set", set, 0);
            let map: HashMap<usize, Row> = rows().into_iter().enumerate().collect();
            check("a map", map, 0);
            let tree: BTreeMap<usize, Row> = rows().into_iter().enumerate().collect();
            let nodes = count * size_of::<(usize, Row)>();
            check("a tree", tree, 400 + nodes);
        }
    }

    /// Each holder of a shared row counts its part: together they count it once.
    #[test]
    fn what_is_shared_is_counted_once() {
        let mut chance = Chance::seeded(5);
        for holders in 1..6 {
            let one = Row::new([Value::Int(1), "a text that is long enough".into(), value(&mut chance)]);
            let shared = vec![one; holders];
            let said: usize = shared.iter().map(Weight::bytes_behind).sum();
            let before = heap::held_by_thread();
            let list = shared.capacity() * size_of::<Row>();
            drop(shared);
            let given = (before - heap::held_by_thread()) as usize - list;
            assert!(given - said < holders, "{holders} holders: {said} bytes are said, {given} were given");
        }
    }

    #[test]
    fn all_is_weighed_again_when_half_has_changed() {
        let mut weighed = Weighed::default();
        weighed.changed(CHANGED_BYTES_MIN);
        assert!(!weighed.is_due() && weighed.bytes() == CHANGED_BYTES_MIN);
        weighed.changed(1);
        assert!(weighed.is_due());
        weighed.weighed(CHANGED_BYTES_MIN * 8);
        weighed.changed(CHANGED_BYTES_MIN * 4);
        assert!(!weighed.is_due() && weighed.bytes() == CHANGED_BYTES_MIN * 12);
        weighed.changed(1);
        assert!(weighed.is_due());
    }
}
