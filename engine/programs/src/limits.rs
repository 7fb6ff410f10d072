//! Every bound of this crate, with its reason.

/// Vertices of one call, and of a slice, which is what a worker draws at once, unless a program sets more.
pub const BATCH_VERTICES_MAX: usize = 1_024;
/// Vertices that a deployed program visits with one instance, call by call: an instance costs some tens of microseconds, and its memory as much.
pub const DEPLOYED_SLICE_VERTICES: usize = 8_192;
/// Pages of states of one slice of the end.
pub const END_PAGES_MAX: usize = 32;
/// Edges after which a call of a program begins with the next vertex: some tens of microseconds. A vertex with more is a call of its own.
pub const CALL_EDGES_MAX: u64 = 16_384;
/// Rounds of one run. A program that sends messages without end is ended by it, where no deadline does so before.
pub const ROUNDS_MAX: u32 = 1_000_000;
/// Messages up to which the worker that finishes a round delivers them alone.
pub const DELIVERED_ALONE_MAX: usize = 4_096;
/// Messages, or rows, for which a worker keeps room from one slice to the next.
pub const SPARE_MESSAGES_MAX: usize = 65_536;
/// Parts into which more are cut for all workers.
pub const PARTS_MAX: u32 = 64;
/// Vertices of one part at least: fewer are not worth a part.
pub const PART_VERTICES_MIN: u32 = 16_384;
/// Vertices with which a run may start by a list.
pub const STARTS_MAX: usize = 1_000_000;
/// Bytes of a module: the limit of a catalogue entry. A larger one is not even compiled.
pub const MODULE_BYTES_MAX: usize = 1 << 20;
/// Bytes of linear memory of a module within one call; freed after it.
pub const MODULE_MEMORY_BYTES_MAX: usize = 64 << 20;
/// Entries of its tables.
pub const MODULE_TABLE_MAX: usize = 10_000;
/// Bytes of stack that its functions may use: less than the stack of any thread that runs queries.
pub const MODULE_STACK_BYTES_MAX: usize = 256 << 10;
/// Instructions of one call, whatever its input: some ten milliseconds.
pub const CALL_FUEL: u64 = 20_000_000;
/// Instructions of one call for each byte that it is given.
pub const CALL_FUEL_PER_BYTE: u64 = 50;
/// Bytes from which on a call is given no further node.
pub const CALL_BYTES_AIM: usize = 2 << 20;
/// Bytes of an edge on its way to a module, at least.
pub const EDGE_BYTES_MIN: usize = 11;
/// Bytes in memory for each byte of a module's output, at most: a value of one byte becomes one of this size.
pub const BYTES_PER_TOLD: usize = 1 + size_of::<model::Value>();
/// Bytes that a call is given, or gives back.
pub const CALL_BYTES_MAX: usize = 16 << 20;
/// Modules that are compiled at the same time, each on a thread of its own; a call that needs another one waits for one of them.
pub const COMPILING_MAX: usize = 2;
/// Compiled modules that are cached; the least recently used goes first.
pub const MODULES_COMPILED_MAX: usize = 64;
/// Bytes of a program's error message that are shown.
pub const MESSAGE_BYTES_MAX: usize = 1_000;
