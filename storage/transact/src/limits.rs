//! Limits that several files hold to.

/// Changes one transaction may hold: bounds its memory to a few GiB and its log record to what the log takes.
pub const CHANGES_MAX: usize = 1 << 24;
/// Nothing more is accepted once records of so many bytes are pending: one sync pays for them anyhow, and memory is bounded.
pub(crate) const PENDING_BYTES_ENOUGH: usize = 64 << 20;
/// Bytes one record may have, so that it fits into what the log takes at once, behind pending commits that were just not enough.
pub(crate) const RECORD_BYTES_MAX: usize = durable::GROUP_BYTES_MAX as usize - 2 * PENDING_BYTES_ENOUGH;
/// Bytes of log between anchors, unless told otherwise: a checkpoint is only given up if its neighbours are no farther apart than that. Replaying so much takes
/// about two seconds where transactions are small.
pub const ANCHOR_LOG_BYTES: u64 = 64 << 20;
/// Bytes of log that are kept so that commits can be asked for again: beyond it the oldest anchor goes, and the log before the next. A
/// longer history keeps more.
pub const RETAINED_LOG_BYTES_MAX: u64 = 1 << 30;
/// Who waits for the committer, or for the end of a reservation, looks so often whether its work is over.
pub(crate) const WAIT_UNTIL_LOOK: std::time::Duration = std::time::Duration::from_millis(10);
/// Keys of one watch set: to judge so many takes the committer about a millisecond. Of a commit of more keys, all watch sets are told that they are over.
pub const WATCH_KEYS_MAX: usize = 1 << 15;
/// Different keys of all watch sets together: about 64 MiB of the table that commits look into.
pub const WATCHED_KEYS_MAX: usize = 1 << 20;
/// Keys of all watch sets together, each as often as sets have it: about 64 MiB.
pub(crate) const WATCHES_MAX: usize = 1 << 22;
/// Bytes of a key in the table that commits look into, once.
pub const WATCHED_KEY_BYTES: usize = 48;
/// Bytes of a key of one set: in its list, and beside the others in the table.
pub const WATCH_BYTES: usize = 16;
/// Whoever wants to watch waits so long for the committer, and does without behind that: it may be an executor.
pub(crate) const WATCH_JUDGED_AFTER: std::time::Duration = std::time::Duration::from_millis(1);
