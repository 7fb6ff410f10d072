//! Names, indexes, constraints, entries and statistics of the graph. Independent of chunks.

pub(crate) mod catalog;
pub(crate) mod definitions;
pub(crate) mod entries;
pub(crate) mod filter;
pub(crate) mod mask;
pub(crate) mod met;
pub(crate) mod names;
pub(crate) mod statistics;
