//! A lock service: what the twins that lock ask, where the stores over Kronos ask Kronos.
//!
//! Idea: a comparison is fair where both sides pay for the same things. So locks are had by a gRPC call over a real connection, as orders of Kronos
//! are; and a granted lock is on disk before it is answered, as an order of Kronos is. The log serves no other end: nothing reads it again.
//! Invariant: a lock is held by one exclusively, or shared; those who wait for it are served in the order in which they came. Whoever asks for several
//! locks stands in all lines at once, so nobody waits in a circle.
//! Cost: one call to acquire any number of locks; one to release them, for which nobody waits.

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
