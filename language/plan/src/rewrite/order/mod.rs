//! Second phase: patterns that are only counted are taken out, and the others get an order, by statistics of the graph.

pub(crate) mod count_matches;
pub(crate) mod order_match;
pub(crate) mod seek_edges;
pub(crate) mod split_top_k;
