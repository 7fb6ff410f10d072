//! # order: the order of transactions
//!
//! Refinable timestamps (Dubey, Weaver, §3.3 to §3.5) over a bank of gatekeepers, one or many. A pure state machine: no clock, no
//! network, no thread, no lock; time is an argument.
//!
//! ```text
//!   session ──> its gatekeeper: stamp <epoch, vector>     gatekeepers tell each other their clocks every tau
//!   commit  ──> bank: is its commit version after all it must follow? ── most pairs: the vectors say so
//!                                                            └─ concurrent and conflicting: the oracle decides, for good
//! ```
//!
//! Idea: vector clocks order most transactions for the price of a counter; only those that are concurrent *and* touch the same things
//! are refined by the oracle, which knows what the vectors imply and never contradicts itself or them. A commit version is one number in
//! a total order that extends both.
//!
//! [`kronos`] is the general form: an ordering service for events of any program, which knows no stamps and searches a graph.
//!
//! Reading order: [`Stamp`], [`Gatekeeper`] and [`Gatekeepers`] with [`Tau`], [`Oracle`], [`Recent`] (conflicts), [`Bank`].

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod bank;
mod gatekeepers;
#[cfg(feature = "kronos")]
pub mod kronos;
mod oracle;
mod recent;
mod stamp;
mod tau;

pub use bank::{Bank, BankCounts, CommitVersion, REMEMBERED_KEYS_MAX};
pub use gatekeepers::{GATEKEEPERS_MAX, Gatekeeper, Gatekeepers};
pub use oracle::{First, ORACLE_EVENTS_MAX, Oracle};
pub use recent::{Recent, Touched};
pub use stamp::Stamp;
pub use tau::{TAU_MAX_US, TAU_MIN_US, Tau};
