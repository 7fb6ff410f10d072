//! Every limit of the crate, by name, with its reason.

use std::time::Duration;

/// Scope instances of one sub-query that live at once on one executor: enough that one can fill while another drains, few enough that they hold about
/// one batch each.
pub(crate) const APPLY_INSTANCES_MAX: usize = 4;

/// Rows that a Merge matches in one go before it writes: matching is batched, and a conflict repeats at most that many look-ups.
pub(crate) const MERGE_ROWS_MAX: usize = 256;

/// Rows an operator works through between two looks at the clock; a look costs some 20 to 50 ns.
pub(crate) const ROWS_PER_LOOK: usize = 256;

/// Rows a writing operator works off between two looks at the clock: a row costs from one microsecond to some tens, if it has to see the write of an
/// earlier one.
pub(crate) const WRITES_PER_LOOK: usize = 16;

/// Chunks of a scan below which the peers are not invited: a wake costs about as much as scanning a chunk.
pub(crate) const SCAN_CHUNKS_ALONE_MAX: usize = 2;

/// Rows a top-k keeps beyond its limit before it sorts and cuts: sorting is then amortised over as many rows.
pub(crate) const TOP_ROWS_SLACK: usize = 512;

/// A limit above this sorts all rows: partial top-k on every executor would send as many rows as it saves, and can put none aside.
pub(crate) const TOP_PARTIAL_ROWS_MAX: usize = 65_536;

/// Time for an expression that is evaluated before the statement runs, such as that of LIMIT: it cannot be killed meanwhile.
pub(crate) const START_VALUE_TIME_MAX: Duration = Duration::from_millis(50);

/// Bytes that such an expression may hold.
pub(crate) const START_VALUE_BYTES_MAX: u64 = 16 << 20;

/// Chunks of a scan for each executor from which on rows of one vertex may stay together: so that each has some to draw until the end.
pub(crate) const TOGETHER_CHUNKS_PER_EXECUTOR: usize = 24;

/// Bytes of all cached results of node programs, with their watch sets.
pub const CACHED_BYTES_MAX: usize = 64 << 20;
/// Bytes of one cached result, with its watch set: a sixteenth, so that one call does not evict all others.
pub const CACHED_RESULT_BYTES_MAX: usize = CACHED_BYTES_MAX / 16;
/// Bytes of the start and the parameters of a cached call.
pub const CACHED_CALL_BYTES_MAX: usize = 64 << 10;
/// Lists and maps within each other in the start and the parameters of a cached call.
pub const CACHED_CALL_DEPTH_MAX: usize = 64;
/// Bytes of a cache entry beside its rows, its call and its keys: several small allocations, and its entries in three tables.
pub(crate) const CACHED_ENTRY_BYTES: usize = 512;
/// Where similar calls have fewer hits than one for this many results that ended, their results are not worth caching: storing one takes some part of
/// a run.
pub(crate) const CACHED_ENDED_PER_HIT: u32 = 4;
/// Ended results of similar calls before they are judged.
pub(crate) const CACHED_ENDED_MIN: u32 = 32;
/// Ended results of similar calls after which earlier counts are halved.
pub(crate) const CACHED_ENDED_MAX: u32 = 256;
/// Of calls whose results are not worth caching, one of this many is cached to see whether that has changed.
pub(crate) const CACHED_TRIED_EVERY: u32 = 16;
/// Kinds of like calls that are counted; with more, all are counted anew.
pub(crate) const CACHED_KINDS_MAX: usize = 1_024;
