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
//! The same operators run without tasks in the second driver, `pipeline`: a small query on the calling thread, a sub-query within an operator.
//!
//! The crate has folders; ARCHITECTURE.md says which may use which. Reading order: `terms` (ids, messages, limits, rules, faults), `graphs` (the
//! public building blocks: operators, their [`Context`], policies, a checked graph), `accounting` (accounts, shares, bytes, time), `queries` (the
//! state of a query that executors and the client share: `level` and `progress` say when a stream is at its end), `executors` (`tree`, `ready` and
//! `station`: scope instances and which have work; `local`, `turn`, `step` and `call`: one query on one executor, the choice of the next operator,
//! one call of it, and its calls into the runtime; `ends` and `closing`: how scope instances end). [`runtime`] holds it all.
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

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod terms;

mod graphs;

mod accounting;

mod queries;

mod executors;

mod pipeline;

pub mod runtime;
pub mod stepped;

pub use accounting::{accounts, ledger, service, sorting, tablets, watch};
pub use graphs::{context, graph, operator, policy};
pub use queries::{handle, profile};
pub use terms::{limits, message, root, rules, waker};

pub use accounting::accounted_bytes::AccountedBytes;
pub use accounting::accounts::{AccountOptions, AccountRoom, AccountUsage};
pub use accounting::latch::Latch;
pub use accounting::service::{Ending, Service, ServiceTurn};
pub use accounting::tablets::{TabletInfo, TabletMove};
pub use graphs::context::Context;
pub use graphs::graph::{
    Graph, GraphBuilder, GraphError, Placing, Route, ScopeKind, ScopeOptions, VertexOptions,
};
pub use graphs::operator::{Flow, Operator, Outcome};
pub use graphs::policy::{InterPolicy, IntraPolicy, Member};
pub use pipeline::{Pipeline, PipelineGraph, Tried};
pub use queries::handle::QueryHandle;
pub use queries::profile::{QueryProgress, ScopeProfile, VertexProfile};
pub use runtime::{Runtime, RuntimeOptions};
pub use stepped::Stepped;
pub use terms::fault::{Failure, Fault};
pub use terms::ids::TabletNo;
pub use terms::ids::{Level, QueryId, QueryInfo, ScopeNo, TenantNo, UserNo, VertexNo};
pub use terms::message::{Message, Tag};
pub use terms::options::QueryOptions;
pub use terms::root::{Root, RootHandle, RootStatus};
pub use terms::rules::{Action, Rule, Threshold};
pub use terms::waker::OperatorWaker;
