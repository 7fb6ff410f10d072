//! A gate's own copy of the rows for validation, updated by the groups that other gates have logged.
//!
//! Idea: keys are no rows of the database. Each group logs the keys it touched as one row, with a rising number; a gate reads the rows that are new
//! to it, replays them into [`protocol::Rows`] in the order of their numbers, and decides by that.
//! Invariant: in the transaction that commits a group, the copy holds everything up to the last number, and the row of the group takes the next.
//! The database is serializable, and numbers are a primary key: a copy that has missed something cannot commit.
//! Cost: a gate reads and replays the commits of the others; memory for the commits that the frontier has not passed.

use protocol::{Proposed, Rows, Verdict};

/// Rows of keys above which a frontier that has moved is worth a walk over all of them.
const FORGET_ROWS_MIN: usize = 4_096;

/// The rows as of one number of one epoch.
#[derive(Debug, Default)]
pub(crate) struct Replica {
    epoch: u64,
    number: u64,
    rows: Rows,
    rows_kept: usize,
}

impl Replica {
    /// Of an epoch in which nothing is known.
    pub(crate) fn new(epoch: u64) -> Replica {
        Replica { epoch, rows: Rows { reads_are_rows: true, ..Rows::default() }, ..Replica::default() }
    }
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }
    /// The last number that it holds.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
    /// The rows, to be decided by.
    pub(crate) fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }
    /// Chunks of a group whose rows are not in the copy.
    pub(crate) fn missing_chunks(&self, group: &[Proposed]) -> Vec<u32> {
        let named = group.iter().flat_map(|one| one.routes.iter().map(|(chunk, _)| *chunk));
        let mut missing: Vec<u32> = named.filter(|chunk| !self.rows.routes.contains_key(chunk)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }
    /// Replays the keys that a group touched.
    pub(crate) fn replay(&mut self, number: u64, group: &[Proposed]) {
        debug_assert!(number > self.number, "groups are replayed in the order of their numbers");
        self.number = number;
        group.iter().for_each(|one| self.rows.accept(one));
        self.rows.changed_routes.clear();
    }
    /// The verdict on each transaction of a group; the copy is updated.
    pub(crate) fn decide(&mut self, number: u64, group: &[Proposed]) -> Vec<Verdict> {
        debug_assert!(number > self.number, "the group is the next one");
        self.number = number;
        group.iter().map(|one| self.rows.verdict(one)).collect()
    }
    /// Drops keys that everybody to come knows about, when they may be half of all.
    pub(crate) fn forget(&mut self, frontier: &[u64]) {
        if !frontier.is_empty() && self.rows.keys.len() >= FORGET_ROWS_MIN.max(2 * self.rows_kept) {
            self.rows.keys.retain(|_, row| !row.is_below(frontier));
            self.rows_kept = self.rows.keys.len();
        }
    }
}
