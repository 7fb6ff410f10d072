//! # server: protocols of existing drivers
//!
//! Protocols are codecs without sockets: bytes in, bytes out, tested without a network. One listener owns the sockets.
//! Reading order: [`bolt::packstream`] (values as bytes), [`bolt::chunks`] (messages as chunks), [`bolt::message`] (requests and answers),
//! [`bolt::structure`] (nodes, relationships, paths, temporal values), [`bolt::connection`] (the protocol's state machine), [`users`]
//! (authentication), [`gremlin`] (the other protocol), [`http`] (for clients without a driver), `site` (which pages may send requests), [`limits`]
//! (limits of a client), [`listener`] (sockets, threads, TLS), [`client`] (the client side of Bolt), [`beside`] (how a client on this machine finds
//! the server of a folder), [`configuration`] (settings from a file, the environment and flags), [`notify`] (systemd), `telemetry` (traces for a
//! collector).

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
