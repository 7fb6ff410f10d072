//! # kronos: the event ordering service
//!
//! ```text
//!   clients ── gRPC ──> service ── proposals ──> replica thread ── messages ──> other replicas
//!                          │                         │ applies
//!                          └── questions ──> machine <┘         log and snapshots in the data folder
//! ```
//!
//! Idea: one thread owns the replica and is the only one that changes the machine; questions read the machine beside it, on the threads of the
//! wire. An ordered answer holds for ever and is given at once by any replica. "Concurrent", and "unknown event", are only said after
//! the leader has confirmed that this replica is not behind.
//!
//! Invariants: no answer before its entry is on the disks of a majority; every queue has a limit, and requests beyond it are refused with a code.
//!
//! Reading order: [`Options`], [`serve`], `server_core` (the replica and the calls that wait) and its thread `node`, `machine`, `service` (the
//! calls), `peers` (messages), `guard` (tokens, TLS), `group` and `admission` (which peers and connections are accepted), `wire` (types), `metrics`;
//! `simulation` (three servers, tested).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod admission;
mod error;
mod group;
mod guard;
mod in_process;
mod machine;
mod metrics;
mod node;
mod options;
mod peers;
mod serve;
mod server_core;
mod service;
#[cfg(test)]
mod simulation;
mod status;
mod wire;

pub use admission::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX};
pub use error::KronosServerError;
pub use guard::{TOKEN_BYTES_MAX, TOKEN_BYTES_MIN, TOKENS_MAX, Tls, Tokens};
pub use in_process::InProcess;
pub use options::{CALLS_MAX, MEMBERS_MAX, MESSAGE_BYTES_MAX, Options};
pub use serve::{Running, serve};
pub use status::{status, status_text};
pub use wire::v1;
