//! The distribution of properties' values, from a sample: used instead of an index that may have entries hidden from the reader.
//!
//! Cost: the values of at most [`SAMPLE_VERTICES`] vertices for each label and list of keys, once for each plan that is made.

use model::compare::{self, OrderKey};
use model::{KeyId, LabelId, Value};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use store::{LabelFilter, SAMPLE_VERTICES, Snapshot};

/// Of which label, and which keys.
type ValueQuestion = (LabelId, Vec<KeyId>);

/// The values of the vertices of a sample, one list for each; null where one has none.
type Rows = Arc<Vec<Vec<Value>>>;

/// Samples taken for one plan.
#[derive(Clone, Debug, Default)]
pub(super) struct SampledValues {
    known: Arc<Mutex<Vec<(ValueQuestion, Rows)>>>,
}

impl SampledValues {
    fn of(&self, snapshot: &Snapshot, label: LabelId, keys: &[KeyId]) -> Option<Rows> {
        let asked = (label, keys.to_vec());
        if let Some((_, rows)) = self.known.lock().iter().find(|(known, _)| *known == asked) {
            return Some(rows.clone());
        }
        let row =
            |vertex| keys.iter().map(|key| snapshot.property(vertex, *key)).collect::<Result<Vec<_>, _>>();
        // What cannot be read now is not sampled: a plan must not fail for it.
        let sample = snapshot.sample(&LabelFilter::Has(label), SAMPLE_VERTICES).ok()?;
        let rows: Rows = Arc::new(sample.into_iter().map(row).collect::<Result<_, _>>().ok()?);
        self.known.lock().push((asked, rows.clone()));
        Some(rows)
    }
    /// How many times more vertices there are than were looked at.
    fn share(snapshot: &Snapshot, label: LabelId, rows: &Rows) -> f64 {
        (snapshot.statistics().vertices_with_label(label) as f64 / rows.len().max(1) as f64).max(1.0)
    }
    /// Estimated number of different lists of values among the vertices with a label. Values met once in the sample stand for others like them.
    pub fn distinct(&self, snapshot: &Snapshot, label: LabelId, keys: &[KeyId]) -> Option<f64> {
        let rows = self.of(snapshot, label, keys)?;
        let mut counts: BTreeMap<Vec<OrderKey>, usize> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.iter().all(|value| !value.is_null())) {
            *counts.entry(row.iter().cloned().map(OrderKey).collect()).or_default() += 1;
        }
        let once = counts.values().filter(|count| **count == 1).count() as f64;
        Some(counts.len() as f64 + once * (SampledValues::share(snapshot, label, &rows) - 1.0))
    }
    /// About how many vertices with a label have a value between the bounds.
    pub fn between(
        &self,
        snapshot: &Snapshot,
        label: LabelId,
        key: KeyId,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Option<f64> {
        let rows = self.of(snapshot, label, &[key])?;
        let found =
            rows.iter().filter_map(|row| row.first()).filter(|value| lies_between(value, lower, upper));
        Some(found.count() as f64 * SampledValues::share(snapshot, label, &rows))
    }
}

/// Is the value comparable with both bounds, and between them?
fn lies_between(value: &Value, lower: Bound<&Value>, upper: Bound<&Value>) -> bool {
    let is_on_side = |bound: Bound<&Value>, side: Ordering| match bound {
        Bound::Unbounded => !value.is_null(),
        Bound::Included(bound) => {
            compare::compare(value, bound).is_some_and(|order| order == side || order == Ordering::Equal)
        }
        Bound::Excluded(bound) => compare::compare(value, bound) == Some(side),
    };
    is_on_side(lower, Ordering::Greater) && is_on_side(upper, Ordering::Less)
}
