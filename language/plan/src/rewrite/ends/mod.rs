//! Fourth phase: how often the ends of a walk are wanted, and from which side it begins.

pub(crate) mod dedup_frontier;
pub(crate) mod distinct_ends;
pub(crate) mod from_afar;
pub(crate) mod join_runs;
pub(crate) mod late_distinct;
pub(crate) mod repeat_frontier;
