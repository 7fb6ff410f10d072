//! Who wrote what last: the memory against which commits are validated.
//!
//! Idea: for each key, the place of the last commit that wrote it; for each index, the values that commits added or removed, in
//! order. A transaction with snapshot `base` is valid if none of its keys was written after `base`. Optimistic validation in
//! one pass, independent of how many commits lie between.
//! Invariant: every write after [`Conflicts::floor`] is remembered. A transaction older than the floor cannot be judged and
//! must be tried again. Cost: one look-up a key read; memory bounded by [`WRITTEN_KEYS_MAX`].

use crate::reads::{IndexRange, Inner, Key, KeyState};
use model::compare::OrderKey;
use model::schema::IndexId;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// Keys remembered before the oldest half is forgotten (about 32 MiB).
pub const WRITTEN_KEYS_MAX: usize = 1 << 20;

/// What one commit wrote.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    pub keys: Vec<Key>,
    pub index_values: Vec<(IndexId, OrderKey)>,
}

/// The last place at which each key was written.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    floor: u64,
    last: u64,
    keys: HashMap<Key, u64, KeyState>,
    values: HashMap<IndexId, BTreeMap<OrderKey, u64>>,
    values_len: usize,
}

impl Conflicts {
    pub fn starting_at(place: u64) -> Conflicts {
        Conflicts { floor: place, last: place, ..Conflicts::default() }
    }
    /// Can a transaction that read at `base` still commit? The answer names what it would have missed.
    pub fn validate(&self, reads: &Inner, base: u64) -> Result<(), &'static str> {
        if base == self.last {
            return Ok(());
        }
        if reads.everything {
            return Err("it read very much, and something was written meanwhile");
        }
        if base < self.floor && !(reads.keys.is_empty() && reads.ranges.is_empty()) {
            return Err("its snapshot is too old to be compared with what was written since");
        }
        if reads.keys.iter().any(|key| self.keys.get(key).is_some_and(|place| *place > base)) {
            return Err("something it read was changed by another transaction");
        }
        if reads.ranges.iter().any(|range| self.range_written_after(range, base)) {
            return Err("an index range it searched was changed by another transaction");
        }
        Ok(())
    }
    fn range_written_after(&self, range: &IndexRange, base: u64) -> bool {
        if is_empty_range(&range.lower, &range.upper) {
            return false;
        }
        let Some(values) = self.values.get(&range.index) else { return false };
        values.range((range.lower.clone(), range.upper.clone())).any(|(_, place)| *place > base)
    }
    /// Remembers what the commit at `place` wrote.
    pub fn record(&mut self, place: u64, footprint: Footprint) {
        debug_assert!(place > self.last);
        self.last = place;
        self.keys.extend(footprint.keys.into_iter().map(|key| (key, place)));
        for (index, value) in footprint.index_values {
            self.values_len +=
                usize::from(self.values.entry(index).or_default().insert(value, place).is_none());
        }
        if self.keys.len() + self.values_len > WRITTEN_KEYS_MAX {
            self.forget_until(self.floor + (self.last - self.floor).div_ceil(2));
        }
    }
    /// No transaction older than `place` is left: what was written up to there need not be remembered.
    pub fn forget_until(&mut self, place: u64) {
        if place <= self.floor {
            return;
        }
        self.floor = place;
        self.keys.retain(|_, written| *written > place);
        self.values.values_mut().for_each(|values| values.retain(|_, written| *written > place));
        self.values.retain(|_, values| !values.is_empty());
        self.values_len = self.values.values().map(BTreeMap::len).sum();
    }
    /// Keys and values remembered.
    pub fn len(&self) -> usize {
        self.keys.len() + self.values_len
    }
}

fn is_empty_range(lower: &Bound<OrderKey>, upper: &Bound<OrderKey>) -> bool {
    match (lower, upper) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
        _ => false,
    }
}
