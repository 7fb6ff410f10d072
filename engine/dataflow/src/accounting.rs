//! Who pays: accounts and their limits, shares, time, bytes, and what ends work that takes too much.

pub(crate) mod accounted_bytes;
pub mod accounts;
pub mod latch;
pub mod ledger;
pub(crate) mod meter;
pub(crate) mod pace;
pub mod service;
pub(crate) mod stats;
pub(crate) mod stride;
pub mod tablets;
pub(crate) mod tenants;
pub mod watch;
