//! # applications: what others build on the graph
//!
//! Each module is an application with an interface of its own, and knows nothing of the others; its command lies in `examples/` under the same name,
//! and a page of the guide tells of it. [`packages`] (what breaks when a package goes), [`access`] (who may reach what, kept true), [`knowledge`]
//! (concepts that are merged while readers ask), [`blockchain`] (an explorer of blocks, and [`block_rows`], the same in tables), [`social`] (the interface
//! of TAO), [`rings`] (rings of payments, told as they close).
//!
//! The commands share [`command`] (arguments and data), [`times`], [`findings`] (what they measured, as numbers, pictures and a block of a page) and
//! [`search`] (plain searches that answers are held against). The module [`ask`] is what the libraries share.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod access;
mod ask;
pub mod block_rows;
pub mod blockchain;
pub mod command;
pub mod findings;
pub mod knowledge;
pub mod packages;
pub mod rings;
pub mod search;
pub mod social;
pub mod times;

pub use ask::Told;
