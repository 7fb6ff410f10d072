//! # plan: one algebra for all languages
//!
//! A query language lowers its text to a [`Statement`]; rewrites turn it into one that runs well; `execute` runs it. The algebra
//! is relational over variables: every [`Plan`] node yields rows whose columns are [`Var`]s. Names of labels, types and keys stay
//! names here, so that a plan outlives the commit that defines them; `execute` binds them when it starts.
//!
//! Reading order: [`expr`] and [`functions`] (expressions), [`pattern`] (patterns), [`algebra`] (the operators), [`scope`] (how sub-plans run),
//! [`statement`] (a whole request), [`types`] (the types of `IS ::`), [`accounts`] (commands about tenants), [`statistics`] (the planner's view of
//! the store), [`error`] (unplannable statements), [`walk`] (how plans are walked), [`late`] (columns that wait until rows are dropped), [`pace`]
//! (how long planning is ended), [`optimize()`] (the rewrites in their order), [`physical`] (how each node runs), [`estimate`] (expected rows),
//! [`explain`] (plans for people).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod accounts;
pub mod algebra;
mod cost;
pub mod counting;
pub mod error;
pub mod estimate;
mod expand_pattern;
pub mod explain;
pub mod expr;
pub mod functions;
pub mod hidden;
mod intersect;
mod label_expr;
mod labels;
pub mod late;
mod names;
pub mod node_programs;
mod optimize;
pub mod pattern;
pub mod physical;
pub mod procedures;
pub mod quoted;
mod rewrite;
pub mod roles;
pub mod scope;
pub mod standing;
pub mod statement;
pub mod statistics;
pub mod types;
pub mod users;
mod vars;
pub mod walk;
pub mod wanted;

pub use algebra::Plan;
pub use error::PlanError;
pub use estimate::{estimate, estimates};
pub use expr::{Expr, LabelExpr, Var};
pub use functions::{AggregateFunction, Function};
pub use optimize::{normalize, optimize};
pub use pattern::{Pattern, PatternEdge, PatternVertex};
pub use physical::{Physical, VarSet};
pub use quoted::Quoted;
pub use statement::{Statement, StatementKind};
pub use statistics::{Planning, Sampled};
pub use vars::Vars;
pub use wanted::Wanted;
