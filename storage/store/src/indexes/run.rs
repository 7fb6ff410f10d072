//! The base of an index leaf: its entries sorted by (key, vertex), immutable, compact where keys are integers or texts.

use crate::chunks::column::{PropertyRef, TextRun};
use model::Value;
use model::compare::total_order;
use model::schema::IndexId;
use std::cmp::Ordering;

/// The indexed values of one vertex, in the order of the index's keys.
#[derive(Clone, Debug)]
pub(crate) enum IndexKey {
    One(Value),
    Many(Box<[Value]>),
}

impl IndexKey {
    pub(crate) fn new(values: &[Value]) -> IndexKey {
        match values {
            [value] => IndexKey::One(value.clone()),
            _ => IndexKey::Many(values.into()),
        }
    }
    pub(crate) fn values(&self) -> &[Value] {
        match self {
            IndexKey::One(value) => std::slice::from_ref(value),
            IndexKey::Many(values) => values,
        }
    }
    /// Are the first `count` values the same?
    pub(crate) fn same_first(&self, other: &IndexKey, count: usize) -> bool {
        let (x, y) = (self.values(), other.values());
        let (x, y) = (&x[..count.min(x.len())], &y[..count.min(y.len())]);
        x.len() == y.len() && order_prefix(x.iter().map(PropertyRef::from), y).is_eq()
    }
}

impl PartialEq for IndexKey {
    fn eq(&self, other: &IndexKey) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for IndexKey {}
impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &IndexKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for IndexKey {
    /// Lexicographic; a prefix comes before its extensions.
    fn cmp(&self, other: &IndexKey) -> Ordering {
        let (x, y) = (self.values(), other.values());
        order_prefix(x.iter().map(PropertyRef::from), y).then(x.len().cmp(&y.len()))
    }
}

/// One indexed vertex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) key: IndexKey,
    pub(crate) vertex: u32,
}

/// [`total_order`] of a stored value and a value, without owning the first.
pub(crate) fn order_ref(stored: PropertyRef<'_>, value: &Value) -> Ordering {
    match (stored, value) {
        (PropertyRef::Text(text), Value::String(other)) => text.as_bytes().cmp(other.as_bytes()),
        (PropertyRef::Other(stored), value) => total_order(stored, value),
        (PropertyRef::Int(int), Value::Int(other)) => int.cmp(other),
        (stored, value) => total_order(&stored.to_value(), value),
    }
}

fn order_prefix<'a>(stored: impl Iterator<Item = PropertyRef<'a>>, prefix: &[Value]) -> Ordering {
    let orders = stored.zip(prefix).map(|(stored, value)| order_ref(stored, value));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// An entry that an index of a share has got or lost.
#[derive(Clone, Debug)]
pub struct EntryChange {
    pub(crate) index: IndexId,
    /// Else it went.
    pub(crate) came: bool,
    pub(crate) entry: Entry,
}

#[derive(Debug)]
pub(crate) enum RunKeys {
    Int(Box<[i64]>),
    Text(TextRun),
    Any(Box<[IndexKey]>),
}

#[derive(Debug)]
pub(crate) struct IndexRun {
    pub(crate) keys: RunKeys,
    pub(crate) vertices: Box<[u32]>,
}

/// Text a run holds in one buffer; beyond it texts are kept one by one.
pub(crate) const RUN_TEXT_BYTES_MAX: usize = u32::MAX as usize;

impl IndexRun {
    /// Builds a run from entries in any order. The sorts are the stable ones, which merge sorted parts in linear time.
    pub(crate) fn build(mut entries: Vec<Entry>) -> IndexRun {
        if entries.iter().all(|entry| matches!(entry.key, IndexKey::One(Value::Int(_)))) {
            let mut pairs: Vec<(i64, u32)> = entries
                .iter()
                .filter_map(|entry| Some((entry.key.values()[0].as_int()?, entry.vertex)))
                .collect();
            pairs.sort();
            let keys = RunKeys::Int(pairs.iter().map(|(key, _)| *key).collect());
            return IndexRun { keys, vertices: pairs.iter().map(|(_, vertex)| *vertex).collect() };
        }
        entries.sort();
        let vertices = entries.iter().map(|entry| entry.vertex).collect();
        let text_len = |entry: &Entry| match &entry.key {
            IndexKey::One(Value::String(text)) => Some(text.len()),
            _ => None,
        };
        let text_bytes: Option<usize> = entries.iter().map(text_len).sum();
        let keys = match text_bytes {
            Some(bytes) if bytes <= RUN_TEXT_BYTES_MAX => RunKeys::Text(TextRun::build(
                entries.iter().map(|entry| entry.key.values()[0].as_str().unwrap_or("")),
            )),
            _ => RunKeys::Any(entries.into_iter().map(|entry| entry.key).collect()),
        };
        IndexRun { keys, vertices }
    }
    pub(crate) fn len(&self) -> usize {
        self.vertices.len()
    }
    /// First indexed value of entry `at`.
    pub(crate) fn leading(&self, at: usize) -> PropertyRef<'_> {
        match &self.keys {
            RunKeys::Int(keys) => PropertyRef::Int(keys[at]),
            RunKeys::Text(keys) => PropertyRef::Text(keys.get(at)),
            RunKeys::Any(keys) => PropertyRef::from(&keys[at].values()[0]),
        }
    }
    /// Order of the first values of entry `at` and `prefix`.
    pub(crate) fn order_to_prefix(&self, at: usize, prefix: &[Value]) -> Ordering {
        match &self.keys {
            RunKeys::Any(keys) => order_prefix(keys[at].values().iter().map(PropertyRef::from), prefix),
            _ => order_prefix(std::iter::once(self.leading(at)), prefix),
        }
    }
    /// Does each entry come before the next?
    pub(crate) fn is_sorted(&self) -> bool {
        let pairs = 1..self.len();
        let vertices = &self.vertices;
        let is_before =
            |keys: Ordering, at: usize| keys.then_with(|| vertices[at - 1].cmp(&vertices[at])).is_lt();
        match &self.keys {
            RunKeys::Int(keys) => pairs.into_iter().all(|at| is_before(keys[at - 1].cmp(&keys[at]), at)),
            RunKeys::Text(keys) => pairs
                .into_iter()
                .all(|at| is_before(keys.get(at - 1).as_bytes().cmp(keys.get(at).as_bytes()), at)),
            RunKeys::Any(keys) => pairs.into_iter().all(|at| is_before(keys[at - 1].cmp(&keys[at]), at)),
        }
    }
    /// Position of the first entry whose first values are not before `prefix`.
    pub(crate) fn start_of(&self, prefix: &[Value]) -> usize {
        match (&self.keys, prefix) {
            // Most keys are one value of one kind: what kind is not asked at each step.
            (RunKeys::Int(keys), [Value::Int(value)]) => keys.partition_point(|key| key < value),
            (RunKeys::Text(keys), [Value::String(value)]) => {
                self.partition_point(|at| keys.get(at).as_bytes() < value.as_bytes())
            }
            _ => self.partition_point(|at| self.order_to_prefix(at, prefix).is_lt()),
        }
    }
    pub(crate) fn order_to(&self, at: usize, entry: &Entry) -> Ordering {
        let keys = match &self.keys {
            RunKeys::Any(keys) => keys[at].cmp(&entry.key),
            _ => self.order_to_prefix(at, entry.key.values()),
        };
        keys.then(self.vertices[at].cmp(&entry.vertex))
    }
    pub(crate) fn entry(&self, at: usize) -> Entry {
        let key = match &self.keys {
            RunKeys::Any(keys) => keys[at].clone(),
            _ => IndexKey::One(self.leading(at).to_value()),
        };
        Entry { key, vertex: self.vertices[at] }
    }
    /// The entries at these positions, as a run of their own.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> IndexRun {
        let keys = match &self.keys {
            RunKeys::Int(keys) => RunKeys::Int(keys[range.clone()].into()),
            RunKeys::Text(keys) => RunKeys::Text(TextRun::build(range.clone().map(|at| keys.get(at)))),
            RunKeys::Any(keys) => RunKeys::Any(keys[range.clone()].into()),
        };
        IndexRun { keys, vertices: self.vertices[range].into() }
    }
    /// Do entries `at` and `at + 1` have the same first `width` values?
    fn same_as_next(&self, at: usize, width: usize) -> bool {
        match &self.keys {
            RunKeys::Int(keys) => keys[at] == keys[at + 1],
            RunKeys::Text(keys) => keys.get(at) == keys.get(at + 1),
            RunKeys::Any(keys) => keys[at].same_first(&keys[at + 1], width),
        }
    }
    fn distinct(&self, width: usize) -> u64 {
        let repeated = (1..self.len()).filter(|at| self.same_as_next(at - 1, width)).count();
        (self.len() - repeated) as u64
    }
    /// First position for which `before` is false; `before` is true, then false, along the run.
    pub(crate) fn partition_point(&self, before: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        let keys = match &self.keys {
            RunKeys::Int(keys) => keys.len() * 8,
            RunKeys::Text(keys) => keys.heap_bytes(),
            RunKeys::Any(keys) => {
                let beside = |key: &IndexKey| match key {
                    IndexKey::One(_) => 0,
                    IndexKey::Many(values) => size_of_val::<[Value]>(values),
                };
                let held = |key: &IndexKey| key.values().iter().map(Value::heap_bytes).sum::<usize>();
                keys.iter().map(|key| size_of::<IndexKey>() + beside(key) + held(key)).sum()
            }
        };
        keys + self.vertices.len() * 4
    }
}

/// Facts about a run that are known before it is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunKnown {
    pub(crate) len: u64,
    /// Distinct among the first `width` values of its entries.
    pub(crate) distinct: u64,
    /// Number of keys of its index: for indexes over edges, further parts of an entry distinguish relationships.
    pub(crate) width: usize,
}

impl RunKnown {
    pub(crate) fn of(run: &IndexRun, width: usize) -> RunKnown {
        RunKnown { len: run.len() as u64, distinct: run.distinct(width), width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_relationships_apart_does_not_make_keys_distinct() {
        let entry = |key: i64, edge: i64| Entry {
            key: IndexKey::new(&[Value::Int(key), Value::Int(edge)]),
            vertex: 0,
        };
        let run = IndexRun::build((0..12).map(|edge| entry(edge / 4, edge)).collect());
        assert_eq!(RunKnown::of(&run, 1).distinct, 3);
        assert_eq!(RunKnown::of(&run, 2).distinct, 12);
    }
}
