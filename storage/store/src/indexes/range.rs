//! Ranges of an index: which entries lie between two bounds, and a walk over them, leaf by leaf, from either end.
//!
//! A range holds the index, and of its leaves only the one at each end: walking a large one under a small memory budget loads leaf
//! after leaf. Loading may fail, so every step is a result.

use crate::StoreError;
use crate::chunks::column::PropertyRef;
use crate::indexes::leaf::Leaf;
use crate::indexes::run::{Entry, IndexKey, IndexRun, order_ref};
use crate::indexes::tree::{Index, LeafPlace};
use imbl::OrdSet;
use model::compare::compare;
use model::{Value, VertexId};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// The bounds of a range and the type they confine it to.
pub(crate) struct Limits {
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
    pub(crate) fn new(lower: Bound<&Value>, upper: Bound<&Value>) -> Option<Limits> {
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
    pub(crate) fn past_lower(&self, stored: PropertyRef<'_>) -> bool {
        match (&self.lower, &self.sample) {
            (Bound::Included(value), _) => order_ref(stored, value).is_ge(),
            (Bound::Excluded(value), _) => order_ref(stored, value).is_gt(),
            (Bound::Unbounded, Some(sample)) => self.same_type(stored) || order_ref(stored, sample).is_gt(),
            (Bound::Unbounded, None) => true,
        }
    }
    pub(crate) fn within_upper(&self, stored: PropertyRef<'_>) -> bool {
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

/// Tells whether a vertex is shown to the reader.
pub(crate) type VertexTest = Box<dyn Fn(VertexId) -> Result<bool, StoreError> + Send + Sync>;

/// The vertices of an index range, in the order of the index, from either end. A step fails where a leaf cannot be loaded.
pub struct IndexRange {
    index: Arc<Index>,
    /// None where no value can lie between the bounds.
    limits: Option<Limits>,
    /// Leaves not yet begun: from the first up to the second.
    next: LeafPlace,
    end: LeafPlace,
    front: Option<LeafRange>,
    back: Option<LeafRange>,
    /// Which vertices are shown, where not all are.
    shown: Option<VertexTest>,
}

impl IndexRange {
    pub(crate) fn new(index: Arc<Index>, limits: Option<Limits>) -> IndexRange {
        let leading = |entry: &Entry| entry.key.values().first().cloned().unwrap_or_default();
        let (next, end) = match &limits {
            None => (index.partition_point(|_| false), index.partition_point(|_| false)),
            Some(limits) => {
                let behind =
                    index.partition_point(|first| !limits.past_lower(PropertyRef::from(&leading(first))));
                let end =
                    index.partition_point(|first| limits.within_upper(PropertyRef::from(&leading(first))));
                let next = index.before(behind).unwrap_or(behind);
                // The first leaf may hold entries before its first.
                (next, end.max(index.after(next)))
            }
        };
        IndexRange { index, limits, next, end, front: None, back: None, shown: None }
    }
    /// The same range, of which only vertices that pass the test are found; an edge needs both ends to pass.
    pub(crate) fn shown_by(self, test: Option<VertexTest>) -> IndexRange {
        IndexRange { shown: test, ..self }
    }
    pub(crate) fn shows(&self, vertex: VertexId) -> Result<bool, StoreError> {
        self.shown.as_ref().map_or(Ok(true), |shown| shown(vertex))
    }
    /// A vertex, and whether it is shown.
    fn verdict(&self, found: Option<VertexId>) -> Result<Option<(VertexId, bool)>, StoreError> {
        found.map(|vertex| Ok((vertex, self.shows(vertex)?))).transpose()
    }
    fn open(&self, place: LeafPlace) -> Result<Option<LeafRange>, StoreError> {
        match (&self.limits, self.index.leaf(place)) {
            (Some(limits), Some(leaf)) => Ok(Some(LeafRange::new(leaf, limits)?)),
            _ => Ok(None),
        }
    }
    fn step(&mut self) -> Result<Option<VertexId>, StoreError> {
        self.step_with(vertex_of)
    }
    /// The next entry, as `take` gives it.
    pub(crate) fn step_with<T>(
        &mut self,
        take: impl Fn(Found<'_>) -> T + Copy,
    ) -> Result<Option<T>, StoreError> {
        loop {
            if let Some(found) = self.front.as_mut().and_then(|leaf| leaf.next(take)) {
                return Ok(Some(found));
            }
            if self.next >= self.end {
                return Ok(self.back.as_mut().and_then(|leaf| leaf.next(take)));
            }
            self.front = self.open(self.next)?;
            self.next = self.index.after(self.next);
        }
    }
    fn step_back(&mut self) -> Result<Option<VertexId>, StoreError> {
        loop {
            if let Some(vertex) = self.back.as_mut().and_then(LeafRange::next_back) {
                return Ok(Some(vertex));
            }
            let last = self.index.before(self.end).filter(|last| *last >= self.next);
            let Some(last) = last.filter(|_| self.next < self.end) else {
                return Ok(self.front.as_mut().and_then(LeafRange::next_back));
            };
            self.back = self.open(last)?;
            self.end = last;
        }
    }
}

impl Iterator for IndexRange {
    type Item = Result<VertexId, StoreError>;
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step().and_then(|found| self.verdict(found)) {
                Ok(Some((vertex, true))) => return Some(Ok(vertex)),
                Ok(Some((_, false))) => {}
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl DoubleEndedIterator for IndexRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            match self.step_back().and_then(|found| self.verdict(found)) {
                Ok(Some((vertex, true))) => return Some(Ok(vertex)),
                Ok(Some((_, false))) => {}
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// An entry that a range came to.
pub(crate) enum Found<'a> {
    /// At this position of a run.
    Stored(&'a IndexRun, usize),
    /// Of a delta.
    Added(Entry),
}

fn vertex_of(found: Found<'_>) -> VertexId {
    VertexId::from_dense(match found {
        Found::Stored(run, at) => run.vertices[at],
        Found::Added(entry) => entry.vertex,
    })
}

/// The part of a range that lies in one leaf.
struct LeafRange {
    run: Arc<IndexRun>,
    low: usize,
    high: usize,
    /// Run positions between `low` and `high` that do not count, sorted.
    gone: Vec<usize>,
    /// Entries of the delta still to come, sorted.
    added: VecDeque<Entry>,
}

impl LeafRange {
    fn new(leaf: &Leaf, limits: &Limits) -> Result<LeafRange, StoreError> {
        let run = leaf.page.read()?.shared().clone();
        let low = run.partition_point(|at| !limits.past_lower(run.leading(at)));
        let high = run.partition_point(|at| limits.within_upper(run.leading(at)));
        let mut gone: Vec<usize> = Vec::new();
        for entry in within(&leaf.removed, limits) {
            gone.push(run.partition_point(|at| run.order_to(at, entry).is_lt()));
        }
        if limits.is_list {
            gone.extend((low..high).filter(|at| !limits.comparable(run.leading(*at))));
        }
        gone.sort_unstable();
        let added = within(&leaf.added, limits)
            .filter(|entry| !limits.is_list || limits.comparable(PropertyRef::from(&entry.key.values()[0])))
            .cloned()
            .collect();
        Ok(LeafRange { low, high: high.max(low), gone, added, run })
    }
    fn next<T>(&mut self, take: impl Fn(Found<'_>) -> T) -> Option<T> {
        while self.low < self.high && self.gone.binary_search(&self.low).is_ok() {
            self.low += 1;
        }
        if self.low < self.high {
            let first = self.added.front().is_none_or(|entry| self.run.order_to(self.low, entry).is_lt());
            if first {
                self.low += 1;
                return Some(take(Found::Stored(&self.run, self.low - 1)));
            }
        }
        self.added.pop_front().map(|entry| take(Found::Added(entry)))
    }
    fn next_back(&mut self) -> Option<VertexId> {
        while self.low < self.high && self.gone.binary_search(&(self.high - 1)).is_ok() {
            self.high -= 1;
        }
        if self.low < self.high {
            let last = self.added.back().is_none_or(|entry| self.run.order_to(self.high - 1, entry).is_gt());
            if last {
                self.high -= 1;
                return Some(VertexId::from_dense(self.run.vertices[self.high]));
            }
        }
        self.added.pop_back().map(|entry| VertexId::from_dense(entry.vertex))
    }
}

impl Index {
    /// Vertices whose first key lies between the bounds, in the order of the index. Only values comparable with the bounds are
    /// found; without bounds, all entries are.
    pub(crate) fn range(
        self: &Arc<Index>,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<IndexRange, StoreError> {
        Ok(IndexRange::new(self.clone(), Limits::new(lower, upper)))
    }
}
