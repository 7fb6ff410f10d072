//! # sim: tests of transactions and recovery
//!
//! Two questions are answered here, by tests that replay from a seed. Did concurrent transactions behave as if they had run one
//! after another, in an order that agrees with real time? And does that still hold when the disk tears, loses, refuses, and the
//! process dies?
//!
//! ```text
//!   workload ──> clients (Cypher, transact) ──> history ──> checker: edges, cycles, the shortest one in words
//!   lives    ──> transact on a simulated disk ──> crash ──> recovery ──> audit + history
//!   scripts  ──> interleaved sessions, step by step ──> the outcome that the text demands
//! ```
//!
//! Reading order: [`history`] (what was seen) and [`check`] (what it proves), both of the crate `histories`; [`workload`] and [`client`] (how histories
//! are made), [`lives`] (crashes), [`limits`] (sizes) with [`audit`] (does the data agree with itself) and [`chores`] (what else a database does;
//! [`kept`]: its standing queries), [`script`] (golden scripts).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod audit;
pub mod chores;
pub mod client;
pub mod kept;
pub mod limits;
pub mod lives;
pub mod script;
pub mod workload;

pub use histories::{check, history};
