//! Every bound of the crate, by name.

use std::time::Duration;

/// Rows that a join hands from one step to the next at a time.
pub(crate) const BLOCK_ROWS: usize = 1_024;
/// Standing queries of one database.
pub const QUERIES_MAX: usize = 10_000;
/// Rows and deltas that may wait for one subscriber; one that falls further behind is cut off.
pub const SUBSCRIBER_ROWS_MAX: usize = 1 << 20;
/// Deltas that a query remembers, so that a subscriber who comes back can go on where it was.
pub const REMEMBERED_ROWS_MAX: usize = 1 << 18;
/// Commits whose times are known without the log, so that their marks can be told from those of another database.
pub(crate) const COMMITS_KNOWN_MAX: usize = 1 << 16;
/// How long a reader who resumes waits for others who resume at this moment.
pub(crate) const RESUME_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long the first answer of a reader who resumes may take, and how long the commits since may be read; a reader that is not done by then gets the
/// changes that were read, and resumes from there.
pub(crate) const RESUME_TIME_MAX: Duration = Duration::from_secs(300);
/// Rows that the answer of one query may have.
pub const RESULT_ROWS_MAX: usize = 64 << 20;
/// Parts of a pattern: vertices, edges and their attributes.
pub(crate) const ATOMS_MAX: usize = 256;
/// Bytes that a row takes while it stands between two steps, about.
pub(crate) const ANSWER_ROW_BYTES: usize = 128;
/// Bytes that the facts of one Datalog program may take.
pub const RULES_BYTES_MAX: usize = 1 << 30;
/// Seconds that the first answer of a Datalog program may take; a program that passes it is refused.
pub const RULES_FIRST_SECONDS_MAX: u64 = 60;
/// Seconds that the upkeep of a Datalog program may take for one commit; a program that passes it ends with an error.
pub const RULES_COMMIT_SECONDS_MAX: u64 = 10;
/// How long arguments stay after their last reader went, so that one whose connection broke goes on where it was.
pub(crate) const LINGER_NS: u64 = 60_000_000_000;
/// How often a query checks for arguments without readers.
pub(crate) const WITHDRAW_EVERY_NS: u64 = 1_000_000_000;
/// Arguments of one query that may stay so.
pub(crate) const LINGERING_MAX: usize = 10_000;
