//! Chunks: an immutable base of columns and tables, a delta over it, and their compaction.

pub(crate) mod chunk;
pub(crate) mod chunk_bytes;
pub(crate) mod chunk_directory;
pub(crate) mod column;
pub(crate) mod column_bytes;
pub(crate) mod compact;
pub(crate) mod delta;
pub(crate) mod edge_list;
pub(crate) mod edge_set;
pub(crate) mod joined_lists;
pub(crate) mod list_delta;
pub(crate) mod parts;
pub(crate) mod table;
