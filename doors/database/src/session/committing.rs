//! A commit that can be ended: by its deadline, KILL, TERMINATE, its client, shutdown and its tenant's memory, until its record is on its way into
//! the log. From there on it happens.
//!
//! A long one stands in the lists as a query, which holds the bytes that its record takes. A short one is over before anybody could end it.

use super::Session;
use super::transaction::remaining;
use super::whole::Whole;
use crate::clients::Listed;
use crate::{Error, Interrupter};
use execute::watch::{self, Stopped, Watch};
use execute::{ExecuteError, QueryId};
use model::pace;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use transact::Transaction;
use world::clock::{after_ns, monotonic_ns};

/// A commit of so many bytes or more is listed: it may take some milliseconds.
const LISTED_BYTES_MIN: u64 = 1 << 20;

/// Bytes that a change takes in its record, beside its values.
const CHANGE_BYTES: u64 = 32;

/// What is committed, and within which limits.
pub(super) struct Commit<'a> {
    /// As it is listed.
    pub(super) text: &'a str,
    pub(super) deadline_ns: Option<u64>,
    pub(super) bytes_max: u64,
    /// The query that stands for the whole statement, where this is a part of it.
    pub(super) part_of: Option<QueryId>,
    /// The transaction as it is listed, where a client began it.
    pub(super) listed: Option<&'a Arc<Listed>>,
}

/// Watches over a commit. Once it has told of an end it always does: what was left out cannot be made up for.
struct Committing<'a> {
    deadline_ns: Option<u64>,
    interrupter: Interrupter,
    meanwhile: Option<super::Meanwhile>,
    next_look_ns: AtomicU64,
    whole: Option<Arc<Mutex<Whole>>>,
    is_over: AtomicBool,
    why: &'a Mutex<Option<Error>>,
}
