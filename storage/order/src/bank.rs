//! The bank: gives committing transactions their commit versions, in an order that extends the stamps and the oracle's decisions.
//!
//! ```text
//!   admit: does the stamp come before one that has its commit version already?  then the gatekeeper gives a new one
//!   take:  the next commit version
//!   settle: conflicting and concurrent with some placed before?         then the oracle says: those first
//! ```
//!
//! Invariants: of two placed stamps the later commit version is never before the earlier one, neither by vectors nor by the oracle; two
//! that conflict are ordered by one of the two. With one gatekeeper the vectors order everything and the oracle is neither asked nor are keys
//! remembered.
//! Cost: with one gatekeeper two comparisons a commit; with more, one look-up a key.

use crate::gatekeepers::Gatekeepers;
use crate::oracle::{First, ORACLE_EVENTS_MAX, Oracle};
use crate::recent::{Recent, Touched};
use crate::stamp::{Stamp, merge};

/// The version of a commit in this store's order: 1 for the first. Commit version 0 is the empty store.
pub type CommitVersion = u64;

/// Keys of recent transactions remembered before all gatekeepers must announce, so that they can be forgotten (about 32 MiB).
pub const REMEMBERED_KEYS_MAX: usize = 1 << 19;

/// Counters of a bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BankCounts {
    /// Questions to the oracle: pairs that conflicted and were concurrent.
    pub questions: u64,
    /// Pairs that conflicted and were in order by their vectors.
    pub by_vectors: u64,
    /// Stamps that came too late and were given anew.
    pub restamped: u64,
    /// Messages that announced clocks.
    pub announcements: u64,
    /// The period between announcements, in microseconds.
    pub tau_us: u64,
}

/// Gives commit versions; owned by the committer.
#[derive(Debug)]
pub struct Bank {
    last: CommitVersion,
    epoch: u64,
    /// The merged vectors of placed stamps.
    placed: Box<[u64]>,
    /// The merged vectors of forgotten stamps: a stamp that does not know all of it is replaced.
    forgotten: Box<[u64]>,
    oracle: Oracle,
    recent: Recent,
    counts: BankCounts,
    told_questions: u64,
}

impl Bank {
    /// A bank of `gatekeepers` that continues after `last`.
    pub fn new(gatekeepers: &Gatekeepers, last: CommitVersion) -> Bank {
        let zeros: Box<[u64]> = vec![0; gatekeepers.count()].into();
        Bank {
            last,
            epoch: 0,
            placed: zeros.clone(),
            forgotten: zeros,
            oracle: Oracle::new(gatekeepers.count()),
            recent: Recent::default(),
            counts: BankCounts::default(),
            told_questions: 0,
        }
    }
    /// Begins a new epoch after `last`: stamps that were placed and not published are void, and holders of a stamp get a new one.
    pub fn next_epoch(&mut self, last: CommitVersion) {
        self.last = last;
        self.epoch += 1;
        self.oracle = Oracle::new(self.placed.len());
        self.recent = Recent::default();
    }
    /// The version of the next commit.
    pub fn take(&mut self) -> CommitVersion {
        self.last += 1;
        self.last
    }
    /// The next commit version is the one behind `last`: of an empty store, which takes over commits of another from there on.
    pub fn begin_after(&mut self, last: CommitVersion) {
        assert_eq!(self.last, 0, "it has given versions already");
        self.last = last;
    }
    /// Takes back the commit version handed out last: its commit did not happen.
    pub fn withdraw(&mut self, commit_version: CommitVersion) {
        assert_eq!(commit_version, self.last, "only the last version can be withdrawn");
        self.last -= 1;
    }
    /// The commit version handed out last.
    pub fn last(&self) -> CommitVersion {
        self.last
    }
    /// May this stamp have the next commit version? If not, [`Bank::restamp`] gives another.
    pub fn admits(&self, stamp: &Stamp) -> bool {
        stamp.epoch == self.epoch
            && self.placed[stamp.gatekeeper] < stamp.counter()
            && stamp.vector.iter().zip(&self.forgotten).all(|(known, forgotten)| known >= forgotten)
    }
    /// A stamp from the same gatekeeper that comes after all that were placed.
    pub fn restamp(&mut self, gatekeepers: &mut Gatekeepers, stamp: &Stamp) -> Stamp {
        self.counts.restamped += 1;
        gatekeepers.stamp_after(stamp.gatekeeper, self.epoch, &self.placed)
    }
    /// The commit with this stamp has the last commit version: orders it behind those it conflicts with, and remembers it.
    pub fn settle(&mut self, stamp: Stamp, touched: Touched) {
        assert!(self.admits(&stamp), "{stamp} has no version behind {:?}", self.placed);
        merge(&mut self.placed, &stamp.vector);
        if self.is_alone() {
            return;
        }
        for earlier in self.recent.conflicting(&touched) {
            if earlier.precedes(&stamp) {
                self.counts.by_vectors += 1;
                continue;
            }
            self.counts.questions += 1;
            let first = self.oracle.order(earlier, &stamp, First::This);
            assert_eq!(first, First::This, "{earlier} has its version, and {stamp} comes before it");
        }
        self.recent.push(stamp, touched);
    }
    /// With one gatekeeper no stamps are concurrent, and the keys of a commit are not needed.
    pub fn is_alone(&self) -> bool {
        self.placed.len() == 1
    }
    /// Reports the number of questions to the gatekeepers, and forgets stamps that no new one can be concurrent with.
    pub fn exchange(&mut self, gatekeepers: &mut Gatekeepers) {
        if self.is_alone() {
            return;
        }
        gatekeepers.asked(self.counts.questions - self.told_questions);
        self.told_questions = self.counts.questions;
        if self.oracle.len() > ORACLE_EVENTS_MAX / 2 || self.recent.remembered_keys() > REMEMBERED_KEYS_MAX {
            gatekeepers.announce_all();
        }
        self.forgotten = gatekeepers.frontier();
        self.oracle.forget(&self.forgotten);
        self.recent.forget(&self.forgotten);
        self.counts.announcements = gatekeepers.announcements();
        self.counts.tau_us = gatekeepers.tau().us();
    }
    /// The counters so far.
    pub fn counts(&self) -> BankCounts {
        self.counts
    }
    /// Events the oracle remembers.
    pub fn oracle_events(&self) -> usize {
        self.oracle.len()
    }
}

#[cfg(test)]
mod tests;
