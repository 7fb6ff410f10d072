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
//! The same operators run without tasks in the second driver, `pipeline`: a small query on the thread that asks, a sub-query within an operator.
//!
//! Reading order: what users write ([`message`], [`operator`], [`policy`], [`graph`], [`context`], [`waker`]), what they hold ([`runtime`],
//! [`handle`], [`profile`], [`tablets`]), then the machinery: `wiring` (a checked graph), `query` (what executors share), `level` and `progress`
//! (when is a stream at its end), `ledger` (bytes), `tree`, `ready` and `station` (scope instances and what has work), `local`, `turn` and
//! `step` (one query on one executor: what comes in, who runs, one call), `ends` (the ends of scope instances), `closing` (what is thrown
//! away early), `pace`, `meter` and `tally` (time and counts, cheaply), `tenants`, `executor`.
//!
//! # Beside the paper
//!
//! "Banyan: a scoped dataflow engine for graph query service", section by section:
//!
//! | paper | here |
//! |---|---|
//! | 3.1 scope, ingress, egress, branch and loop scopes | [`GraphBuilder::scope_with`], [`ScopeKind`]; an ingress is the vertex outside whose edge leads in, an egress the one inside whose edge leads out |
//! | 3.1 scope tag | [`Tag`] |
//! | 3.1 `ReceiveMessage`, `OnCompletion` | [`Operator::receive`]; [`Operator::on_instance_end`] inside a scope, [`Operator::on_completion`] outside |
//! | 3.1 `SendMessage`, `NotifyCompletion` | [`Context::send_to`] and [`Context::send_tagged`]; [`Context::finish_instance`] in a scope, [`Context::close_inputs`] at a limit |
//! | 3.1 instantiation, `Max_SI` | [`Context::open_instance`] in a branch's ingress, a message in a loop's; [`ScopeOptions::instances_max`] |
//! | 3.1 inter-SI and intra-SI comparators | [`InterPolicy`], [`IntraPolicy`] |
//! | 3.2 hierarchical progress tracking | `ends` for instances on one executor, `progress` for those that span them |
//! | 3.3 Examples 2 and 3 | `examples/where_tagged.rs`, `examples/neighbours.rs` |
//! | 4.1 operators in parallel, partitioned edges, tablets | [`Route`], [`ScopeOptions::wide`], [`tablets`], [`Context::worked_on`] |
//! | 4.2 executors, scope operators, quotas, asynchronous waits | `executor`, `tree`, `turn`, [`waker`] |
//! | 4.3 addressing, creation on the first message, recycling | a seat in `tree`, `station`; [`Operator::recycle`] |
//! | 4.4 parallel ingress and egress; no operator only for an end | `level` and `progress`; `seat_done` in `ends` |
//! | 4.5 load balancing | the balancer in [`tablets`] |
//!
//! Where it differs: a scope's ingress and egress are ordinary vertices rather than vertices of the system; an ingress broadcasts no number of
//! instances, because instances are counted when they are opened; and a scope says whether its instances span executors (*wide*) or live
//! where they were opened (*narrow*), for a narrow one costs half a microsecond from opening to end and a wide one two or more.
//!
//! # How it is known to work
//!
//! Random programs of nested scopes under random policies, limits and routes equal an evaluator that calls itself, and cancelled anywhere
//! they leave nothing (`tests/programs.rs`). The protocol of progress is gone through in all its interleavings (`tests/protocol.rs`), and so is
//! back-pressure (`tests/pressure.rs`). `examples/scope_instances.rs` measures what an instance costs, `examples/kill.rs` how soon a kill takes
//! effect.

pub mod limits;
pub mod message;
pub mod operator;

pub mod policy;

pub mod graph;
mod wiring;

pub mod context;

pub mod runtime;

pub mod handle;
mod held;

pub mod profile;

pub mod root;
pub mod service;

pub mod accounts;
pub mod rules;

mod closing;
mod ends;
mod executor;
pub mod ledger;
mod level;
mod links;
mod local;
mod meter;
mod output;
mod pace;
mod parts;
mod pipeline;
mod progress;
mod query;
mod ready;
mod station;
mod step;
pub mod stepped;
mod stride;
pub mod tablets;
mod tally;
mod tenants;
mod tree;
mod turn;
pub mod waker;
pub mod watch;

pub use accounts::{AccountOptions, Level};
pub use context::Context;
pub use graph::{
    Graph, GraphBuilder, GraphError, Placing, Route, ScopeKind, ScopeNo, ScopeOptions, VertexNo,
    VertexOptions,
};
pub use handle::{Fault, QueryHandle, QueryId, QueryInfo};
pub use held::Held;
pub use message::{Message, Tag};
pub use operator::{Failure, Flow, Operator, Outcome};
pub use pipeline::{Pipeline, PipelineGraph, Tried};
pub use policy::{InterPolicy, IntraPolicy, Member};
pub use profile::{QueryProgress, ScopeProfile, VertexProfile};
pub use root::{Root, RootHandle, RootStatus};
pub use rules::{Action, Rule, Threshold};
pub use runtime::{QueryOptions, Runtime, RuntimeOptions, TenantNo, UserNo};
pub use service::{Ending, Service, ServiceTurn};
pub use stepped::Stepped;
pub use tablets::{TabletInfo, TabletMove, TabletNo};
pub use waker::OperatorWaker;
