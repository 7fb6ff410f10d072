//! Third phase: each column is made as late as it can be, or not at all.

pub(crate) mod edge_properties;
pub(crate) mod late_projection;
pub(crate) mod length_only;
pub(crate) mod prune_columns;
