//! Validation: the rows that a group reads, and the verdicts by them. Every implementation of truth updates the rows, calls this one function, and
//! logs the rows that the group touched, in one transaction of its own.
//!
//! Idea: for each key two vectors, *written* (the stamp of the last writer) and *read* (the clocks of all readers since, merged). A stamp is after a
//! writer, and after all readers, exactly if its vector is at least theirs, because clocks are only ever announced whole. So one comparison decides,
//! and a gate whose stamp is late gets the vector and is after it from then on.
//! Chunks have no readers: a move comes after *all* that has committed, so transactions that only touch a chunk write no row that all of them share.
//! A reader of [`EVERYTHING`] must know all that has committed, and all later commits come after it: as if each commit wrote that key, but without a
//! row that all writers share.

use crate::record::{Proposed, Verdict};
use crate::truth::Route;
use order::Stamp;
use std::collections::{BTreeMap, BTreeSet};

/// The key of a reader of the whole content: each commit counts as a writer of it. No commit writes it, and no other key is equal to it.
pub const EVERYTHING: u64 = u64::MAX;

/// The last writer and readers of a key, in this epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The vector of the last writer; zeros where there is none.
    pub written: Box<[u64]>,
    /// The vectors of its readers since, merged.
    pub read: Box<[u64]>,
}

/// Where a chunk is, and the vector of the move that brought it there, if that was in this epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routed {
    /// The chunk's route.
    pub route: Route,
    /// The last move of this epoch.
    pub moved: Option<Box<[u64]>>,
}

/// Rows of one epoch: all of them, or those that a group names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// By key.
    pub keys: BTreeMap<u64, Touched>,
    /// By chunk.
    pub routes: BTreeMap<u32, Routed>,
    /// The vectors of all commits of the epoch, merged; a group without moves may leave out other gates' commits.
    pub clock: Vec<u64>,
    /// Chunks whose rows have changed.
    pub changed_routes: BTreeSet<u32>,
    /// Keys that were read get rows, too. Off only in tests.
    pub reads_are_rows: bool,
}

impl Touched {
    /// Does every stamp that knows these counters come after all who touched it?
    pub fn is_below(&self, frontier: &[u64]) -> bool {
        knows(frontier, &self.written) && knows(frontier, &self.read)
    }
}

impl Rows {
    /// A new epoch: all that was comes before.
    pub fn begin(&mut self) {
        self.keys.clear();
        self.clock.clear();
        self.changed_routes.clear();
        self.routes.values_mut().for_each(|one| one.moved = None);
    }

    /// The verdict on a transaction; if it commits, the rows are updated.
    pub fn verdict(&mut self, proposed: &Proposed) -> Verdict {
        let stamp = &proposed.record.stamp;
        if proposed.base.as_ref().is_some_and(|base| base.epoch() != stamp.epoch()) {
            return Verdict::Conflict;
        }
        let version = |chunk: &u32| self.routes.get(chunk).map(|one| one.route.version);
        if proposed.routes.iter().any(|(chunk, seen)| version(chunk) != Some(*seen)) {
            return Verdict::Moved;
        }
        let base = proposed.base.as_ref().map_or(&[][..], Stamp::vector);
        let newer = |key: &u64| match *key {
            EVERYTHING => !knows(base, &self.clock),
            _ => self.keys.get(key).is_some_and(|row| !knows(base, &row.written)),
        };
        if proposed.reads.iter().any(newer) {
            return Verdict::Conflict;
        }
        debug_assert!(!proposed.writes.contains(&EVERYTHING), "a commit writes everything without saying so");
        let mut clock = stamp.vector().to_vec();
        for row in proposed.writes.iter().chain([&EVERYTHING]).filter_map(|key| self.keys.get(key)) {
            merge(&mut clock, &row.written);
            merge(&mut clock, &row.read);
        }
        let routed = proposed.routes.iter().filter_map(|(chunk, _)| self.routes.get(chunk));
        routed.filter_map(|one| one.moved.as_ref()).for_each(|moved| merge(&mut clock, moved));
        if !proposed.moves.is_empty() {
            merge(&mut clock, &self.clock);
        }
        if clock != stamp.vector() {
            return Verdict::Late(clock.into());
        }
        self.accept(proposed);
        Verdict::Committed
    }

    /// Updates the rows by a transaction that was committed on them, here or by another gate.
    pub fn accept(&mut self, proposed: &Proposed) {
        let vector = proposed.record.stamp.vector();
        let none: Box<[u64]> = vec![0; vector.len()].into();
        for key in proposed.reads.iter().filter(|_| self.reads_are_rows) {
            let fresh = || Touched { written: none.clone(), read: none.clone() };
            merge(&mut self.keys.entry(*key).or_insert_with(fresh).read, vector);
        }
        for key in &proposed.writes {
            self.keys.insert(*key, Touched { written: vector.into(), read: none.clone() });
        }
        for (chunk, to) in &proposed.moves {
            if let Some(one) = self.routes.get_mut(chunk) {
                one.route = Route { owner: *to, version: one.route.version + 1, ..one.route };
                one.moved = Some(vector.into());
                self.changed_routes.insert(*chunk);
            }
        }
        self.clock.resize(vector.len(), 0);
        merge(&mut self.clock, vector);
    }
}

/// Does a vector know all that another one counts? An empty one knows nothing.
fn knows(vector: &[u64], other: &[u64]) -> bool {
    other.iter().enumerate().all(|(at, counter)| vector.get(at).copied().unwrap_or(0) >= *counter)
}

fn merge(into: &mut [u64], other: &[u64]) {
    into.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}
