//! Second phase: what is only counted is taken out, and patterns get an order, by what is known of the graph.

pub(crate) mod count_matches;
pub(crate) mod order_match;
pub(crate) mod seek_edges;
pub(crate) mod split_top_k;
