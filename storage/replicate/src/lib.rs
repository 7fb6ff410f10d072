//! # replicate: one log that several replicas agree on
//!
//! ```text
//!   proposals ──> leader ── entries ──> followers        an entry is committed when a majority has it on disk
//!                    │                      │
//!                    v                      v
//!              state machine          state machine      each applies the same entries in the same order
//! ```
//!
//! Idea: Raft (Ongaro and Ousterhout) by a kept library that does no I/O. A [`Replica`] joins it to a log on disk and to a [`StateMachine`], and
//! is itself a step function: inputs in (a tick, a message, a proposal), outputs out (messages to send, answers). It knows no network, no
//! thread and no clock, so a simulator drives the very code that serves.
//!
//! Invariants: promises of an output are on disk before the output is returned; an entry is applied once by each replica, in order; a
//! proposal is answered as done only after a majority has it on disk.
//!
//! Reading order: [`StateMachine`], [`Replica`] with [`Input`] and [`Output`], `sound` (messages), `storage` (the log on disk).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod error;
mod machine;
mod members;
mod options;
mod replica;
mod sound;
mod storage;

pub use error::ReplicateError;
pub use machine::StateMachine;
pub use members::{MemberChange, Members, ReplicaId, replica_id};
pub use options::{ENTRY_BYTES_MAX, PENDING_MAX, ReplicaOptions};
pub use replica::{Input, Output, Replica, Role, Status, Undone};
