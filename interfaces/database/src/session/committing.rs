//! A commit that can be ended: by its deadline, KILL, TERMINATE, its client, shutdown and its tenant's memory, until its record is on its way into
//! the log. After that it is committed.
//!
//! A long commit is listed as a query, which holds the bytes of its record. A short one is over before it could be ended.

use super::deadline::{LOOK_EVERY, deadline_after, remaining, terminated};
use super::whole::Whole;
use super::{Meanwhile, Session};
use crate::clients::Listed;
use crate::{Error, Interrupter};
use execute::watch::{self, Stopped, Watch};
use execute::{ExecuteError, QueryId};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::StoreError;
use transact::{Mode, TransactError, Transaction};
use world::clock::{monotonic_ns, span_ns};
use world::failpoint;

/// Commits of at least so many bytes are listed: they may take some milliseconds.
const LISTED_BYTES_MIN: u64 = 1 << 20;

/// Bytes that a change takes in its record, beside its values.
const CHANGE_BYTES: u64 = 32;

/// A transaction that begins this soon after one was refused in the same session is taken for its retry: drivers retry functions that they are given.
/// It is let through in the end.
const RETRIED_WITHIN: Duration = Duration::from_secs(30);

/// A commit for which others have to wait is followed by such a transaction this soon.
const CONTENDED_WITHIN: Duration = Duration::from_secs(5);

/// A commit with its limits.
pub(super) struct Commit<'a> {
    /// Its text in the lists.
    pub(super) text: &'a str,
    pub(super) deadline_ns: Option<u64>,
    pub(super) bytes_max: u64,
    /// The query that stands for the whole statement, where this is a part of it.
    pub(super) part_of: Option<QueryId>,
    /// The listed transaction, if a client began it.
    pub(super) listed: Option<&'a Arc<Listed>>,
}

/// Watches over a commit. Once it has reported an end it always does, since skipped work cannot be made up for.
struct Committing {
    deadline_ns: Option<u64>,
    interrupter: Interrupter,
    meanwhile: Option<Meanwhile>,
    /// When it looks after the client next.
    looks_at_ns: AtomicU64,
    listed: Option<Arc<Listed>>,
    whole: Option<Arc<Mutex<Whole>>>,
    is_over: AtomicBool,
}

impl Committing {
    /// Why the commit must end, if it must.
    fn why(&self, now_ns: u64) -> Option<Error> {
        if self.deadline_ns.is_some_and(|deadline_ns| now_ns >= deadline_ns) {
            return remaining(self.deadline_ns).err();
        }
        if now_ns >= self.looks_at_ns.load(Ordering::Relaxed) {
            self.looks_at_ns.store(now_ns + span_ns(LOOK_EVERY), Ordering::Relaxed);
            self.meanwhile.iter().for_each(|meanwhile| meanwhile());
        }
        if let Some(reason) = self.interrupter.reason() {
            return Some(ExecuteError::Cancelled(reason.to_string()).into());
        }
        if self.listed.as_ref().is_some_and(|listed| listed.is_terminated()) {
            return Some(terminated());
        }
        self.whole.as_ref().and_then(|whole| whole.lock().check().err())
    }
}

impl Watch for Committing {
    fn look(&self, now_ns: u64) -> Result<(), Stopped> {
        if self.is_over(now_ns) { Err(Stopped::Time) } else { Ok(()) }
    }
    fn charge(&self, _: u64) -> Result<(), Stopped> {
        Ok(())
    }
    fn release(&self, _: u64) {}
    fn is_over(&self, now_ns: u64) -> bool {
        let is_over = self.is_over.load(Ordering::Relaxed) || self.why(now_ns).is_some();
        self.is_over.store(is_over, Ordering::Relaxed);
        is_over
    }
}

impl Session {
    /// Commits the open transaction; returns the commit version once it is durable.
    pub fn commit(&mut self) -> Result<u64, Error> {
        self.within_net(Session::commit_open)
    }
    fn commit_open(&mut self) -> Result<u64, Error> {
        failpoint::visit("commit of a session");
        let terminated = self.check_terminated();
        let open = self.take_open()?;
        if let Err(error) =
            terminated.and_then(|()| self.check_credential()).and_then(|()| self.still_allows(&open))
        {
            open.transaction.rollback();
            return Err(error);
        }
        if open.broken {
            open.transaction.rollback();
            let code = "Neo.ClientError.Transaction.TransactionMarkedAsFailed";
            return Err(Error::new(code, "a statement of the transaction failed; it was rolled back"));
        }
        remaining(open.deadline_ns)?;
        if open.mode == Mode::Write {
            // What a result has yet to read would be read behind the back of the commit, which validates what was read until now.
            self.interrupter.end_running("its transaction was committed before its rows were read");
        }
        let outcome = self.commit_within(
            &open.transaction,
            &Commit {
                text: "COMMIT",
                deadline_ns: open.deadline_ns,
                bytes_max: open.bytes_max.load(Ordering::Relaxed),
                part_of: None,
                listed: Some(&open.listed),
            },
        );
        // At a cluster's gate nothing has a turn, and what is kept would keep its read open at the shards.
        let keeps = !self.database.engine().is_gate();
        if keeps && outcome.as_ref().is_err_and(|error| error.retryable) {
            self.refused = Some((open.transaction.clone(), deadline_after(RETRIED_WITHIN)));
        } else if keeps && open.transaction.is_contended() {
            self.refused = Some((open.transaction.clone(), deadline_after(CONTENDED_WITHIN)));
        }
        let commit_version = outcome?;
        self.database.after_commit();
        // One with such commands has written no data, so nothing of it was committed yet.
        if open.schema.is_empty() { Ok(commit_version) } else { self.carry_out_schema(&open) }
    }
    /// Commits a transaction; returns the commit version once it is durable.
    pub(super) fn commit_within(&self, transaction: &Transaction, commit: &Commit<'_>) -> Result<u64, Error> {
        check_written(transaction, commit.bytes_max)?;
        let bytes = transaction.value_bytes() + CHANGE_BYTES * transaction.change_count() as u64;
        let whole = if bytes < LISTED_BYTES_MIN { None } else { Some(self.list_commit(commit, bytes)?) };
        let watch = Arc::new(Committing {
            deadline_ns: commit.deadline_ns,
            interrupter: self.interrupter.clone(),
            meanwhile: self.meanwhile.clone(),
            looks_at_ns: AtomicU64::new(0),
            listed: commit.listed.cloned(),
            whole,
            is_over: AtomicBool::new(false),
        });
        let outcome = {
            let _watched = watch::enter(watch.clone());
            transaction.commit()
        };
        outcome.map_err(|error| match error {
            TransactError::Store(StoreError::Stopped) => {
                watch.why(monotonic_ns()).unwrap_or_else(|| error.into())
            }
            error => error.into(),
        })
    }

    /// The query under which a long commit is listed.
    fn list_commit(&self, commit: &Commit<'_>, bytes: u64) -> Result<Arc<Mutex<Whole>>, Error> {
        let limits = (commit.bytes_max.max(bytes), commit.deadline_ns);
        let mut whole = self.start_part(commit.text, limits, (commit.part_of, commit.listed))?;
        whole.holds(bytes)?;
        Ok(Arc::new(Mutex::new(whole)))
    }
}

/// Do the values that a transaction has written fit the budget? Its record has a copy of each, also of shared ones.
pub(super) fn check_written(transaction: &Transaction, bytes_max: u64) -> Result<(), Error> {
    let bytes = transaction.value_bytes();
    if bytes <= bytes_max {
        return Ok(());
    }
    let message = format!(
        "the values that are written take {bytes} bytes, more than the memory budget of {bytes_max} bytes"
    );
    let hint = "write them in several transactions, as CALL { … } IN TRANSACTIONS does, or raise the query's memory budget";
    Err(Error::new("Neo.TransientError.General.MemoryPoolOutOfMemoryError", message).hint(hint))
}
