//! The graph of a cluster: each shard holds its share of the vertices, with their edges, and a gate runs queries over a snapshot of all shares.
//!
//! ```text
//!   gate: begin  ── changed since? ──> every shard, pinned for one stamp ──> heads of chunks, records ──> a snapshot
//!         read   ── first touch of a chunk ──> its shard ──> the whole chunk, kept under its version
//!         commit ── changes by the shards of their chunks, keys read and written ──> truth
//! ```
//!
//! Reading order: `share` (a shard's content), [`Shards`] (the gate's side), `leases` (ids).

mod ask;
mod checkpoint;
mod chunks;
mod figures;
mod gate;
mod leases;
mod pages;
mod parts;
mod queries;
mod record_log;
mod report;
mod rounds;
mod share;

pub(crate) use parts::{RecordParts, by_shards};

pub use checkpoint::CheckpointStore;
pub use gate::{Shards, gate};
pub use share::ShardGraph;
