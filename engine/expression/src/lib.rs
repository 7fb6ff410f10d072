//! # expression: values in, values out
//!
//! Computations on one row, run over a whole batch at a time: functions, operators, aggregates. The crate has no plan nodes and no operators of
//! plans; sub-queries are lifted out of expressions before they come here. Its view of a graph is the trait [`Graph`].
//!
//! [`compile`] turns a [`plan::Expr`] into a [`Compiled`]: columns become positions, names become ids, parameters and constant
//! parts become values. A compiled expression is then evaluated in one of two ways that always agree. The *fast paths*
//! ([`vector`], [`select`]) work column by column, without an allocation or a dispatch per row, on what hot queries do:
//! comparison, arithmetic, properties, labels, null tests, three-valued logic. Everything else, and any row on which a fast path
//! would have to fail, goes through one obvious interpreter ([`interpret`]), which is also the twin the fast paths are tested
//! against.
//!
//! Reading order: [`error`], [`layout`], [`graph`] and [`scope`] (the inputs of an expression), [`compile`] and [`node`] (its compiled form),
//! `metered` (work and bytes, counted), [`interpret`], [`operators`] and [`functions`] (the semantics), [`vector`] and [`select`] (the fast paths),
//! [`aggregate`] and [`grouping`] (many rows to one), [`segments`] (lists that grow without being copied).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod aggregate;
pub mod compile;
pub mod error;
pub mod functions;
pub mod graph;
pub mod grouping;
pub mod interpret;
pub mod layout;
mod metered;
mod names_only;
pub mod node;
pub mod operators;
pub mod pattern;
mod repeats;
pub mod scope;
pub mod segments;
pub mod select;
pub mod vector;

pub use aggregate::{Aggregator, ExactSum, Extremes, RetractableSum, Sums};
pub use compile::{Binding, Compiled, compile, compile_with};
pub use error::EvalError;
pub use functions::list::{Counting, counting};
pub use graph::{Graph, Names, edge_properties};
pub use grouping::{GroupTable, NO_GROUP, hash_columns};
pub use layout::Layout;
pub use names_only::NamesOnly;
pub use scope::{Parameters, Request, Scope};

#[cfg(test)]
mod tests;
