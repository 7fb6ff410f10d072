//! # server: other people's drivers talk to the database
//!
//! Protocols are codecs without sockets: bytes in, bytes out, tested without a network. One listener owns the sockets.
//! Reading order: [`bolt::packstream`] (values as bytes), [`bolt::chunks`] (messages as chunks), [`bolt::message`] (what is said),
//! [`bolt::structure`] (nodes, relationships, paths, temporal values), [`bolt::connection`] (who may say what when), [`users`] (who
//! they are), [`gremlin`] (the other protocol), [`http`] (for everyone without a driver), `site` (which pages may ask), [`limits`] (what a client may cost),
//! [`listener`] (sockets, threads, TLS), [`client`] (the other end of Bolt), [`beside`] (how a client on this machine finds
//! the server of a folder), [`configuration`] (settings from a file, the environment and flags), [`notify`] (what systemd is told), `telemetry` (traces for a collector).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this interface owns its sockets")]

mod allowance;
pub mod beside;
pub mod bolt;
pub mod client;
pub mod configuration;
pub mod gremlin;
pub mod http;
pub mod limits;
pub mod listener;
pub mod notify;
mod percent;
mod settings;
mod site;
#[cfg(feature = "telemetry")]
pub mod telemetry;
pub mod trace_counts;
pub mod users;

pub use client::{Client, ClientOptions};
pub use gremlin::{GremlinServeOptions, GremlinServer};
pub use http::{HttpServeOptions, HttpServer};
pub use limits::Limits;
pub use listener::{EndSignal, ServeError, ServeOptions, Server, SignalKind, Tls};
pub use users::{Users, UsersError};
