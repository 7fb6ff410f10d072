//! Last phase: forms that no other rewrite has to know: intersections, searches behind each row, plans that run once, joins and their keys.

pub(crate) mod count_stored;
pub(crate) mod intersect;
pub(crate) mod join_keys;
pub(crate) mod long_shortest;
pub(crate) mod once;
pub(crate) mod split_distinct;
