//! The build side of a join, concatenated: one batch, and a table from hash to row.

use super::Joining;
use crate::columns::{Gathering, carried};
use expression::hash_columns;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::batch::Carried;
use model::{Batch, Column, Value};
use std::collections::VecDeque;

/// No further row of this hash.
pub(super) const END: u32 = u32::MAX;

/// The build side, put together.
pub(super) struct Table {
    pub(super) rows: Batch,
    pub(super) keys: Vec<Carried>,
    /// First row of a hash; hashes are spread well enough to be keys themselves.
    pub(super) heads: HashMap<u64, u32, FixedState>,
    /// Next row of the same hash.
    pub(super) next: Vec<u32>,
}

/// Rows linked into the table between two looks at the clock.
const ROWS_LINKED_PER_LOOK: usize = 2_048;

/// The table in the making: batches are moved into one, then their rows are linked. Any twin may go on with it.
pub(super) struct Building {
    waiting: VecDeque<Batch>,
    gathering: Gathering,
    hashes: Vec<u64>,
    batch_hashes: Vec<u64>,
    /// Rows of the build side, once they are one batch; and how many of them are still to be linked.
    pub(super) table: Option<Table>,
    unlinked: usize,
}

impl Building {
    pub(super) fn new(plan: &Joining, batches: Vec<Batch>) -> Building {
        let rows = batches.iter().map(Batch::len).sum();
        Building {
            waiting: batches.into(),
            gathering: Gathering::new(plan.build_width, rows),
            hashes: Vec::with_capacity(if plan.build_on.is_empty() { 0 } else { rows }),
            batch_hashes: Vec::new(),
            table: None,
            unlinked: rows,
        }
    }
    /// A slice of the work: done?
    pub(super) fn step(&mut self, plan: &Joining) -> bool {
        if let Some(batch) = self.waiting.pop_front() {
            self.gathering.append(&batch);
            if !plan.build_on.is_empty() {
                let keys = carried(&batch, &plan.build_on);
                hash_columns(&keys, batch.len(), &mut self.batch_hashes);
                self.hashes.append(&mut self.batch_hashes);
            }
            return false;
        }
        let Some(table) = &mut self.table else {
            let gathering = std::mem::replace(&mut self.gathering, Gathering::new(0, 0));
            self.table = Some(Table::unlinked(plan, gathering.finish()));
            return false;
        };
        if table.keys.is_empty() {
            return true;
        }
        // From the back, so that rows of one hash are met in their order.
        let start = self.unlinked.saturating_sub(ROWS_LINKED_PER_LOOK);
        (start..self.unlinked).rev().for_each(|row| table.link(row, self.hashes[row]));
        self.unlinked = start;
        start == 0
    }
}

impl Table {
    fn unlinked(plan: &Joining, rows: Batch) -> Table {
        let keys = carried(&rows, &plan.build_on);
        let len = if keys.is_empty() { 0 } else { rows.len() };
        let heads = HashMap::with_capacity_and_hasher(len, FixedState::default());
        Table { keys, heads, next: vec![END; len], rows }
    }
    fn link(&mut self, row: usize, hash: u64) {
        if self.keys.iter().any(|key| joins_nothing(key, row)) {
            return;
        }
        let head = self.heads.entry(hash).or_insert(END);
        self.next[row] = std::mem::replace(head, row as u32);
    }
}

/// Is this key null, or NaN, of which a column may be full?
pub(super) fn joins_nothing(key: &Carried, row: usize) -> bool {
    match key.column() {
        Column::Float(floats, _) => key.is_null(row) || floats[key.at(row)].is_nan(),
        Column::Any(values) => match &values[key.at(row)] {
            Value::Null => true,
            Value::Float(float) => float.is_nan(),
            _ => false,
        },
        _ => key.is_null(row),
    }
}

/// Bytes of the table a build row costs beyond its columns: hash, head and link.
pub(super) const TABLE_BYTES_PER_ROW: usize = 32;
