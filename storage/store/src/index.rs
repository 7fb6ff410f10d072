//! An index at one snapshot: a sorted base run and a small persistent delta; exact, so nothing found needs to be checked again.
//!
//! Invariants: `removed` holds only entries of the run, `added` only entries not in it. A vertex is indexed if it carries the
//! label and none of the keys is null. Cost of a write: one path of a persistent tree; of a seek: two binary searches. When the
//! delta outgrows its share (see [`Index::is_fold_due`]), both are merged into a new run.

use crate::StoreError;
use crate::column::PropertyRef;
use crate::index_merge::merged;
use crate::index_run::{Entry, IndexKey, IndexRun, RunKnown, order_ref};
use crate::page::Page;
use crate::pager::Pager;
use imbl::OrdSet;
use model::compare::{compare, equals};
use model::schema::IndexDefinition;
use model::{Value, VertexId};
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// Delta entries a fold waits for at most, short of a 256th of the run: a fold stops all commits, for some 200 ns an entry of the
/// delta, and a copy of 12 bytes an entry of the run that this many changes pay for.
const FOLD_DELTA_MAX: usize = 16 * 1024;

#[derive(Clone)]
pub(crate) struct Index {
    pub(crate) definition: Arc<IndexDefinition>,
    pub(crate) run: Arc<Page<IndexRun>>,
    pub(crate) added: OrdSet<Entry>,
    pub(crate) removed: OrdSet<Entry>,
}

impl Index {
    /// An index over these entries; fails where it is unique and they are not.
    pub(crate) fn build(
        definition: IndexDefinition,
        entries: Vec<Entry>,
        pager: &Arc<Pager>,
    ) -> Result<Index, StoreError> {
        let run = IndexRun::build(entries);
        if definition.unique
            && let Some(at) = (1..run.len()).find(|at| run.same_as_next(at - 1))
        {
            let vertex = |at: usize| VertexId::from_dense(run.vertices[at]);
            return Err(StoreError::NotUnique {
                index: definition.id,
                vertices: (vertex(at - 1), vertex(at)),
            });
        }
        let run = new_page(run, pager);
        Ok(Index { definition: Arc::new(definition), run, added: OrdSet::new(), removed: OrdSet::new() })
    }
    pub(crate) fn entry_count(&self) -> u64 {
        self.run.known.len + self.added.len() as u64 - self.removed.len() as u64
    }
    /// Distinct keys: exact for unique indexes and just after a fold, else scaled by the run's ratio.
    pub(crate) fn distinct_estimate(&self) -> u64 {
        let entries = self.entry_count();
        if self.definition.unique || self.run.known.len == 0 {
            return entries;
        }
        (entries as f64 * self.run.known.distinct as f64 / self.run.known.len as f64).round() as u64
    }
    pub(crate) fn insert(&mut self, key: IndexKey, vertex: u32) {
        let entry = Entry { key, vertex };
        if self.removed.remove(&entry).is_none() {
            self.added.insert(entry);
        }
    }
    pub(crate) fn remove(&mut self, key: IndexKey, vertex: u32) {
        let entry = Entry { key, vertex };
        if self.added.remove(&entry).is_none() {
            self.removed.insert(entry);
        }
    }
    /// Did the delta outgrow its share?
    pub(crate) fn is_fold_due(&self, delta_min: usize) -> bool {
        let run = self.run.known.len as usize;
        let share = (run / 8).min(FOLD_DELTA_MAX.max(run / 256));
        self.added.len() + self.removed.len() > delta_min.max(share)
    }
    /// Merges run and delta into a new run.
    pub(crate) fn fold(&mut self) -> Result<(), StoreError> {
        self.run = new_page(self.merged_run()?, self.run.pager());
        self.added = OrdSet::new();
        self.removed = OrdSet::new();
        Ok(())
    }
    /// Run and delta as one run.
    pub(crate) fn merged_run(&self) -> Result<IndexRun, StoreError> {
        match merged(&*self.run.read()?, self.added.iter(), self.removed.iter()) {
            Some(run) => Ok(run),
            None => Ok(IndexRun::build(self.entries()?)),
        }
    }
    /// All entries, run and delta together, in no particular order.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let run = self.run.read()?;
        let kept = (0..run.len()).map(|at| run.entry(at)).filter(|entry| !self.removed.contains(entry));
        Ok(kept.chain(self.added.iter().cloned()).collect())
    }
    /// Vertices whose first keys equal `prefix`; null, NaN and values that hold them equal nothing.
    pub(crate) fn seek(&self, prefix: &[Value]) -> Result<Vec<VertexId>, StoreError> {
        if prefix.iter().any(|value| equals(value, value) != Some(true)) {
            return Ok(Vec::new());
        }
        let run = self.run.read()?;
        let start = run.partition_point(|at| run.order_to_prefix(at, prefix).is_lt());
        let matching = (start..run.len()).take_while(|at| run.order_to_prefix(*at, prefix).is_eq());
        let mut found: Vec<VertexId> = if self.removed.is_empty() {
            matching.map(|at| VertexId::from_dense(run.vertices[at])).collect()
        } else {
            let kept = matching.filter(|at| !self.removed.contains(&run.entry(*at)));
            kept.map(|at| VertexId::from_dense(run.vertices[at])).collect()
        };
        let from = Entry { key: IndexKey::new(prefix), vertex: 0 };
        let same = |entry: &&Entry| {
            let pairs = entry.key.values().iter().zip(prefix);
            pairs.map(|(stored, value)| order_ref(PropertyRef::from(stored), value)).all(Ordering::is_eq)
        };
        let before = found.len();
        found.extend(
            self.added.range(from..).take_while(same).map(|entry| VertexId::from_dense(entry.vertex)),
        );
        if found.len() > before && before > 0 {
            found.sort_unstable();
        }
        Ok(found)
    }
    /// Vertices whose first key lies between the bounds, in the order of the index. Only values comparable with the bounds are
    /// found; without bounds, all entries are.
    pub(crate) fn range(&self, lower: Bound<&Value>, upper: Bound<&Value>) -> Result<IndexRange, StoreError> {
        let limits = Limits::new(lower, upper);
        let run = self.run.read()?;
        let Some(limits) = limits else {
            return Ok(IndexRange {
                run: run.shared().clone(),
                low: 0,
                high: 0,
                gone: Vec::new(),
                added: Vec::new().into(),
            });
        };
        let low = run.partition_point(|at| !limits.past_lower(run.leading(at)));
        let high = run.partition_point(|at| limits.within_upper(run.leading(at)));
        let mut gone: Vec<usize> = Vec::new();
        for entry in within(&self.removed, &limits) {
            gone.push(run.partition_point(|at| run.order_to(at, entry).is_lt()));
        }
        if limits.is_list {
            gone.extend((low..high).filter(|at| !limits.comparable(run.leading(*at))));
        }
        gone.sort_unstable();
        let added = within(&self.added, &limits)
            .filter(|entry| !limits.is_list || limits.comparable(PropertyRef::from(&entry.key.values()[0])))
            .cloned()
            .collect();
        Ok(IndexRange { run: run.shared().clone(), low, high: high.max(low), gone, added })
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        self.run.peek().map_or(0, |run| IndexRun::heap_bytes(&run))
            + (self.added.len() + self.removed.len()) * 64
    }
}

fn new_page(run: IndexRun, pager: &Arc<Pager>) -> Arc<Page<IndexRun>> {
    let known = RunKnown::of(&run);
    Page::new(Arc::new(run), known, pager)
}

fn within<'a>(entries: &'a OrdSet<Entry>, limits: &'a Limits) -> impl Iterator<Item = &'a Entry> {
    let start = match &limits.start {
        Some(value) => Bound::Included(Entry { key: IndexKey::One(value.clone()), vertex: 0 }),
        None => Bound::Unbounded,
    };
    entries
        .range((start, Bound::Unbounded))
        .skip_while(|entry| !limits.past_lower(PropertyRef::from(&entry.key.values()[0])))
        .take_while(|entry| limits.within_upper(PropertyRef::from(&entry.key.values()[0])))
}

/// The bounds of a range and the type they confine it to.
struct Limits {
    lower: Bound<Value>,
    upper: Bound<Value>,
    /// A value of the type all results must have; none where there is no bound.
    sample: Option<Value>,
    /// Where a delta scan may start.
    start: Option<Value>,
    is_list: bool,
}

impl Limits {
    /// `None` where no value can lie between the bounds.
    fn new(lower: Bound<&Value>, upper: Bound<&Value>) -> Option<Limits> {
        let value = |bound: &Bound<&Value>| match bound {
            Bound::Included(value) | Bound::Excluded(value) => Some((*value).clone()),
            Bound::Unbounded => None,
        };
        let (low, high) = (value(&lower), value(&upper));
        let orderable = |value: &Value| compare(value, value).is_some();
        if !low.iter().chain(&high).all(orderable) {
            return None;
        }
        if let (Some(low), Some(high)) = (&low, &high) {
            compare(low, high)?;
        }
        let sample = low.clone().or(high);
        let start = low.or_else(|| sample.as_ref().and_then(least_of_type));
        let is_list = matches!(sample, Some(Value::List(_)));
        Some(Limits { lower: lower.cloned(), upper: upper.cloned(), sample, start, is_list })
    }
    /// Has the value the type of the bounds?
    fn same_type(&self, stored: PropertyRef<'_>) -> bool {
        match (&self.sample, stored) {
            (None, _) => true,
            (Some(Value::List(_)), stored) => matches!(stored, PropertyRef::Other(Value::List(_))),
            (Some(_), stored) => self.comparable(stored),
        }
    }
    fn comparable(&self, stored: PropertyRef<'_>) -> bool {
        match (&self.sample, stored) {
            (None, _) => true,
            (Some(Value::String(_)), PropertyRef::Text(_)) => true,
            (Some(Value::Int(_)), PropertyRef::Int(_)) => true,
            (Some(sample), stored) => compare(&stored.to_value(), sample).is_some(),
        }
    }
    fn past_lower(&self, stored: PropertyRef<'_>) -> bool {
        match (&self.lower, &self.sample) {
            (Bound::Included(value), _) => order_ref(stored, value).is_ge(),
            (Bound::Excluded(value), _) => order_ref(stored, value).is_gt(),
            (Bound::Unbounded, Some(sample)) => self.same_type(stored) || order_ref(stored, sample).is_gt(),
            (Bound::Unbounded, None) => true,
        }
    }
    fn within_upper(&self, stored: PropertyRef<'_>) -> bool {
        match (&self.upper, &self.sample) {
            (Bound::Included(value), _) => order_ref(stored, value).is_le(),
            (Bound::Excluded(value), _) => order_ref(stored, value).is_lt(),
            (Bound::Unbounded, Some(sample)) => self.same_type(stored) || order_ref(stored, sample).is_lt(),
            (Bound::Unbounded, None) => true,
        }
    }
}

/// The least value of the type of `sample`, where it is cheap to name.
fn least_of_type(sample: &Value) -> Option<Value> {
    match sample {
        Value::Int(_) | Value::Float(_) => Some(Value::Float(f64::NEG_INFINITY)),
        Value::Bool(_) => Some(Value::Bool(false)),
        Value::String(_) => Some(Value::string("")),
        _ => None,
    }
}

/// The vertices of an index range, in the order of the index, from either end.
pub struct IndexRange {
    run: Arc<IndexRun>,
    low: usize,
    high: usize,
    /// Run positions between `low` and `high` that do not count, sorted.
    gone: Vec<usize>,
    /// Entries of the delta still to come, sorted.
    added: std::collections::VecDeque<Entry>,
}

impl Iterator for IndexRange {
    type Item = VertexId;
    fn next(&mut self) -> Option<VertexId> {
        while self.low < self.high && self.gone.binary_search(&self.low).is_ok() {
            self.low += 1;
        }
        if self.low < self.high {
            let run = &self.run;
            let first = self.added.front().is_none_or(|entry| run.order_to(self.low, entry).is_lt());
            if first {
                let vertex = run.vertices[self.low];
                self.low += 1;
                return Some(VertexId::from_dense(vertex));
            }
        }
        self.added.pop_front().map(|entry| VertexId::from_dense(entry.vertex))
    }
}

impl DoubleEndedIterator for IndexRange {
    fn next_back(&mut self) -> Option<VertexId> {
        while self.low < self.high && self.gone.binary_search(&(self.high - 1)).is_ok() {
            self.high -= 1;
        }
        if self.low < self.high {
            let run = &self.run;
            let last = self.added.back().is_none_or(|entry| run.order_to(self.high - 1, entry).is_gt());
            if last {
                let vertex = run.vertices[self.high - 1];
                self.high -= 1;
                return Some(VertexId::from_dense(vertex));
            }
        }
        self.added.pop_back().map(|entry| VertexId::from_dense(entry.vertex))
    }
}
