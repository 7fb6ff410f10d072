//! # traverse: the traverser machine, and all of Gremlin from text to answer
//!
//! The machine runs Gremlin as it is defined: traversers move from step to step, each with its object, its bulk, its path, its sack and its rounds.
//! It knows no store: it reads a [`Graph`], a trait it owns. [`answer`] implements that over a snapshot or a transaction, plans traversals that the
//! algebra can express, and caches plans; sessions, accounts and commits are the façade's.
//!
//! ```text
//!   Traversal --compile--> Program [V][has][out][repeat(Program)][order][path]
//!                             |     queue before each step, at most a batch is taken at a time, from the deepest queue first:
//!                             v     so that a limit behind stops the work before, and a repeat gives one round at a time
//!                          Pipeline --> results
//! ```
//!
//! Reading order: [`graph`] (the trait of the graph), [`step`] (the form of a program), [`mod@compile`] (from a traversal to a program, as
//! [`compiled`] holds it), [`traverser`], [`machine`] and `pipeline` (how it is run), then a file for each family of steps; `compare`, `number`,
//! `convert` and `formula` know objects only. Then [`mod@answer`], and `load` (TinkerPop's files).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod answer;
pub mod compare;
pub mod compile;
pub mod compiled;
pub mod convert;
pub mod error;
pub mod formula;
pub mod graph;
pub mod limits;
mod load;
pub mod machine;
pub mod number;
pub mod pipeline;
pub mod step;
pub mod traverser;

mod branches;
mod by;
mod calls;
mod changes;
mod dispatch;
mod effects;
mod elements;
mod extent;
mod groups;
mod matching;
mod merging;
mod operate;
mod ordered;
pub mod pieces;
mod profile;
mod projections;
mod reduce;
mod save;
mod scans;
mod services;
mod shapes;
mod sides;
mod subgraph;
mod walks;

pub use compile::compile;
pub use compiled::Compiled;
pub use elements::property_id;
pub use error::{Outcome, TraverseError};
pub use graph::{Graph, Kept, Wanted};
pub use load::{LoadPolicy, Loaded, load, try_out};
pub use machine::Machine;
pub use save::{Saved, save};
pub use services::Service;
