//! The HTTP interface: Neo4j's Query API v2, subscriptions as server-sent events, and endpoints for operators.
//!
//! hyper reads and writes HTTP/1.1 on a small runtime of its own; a request to the database is answered on a thread beside it, so that waiting for a
//! query blocks no other connection. Invariant: the client is authenticated and within every limit before the body of a request is read. Reading
//! order: [`interface`] (sockets), [`visitor`] (one connection), `presence` (its state), `read_ahead` (noticing the client's end), [`route`] (paths),
//! [`origin`] (pages of other sites), [`tokens`], [`body`] (bytes in), [`outlet`] (bytes out), [`parameters`] and [`values`] (JSON), [`query`],
//! [`traversal`], [`transactions`], [`events`], [`metrics`], [`page`].

mod body;
mod events;
pub mod interface;
mod metrics;
mod origin;
mod outlet;
mod page;
pub mod parameters;
mod presence;
mod query;
mod read_ahead;
mod refusal;
mod route;
mod statuses;
mod tokens;
mod transactions;
mod traversal;
pub mod values;
mod visitor;
mod wire;

pub use interface::{HttpServeOptions, HttpServer};
pub use statuses::STATUSES;
