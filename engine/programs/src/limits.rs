//! Every bound of this room, with its reason.

/// Vertices of one batch: what a worker draws at once.
pub const BATCH_VERTICES_MAX: usize = 1_024;
/// Edges after which a call of a program begins with the next vertex: some tens of microseconds. A vertex with more is a call of its own.
pub const CALL_EDGES_MAX: u64 = 16_384;
/// Rounds of one run. A program that sends messages without end is ended by it, where no deadline does so before.
pub const ROUNDS_MAX: u32 = 1_000_000;
/// Messages up to which the worker that finishes a round delivers them alone.
pub const DELIVERED_ALONE_MAX: usize = 4_096;
/// Parts into which more are cut for all workers.
pub const PARTS_MAX: u32 = 64;
/// Vertices of one part at least: fewer are not worth a part.
pub const PART_VERTICES_MIN: u32 = 16_384;
/// Vertices with which a run may start by a list.
pub const STARTS_MAX: usize = 1_000_000;
