//! The base of an index leaf: its entries sorted by (key, vertex), immutable, compact where keys are integers or texts.

use crate::chunks::column::{PropertyRef, TextRun};
use model::Value;
use model::compare::total_order;
use model::schema::IndexId;
use std::cmp::Ordering;
use std::ops::Range;

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
    fences: Box<[u64]>,
}

/// Entries from one fence to the next: their keys lie in a few lines of the processor's cache.
const FENCE_ENTRIES: usize = 64;

/// The head of a key, for fences: where one key comes before another, its head is no greater.
fn int_head(key: i64) -> u64 {
    key as u64 ^ (1 << 63)
}
/// Its first eight bytes.
fn text_head(key: &str) -> u64 {
    let mut head = [0; 8];
    let len = key.len().min(head.len());
    head[..len].copy_from_slice(&key.as_bytes()[..len]);
    u64::from_be_bytes(head)
}

impl RunKeys {
    /// The heads of every [`FENCE_ENTRIES`]th key: a look-up goes through them first, and they are few enough to stay in the processor's cache.
    fn fences(&self) -> Box<[u64]> {
        match self {
            RunKeys::Int(keys) => keys.iter().step_by(FENCE_ENTRIES).map(|key| int_head(*key)).collect(),
            RunKeys::Text(keys) => {
                (0..keys.ends.len()).step_by(FENCE_ENTRIES).map(|at| text_head(keys.get(at))).collect()
            }
            RunKeys::Any(_) => Box::default(),
        }
    }
}

/// Text a run holds in one buffer; beyond it texts are kept one by one.
pub(crate) const RUN_TEXT_BYTES_MAX: usize = u32::MAX as usize;

impl IndexRun {
    /// Of keys and vertices in their order.
    pub(crate) fn new(keys: RunKeys, vertices: Box<[u32]>) -> IndexRun {
        IndexRun { fences: keys.fences(), keys, vertices }
    }
    /// Builds a run from entries in any order. The sorts are the stable ones, which merge sorted parts in linear time.
    pub(crate) fn build(mut entries: Vec<Entry>) -> IndexRun {
        if entries.iter().all(|entry| matches!(entry.key, IndexKey::One(Value::Int(_)))) {
            let mut pairs: Vec<(i64, u32)> = entries
                .iter()
                .filter_map(|entry| Some((entry.key.values()[0].as_int()?, entry.vertex)))
                .collect();
            pairs.sort();
            let keys = RunKeys::Int(pairs.iter().map(|(key, _)| *key).collect());
            return IndexRun::new(keys, pairs.iter().map(|(_, vertex)| *vertex).collect());
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
        IndexRun::new(keys, vertices)
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
            (RunKeys::Int(keys), [Value::Int(value)]) => {
                let between = self.between_fences(int_head(*value));
                between.start + keys[between].partition_point(|key| key < value)
            }
            (RunKeys::Text(keys), [Value::String(value)]) => {
                let between = self.between_fences(text_head(value));
                first_in(between, |at| keys.get(at).as_bytes() < value.as_bytes())
            }
            _ => self.partition_point(|at| self.order_to_prefix(at, prefix).is_lt()),
        }
    }
    /// Where the first entry lies that is not before a key with this head: there, or at the end of the range.
    fn between_fences(&self, head: u64) -> Range<usize> {
        let behind = self.fences.partition_point(|fence| *fence < head);
        // Of unique numbers it is this fence or the next.
        let same = self.fences[behind..].partition_point(|fence| *fence == head);
        let start = behind.saturating_sub(1) * FENCE_ENTRIES;
        start..self.len().min((behind + same) * FENCE_ENTRIES)
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
    pub(crate) fn slice(&self, range: Range<usize>) -> IndexRun {
        let keys = match &self.keys {
            RunKeys::Int(keys) => RunKeys::Int(keys[range.clone()].into()),
            RunKeys::Text(keys) => RunKeys::Text(TextRun::build(range.clone().map(|at| keys.get(at)))),
            RunKeys::Any(keys) => RunKeys::Any(keys[range.clone()].into()),
        };
        IndexRun::new(keys, self.vertices[range].into())
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
        first_in(0..self.len(), before)
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
        keys + self.vertices.len() * 4 + self.fences.len() * 8
    }
}

/// First position of a range for which `before` is false, or its end; `before` is true, then false, along the range.
fn first_in(range: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
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

    /// Beside a search that knows no fences: sizes around the distance of fences, keys that repeat, and texts that share their heads.
    #[test]
    fn a_look_up_between_fences_finds_what_a_look_up_without_them_finds() {
        let mut drawn = 0_u64;
        let mut number = |kinds: u64| {
            drawn = drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = crate::snapshots::sampled::scattered(drawn);
            if kinds == u64::MAX { (mixed << 1) as i64 } else { (mixed % kinds) as i64 - 1 }
        };
        for len in [0, 1, 2, 63, 64, 65, 127, 128, 129, 1_000] {
            for kinds in [1, 3, 40, u64::MAX] {
                let text = |number: i64| {
                    let heads = ["", "a", "a\0", "same head, ", "same hea", "\u{10ffff}\u{10ffff}\u{10ffff}"];
                    let head = heads[number.rem_euclid(6) as usize];
                    Value::string(format!(
                        "{head}{}",
                        if number % 5 == 0 { String::new() } else { number.to_string() }
                    ))
                };
                for is_text in [false, true] {
                    let key = |number: i64| if is_text { text(number) } else { Value::Int(number) };
                    let entries =
                        (0..len).map(|vertex| Entry { key: IndexKey::One(key(number(kinds))), vertex });
                    let run = IndexRun::build(entries.collect());
                    assert!(run.is_sorted());
                    let edges = [i64::MIN, -1, 0, 1, i64::MAX].map(key);
                    let drawn: Vec<Value> = (0..50).map(|_| key(number(kinds))).collect();
                    for value in edges.into_iter().chain(drawn) {
                        let plain = run.partition_point(|at| {
                            run.order_to_prefix(at, std::slice::from_ref(&value)).is_lt()
                        });
                        let found = run.start_of(std::slice::from_ref(&value));
                        assert_eq!(found, plain, "{value:?} among {len} of {kinds} kinds");
                    }
                }
            }
        }
    }

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
