//! # python: the database as a Python module
//!
//! The native part of the package `tanglewood`: databases, sessions and answers over the façade, values of both sides, columns for Arrow.
//! Parts that need no Rust are Python beside it, in `tanglewood/`: errors by class, nodes, data frames, transactions, subscriptions, imports.
//!
//! Rules of this crate: the interpreter's lock is never held while the database works or while waiting for a lock of ours; every wait checks for
//! Ctrl-C; nothing is dropped in a process that was forked.
//!
//! Reading order: `connection`, `session`, `answer`; `values`, `params` and `temporal` (conversion of values); `arrow`; `patience` (Ctrl-C),
//! `running` (running calls), `home` (which database, which process), `imported` (functions of the Python side), `errors`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod answer;
mod arrow;
mod cells;
mod connection;
mod errors;
mod home;
mod imported;
mod params;
mod patience;
mod running;
mod session;
mod temporal;
mod values;

/// The module, as Python sees it.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::answer::Answer;
    #[pymodule_export]
    use super::connection::{Database, open};
    #[pymodule_export]
    use super::session::Session;
}
