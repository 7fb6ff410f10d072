//! The one type of row that flows between operators.

use model::Value;
use model::compare::{hash_value, total_order};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A row of values. Shared, never copied; ordered and equal as DISTINCT and grouping see values, so that `1` and `1.0` are one row.
#[derive(Clone, Debug)]
pub struct Row(Arc<[Value]>);

impl Row {
    /// A row of these values.
    pub fn new(values: impl IntoIterator<Item = Value>) -> Row {
        Row(values.into_iter().collect())
    }
    /// The row without columns.
    pub fn unit() -> Row {
        Row::new([])
    }
    /// Its values in column order.
    pub fn values(&self) -> &[Value] {
        &self.0
    }
    /// These of its columns.
    pub(crate) fn pick(&self, columns: &[usize]) -> Row {
        Row::new(columns.iter().map(|column| self.0[*column].clone()))
    }
    /// The same row where values of two types are never one: behind each value stands whether it is a whole number.
    pub(crate) fn exact(&self) -> Row {
        let is_whole = |value: &Value| Value::Bool(matches!(value, Value::Int(_)));
        Row::new(self.0.iter().flat_map(|value| [value.clone(), is_whole(value)]))
    }
    /// Its columns, then those of the other.
    pub(crate) fn join(&self, other: &[Value]) -> Row {
        Row::new(self.0.iter().chain(other).cloned())
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Row) -> Ordering {
        let pairs = self.0.iter().zip(other.0.iter());
        let unequal = pairs.map(|(a, b)| total_order(a, b)).find(|order| order.is_ne());
        unequal.unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}
impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Row) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.cmp(other).is_eq()
    }
}
impl Eq for Row {}
impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|value| hash_value(value, state));
    }
}
