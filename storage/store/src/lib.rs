//! # store: the multi-version graph
//!
//! Everything a reader sees is immutable and shared. A [`Snapshot`] is one root: a directory of chunks, the catalogue, indexes and
//! statistics. A commit makes a new root with [`Snapshot::apply`] and copies only what it touches; a reader keeps the root it
//! holds, takes no lock, and never meets a writer.
//!
//! Reading order: [`snapshot`] (the one read interface), [`GraphRead`] (the same for whoever need not know that it is a snapshot) and [`adjacency`] with `layer`, `views`, `joined` and `edge_list` (following edges); [`change`] and [`apply`] (how the
//! next snapshot is made); `chunk`, `table`, `delta`, `column` (what a chunk is) and `fold` (how a delta becomes base); `page` and [`pager`]
//! (what is in memory); `index`, `index_leaf`, `index_manifest`, `index_range`, `index_keep`, `index_edges`, `index_gather`, `index_online`;
//! [`entries`] (what doors keep in the catalogue); [`names`] and [`allocator`] (what is handed out before commit); [`bulk`] (import); [`checkpoint`] (to bytes and back).

pub mod adjacency;
pub mod allocator;
mod apply;
mod apply_edges;
pub mod bulk;
mod bytes;
pub mod catalog;
pub mod change;
pub mod checkpoint;
mod chunk;
mod chunk_bytes;
mod column;
mod column_bytes;
mod delta;
mod directory;
mod edge_list;
mod edge_set;
pub mod entries;
pub mod error;
pub mod filter;
mod fold;
mod index;
mod index_bytes;
mod index_edges;
mod index_estimate;
mod index_gather;
mod index_keep;
mod index_leaf;
mod index_manifest;
mod index_merge;
mod index_online;
mod index_range;
mod index_run;
mod joined;
mod layer;
pub mod memory;
pub mod names;
mod page;
pub mod pager;
pub mod property;
mod reads;
mod refold;
pub mod snapshot;
pub mod statistics;
mod store;
mod table;
mod views;

pub use adjacency::{AdjacencyView, EdgeScratch};
pub use allocator::Allocator;
pub use bulk::{Built, Bulk, Emit, Parallel, Room, Spill};
pub use catalog::Catalog;
pub use change::Change;
pub use column::PropertyRef;
pub use directory::{BlobKey, ChunkSource};
pub use entries::{Entries, EntryKind, EntryTable};
pub use error::StoreError;
pub use filter::LabelFilter;
pub use index_edges::EdgeRange;
pub use index_range::IndexRange;
pub use memory::MemoryReport;
pub use names::{NameCounts, NameDefinition, NameTable, Names};
pub use pager::PagingReport;
pub use property::{EdgePropertyReader, PropertyReader};
pub use reads::{AdjacencyRead, GraphRead};
pub use snapshot::{Lease, Snapshot, StoreOptions};
pub use statistics::{IndexStatistics, Statistics};
pub use store::Store;
