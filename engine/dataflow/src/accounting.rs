//! Resource accounting: accounts and their limits, shares, time, bytes, and rules that end or slow queries.

pub(crate) mod accounted_bytes;
pub mod accounts;
pub mod latch;
pub mod ledger;
pub(crate) mod meter;
pub(crate) mod pace;
pub mod service;
pub mod sorting;
pub(crate) mod stats;
pub(crate) mod stride;
pub mod tablets;
pub(crate) mod tenants;
pub mod watch;
