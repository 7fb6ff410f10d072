//! # applications: what others build on the graph
//!
//! Each module is an application with an interface of its own, and knows nothing of the others; its command lies in `examples/` under the same name,
//! and a page of the guide tells of it. [`packages`] (what breaks when a package goes), [`access`] (who may reach what, kept true), [`knowledge`]
//! (concepts that are merged while readers ask), [`blockchain`] (an explorer of blocks, and [`block_rows`], the same in tables), [`social`] (the interface
//! of TAO).
//!
//! [`command`] is what their commands share: arguments, times, pictures. The module [`ask`] is what their libraries do.

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
