//! # cluster: the protocol's machines in threads, over a network
//!
//! ```text
//!   network ──> inputs ──┐                        ┌──> network
//!   truth ──> answers ───┼──> step(now, inputs) ──┼──> calls ──> thread of truth
//!   handle of a gate ────┘     one thread         ├──> content of a shard: apply, query
//!                                                 └──> threads that wait at a gate
//! ```
//!
//! Idea: a [`Driver`] is one thread that waits for inputs, steps one machine of [`protocol`], and carries out the outputs. It decides nothing.
//! Invariants: the machine's thread waits only for its inputs; calls of truth, requests and inputs have bounded queues. If one is full the call is
//! answered as unknown or refused, and the protocol repeats it.
//! The oracle is a group of replicas (`oracle`), one or three, that store their decisions in a log on disk.
//! Limits today: a shard's content takes its own part of a record only, so chunks do not move.
//!
//! Beside a gate, a [`GateReplica`] keeps the whole graph and applies the one sequence of commits from truth, for features that need either.
//!
//! Reading order: [`Addresses`], [`Driver`], `inputs`, `oracle`, [`GateHandle`], [`Content`]; [`graph`] is the graph content of shards; [`Follower`],
//! [`GateReplica`], `log_base`, [`UsageExchange`].

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod addresses;
mod content;
mod driver;
mod follower;
pub mod graph;
mod handle;
mod inputs;
pub mod load;
mod log_base;
mod machine;
pub mod node;
mod oracle;
mod replica;
mod tls;
mod usage;

pub use addresses::{Addresses, host};
pub use content::Content;
pub use driver::Driver;
pub use follower::{Follower, GraphCopy, NotTaken};
pub use handle::{Failure, GateHandle};
pub use protocol::Sequence;
pub use replica::{Connect, GateReplica};
pub use tls::PeerTls;
pub use usage::UsageExchange;
