//! The rewrites, one a file; [`crate::optimize()`] says in which order they run. Each head says what it does, when it is sound,
//! and what it costs.

pub(crate) mod count_matches;
pub(crate) mod count_stored;
pub(crate) mod dedup_frontier;
pub(crate) mod distinct_ends;
pub(crate) mod fold_constants;
pub(crate) mod from_afar;
pub(crate) mod intersect;
pub(crate) mod join_keys;
pub(crate) mod join_runs;
pub(crate) mod late_distinct;
pub(crate) mod late_projection;
pub(crate) mod length_only;
pub(crate) mod lift_subqueries;
pub(crate) mod long_shortest;
pub(crate) mod loops;
mod made;
pub(crate) mod once;
pub(crate) mod optional_match;
pub(crate) mod order_match;
pub(crate) mod prune_columns;
pub(crate) mod push_filters;
pub(crate) mod repeat_frontier;
pub(crate) mod seek_edges;
pub(crate) mod simplify_paths;
pub(crate) mod split_top_k;
pub(crate) mod substitute;
