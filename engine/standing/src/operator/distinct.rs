//! Distinct rows: each once, as long as it occurs at all.
//!
//! Rows that DISTINCT takes for equal are one row, which is shown as the least of them; columns that join the rows back to an outer row are compared
//! exactly.

use crate::event_context::Changes;
use crate::row::{Alike, GroupKey, Row};
use crate::table::HashMap;
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;
    use world::chance::Chance;

    /// Compared with its twin: each present row, by its columns' kinds of equality.
    #[test]
    fn columns_are_compared_as_they_are_named() {
        for (grouped, exact) in
            [(3, vec![]), (2, vec![]), (3, vec![1]), (2, vec![0]), (0, vec![]), (3, vec![0, 1, 2])]
        {
            let mut distinct = Distinct::new(3, grouped, &exact);
            let key = |row: &Row| -> Vec<String> {
                let columns = row.values().iter().enumerate();
                let one = |(column, value): (usize, &Value)| match value {
                    Value::Int(int) if column < grouped && !exact.contains(&column) => {
                        format!("{:?}", *int as f64)
                    }
                    Value::Float(float) => format!("{float:?}"),
                    other => format!("{other:?}"),
                };
                columns.map(one).collect()
            };
            let mut chance = Chance::seeded(grouped as u64);
            let (mut there, mut told): (Vec<Row>, Vec<Row>) = Default::default();
            for _ in 0..400 {
                let mut value = || {
                    [Value::Int(1), Value::Float(1.0), Value::Int(2), Value::Null][chance.index(4)].clone()
                };
                let mut changes = vec![(Row::new([value(), value(), value()]), 1)];
                if there.len() > 12 {
                    changes.push((there.swap_remove(chance.index(there.len())), -1));
                }
                there.push(changes[0].0.clone());
                for (row, diff) in distinct.advance(&changes) {
                    match diff {
                        1 => told.push(row),
                        _ => drop(told.remove(told.iter().position(|other| *other == row).unwrap())),
                    }
                }
                let keys = |rows: &[Row]| {
                    let mut keys: Vec<_> = rows.iter().map(key).collect();
                    keys.sort();
                    keys
                };
                let mut expected = keys(&there);
                expected.dedup();
                assert_eq!(keys(&told), expected, "{grouped} {exact:?}");
            }
        }
    }
}
