//! The public building blocks: operators and their context, policies, and the graph made of them.

pub mod context;
pub mod graph;
pub mod operator;
pub mod policy;
pub(crate) mod wiring;
