//! The dataflow runtime: graphs of operators on one pinned thread a core, under one scheduler.
//!
//! It knows no vertex of any property graph and no query language: it moves messages ([`Message`]: a batch with a row count and a byte
//! count) between operators ([`Operator`]) along the edges of a small acyclic graph ([`GraphBuilder`]), shares the processor between
//! tenants and queries, bounds every queue, and ends every query exactly once.
//!
//! ```text
//!  executor (a thread)
//!   └─ tenant            stride scheduling by shares          tenants.rs
//!       └─ query         round robin, one quota a turn        local.rs
//!           └─ operator  furthest downstream with input       local.rs
//!       └─ root          any other work, one quota a turn     root.rs
//! ```
//!
//! Reading order: what users write ([`message`], [`operator`], [`graph`], [`context`]), what they hold ([`runtime`], [`handle`],
//! [`profile`]), then the machinery: `query` (what executors share), `progress` (when is a stream at its end), `ledger` (bytes),
//! `local` (one query on one executor), `scopes` (the ends of scope instances), `closing` (what a limit throws away), `tenants`, `executor`.
//!
//! After "Banyan: a scoped dataflow engine for graph query service", sections 3 and 4.

pub mod limits;
pub mod message;
pub mod operator;

pub mod graph;

pub mod context;

pub mod runtime;

pub mod handle;

pub mod profile;

pub mod root;

mod closing;
mod executor;
mod instance;
pub mod ledger;
mod links;
mod local;
mod output;
mod progress;
mod query;
mod scopes;
mod tenants;

pub use context::Context;
pub use graph::{Graph, GraphBuilder, GraphError, Route, ScopeNo, VertexNo, VertexOptions};
pub use handle::{Fault, QueryHandle, QueryId, QueryInfo};
pub use message::{Message, Tag};
pub use operator::{Failure, Flow, Operator, Outcome};
pub use profile::VertexProfile;
pub use root::{Root, RootHandle, RootStatus};
pub use runtime::{QueryOptions, Runtime, RuntimeOptions, TenantNo};
