//! The path of a commit: stamped by a gatekeeper, validated against all earlier ones, applied behind them, and added to the pending commits.
//!
//! Each thread does this for its own transaction, under the committer's lock, and then waits, without it, until that is published. Invariants: commit
//! versions strictly increase; a record in the log applies to the snapshot of the record before it; a name is in a record that is synced before or
//! with the first that uses it.

use crate::committer::{Basis, Committer, FORGET_AT_KEYS, Input, Refusal};
use crate::engine::Shared;
use crate::error::explain;
use crate::feed::CommitRecord;
use crate::footprint::footprint;
use crate::limits::WAIT_UNTIL_LOOK;
use crate::pending::{Accepted, Waiting};
use crate::reads::Inner as Reads;
use crate::reserve::EXEMPT;
use crate::{TransactError, constraints, record, refine};
use model::walk;
use order::Stamp;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Change, StoreError};
use world::failpoint;

/// Bytes of new names that a record carries beside its changes. More of them come before it, in records of their own.
pub const NAMES_BYTES_ENOUGH: usize = 64 << 20;

impl Shared {
    /// Commits at a gatekeeper, with or without a reservation. If the read set is the reason for a refusal, it is returned, with whether the commit
    /// was delayed.
    pub fn commit(
        &self,
        changes: Vec<Change>,
        reads: Reads,
        base: Basis,
        (gatekeeper, reservation): (usize, Option<u64>),
    ) -> (Result<u64, TransactError>, Option<(Reads, bool)>) {
        let stamp = self.stamp(gatekeeper);
        let mut input = Input { changes, reads, base, stamp, reservation, made: None };
        let mut held = None;
        loop {
            let accepted = self.lock_committer().map_err(Refusal::from).and_then(|mut committer| {
                let accepted = self.accept(&mut committer, &mut input);
                drop(committer);
                accepted
            });
            match accepted {
                Ok((waiting, leads)) => {
                    let was_held = held.take();
                    drop(was_held);
                    return (self.await_publishing(&waiting, leads), None);
                }
                Err(Refusal::DelayedCommit) => {
                    held.get_or_insert_with(|| self.reservations.hold());
                    if let Err(stopped) = self.reservations.wait_for_end() {
                        return (Err(StoreError::from(stopped).into()), None);
                    }
                }
                Err(Refusal::Failed(error)) => {
                    self.conflicts.fetch_add(u64::from(error.is_retryable()), Ordering::Relaxed);
                    let reads = error.is_retryable().then_some((input.reads, held.is_some()));
                    return (Err(error), reads);
                }
            }
        }
    }

    /// The lock of the committer; none if the query of this thread ends before.
    fn lock_committer(&self) -> Result<MutexGuard<'_, Committer>, StoreError> {
        loop {
            if let Some(committer) = self.committer.try_lock_for(WAIT_UNTIL_LOOK) {
                return Ok(committer);
            }
            walk::check()?;
        }
    }

    /// A stamp of now.
    pub fn stamp(&self, gatekeeper: usize) -> Stamp {
        let now_us = self.clock.now_ns() / 1_000;
        self.gatekeepers.lock().stamp(gatekeeper, now_us)
    }

    /// Validates a transaction, applies it behind all accepted ones, and adds it to the pending commits; returns how to wait for it, and whether to
    /// lead.
    pub fn accept(
        &self,
        committer: &mut Committer,
        input: &mut Input,
    ) -> Result<(Arc<Waiting>, bool), Refusal> {
        if self.remote.is_some() {
            return Err(TransactError::NotInCluster {
                what: "changes of the catalogue",
                instead: crate::SEE_GUIDE,
            }
            .into());
        }
        self.make_ready(committer)?;
        let mut base = input.base;
        committer.judge(&input.reads, base)?;
        if self.name_ahead(committer)? {
            // Among the names that are known now are its own; nothing else came between.
            base = Basis { commit_version: base.commit_version, ..Basis::of(&committer.tip) };
            self.make_ready(committer)?;
            committer.judge(&input.reads, base)?;
        }
        self.put_behind(committer, input, usize::MAX)
    }

    /// Writes names that no record carries yet into records of their own, until the next record has room for the rest beside its changes: a
    /// transaction that was rolled back may leave any number of them. True if it wrote any.
    fn name_ahead(&self, committer: &mut Committer) -> Result<bool, Refusal> {
        let mut ahead = false;
        while !self.store.names().is_carried(committer.named)
            && !self.store.names().undurable_within(NAMES_BYTES_ENOUGH).2
        {
            let (reads, base) = (Reads::default(), Basis::of(&committer.tip));
            let (changes, reservation) = (Vec::new(), Some(EXEMPT));
            let mut names = Input { changes, reads, base, stamp: self.stamp(0), reservation, made: None };
            let (waiting, leads) = self.put_behind(committer, &mut names, NAMES_BYTES_ENOUGH)?;
            self.await_publishing(&waiting, leads)?;
            ahead = true;
        }
        Ok(ahead)
    }

    /// Applies a valid transaction behind all others, and adds it to the pending commits, with at most `names_bytes_max` bytes of new names.
    fn put_behind(
        &self,
        committer: &mut Committer,
        input: &mut Input,
        names_bytes_max: usize,
    ) -> Result<(Arc<Waiting>, bool), Refusal> {
        committer.is_amid = true;
        let outcome = self.put_whole(committer, input, names_bytes_max);
        committer.is_amid = false;
        outcome
    }

    fn put_whole(
        &self,
        committer: &mut Committer,
        input: &mut Input,
        names_bytes_max: usize,
    ) -> Result<(Arc<Waiting>, bool), Refusal> {
        let stamp = &mut input.stamp;
        if !committer.bank.is_alone() {
            committer.bank.exchange(&mut self.gatekeepers.lock());
        }
        if !committer.bank.admits(stamp) {
            *stamp = committer.bank.restamp(&mut self.gatekeepers.lock(), stamp);
        }
        // The log that is followed may begin with a base.
        if let Some((first, _)) = input.made.filter(|_| committer.bank.last() == 0) {
            committer.bank.begin_after(first.saturating_sub(1));
        }
        let commit_version = committer.bank.take();
        if let Some((wanted, _)) = input.made.filter(|(wanted, _)| *wanted != commit_version) {
            committer.bank.withdraw(commit_version);
            return Err(TransactError::OutOfSequence { next: commit_version, commit_version: wanted }.into());
        }
        failpoint::visit("commit has its place");
        let applied = self.apply(committer, commit_version, input, names_bytes_max);
        let _whole = walk::unended();
        if applied.is_err() {
            committer.bank.withdraw(commit_version);
        }
        failpoint::visit("commit is applied");
        self.forget_old(committer);
        // The last step: who has taken off and leads must not end before it has led.
        Ok(self.enqueue(applied?, committer)?)
    }

    /// Applies a valid transaction at its commit version, and records its footprint.
    fn apply(
        &self,
        committer: &mut Committer,
        commit_version: u64,
        input: &mut Input,
        names_bytes_max: usize,
    ) -> Result<Accepted, Refusal> {
        let Input { changes, reads, stamp, reservation, made, .. } = input;
        let tip = &committer.tip;
        let next = tip.apply(commit_version, &[changes.as_slice()]).map_err(|error| explain(error, tip))?;
        constraints::check(changes, &next)?;
        let footprint = footprint(changes, tip, &next)?;
        if self.reservations.holds_back(*reservation, &footprint) {
            return Err(Refusal::DelayedCommit);
        }
        let (names, named, _) = self.store.names().undurable_within(names_bytes_max);
        let mut changes = std::mem::take(changes);
        if committer.named != Some(named) {
            // Only now: to the store every name that was handed out is known, and one defined to it counts as durable.
            changes.splice(0..0, names.into_iter().map(Change::DefineName));
        }
        let made_micros = made.map_or_else(|| self.clock.wall_us(), |(_, time_micros)| time_micros);
        let time_micros = made_micros.max(committer.last_time_micros);
        let record = Arc::new(CommitRecord { commit_version, time_micros, changes });
        let payload = record::encode(&record)?;
        // From here on it happens. A walk that was ended before may have found anything.
        walk::check().map_err(StoreError::from)?;
        let _whole = walk::unended();
        let alone = committer.bank.is_alone();
        let touched = if alone { Default::default() } else { refine::touched(reads, &footprint) };
        committer.bank.settle(stamp.clone(), touched);
        self.watch_sets.record(commit_version, &footprint);
        committer.conflicts.record(commit_version, footprint);
        (committer.last_time_micros, committer.named) = (time_micros, Some(named));
        committer.tip = next.clone();
        Ok(Accepted { record, payload, snapshot: next, named, is_load: false })
    }

    fn forget_old(&self, committer: &mut Committer) {
        if committer.conflicts.len() > committer.forget_at_keys {
            let active = self.active.lock();
            let oldest =
                active.keys().next().copied().unwrap_or_else(|| self.store.current().commit_version());
            committer.conflicts.forget_until(oldest);
            // Going through all keys is paid for by as many written since.
            committer.forget_at_keys = FORGET_AT_KEYS.max(2 * committer.conflicts.len());
        }
    }
}
