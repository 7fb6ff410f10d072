//! Requests of a gate to a shard, and their answers: the first bytes.

/// The first byte of a query: which heads of chunks have changed?
pub(super) const CHANGED: u8 = 0;
/// The first byte of a query: whole chunks, by their keys; see [`super::chunks`].
pub(super) const CHUNKS: u8 = 4;
/// The first byte of a query: entries of an index, see [`store::Snapshot::index_page`].
pub(super) const ENTRIES: u8 = 2;
/// The first byte of a request for the shard's counters.
pub(super) const COUNTS: u8 = 3;
/// The first byte of an answer with content.
pub(super) const HERE: u8 = 0;
/// The first byte of an answer: the reason why there is none follows.
pub(super) const FAILED: u8 = 1;
