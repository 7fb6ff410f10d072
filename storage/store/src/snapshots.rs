//! The graph at one commit version, and all reads of it.

pub(crate) mod adjacency;
pub(crate) mod collected;
pub(crate) mod column_layer;
pub(crate) mod graph_read;
pub(crate) mod joined;
pub(crate) mod known;
pub(crate) mod layer;
pub(crate) mod memory;
pub(crate) mod name_search;
pub(crate) mod property;
pub(crate) mod root;
pub(crate) mod sampled;
pub(crate) mod searches;
pub(crate) mod sight;
pub(crate) mod snapshot;
