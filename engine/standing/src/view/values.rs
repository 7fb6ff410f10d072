//! Changes since the base, found by value: vertices that have had it at any timestamp, like an index over the delta.
//!
//! Made for a property on its first use after a commit: one walk over the delta, however many values are sought then. Values are compared by their
//! hashes alone: the caller checks the results.

use super::View;
use crate::table::HashMap;
use foldhash::fast::FixedState;
use model::compare::hash_value;
use model::{KeyId, Value, VertexId};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hasher};
use store::StoreError;

/// Vertices by the hash of a value of one property.
type Values = HashMap<u64, SmallVec<[VertexId; 2]>>;

/// By property; empty for those without a look-up.
#[derive(Default)]
pub(super) struct ChangedValues(Mutex<HashMap<KeyId, Values>>);

fn hash(value: &Value) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hash_value(value, &mut hasher);
    hasher.finish()
}

impl ChangedValues {
    /// The delta is another now.
    pub fn forget(&mut self) {
        self.0.get_mut().clear();
    }
}

impl View {
    /// Appends vertices that include all that differ from the base and have had this value: set, born with it, or kept while their labels changed.
    /// One may come twice.
    pub(super) fn changed_to(
        &self,
        key: KeyId,
        value: &Value,
        found: &mut Vec<VertexId>,
    ) -> Result<(), StoreError> {
        let delta = &self.delta;
        if delta.vertices.is_empty() && delta.properties.is_empty() {
            return Ok(());
        }
        let mut all = self.changed.0.lock();
        if !all.contains_key(&key) {
            all.insert(key, self.values_of(key)?);
        }
        found.extend(all.get(&key).and_then(|values| values.get(&hash(value))).into_iter().flatten());
        Ok(())
    }
    fn values_of(&self, key: KeyId) -> Result<Values, StoreError> {
        let mut values = Values::default();
        let mut note = |vertex: VertexId, value: &Value| {
            if !value.is_null() {
                values.entry(hash(value)).or_default().push(vertex);
            }
        };
        for ((vertex, other), timeline) in &self.delta.properties {
            if *other == key {
                timeline.iter().for_each(|(_, value)| note(*vertex, value));
            }
        }
        for (vertex, birth) in &self.delta.births {
            let own = birth.properties().iter().filter(|(other, _)| *other == key);
            own.for_each(|(_, value)| note(*vertex, value));
        }
        for vertex in self.delta.vertices.keys().filter(|vertex| !self.delta.births.contains_key(*vertex)) {
            note(*vertex, &self.base.property(*vertex, key)?);
        }
        Ok(values)
    }
}
