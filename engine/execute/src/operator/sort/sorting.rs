//! The keys of a sort, and the columns that it keeps.

use expression::Compiled;
use expression::functions::type_place;
use model::Value;
use model::batch::Carried;
use model::compare::total_order;
use plan::algebra::KeyOrder;
use std::cmp::Ordering;
use std::sync::Arc;

/// A key that rows are ordered by.
pub(super) struct Key {
    pub(super) expression: Compiled,
    pub(super) descending: bool,
    pub(super) order: KeyOrder,
}

impl Key {
    /// Which of two values comes first, apart from the direction.
    pub(super) fn order(&self, a: &Value, b: &Value) -> Ordering {
        match self.order {
            KeyOrder::Total => total_order(a, b),
            KeyOrder::Typed => type_place(a).cmp(&type_place(b)).then_with(|| total_order(a, b)),
        }
    }
}

/// The definition of a sort.
pub(super) struct Sorting {
    pub(super) keys: Vec<Key>,
    /// Rows to keep.
    pub(super) limit: Option<usize>,
    /// The limit counts by the first key.
    pub(super) by_row: bool,
    pub(super) width: usize,
    pub(super) carry: Arc<[usize]>,
    /// Columns whose vertices and edges the keys read.
    pub(super) looks_at: Vec<usize>,
}

impl Sorting {
    /// Columns of rows with their keys behind their own.
    pub(super) fn width_with_keys(&self) -> usize {
        self.width + self.keys.len()
    }
    /// Is there nothing where there must be something to be ordered by?
    pub(super) fn lacks_key(&self, keys: &[Carried], row: usize) -> bool {
        let mut keys = self.keys.iter().zip(keys);
        keys.any(|(key, column)| key.order == KeyOrder::Typed && column.is_null(row))
    }
}
