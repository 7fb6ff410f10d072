//! The values of a DISTINCT aggregate, each once, in order of arrival.
//!
//! `count(DISTINCT x)` needs to know only which values were met: integers and vertices are kept as numbers, without their values.

use crate::grouping::GroupTable;
use model::batch::Carried;
use model::compare::GroupKey;
use model::{Column, Value, VertexId};
use std::collections::HashSet;
use std::sync::Arc;

mod integers;

use integers::Integers;

type DistinctSet<T> = HashSet<T, foldhash::fast::FixedState>;

/// Values met, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct DistinctValues {
    identity_only: bool,
    integers: Integers,
    vertices: DistinctSet<VertexId>,
    /// Texts, where only their number is needed.
    texts: Option<Box<GroupTable>>,
    others: DistinctSet<GroupKey>,
    arrived: Vec<Value>,
    heap_bytes: usize,
}

impl DistinctValues {
    /// None yet; with `identity_only`, only their number is needed.
    pub(super) fn new(identity_only: bool) -> DistinctValues {
        DistinctValues { identity_only, ..DistinctValues::default() }
    }

    /// Takes a batch row, which is not null.
    pub(super) fn insert_at(&mut self, column: &Carried, row: usize) {
        match column.column() {
            Column::Int(values, _) if self.identity_only => self.integers.insert(values[column.at(row)]),
            Column::Vertex(values, _) if self.identity_only => self.vertices.extend([values[column.at(row)]]),
            Column::Text(..) if self.identity_only => {
                self.texts().assign_row(column, row);
            }
            _ => self.insert(column.get(row)),
        }
    }

    /// Takes all of these batch rows.
    pub(super) fn insert_all(&mut self, column: &Carried, rows: impl Iterator<Item = usize>) {
        match column.column() {
            Column::Int(values, nulls) if self.identity_only && nulls.is_empty() => {
                rows.for_each(|row| self.integers.insert(values[column.at(row)]))
            }
            Column::Text(texts, nulls)
                if let Some((codes, dictionary)) = texts.codes()
                    && nulls.is_empty() =>
            {
                // Each text is taken once.
                let mut seen = vec![false; dictionary.len()];
                for row in rows {
                    if !std::mem::replace(&mut seen[codes[column.at(row)] as usize], true) {
                        self.insert_at(column, row);
                    }
                }
            }
            Column::Text(..) if self.identity_only => {
                let places: Vec<u32> =
                    rows.filter(|row| !column.is_null(*row)).map(|row| column.at(row) as u32).collect();
                let count = places.len();
                let texts = Carried::picked(column.shared().clone(), Arc::new(places));
                self.texts().assign(&[texts], count, &mut Vec::new());
            }
            _ => rows.filter(|row| !column.is_null(*row)).for_each(|row| self.insert_at(column, row)),
        }
    }

    fn texts(&mut self) -> &mut GroupTable {
        self.texts.get_or_insert_with(|| Box::new(GroupTable::new(1)))
    }

    fn insert(&mut self, value: Value) {
        match value {
            Value::String(_) if self.identity_only => {
                self.texts().assign_row(&Carried::new(Column::Constant(value, 1)), 0);
            }
            Value::Int(int) if self.identity_only => self.integers.insert(int),
            Value::Float(float) if self.identity_only && whole(float).is_some() => {
                whole(float).into_iter().for_each(|int| self.integers.insert(int))
            }
            Value::Vertex(vertex) if self.identity_only => self.vertices.extend([vertex]),
            value => {
                if self.others.insert(GroupKey(value.clone())) {
                    self.heap_bytes += value.heap_bytes();
                    if !self.identity_only {
                        self.arrived.push(value);
                    }
                }
            }
        }
    }

    /// Merges the values of another executor.
    pub(super) fn merge(&mut self, other: DistinctValues) {
        self.integers.merge(other.integers);
        self.vertices.extend(other.vertices);
        if let Some(texts) = other.texts {
            self.texts().merge(&texts, 0..texts.len(), &mut Vec::new());
        }
        if self.identity_only {
            other.others.into_iter().for_each(|key| self.insert(key.0));
        } else {
            other.arrived.into_iter().for_each(|value| self.insert(value));
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        let texts = self.texts.as_ref().map_or(0, |texts| texts.len());
        self.integers.len() + self.vertices.len() + texts + self.others.len()
    }

    /// The values in order of arrival; none where only their number was kept.
    pub(super) fn into_values(self) -> Vec<Value> {
        self.arrived
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<DistinctValues>()
            + self.integers.bytes()
            + table_bytes(self.vertices.capacity(), size_of::<VertexId>())
            + table_bytes(self.others.capacity(), size_of::<Value>())
            + self.texts.as_ref().map_or(0, |texts| size_of::<GroupTable>() + texts.bytes())
            + self.arrived.capacity() * size_of::<Value>()
            + self.heap_bytes
    }
}

/// Bytes of a hash table with room for so many entries, and of the one of half the size beside it while it grew: seven of eight places may
/// be taken, and each has a byte more.
fn table_bytes(capacity: usize, entry_bytes: usize) -> usize {
    capacity * 8 / 7 * (entry_bytes + 1) * 3 / 2
}

/// The integer that groups with this float.
fn whole(float: f64) -> Option<i64> {
    let int = float as i64;
    model::compare::equivalent(&Value::Int(int), &Value::Float(float)).then_some(int)
}
