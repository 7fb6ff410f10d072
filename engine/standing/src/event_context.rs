//! What goes from step to step at one timestamp: changes of rows, and what happened then.

use crate::row::Row;
use crate::view::{Timestamp, Touched, View};

/// Rows that come (positive) and go (negative), so many times each.
pub(crate) type Changes = Vec<(Row, isize)>;

/// What happens at one timestamp.
pub(crate) struct EventContext<'a> {
    pub view: &'a View,
    pub timestamp: Timestamp,
    /// What the commit of this timestamp touched, if it is one.
    pub touched: Option<&'a Touched>,
}

/// Adds up what is said of equal rows; what cancels is gone.
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

/// What goes comes first, for who takes rows for one that DISTINCT takes for one.
pub(crate) fn in_order(changes: &mut Changes) {
    changes.sort_by(|(a, x), (b, y)| a.compare_groups(b).then(x.cmp(y)));
}
