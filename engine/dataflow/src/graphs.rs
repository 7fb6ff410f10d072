//! What users write: operators and their context, policies, and the graph that is made of them.

pub mod context;
pub mod graph;
pub mod operator;
pub mod policy;
pub(crate) mod wiring;
