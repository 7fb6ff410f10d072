//! The context of one timestamp: changes of rows that go from step to step, and the event itself.

use crate::row::Row;
use crate::view::{Timestamp, Touched, View};

/// Rows that come (positive) and go (negative), with multiplicities.
pub(crate) type Changes = Vec<(Row, isize)>;

/// The event of one timestamp.
pub(crate) struct EventContext<'a> {
    pub view: &'a View,
    pub timestamp: Timestamp,
    /// The changes of this timestamp's commit, if it is one.
    pub touched: Option<&'a Touched>,
}

/// Adds up equal rows; rows whose sum is zero are dropped.
pub(crate) fn consolidate(changes: &mut Changes) {
    if changes.len() > 1 {
        changes.sort_by(|(a, _), (b, _)| a.cmp(b));
        changes.dedup_by(|(row, diff), (kept, sum)| {
            let same = row == kept;
            if same {
                *sum += *diff;
            }
            same
        });
    }
    changes.retain(|(_, diff)| *diff != 0);
    debug_assert!(changes.is_sorted_by(|(a, _), (b, _)| a < b), "each row is said of once");
}

/// Sorts rows that go first, for steps that compare rows as DISTINCT does.
pub(crate) fn in_order(changes: &mut Changes) {
    changes.sort_by(|(a, x), (b, y)| a.compare_groups(b).then(x.cmp(y)));
}
