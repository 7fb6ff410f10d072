//! What the graph is called and counted by: names, indexes, constraints, entries, statistics. Knows no chunk.

pub(crate) mod catalog;
pub(crate) mod definitions;
pub(crate) mod entries;
pub(crate) mod filter;
pub(crate) mod mask;
pub(crate) mod met;
pub(crate) mod names;
pub(crate) mod statistics;
