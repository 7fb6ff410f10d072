//! Two collections joined on equal columns, and what becomes of left rows without a partner.

use crate::network::Changes;
use crate::row::Row;
use crate::shape::Combining;
use crate::table::HashMap;
use model::Value;

type Index = HashMap<Row, Vec<(Row, isize)>>;

fn apply(index: &mut Index, key: &Row, row: &Row, diff: isize) {
    let rows = index.entry(key.clone()).or_default();
    match rows.iter_mut().find(|(other, _)| other == row) {
        Some(held) => held.1 += diff,
        None => rows.push((row.clone(), diff)),
    }
    rows.retain(|(_, count)| *count != 0);
    if rows.is_empty() {
        index.remove(key);
    }
}

/// Both sides by the columns they are joined on.
pub(crate) struct Combine {
    left_on: Vec<usize>,
    right_on: Vec<usize>,
    kind: Combining,
    left: Index,
    right: Index,
}

impl Combine {
    /// Joins on pairs of a left and a right column.
    pub fn new(on: &[(usize, usize)], kind: Combining) -> Combine {
        let (left_on, right_on) = on.iter().copied().unzip();
        Combine { left_on, right_on, kind, left: Index::default(), right: Index::default() }
    }
    /// Changes of the joined rows: those of the left with the right as it was, then those of the right with the left as it is.
    pub fn advance(&mut self, left: &Changes, right: &Changes) -> Changes {
        let mut found = Changes::new();
        for (row, diff) in left {
            let key = row.pick(&self.left_on);
            self.joined(row, *diff, self.right.get(&key), &mut found);
            apply(&mut self.left, &key, row, *diff);
        }
        // What the right changes for a left row is seen by comparing before and after, key by key.
        let mut by_key: HashMap<Row, Changes> = HashMap::default();
        for (row, diff) in right {
            by_key.entry(row.pick(&self.right_on)).or_default().push((row.clone(), *diff));
        }
        for (key, changes) in by_key {
            let partners = self.left.get(&key).cloned().unwrap_or_default();
            if matches!(self.kind, Combining::Inner(_)) {
                // Only the changed rows matter.
                for (row, diff) in &partners {
                    self.joined(row, *diff, Some(&changes), &mut found);
                }
                changes.iter().for_each(|(row, diff)| apply(&mut self.right, &key, row, *diff));
                continue;
            }
            for (row, diff) in &partners {
                self.joined(row, -diff, self.right.get(&key), &mut found);
            }
            changes.iter().for_each(|(row, diff)| apply(&mut self.right, &key, row, *diff));
            for (row, diff) in &partners {
                self.joined(row, *diff, self.right.get(&key), &mut found);
            }
        }
        found
    }
    fn joined(&self, row: &Row, diff: isize, right: Option<&Vec<(Row, isize)>>, found: &mut Changes) {
        let rows = right.map_or(&[][..], |rows| rows);
        let with = |columns: &[usize], other: &Row| {
            let picked: Vec<Value> = columns.iter().map(|column| other.values()[*column].clone()).collect();
            row.join(&picked)
        };
        match &self.kind {
            Combining::Inner(columns) => {
                found.extend(rows.iter().map(|(other, count)| (with(columns, other), diff * count)));
            }
            Combining::Optional(columns) if rows.is_empty() => {
                found.push((row.join(&vec![Value::Null; columns.len()]), diff));
            }
            Combining::Optional(columns) => {
                found.extend(rows.iter().map(|(other, count)| (with(columns, other), diff * count)));
            }
            Combining::Semi if !rows.is_empty() => found.push((row.clone(), diff)),
            Combining::Anti if rows.is_empty() => found.push((row.clone(), diff)),
            Combining::Semi | Combining::Anti => {}
            Combining::Exists => found.push((row.join(&[Value::Bool(!rows.is_empty())]), diff)),
            Combining::OrElse(column, otherwise) => {
                let value = rows.first().map_or(otherwise, |(other, _)| &other.values()[*column]);
                found.push((row.join(std::slice::from_ref(value)), diff));
            }
        }
    }
}
