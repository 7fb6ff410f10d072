//! Every bound of the protocol, with its reason, and its times.

/// Transactions of a group: one transaction in truth stays short.
pub const GROUP_MAX: usize = 256;
/// Commits that wait at a gate for their group; one more is refused, to be tried again.
pub const WAITING_MAX: usize = 4_096;
/// Open reads at a gate; each keeps history from being forgotten.
pub const READS_MAX: usize = 4_096;
/// Items of a channel that its shard has not acknowledged; beyond it commits to that shard are refused, and questions for NOPs wait.
pub const CHANNEL_MAX: usize = 1 << 14;
/// Items that are sent again at once when a shard says that some are missing.
pub const RESEND_MAX: usize = 256;
/// Items that a shard keeps of a channel while an earlier one is missing; further ones are requested again.
pub const AHEAD_MAX: usize = 1_024;
/// Reads that wait at a shard; one more is dropped, and its gate sends it again.
pub const PINS_MAX: usize = 4_096;
/// Executed records that reads may still be concurrent with; at the limit a shard waits until the frontier moves.
pub const RECENT_MAX: usize = 1 << 16;
/// Pairs of one question to the oracle.
pub const PAIRS_MAX: usize = 4_096;
/// Records of one report of a shard to the scribe.
pub const REPORT_MAX: usize = 1_024;
/// Records of one shard that the scribe holds without a commit version; at the limit it takes none of that shard until some have one. A shard that
/// waits at its own limit has reported all, so that the scribe can go on. So the scribe holds at most this many for each shard, each with a number
/// for each gate.
pub const UNVERSIONED_MAX: usize = 1 << 17;
const _: () = assert!(UNVERSIONED_MAX > RECENT_MAX);
/// Commit versions that are written at once.
pub const VERSIONS_MAX: usize = 1_024;
/// Records that are read from truth at once.
pub const LOG_PAGE: usize = 128;
/// Bytes of records that are read from truth at once, since they are held in memory; the record that reaches it is included.
pub const LOG_PAGE_BYTES: usize = 16 << 20;
/// Log that a follower has not read is kept for it, if it has reported within this time, in microseconds: a week. A gate that was down for longer
/// makes its replica anew.
pub const FOLLOWER_KEPT_US: u64 = 7 * 24 * 3_600 * 1_000_000;
/// A gate's usage of limits that it shares with others counts for this long after its announcement, in microseconds: then the gate is lost, and so
/// are its queries.
pub const USAGE_KEPT_US: u64 = 3_000_000;
/// Commits behind the base of the log after which another is due, of a small graph.
pub const BASE_COMMITS: u64 = 100_000;
/// Commits that are deleted below the base of the log at once: each is a transaction for which others do not wait long.
pub const CUT_PAGE: usize = 5_000;
/// Times that a transaction is stamped anew before its client gets a retryable error.
pub const LATE_TRIES_MAX: u32 = 16;
/// Keys that one transaction may read: 8 bytes each in its group's log record, two vectors each in the memory of every gate.
pub const READ_KEYS_MAX: usize = 1 << 16;
/// Chunk numbers that a gate leases at once.
pub const CHUNKS_LEASED: u32 = 4;
/// Chunk numbers of each shard that a gate wants at hand.
pub const CHUNKS_AT_HAND: usize = 4;

/// Times of a cluster, in microseconds of each process's own clock. They affect speed, never correctness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The period of a process's heartbeat to the keeper.
    pub heartbeat_us: u64,
    /// A process that was silent for so long is lost.
    pub lease_us: u64,
    /// A message without an answer is sent again after so long.
    pub resend_us: u64,
    /// The time between announcements of a gate; none where it adapts to the cost of announcements and questions.
    pub tau_us: Option<u64>,
}

impl Timing {
    /// A gate waits for as many commits as its last group had, but no longer than this, nor than half of that group's time in truth: the cost of a
    /// group hardly depends on its size, so a little patience is worthwhile.
    pub fn gather_us_max(&self) -> u64 {
        self.resend_us / 2
    }
    /// How long a shard with records for which no read waits is patient before it asks gates for earlier ones: if all gates commit, their next groups
    /// come unasked.
    pub fn hold_us_max(&self) -> u64 {
        self.resend_us / 2
    }
}

impl Default for Timing {
    fn default() -> Timing {
        Timing { heartbeat_us: 1_000_000, lease_us: 3_000_000, resend_us: 20_000, tau_us: None }
    }
}

/// Cost of a question to the oracle, in announcements: a majority has it on disk before the answer, and transactions wait for that; an announcement
/// is a message and its receipt, for which no transaction waits.
pub const QUESTION_COST: u64 = 8;
