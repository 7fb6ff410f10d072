//! The one type of row that flows between operators, and the coarser equality of DISTINCT.
//!
//! Two rows are one only where nothing can tell them apart: `1` and `1.0` are equal to `=` and to DISTINCT, but `1 / 2` and `1.0 / 2` are not. So
//! rows between operators are compared exactly; where the language wants groups, rows are compared by their [`GroupKey`].

use crate::weight::Weight;
use model::Value;
use model::compare::{hash_value, total_order};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A row of values. Shared, never copied. Its order is that of ORDER BY, and rows that ORDER BY takes for equal are told apart by their types:
/// `1` and `1.0`, `0.0` and `-0.0`, two relationships that had one number after each other.
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
    /// Who shares it.
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.0).max(1)
    }
    /// Bytes of it, as if nobody shared it, and of a place in a table.
    pub(crate) fn whole_bytes(&self) -> usize {
        2 * size_of::<usize>()
            + 2 * size_of::<(Row, isize)>()
            + self.0.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum::<usize>()
    }
    /// These of its columns.
    pub(crate) fn pick(&self, columns: &[usize]) -> Row {
        Row::new(columns.iter().map(|column| self.0[*column].clone()))
    }
    /// The order of rows in which those of one [`GroupKey`] are equal.
    pub(crate) fn compare_groups(&self, other: &Row) -> Ordering {
        order(self, other, total_order)
    }
    /// Its columns, then those of the other.
    pub(crate) fn join(&self, other: &[Value]) -> Row {
        Row::new(self.0.iter().chain(other).cloned())
    }
}

impl Ord for Row {
    fn cmp(&self, other: &Row) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        let groups = order(self, other, total_order).then(by_length);
        groups.then_with(|| order(self, other, order_alike))
    }
}

fn order(a: &Row, b: &Row, by: fn(&Value, &Value) -> Ordering) -> Ordering {
    let pairs = a.0.iter().zip(b.0.iter());
    pairs.map(|(a, b)| by(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Are they the very same value?
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    total_order(a, b).is_eq() && order_alike(a, b).is_eq()
}

/// The order of two values that [`total_order`] takes for equal.
fn order_alike(a: &Value, b: &Value) -> Ordering {
    let mut pairs = vec![(a, b)];
    while let Some((a, b)) = pairs.pop() {
        let order = match (a, b) {
            (Value::Int(_), Value::Float(_)) => Ordering::Less,
            (Value::Float(_), Value::Int(_)) => Ordering::Greater,
            // No bit of a NaN can be told apart in a query.
            (Value::Float(a), Value::Float(b)) if a.is_nan() && b.is_nan() => Ordering::Equal,
            (Value::Float(a), Value::Float(b)) => a.is_sign_negative().cmp(&b.is_sign_negative()),
            (Value::Edge(a), Value::Edge(b)) => a.cmp(b),
            (Value::List(a), Value::List(b)) => {
                pairs.extend(a.iter().zip(b.iter()).rev());
                Ordering::Equal
            }
            (Value::Map(a), Value::Map(b)) => {
                pairs.extend(a.values().zip(b.values()));
                Ordering::Equal
            }
            _ => Ordering::Equal,
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
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

/// A row as DISTINCT, grouping and equality see it: `1` and `1.0` are one. Relationships are compared as a whole all the same.
#[derive(Clone, Debug)]
pub(crate) struct GroupKey(pub Row);

impl PartialEq for GroupKey {
    fn eq(&self, other: &GroupKey) -> bool {
        let alike = |a: &Value, b: &Value| match (a, b) {
            (Value::Edge(a), Value::Edge(b)) => a.cmp(b),
            _ => total_order(a, b),
        };
        let (a, b) = (&self.0, &other.0);
        Arc::ptr_eq(&a.0, &b.0) || (a.0.len() == b.0.len() && order(a, b, alike).is_eq())
    }
}
impl Eq for GroupKey {}
impl Hash for GroupKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The rows of one group, each so many times; the group is shown by the first of them.
#[derive(Default, Debug)]
pub(crate) struct Alike {
    /// Almost always there is one.
    rows: SmallVec<[(Row, isize); 1]>,
}

impl Alike {
    /// More or fewer of this row.
    pub fn count(&mut self, row: &Row, diff: isize) {
        match self.rows.binary_search_by(|(other, _)| other.cmp(row)) {
            Ok(at) => {
                self.rows[at].1 += diff;
                if self.rows[at].1 == 0 {
                    self.rows.remove(at);
                }
            }
            Err(at) => self.rows.insert(at, (row.clone(), diff)),
        }
    }
    /// The row that stands for all of them, if there is any.
    pub fn shown(&self) -> Option<&Row> {
        self.rows.iter().find(|(_, count)| *count > 0).map(|(row, _)| row)
    }
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Weight for GroupKey {
    fn bytes_behind(&self) -> usize {
        self.0.bytes_behind()
    }
}

impl Weight for Alike {
    fn bytes_behind(&self) -> usize {
        let own = if self.rows.spilled() { self.rows.capacity() * size_of::<(Row, isize)>() } else { 0 };
        own + self.rows.iter().map(Weight::bytes_behind).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{EdgeId, EdgeRef, EdgeTypeId, VertexId};

    #[test]
    fn what_can_be_told_apart_is_not_one_row() {
        let edge = |target: u64| {
            let id = EdgeId::new(0, EdgeTypeId(1), 7);
            Value::edge(EdgeRef { id, source: VertexId(1), target: VertexId(target) })
        };
        let list = |value: Value| Value::list(vec![Value::Null, value]);
        let map = |value: Value| Value::map([("a", Value::Null), ("b", value)]);
        for (a, b) in [(Value::Int(1), Value::Float(1.0)), (Value::Float(0.0), Value::Float(-0.0))] {
            for (a, b) in [(a.clone(), b.clone()), (list(a.clone()), list(b.clone())), (map(a), map(b))] {
                let (one, other) = (Row::new([a.clone()]), Row::new([b.clone()]));
                assert!(one < other && one != other && !is_same(&a, &b), "{a:?} {b:?}");
                assert_eq!(GroupKey(one), GroupKey(other));
            }
        }
        let (one, other) = (Row::new([edge(1)]), Row::new([edge(2)]));
        assert!(one < other && GroupKey(one.clone()) != GroupKey(other));
        let nan = || Row::new([Value::Float(f64::NAN)]);
        assert_eq!((nan(), GroupKey(one)), (nan(), GroupKey(Row::new([edge(1)]))));
        assert_eq!(nan(), Row::new([Value::Float(-f64::NAN)]));
    }
}
