//! # applications: programs on top of the graph
//!
//! Each module is an application with an interface of its own, independent of the others; its command lies in `examples/` under the same name, and a
//! page of the guide describes it. [`packages`] (which packages break when one goes), [`access`] (access rights, kept up to date), [`knowledge`]
//! (concepts that are merged beside readers), [`blockchain`] (an explorer of blocks, and [`block_rows`], the same in tables), [`social`] (the
//! interface of TAO).
//!
//! [`command`] has the shared parts of their commands: arguments, times, pictures. The module [`ask`] has those of their libraries.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod access;
mod ask;
pub mod block_rows;
pub mod blockchain;
pub mod command;
pub mod knowledge;
pub mod packages;
pub mod social;

pub use ask::Told;
