//! # transact: begin, validate, commit
//!
//! Joins `order` (the version of a commit), `durable` (the log) and `store` (the graph), and alone publishes a version.
//! Transactions are optimistic: writes are buffered over a snapshot, reads are recorded as keys and ranges, and a commit is
//! refused if anything it read was written since. Strictly serializable: the version a commit gets is its position in the one order
//! that all transactions could have run in, and it lies between the commit's begin and its return.
//!
//! ```text
//!   T1: reads {x}  writes {y}     snapshot 7 ........ commit: nobody wrote x after 7 -> commit version 8
//!   T2: reads {y}  writes {x}     snapshot 7 ............. commit: y was written at 8 -> conflict, try again
//! ```
//!
//! Reading order: [`Transaction`], [`ReadSet`], the conflict memory and footprints, [`Engine`], `commit` (validation) and `pending` (group commit),
//! [`open`] (recovery and checkpoints), `past` and `kept_files` (history and its removal), `since` (re-reading commits), `inspect` (checks and
//! backups), [`Feed`], `remote` (a gate of a cluster), `watch_sets` (validity of cached results).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod checkpoint;
mod commit;
mod committer;
mod conflicts;
mod constraints;
mod engine;
mod error;
mod feed;
mod follow;
mod footprint;
mod history;
mod inspect;
mod install;
mod kept_files;
mod limits;
mod open;
mod options;
mod party;
mod past;
mod pending;
mod reads;
mod record;
mod refine;
mod remote;
mod replay;
mod reserve;
mod schema;
mod since;
mod transaction;
mod watch_sets;
mod watch_table;

pub use checkpoint::CheckpointReport;
pub use commit::NAMES_BYTES_ENOUGH;
pub use durable::{BackupReport, Problem, Report};
pub use engine::{CommitCounts, Engine};
pub use error::{OUTCOME_UNKNOWN, SEE_GUIDE, SchemaClash, TransactError};
pub use feed::{CommitRecord, FEED_COMMITS_MAX, Feed, FeedEnd, Waker};
pub use follow::Followed;
pub use history::{History, Moment, Point};
pub use inspect::{backup, check, restore, without_trace};
pub use install::Load;
pub use limits::{
    ANCHOR_LOG_BYTES, CHANGES_MAX, RETAINED_LOG_BYTES_MAX, WATCH_BYTES, WATCH_KEYS_MAX, WATCHED_KEY_BYTES,
    WATCHED_KEYS_MAX,
};
pub use open::{RecoveryReport, open, open_backing, open_gate};
pub use options::{OpenOptions, Retention};
pub use order::BankCounts;
pub use party::{Act, Forbidden, Party, Permission};
pub use past::{PAST_SNAPSHOTS_MAX, RECENT_GROUPS_MAX};
pub use reads::{READ_KEYS_MAX, READ_RANGES_MAX, ReadSet};
pub use remote::{ClusterProcess, ClusterReport, GateParts, Proposal, Remote, RemoteError};
pub use reserve::{RESERVE_AFTER_REFUSALS, TURN_MAX, TURN_MIN};
pub use schema::{ConstraintRequest, Groundwork, IndexRequest, Rule};
pub use since::{Since, Stretch};
pub use transaction::{Mode, Transaction};
pub use watch_sets::{Holding, WatchSet, Watcher};
