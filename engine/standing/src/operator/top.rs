//! ORDER BY … SKIP … LIMIT of each group: all rows are kept in order, so one that goes is replaced by the next.
//!
//! Rows with equal keys are ordered by all their columns: the answer does not depend on history. A change costs a search in the ordered rows and a
//! walk over the first skip + limit of its group.

use crate::event_context::Changes;
use crate::row::Row;
use crate::table::{HashMap, HashSet};
use crate::weight::Weight;
use model::compare::total_order;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row in the order of the keys.
#[derive(Clone)]
pub(super) struct Ordered {
    pub row: Row,
    /// Columns, and whether the largest comes first.
    pub keys: Arc<[(usize, bool)]>,
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        let (ours, theirs) = (self.row.values(), other.row.values());
        let by_key = self.keys.iter().map(|(column, descending)| {
            let order = total_order(&ours[*column], &theirs[*column]);
            if *descending { order.reverse() } else { order }
        });
        by_key.fold(Ordering::Equal, Ordering::then).then_with(|| self.row.cmp(&other.row))
    }
}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Ordered {}

#[derive(Default)]
struct Group {
    rows: BTreeMap<Ordered, isize>,
    /// The rows that it emitted last.
    shown: Vec<(Row, isize)>,
}

/// The first rows of each group.
pub(crate) struct Top {
    group: Vec<usize>,
    keys: Arc<[(usize, bool)]>,
    skip: usize,
    limit: Option<usize>,
    groups: HashMap<Row, Group>,
}

impl Top {
    /// Groups by these columns; orders by these (column, largest first).
    pub fn new(group: Vec<usize>, keys: Vec<(usize, bool)>, skip: usize, limit: Option<usize>) -> Top {
        Top { group, keys: keys.into(), skip, limit, groups: HashMap::default() }
    }
    /// Rows that enter the first ones, and leave them.
    pub fn advance(&mut self, input: &Changes) -> Changes {
        let mut touched = HashSet::default();
        for (row, diff) in input {
            let key = row.pick(&self.group);
            let group = self.groups.entry(key.clone()).or_default();
            let ordered = Ordered { row: row.clone(), keys: self.keys.clone() };
            let count = group.rows.entry(ordered).or_insert(0);
            *count += diff;
            if *count == 0 {
                group.rows.remove(&Ordered { row: row.clone(), keys: self.keys.clone() });
            }
            touched.insert(key);
        }
        let mut found = Changes::new();
        for key in touched {
            let Some(group) = self.groups.get_mut(&key) else { continue };
            let now = first(&group.rows, self.skip, self.limit);
            found.extend(group.shown.iter().map(|(row, count)| (row.clone(), -count)));
            found.extend(now.iter().cloned());
            group.shown = now;
            if group.rows.is_empty() {
                self.groups.remove(&key);
            }
        }
        found
    }
}

fn first(rows: &BTreeMap<Ordered, isize>, mut skip: usize, limit: Option<usize>) -> Vec<(Row, isize)> {
    let (mut left, mut found) = (limit.unwrap_or(usize::MAX), Vec::new());
    for (ordered, count) in rows {
        if left == 0 {
            break;
        }
        let count = usize::try_from(*count).unwrap_or(0);
        let skipped = count.min(skip);
        skip -= skipped;
        let taken = (count - skipped).min(left);
        left -= taken;
        if taken > 0 {
            found.push((ordered.row.clone(), taken as isize));
        }
    }
    found
}

impl Weight for Ordered {
    fn bytes_behind(&self) -> usize {
        let keys = 2 * size_of::<usize>() + size_of_val(&*self.keys);
        self.row.bytes_behind() + keys / Arc::strong_count(&self.keys).max(1)
    }
}

impl Weight for Group {
    fn bytes_behind(&self) -> usize {
        self.rows.bytes_behind() + self.shown.bytes_behind()
    }
}

impl Weight for Top {
    fn bytes_behind(&self) -> usize {
        self.groups.bytes_behind()
    }
}
