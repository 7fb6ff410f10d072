//! The tests of this crate that can share a process: one binary, since each one links all that the crate stands on. A test that
//! watches what belongs to the process (its memory, its failpoints, its time) is a binary of its own, named in `Cargo.toml`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

// The name that the workspace knows it by, for all modules.
extern crate tanglewood_server as server;

mod common;
mod connection;
mod gremlin_codec;
mod gremlin_hostile;
mod guarded;
mod hostile;
mod http;
mod http_hostile;
mod sizes;
mod statuses;
mod subscriptions;
