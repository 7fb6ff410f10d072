//! # Applications of Kronos, the event ordering service (Weaver, §2.5)
//!
//! Each keeps its own data, as a program spread over machines would; from Kronos it only needs to know which of two events came first.
//!
//! | module | application | benefit of Kronos |
//! |---|---|---|
//! | [`timeline`] | a social network's timelines, kept by replicas that hear of messages in different orders | replies stand below what they answer, everywhere |
//! | [`kronograph`] | a graph store in shards, with friend recommendation | questions see each update everywhere or nowhere, and no operation waits
//! for a lock |
//! | [`bank`] | transfers over a key-value store in shards | transactions take effect in one order on all shards; those that cannot start over |
//!
//! The bank and the graph store have twins that lock, for comparison (figures 5.1 and 5.2): by a service of their own over the same wire
//! ([`LockService`]), and by locks that the shards keep for themselves, which cost nothing but the messages. Every run is verified: the histories of bank and graph store
//! are replayed one operation after the other ([`bank::History`], [`kronograph::History`]).
//!
//! Reading order: [`Load`] and [`Outcome`], `events` (events taken from a pool and given back), then the applications,
//! `locks` (the twins' service).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod bank;
mod events;
pub mod kronograph;
mod load;
mod locks;
mod serial;
pub mod timeline;

pub use events::{Events, Held};
pub use load::{Load, Outcome};
pub use locks::{LockClient, LockService};
