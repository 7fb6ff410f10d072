//! Limits that several files share.

/// Changes one transaction may hold: bounds its memory to a few GiB and its log record to the log's maximum.
pub const CHANGES_MAX: usize = 1 << 24;
/// No more is accepted once records of this many bytes are pending: one sync pays for them anyhow, and memory is bounded.
pub(crate) const PENDING_BYTES_ENOUGH: usize = 64 << 20;
/// Bytes of one record at most, so that it fits into one group of the log, behind pending commits just below their limit.
pub(crate) const RECORD_BYTES_MAX: usize = durable::GROUP_BYTES_MAX as usize - 2 * PENDING_BYTES_ENOUGH;
/// Default bytes of log between anchors: a checkpoint is only given up if its neighbours are no farther apart than that. Replaying so much takes
/// about two seconds where transactions are small.
pub const ANCHOR_LOG_BYTES: u64 = 64 << 20;
/// Bytes of log that are retained for re-reading commits: beyond it the oldest anchor goes, and the log before the next. A longer history keeps more.
pub const RETAINED_LOG_BYTES_MAX: u64 = 1 << 30;
/// How often a thread that waits for the committer, or for the end of a reservation, checks whether its query is over.
pub(crate) const WAIT_UNTIL_LOOK: std::time::Duration = std::time::Duration::from_millis(10);
/// Keys of one watch set: judging this many takes the committer about a millisecond. A commit of more keys ends all watch sets.
pub const WATCH_KEYS_MAX: usize = 1 << 15;
/// Different keys of all watch sets together: about 64 MiB of the table that commits look into.
pub const WATCHED_KEYS_MAX: usize = 1 << 20;
/// Keys of all watch sets together, each as often as sets have it: about 64 MiB.
pub(crate) const WATCHES_MAX: usize = 1 << 22;
/// Bytes of a key in the table that commits look into, once.
pub const WATCHED_KEY_BYTES: usize = 48;
/// Bytes of a key of one set: in its list, and beside the others in the table.
pub const WATCH_BYTES: usize = 16;
/// How long a new watch set waits for the committer before it is given up: its thread may be an executor.
pub(crate) const WATCH_JUDGED_AFTER: std::time::Duration = std::time::Duration::from_millis(1);
