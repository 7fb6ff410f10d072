//! First phase: everything becomes plan, and conditions stand with their patterns. No statistics are read.

pub(crate) mod fold_constants;
pub(crate) mod lift_subqueries;
pub(crate) mod optional_match;
pub(crate) mod push_filters;
pub(crate) mod simplify_paths;
