//! Every limit of this crate, by name and with its reason.

/// Most traversers that may wait in all queues of one traversal: each takes some 100 bytes and its object.
pub const TRAVERSERS_MAX: usize = 5_000_000;

/// Traversers that a step is given at a time: little enough that a `limit` behind it stops work early.
pub const BATCH: usize = 256;

/// Parts of the graph a scan goes through in one turn where it finds little: other queries on its executor run between.
pub const SCAN_PARTS: usize = 64;

/// From this number of waiting traversers on, equal ones are merged.
pub const MERGE_FROM: usize = 512;

/// Programs within programs while they run: each level takes some stack.
pub const RUN_DEPTH_MAX: usize = 70;

/// Rounds of one `repeat`: a loop that needs more is taken to be endless.
pub const ROUNDS_MAX: u64 = 1_000_000;

/// Elements a step may put into one collection.
pub const COLLECTION_MAX: usize = 5_000_000;

/// Bytes a step may put into one text.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
