//! Every limit of the crate, by name, with its reason.

/// CPU time one turn of a query may take, in nanoseconds, unless the runtime is told otherwise. Long enough that switching costs well
/// under a percent, short enough that a kill or a short query waits under a millisecond.
pub const QUOTA_NS_DEFAULT: u64 = 500_000;

/// A turn goes on for at least this long, in nanoseconds, if there is work; after that it ends as soon as a command is waiting, which may be more
/// urgent. A turn costs one or two microseconds to end and begin.
pub const TURN_NS_MIN: u64 = 50_000;

/// Processor time is read this often, in nanoseconds, so that a turn that took too long can be told from one whose core was taken
/// away: a system call of some 300 ns a turn of full length.
pub const METER_EVERY_NS: u64 = 400_000;

/// A call that seems to have taken longer, in nanoseconds, is measured in processor time: another thread may have had its core.
pub const LONG_CALL_NS: u64 = 1_000_000;

/// Time that an executor drops memory of ended queries in, between two turns.
pub const DROP_NS_MAX: u64 = 50_000;

/// Time that a task that was idle for a while may still claim of its share, in nanoseconds. A query that goes to and fro between executors is idle on
/// each for moments and would lose its share by that; more would let it hold up others for long when it returns.
pub const CREDIT_NS_MAX: u64 = 2_000_000;

/// Messages that may wait at one port on one executor before its feeders are no longer scheduled. An operator may overshoot by the output of one
/// call. Small, because a message is a batch of up to a thousand rows and memory should stay near the output.
pub const MAILBOX_MESSAGES_MAX: usize = 16;

/// Messages that may wait at all ports of a query on one executor, about: of a graph with many vertices each port has its part of them, and no fewer
/// than [`MAILBOX_MESSAGES_MIN`]. They are not charged, and those of a long line of joins may hold as much as a budget.
pub const QUERY_MESSAGES_MAX: usize = 512;

/// With fewer, an operator and its feeder would take turns for each message.
pub const MAILBOX_MESSAGES_MIN: usize = 2;

/// A `Route::Spread` edge keeps messages local while fewer than this many wait at the local twin: moving a batch to another core costs
/// cache misses and a wake, so only real queues are shared out.
pub const SPREAD_LOCAL_MESSAGES_MAX: usize = 2;

/// A message of this many rows on a `Route::Spread` edge is split with idle executors: the work that follows from so many rows usually exceeds the
/// cost of waking an executor.
pub const SPREAD_SPLIT_ROWS_MIN: usize = 128;

/// Likewise on a `Route::Share` edge.
pub const SHARE_SPLIT_ROWS_MIN: usize = 2;

/// A part on a `Route::Placed` edge whose host has this many messages waiting goes to the executor with the fewest: locality saves less than that
/// wait. Two to keep the host at work, and as many again on their way.
pub const PLACED_MESSAGES_MAX: usize = 4;

/// Batches waiting for the client unless the query says otherwise.
pub const OUTPUT_BATCHES_MAX_DEFAULT: usize = 16;

/// Bytes one query may hold unless it says otherwise.
pub const QUERY_BYTES_MAX_DEFAULT: u64 = 1 << 30;

/// Nesting of scopes. A tag is a fixed small array, so that it can be copied without allocation; no query we know of nests deeper than 3.
pub const SCOPE_DEPTH_MAX: usize = 6;

/// Vertices in one graph: plans have tens; a thousand is a generator gone wrong.
pub const VERTICES_MAX: usize = 1_024;

/// Ports of one vertex, and edges into one vertex: both are sets kept in one machine word.
pub const PORTS_MAX: usize = 32;

/// Edges into one vertex: a set of them is one machine word.
pub const IN_EDGES_MAX: usize = 64;

/// An idle executor looks at its queue this long before it sleeps, in nanoseconds: about the price of a sleep and a wake.
pub const IDLE_SPIN_NS: u64 = 20_000;

/// A client that waits for its next batch looks this long before it sleeps, in nanoseconds.
pub const CLIENT_SPIN_NS: u64 = 20_000;

/// An operator that said `Waiting` is asked again after this many nanoseconds if nothing else of its query ran before.
pub const WAITING_REPOLL_NS: u64 = 100_000;

/// A client's own thread that waits for a [`Latch`](crate::Latch) looks so often whether its work is over. An executor hears of that at once.
pub const LATCH_LOOK: std::time::Duration = std::time::Duration::from_millis(5);

/// An executor that sleeps while it still holds a query looks again after this many nanoseconds at the latest. Wakes are exact; this is a second
/// safeguard.
pub const BLOCKED_RECHECK_NS: u64 = 20_000_000;

/// Timers of queries that have ended may lie about until this many more are set than there are queries; then they are swept. A server
/// that gives every short query a long deadline would otherwise collect them.
pub const TIMERS_SLACK: usize = 1_024;

/// Ended scope instances that keep their mailboxes and operators for the next, by scope, query and executor: as many as live at once in
/// a busy scope.
pub const SPARE_NODES_MAX: usize = 256;

/// Scope instances of an ended query that an executor drops between two turns: a few hundred microseconds at most, so that others do not wait for the
/// end of one that had a million.
pub const BURIED_NODES_MAX: usize = 512;

/// Looks at the clock that may follow a reading without one of their own.
pub const LOOKS_SKIPPED_MAX: u32 = 15;

/// Looks at the clock less than this many nanoseconds apart share a reading: some fifty times the cost of a reading.
pub const LOOKS_APART_NS: u64 = 2_000;

/// Time a query is tried on the calling thread, in nanoseconds: some ten times the round trip to an executor, so a query that is too long for it has
/// lost a tenth of little, and none is out of reach of a kill for long.
pub const PIPELINE_NS_MAX: u64 = 200_000;

/// Batches that a query tried on the calling thread may answer: as many as wait for a client otherwise.
pub const PIPELINE_BATCHES_MAX: usize = OUTPUT_BATCHES_MAX_DEFAULT;

/// Messages that wait at a port of a pipeline before its feeders are no longer called: output is used while it is in the cache.
pub const PIPELINE_MESSAGES_MAX: usize = 1;

/// Queries that may wait for room in their accounts; further ones are refused. Each costs a few kilobytes.
pub const QUERIES_WAITING_MAX: usize = 16_384;

/// Bytes a query draws from its accounts at once, so that most charges touch no counter that others touch.
pub const GRAIN_BYTES: u64 = 16 << 10;

/// Grains a query keeps in reserve before it gives them back.
pub const GRAINS_KEPT_MAX: u64 = 16;

/// Tablets for each executor unless the runtime is told otherwise: enough that moving one shifts an eighth of an executor's work.
pub const TABLETS_PER_EXECUTOR: usize = 8;

/// How often the balancer of tablets looks, in nanoseconds: a skew is mended in a few looks, so within two seconds.
pub const BALANCE_EVERY_NS: u64 = 200_000_000;

/// Executors whose loads differ by no more than this much of the mean are left alone.
pub const BALANCE_GAP_PERCENT: u64 = 20;

/// A machine that spent no more than this much of the time between two looks on tablets is left alone.
pub const BALANCE_BUSY_PERCENT: u64 = 10;

/// Tablets moved at one look.
pub const TABLET_MOVES_MAX: usize = 16;

/// Moves of tablets that are remembered.
pub const TABLET_MOVES_KEPT_MAX: usize = 1_024;

/// How often the rules for runaway queries are looked at, in nanoseconds.
pub const RULES_CHECK_NS: u64 = 5_000_000;

/// Tenants, users or queries an executor remembers beyond those that matter before it looks which it may forget.
pub const ACCOUNTS_SLACK: usize = 1_024;

/// CPU time, in nanoseconds on one executor, from which on a query weighs less than a fresh one of the same user: interactive queries
/// are over by then.
pub const DECAY_AFTER_NS: u64 = 10_000_000;

/// Times a query's weight is halved at most: the longest still gets a share among others that it can finish with.
pub const DECAY_LEVELS_MAX: u32 = 6;
