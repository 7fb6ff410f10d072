//! Each row once, as long as it is there at all.
//!
//! Rows that DISTINCT takes for one are one row, which is shown as the least of them; columns that are there to join the rows back to an
//! outer row are told apart exactly.

use crate::row::{Alike, GroupKey, Row};
use crate::table::HashMap;
use crate::turn::Changes;
use crate::weight::Weight;

/// How often each row is there.
pub(crate) struct Distinct {
    /// Columns that DISTINCT compares, and those that are compared exactly.
    grouped: Vec<usize>,
    exact: Vec<usize>,
    groups: HashMap<(GroupKey, Row), Alike>,
}

impl Distinct {
    /// Compares the first columns as DISTINCT does, except for these; all others exactly.
    pub fn new(width: usize, grouped: usize, exact: &[usize]) -> Distinct {
        let (grouped, exact) = (0..width).partition(|column| *column < grouped && !exact.contains(column));
        Distinct { grouped, exact, groups: HashMap::default() }
    }
    fn key(&self, row: &Row) -> (GroupKey, Row) {
        match (&self.grouped[..], &self.exact[..]) {
            (_, []) => (GroupKey(row.clone()), Row::unit()),
            ([], _) => (GroupKey(Row::unit()), row.clone()),
            (grouped, exact) => (GroupKey(row.pick(grouped)), row.pick(exact)),
        }
    }
    /// Rows that come for the first time, and go for the last.
    pub fn advance(&mut self, input: &Changes) -> Changes {
        let mut before: HashMap<(GroupKey, Row), Option<Row>> = HashMap::default();
        for (row, diff) in input {
            let key = self.key(row);
            let group = self.groups.entry(key.clone()).or_default();
            before.entry(key).or_insert_with(|| group.shown().cloned());
            group.count(row, *diff);
        }
        let mut found = Changes::new();
        for (key, was) in before {
            let group = self.groups.get(&key);
            let is = group.and_then(Alike::shown).cloned();
            if group.is_some_and(Alike::is_empty) {
                self.groups.remove(&key);
            }
            if was != is {
                found.extend(was.map(|row| (row, -1)));
                found.extend(is.map(|row| (row, 1)));
            }
        }
        found
    }
}

impl Weight for Distinct {
    fn bytes_behind(&self) -> usize {
        self.groups.bytes_behind()
    }
}
