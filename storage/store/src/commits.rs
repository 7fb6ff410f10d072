//! From one snapshot to the next: changes, their ids, and the new root.

pub(crate) mod allocator;
pub(crate) mod apply;
pub(crate) mod apply_edges;
pub(crate) mod beside_commits;
pub(crate) mod change;
pub(crate) mod draft;
pub(crate) mod index_upkeep;
