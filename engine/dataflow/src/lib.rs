//! The dataflow runtime: graphs of operators on one pinned thread a core, under one scheduler.
//!
//! It knows no vertex of any property graph and no query language: it moves messages ([`Message`]: a batch with a row count and a byte
//! count) between operators ([`Operator`]) along the edges of a small acyclic graph ([`GraphBuilder`]), shares the processor between
//! tenants and queries, bounds every queue, and ends every query exactly once.
//!
//! ```text
//!  executor (a thread)
//!   └─ tenant            stride scheduling by shares          tenants.rs
//!       └─ query         stride scheduling, one quota a turn  turn.rs
//!           └─ scope     its own policies, nested             tree.rs, ready.rs
//!               └─ operator                                   station.rs, step.rs
//!       └─ root          any other work, one quota a turn     root.rs
//! ```
//!
//! A small query that is a line of operators need not come here at all: the thread that asks it may run it, see `line`.
//!
//! Reading order: what users write ([`message`], [`operator`], [`policy`], [`graph`], [`context`]), what they hold ([`runtime`],
//! [`handle`], [`profile`]), then the machinery: `wiring` (a checked graph), `query` (what executors share), `progress` (when is a stream at
//! its end), `ledger` (bytes), `tree` and `ready` (scope instances and what has work), `local` (one query on one executor), `ends` (the
//! ends of scope instances), `closing` (what is thrown away early), `tenants`, `executor`.
//!
//! After "Banyan: a scoped dataflow engine for graph query service", sections 3 and 4.

pub mod limits;
pub mod message;
pub mod operator;

pub mod policy;

pub mod graph;
mod wiring;

pub mod context;

pub mod runtime;

pub mod handle;

pub mod profile;

pub mod root;

pub mod accounts;
pub mod rules;

mod closing;
mod ends;
mod executor;
pub mod ledger;
mod level;
mod line;
mod links;
mod local;
mod output;
mod pace;
mod progress;
mod query;
mod ready;
mod station;
mod step;
mod stride;
pub mod tablets;
mod tally;
mod tenants;
mod tree;
mod turn;
pub mod waker;

pub use accounts::{AccountOptions, Level};
pub use context::Context;
pub use graph::{
    Graph, GraphBuilder, GraphError, Route, ScopeKind, ScopeNo, ScopeOptions, VertexNo, VertexOptions,
};
pub use handle::{Fault, QueryHandle, QueryId, QueryInfo};
pub use line::{Line, Tried};
pub use message::{Message, Tag};
pub use operator::{Failure, Flow, Operator, Outcome};
pub use policy::{InterPolicy, IntraPolicy, Member};
pub use profile::{QueryProgress, ScopeProfile, VertexProfile};
pub use root::{Root, RootHandle, RootStatus};
pub use rules::{Action, Rule, Threshold};
pub use runtime::{QueryOptions, Runtime, RuntimeOptions, TenantNo, UserNo};
pub use tablets::{TabletInfo, TabletMove, TabletNo};
pub use waker::OperatorWaker;
