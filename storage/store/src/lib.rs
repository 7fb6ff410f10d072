//! # store: the multi-version graph
//!
//! Everything a reader sees is immutable and shared. A [`Snapshot`] is one root: a directory of chunks, the catalogue, indexes and statistics. A
//! commit makes a new root with [`Snapshot::apply`] and copies only what it changes; a reader keeps its root, takes no lock, and never meets a
//! writer.
//!
//! The crate has folders, from the ground up; ARCHITECTURE.md says which may use which, and a test holds it:
//!
//! | folder | in one sentence |
//! |---|---|
//! | `paging` | pages that can be read again, and the memory budget |
//! | `schema` | names, indexes and constraints by definition, entries that interfaces keep, counts |
//! | `chunks` | chunks: base, columns, tables, delta, compaction |
//! | `versions` | versions of chunks, the caches of each for its readers, and the directory |
//! | `indexes` | trees of leaves over the properties of vertices and edges |
//! | `snapshots` | the graph at one commit: [`Snapshot`], [`AdjacencyView`], [`GraphRead`] |
//! | `commits` | how the next snapshot is made: [`Change`], the draft, [`Allocator`] |
//! | `bulk` | import |
//!
//! Beside them: `checkpoint` (to bytes and back), `shares` (a graph whose parts lie with shards), `store` (the current snapshot), `bytes` and `error`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod bulk;
mod bytes;
mod checkpoint;
mod chunks;
mod commits;
mod error;
mod indexes;
mod paging;
mod schema;
mod shares;
mod snapshots;
mod store;
mod versions;

pub use bulk::Bulk;
pub use bulk::built::Built;
pub use bulk::parallel::Parallel;
pub use checkpoint::Written;
pub use chunks::column::{Picked, PropertyRef, PropertyRun};
pub use chunks::edge_list::EdgeRun;
pub use commits::allocator::{Allocator, ChunkLeases, LEASE_WAIT};
pub use commits::change::Change;
pub use error::StoreError;
pub use indexes::edges::EdgeRange;
pub use indexes::range::IndexRange;
pub use indexes::run::EntryChange;
pub use paging::pager::PagingReport;
pub use paging::rows::{read_rows, write_rows};
pub use paging::source::{BlobKey, ChunkSource, Fetched};
pub use paging::spill::{Emit, Room, Spill};
pub use schema::catalog::Catalog;
pub use schema::entries::{ENTRIES_BYTES_MAX, ENTRIES_MAX, ENTRY_BYTES_MAX, ENTRY_NAME_BYTES_MAX};
pub use schema::entries::{Entries, EntryKind, EntryTable};
pub use schema::filter::LabelFilter;
pub use schema::mask::Visibility;
pub use schema::met::NameNo;
pub use schema::names::{KEY_COUNT_MAX, LABEL_COUNT_MAX, LABEL_SET_COUNT_MAX, NAME_BYTES_MAX};
pub use schema::names::{NameCounts, NameDefinition, NameTable, Names};
pub use schema::statistics::{IndexStatistics, Statistics};
pub use shares::{JoinedShares, Share, ShareKey, ShareNews, ShareRequest};
pub use snapshots::adjacency::{AdjacencyView, EDGES_PER_VERTEX, EdgeScratch};
pub use snapshots::graph_read::{AdjacencyRead, GraphRead};
pub use snapshots::memory::MemoryReport;
pub use snapshots::property::{
    EdgePropertyReader, PropertyReader, PropertyValues, push_property, push_values,
};
pub use snapshots::root::{Lease, Snapshot, StoreOptions};
pub use snapshots::sampled::SAMPLE_VERTICES;
pub use snapshots::sight::Restriction;
pub use store::Store;
