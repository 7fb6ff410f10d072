//! A batch: up to about a thousand rows in columns, the unit that travels between operators.
//!
//! Columns are shared and never copied when rows are filtered or fanned out: each column has an optional row map, and columns
//! that were carried along together share one map. An expand of a batch therefore writes one new column and one map, whatever
//! the number of columns carried; a filter writes one map. Reading goes through the map; [`Batch::flatten`] resolves it.

use crate::column::Column;
use crate::id::{EdgeRef, VertexId};
use crate::value::Value;
use std::sync::Arc;

/// Rows an operator aims to put into one batch.
pub const BATCH_ROWS: usize = 1024;

/// A column as a batch holds it: shared data, and which of its rows are meant.
#[derive(Clone, Debug)]
pub struct Carried {
    column: Arc<Column>,
    rows: Option<Arc<Vec<u32>>>,
}

impl Carried {
    /// A column read straight.
    pub fn new(column: Column) -> Carried {
        Carried { column: Arc::new(column), rows: None }
    }
    /// Position in the underlying column of batch row `row`.
    #[inline]
    pub fn at(&self, row: usize) -> usize {
        match &self.rows {
            None => row,
            Some(rows) => rows[row] as usize,
        }
    }
    /// These rows of another column, by their positions in it.
    pub fn picked(column: Arc<Column>, rows: Arc<Vec<u32>>) -> Carried {
        Carried { column, rows: Some(rows) }
    }
    /// The column, to be carried along under another row map.
    pub fn shared(&self) -> &Arc<Column> {
        &self.column
    }
    /// The underlying column; index it by [`Carried::at`].
    #[inline]
    pub fn column(&self) -> &Column {
        &self.column
    }
    /// The row map, where there is one.
    #[inline]
    pub fn rows(&self) -> Option<&[u32]> {
        self.rows.as_ref().map(|rows| rows.as_slice())
    }
    /// Value of batch row `row`.
    pub fn get(&self, row: usize) -> Value {
        self.column.get(self.at(row))
    }
    /// Vertex of batch row `row`, if it is one.
    #[inline]
    pub fn vertex(&self, row: usize) -> Option<VertexId> {
        self.column.vertex(self.at(row))
    }
    /// Edge of batch row `row`, if it is one.
    #[inline]
    pub fn edge(&self, row: usize) -> Option<EdgeRef> {
        self.column.edge(self.at(row))
    }
    /// Is batch row `row` null?
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.column.is_null(self.at(row))
    }
}

/// Rows in columns. Every carried column has `len` rows.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    columns: Vec<Carried>,
    len: usize,
}

impl Batch {
    /// A batch of these columns, all of `len` rows.
    pub fn new(columns: Vec<Column>, len: usize) -> Batch {
        debug_assert!(columns.iter().all(|column| column.len() == len));
        Batch { columns: columns.into_iter().map(Carried::new).collect(), len }
    }
    /// A batch of carried columns, all of `len` rows.
    pub fn of_carried(columns: Vec<Carried>, len: usize) -> Batch {
        Batch { columns, len }
    }
    /// One row and no column: where every query begins.
    pub fn unit() -> Batch {
        Batch { columns: Vec::new(), len: 1 }
    }
    /// A batch from rows; for tests and small results.
    pub fn from_rows(width: usize, rows: &[Vec<Value>]) -> Batch {
        let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect();
        Batch::new((0..width).map(column).collect(), rows.len())
    }
    /// Rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// No rows?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }
    /// Column `at`.
    #[inline]
    pub fn column(&self, at: usize) -> &Carried {
        &self.columns[at]
    }
    /// Value at `row` of column `at`.
    pub fn get(&self, row: usize, at: usize) -> Value {
        self.columns[at].get(row)
    }
    /// All values of `row`.
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.columns.iter().map(|column| column.get(row)).collect()
    }
    /// Adds a column of `len` rows.
    pub fn push(&mut self, column: Column) {
        debug_assert_eq!(column.len(), self.len);
        self.columns.push(Carried::new(column));
    }
    /// Adds a carried column, shared with another batch of the same rows.
    pub fn push_carried(&mut self, column: Carried) {
        self.columns.push(column);
    }
    /// Keeps the columns at `picks`, in that order.
    pub fn project(&self, picks: &[usize]) -> Batch {
        Batch { columns: picks.iter().map(|at| self.columns[*at].clone()).collect(), len: self.len }
    }
    /// The rows at `rows` in that order, rows may repeat; one map is written for each group of columns carried together.
    pub fn select(&self, rows: Vec<u32>) -> Batch {
        let len = rows.len();
        if self.columns.is_empty() {
            return Batch { columns: Vec::new(), len };
        }
        let fresh = Arc::new(rows);
        let mut composed: Vec<(*const Vec<u32>, Arc<Vec<u32>>)> = Vec::new();
        let mut map_of = |old: &Arc<Vec<u32>>| {
            if let Some((_, map)) = composed.iter().find(|(seen, _)| std::ptr::eq(*seen, Arc::as_ptr(old))) {
                return map.clone();
            }
            let map: Arc<Vec<u32>> = Arc::new(fresh.iter().map(|row| old[*row as usize]).collect());
            composed.push((Arc::as_ptr(old), map.clone()));
            map
        };
        let carry = |carried: &Carried| Carried {
            column: carried.column.clone(),
            rows: Some(carried.rows.as_ref().map_or_else(|| fresh.clone(), &mut map_of)),
        };
        Batch { columns: self.columns.iter().map(carry).collect(), len }
    }
    /// The rows from `start` to `end`.
    pub fn slice(&self, start: usize, end: usize) -> Batch {
        if start == 0 && end == self.len {
            return self.clone();
        }
        self.select((start as u32..end as u32).collect())
    }
    /// Has no column a row map, so that [`Batch::flatten`] changes nothing?
    pub fn is_flat(&self) -> bool {
        self.columns.iter().all(|carried| carried.rows.is_none())
    }
    /// All row maps resolved: columns that own exactly the batch's rows (for batches that are stored or leave the engine).
    pub fn flatten(&self) -> Batch {
        let resolve = |carried: &Carried| match &carried.rows {
            None => carried.clone(),
            Some(rows) => Carried::new(carried.column.gather(rows)),
        };
        Batch { columns: self.columns.iter().map(resolve).collect(), len: self.len }
    }
    /// Bytes reachable from this batch; a column shared by several batches counts in each.
    pub fn bytes(&self) -> usize {
        let carried = |carried: &Carried| {
            carried.column.bytes() + carried.rows.as_ref().map_or(0, |rows| rows.capacity() * 4)
        };
        self.columns.iter().map(carried).sum::<usize>() + size_of::<Batch>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selecting_composes_row_maps() {
        let batch =
            Batch::from_rows(2, &(0..6).map(|i| vec![i.into(), format!("r{i}").into()]).collect::<Vec<_>>());
        let picked = batch.select(vec![5, 3, 3, 0]).select(vec![1, 3]);
        assert_eq!(picked.len(), 2);
        assert_eq!(picked.get(0, 0).as_int(), Some(3));
        assert_eq!(picked.flatten().get(1, 1).as_str(), Some("r0"));
    }

    #[test]
    fn builder_falls_back_when_types_mix() {
        let column: Column = [Value::Null, 1.into(), "x".into(), Value::Null].into_iter().collect();
        assert!(matches!(column, Column::Any(_)));
        assert_eq!(column.get(1).as_int(), Some(1));
        assert!(column.is_null(0) && column.is_null(3));
    }
}
