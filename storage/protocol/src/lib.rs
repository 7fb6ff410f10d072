//! # protocol: how the processes of a cluster agree on one order
//!
//! ```text
//!   clients ──> gates ── stamps, groups of commits ──> truth (a database that is trusted)
//!                │  └── one channel a gate and shard: records and NOPs ──> shards ── reports ──> scribe: one sequence
//!                │                                                           └── concurrent? ──> oracle
//!                └── all tell the keeper that they live; it ends epochs and begins them
//! ```
//!
//! Refinable timestamps (Dubey, Weaver, §3.3 to §3.5 and §4.6) with one rule added: a commit is acknowledged only when every gate has heard its stamp.
//! Each process is a pure state machine, `step(now, inputs) -> outputs`: no clock, no I/O, no thread. A driver carries messages and calls of
//! [`Truth`]; a simulator is one, and drives the very code that serves.
//!
//! Guarantees, whatever is lost, late, doubled, reordered, killed or cut off: reads and commits are strictly serializable; each shard's order of
//! records, the scribe's sequence and the order that reads saw are parts of one total order; acknowledged commits are kept.
//!
//! Reading order: [`Record`], [`Truth`], [`Rows`] (validation), [`choose`](mod@choose) (the one rule of order), `channel`, [`message`], [`Gate`],
//! [`Shard`], [`Oracle`], [`Scribe`], [`Keeper`];
//! [`wire`] (messages as bytes), [`limits`] and [`Rules`] (the switches that tests turn off).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod channel;
pub mod choose;
mod gate;
mod keeper;
pub mod limits;
mod member;
mod memory;
pub mod message;
mod oracle;
mod record;
mod rows;
mod rules;
mod scribe;
mod shard;
mod truth;
pub mod wire;

pub use gate::{Gate, GateCounts, GateSeat};
pub use keeper::Keeper;
pub use limits::Timing;
pub use memory::MemoryTruth;
pub use message::{Input, Message, Node, Output};
pub use oracle::Oracle;
pub use record::{Bytes, CommitId, Proposed, Record, Verdict};
pub use rows::{EVERYTHING, Routed, Rows, Touched};
pub use rules::Rules;
pub use scribe::{Scribe, ScribeCounts};
pub use shard::{Shard, ShardCounts, ShardPoint};
pub use truth::{
    Call, Following, LogCut, LogPage, Reply, Route, Sequence, ToldUsage, Truth, Unknown, VersionedCommit,
    perform,
};
