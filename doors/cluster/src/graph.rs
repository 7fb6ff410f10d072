//! The graph of a cluster: each shard holds its share of the vertices, with their edges, and a gate runs queries over a snapshot of all shares.
//!
//! ```text
//!   gate: begin  ── changed since? ──> every shard, pinned for one stamp ──> heads of chunks, records ──> a snapshot
//!         read   ── first touch of a chunk ──> its shard ──> the whole chunk, kept under its version
//!         commit ── changes by the shards of their chunks, keys read and written ──> truth
//! ```
//!
//! Reading order: `share` (a shard's content), [`Shards`] (the gate's side), `leases` (ids).

mod checkpoint;
mod figures;
mod gate;
mod leases;
mod parts;
mod record_log;
mod report;
mod rounds;
mod share;

pub(crate) use parts::{RecordParts, by_shards};

pub use gate::{Shards, gate};
pub use share::ShardGraph;

/// The first byte of a query: which heads of chunks have changed?
const CHANGED: u8 = 0;
/// The first byte of a query: a whole chunk, by its key.
const CHUNK: u8 = 1;
/// The first byte of a query: entries of an index, see [`store::Snapshot::index_page`].
const ENTRIES: u8 = 2;
/// The first byte of a query: what has the shard done so far?
const COUNTS: u8 = 3;
/// The first byte of an answer: what was asked for follows.
const HERE: u8 = 0;
/// The first byte of an answer: the reason why there is none follows.
const FAILED: u8 = 1;
