//! A lock service: the locking twins call it where the stores over Kronos call Kronos.
//!
//! Idea: a comparison is fair where both sides pay for the same things. So locks are taken by a gRPC call over a real connection, as orders of Kronos
//! are; and a granted lock is on disk before the answer, as an order of Kronos is. The log has no other purpose: it is never read.
//! Invariant: a lock is held by one exclusively, or shared; waiting calls are served in the order in which they came. A call for several locks stands
//! in all lines at once, so there is no deadlock.
//! Cost: one call to acquire any number of locks; one to release them, whose answer is not awaited.

mod client;
mod service;
mod table;

pub use client::LockClient;
pub use service::LockService;

#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::disallowed_methods,
    reason = "made from the proto file"
)]
mod wire {
    include!("made/kronos.examples.locks.rs.in");
}
