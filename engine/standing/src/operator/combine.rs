//! Two collections joined on equal columns, and left rows without a partner.

use crate::event_context::Changes;
use crate::row::Row;
use crate::shape::Combining;
use crate::table::HashMap;
use crate::weight::Weight;
use model::Value;

/// Rows by their join columns, with multiplicities.
type RowIndex = HashMap<Row, HashMap<Row, isize>>;

fn apply(index: &mut RowIndex, key: &Row, row: &Row, diff: isize) {
    let rows = index.entry(key.clone()).or_default();
    let count = rows.entry(row.clone()).or_insert(0);
    *count += diff;
    if *count == 0 {
        rows.remove(row);
    }
    if rows.is_empty() {
        index.remove(key);
    }
}

/// Both sides by their join columns.
pub(crate) struct Combine {
    left_on: Vec<usize>,
    right_on: Vec<usize>,
    kind: Combining,
    left: RowIndex,
    right: RowIndex,
}

impl Combine {
    /// Joins on pairs of a left and a right column.
    pub fn new(on: &[(usize, usize)], kind: Combining) -> Combine {
        let (left_on, right_on) = on.iter().copied().unzip();
        Combine { left_on, right_on, kind, left: RowIndex::default(), right: RowIndex::default() }
    }
    /// Changes of the joined rows: those of the left with the right as it was, then those of the right with the left as it is.
    pub fn advance(&mut self, left: &Changes, right: &Changes) -> Changes {
        let mut found = Changes::new();
        for (row, diff) in left {
            let key = row.pick(&self.left_on);
            self.joined(row, *diff, held(&self.right, &key), &mut found);
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
                    let changed = changes.iter().map(|(row, diff)| (row, *diff));
                    self.joined(row, *diff, changed, &mut found);
                }
                changes.iter().for_each(|(row, diff)| apply(&mut self.right, &key, row, *diff));
                continue;
            }
            for (row, diff) in &partners {
                self.joined(row, -diff, held(&self.right, &key), &mut found);
            }
            changes.iter().for_each(|(row, diff)| apply(&mut self.right, &key, row, *diff));
            for (row, diff) in &partners {
                self.joined(row, *diff, held(&self.right, &key), &mut found);
            }
        }
        found
    }
    fn joined<'r>(
        &self,
        row: &Row,
        diff: isize,
        mut rows: impl Iterator<Item = (&'r Row, isize)>,
        found: &mut Changes,
    ) {
        let with = |columns: &[usize], other: &Row| {
            let picked: Vec<Value> = columns.iter().map(|column| other.values()[*column].clone()).collect();
            row.join(&picked)
        };
        match &self.kind {
            Combining::Inner(columns) => {
                found.extend(rows.map(|(other, count)| (with(columns, other), diff * count)));
            }
            Combining::Optional(columns) => {
                let before = found.len();
                found.extend(rows.map(|(other, count)| (with(columns, other), diff * count)));
                if found.len() == before {
                    found.push((row.join(&vec![Value::Null; columns.len()]), diff));
                }
            }
            Combining::Semi if rows.next().is_some() => found.push((row.clone(), diff)),
            Combining::Anti if rows.next().is_none() => found.push((row.clone(), diff)),
            Combining::Semi | Combining::Anti => {}
            Combining::Exists => found.push((row.join(&[Value::Bool(rows.next().is_some())]), diff)),
            Combining::OrElse(column, otherwise) => {
                let value = rows.next().map_or(otherwise, |(other, _)| &other.values()[*column]);
                found.push((row.join(std::slice::from_ref(value)), diff));
            }
        }
    }
}

/// The rows of an index that have this key.
fn held<'i>(index: &'i RowIndex, key: &Row) -> impl Iterator<Item = (&'i Row, isize)> {
    index.get(key).into_iter().flatten().map(|(row, count)| (row, *count))
}

impl Weight for Combine {
    fn bytes_behind(&self) -> usize {
        self.left.bytes_behind() + self.right.bytes_behind()
    }
}
