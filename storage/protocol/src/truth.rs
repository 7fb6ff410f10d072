//! Truth: the durable, transactional store that all processes of a cluster share, as a trait; and its calls as data, since steps do no I/O.
//!
//! A call's outcome may be unknown: it was carried out, will be, or never will. Every call may be repeated: a commit by the number of its group,
//! commit versions by the number of their first, a bump by the epoch that it ends.

use crate::record::{Bytes, CommitId, Proposed, Record, Verdict};
use order::Stamp;
use std::sync::Arc;

/// The outcome of a call is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown;

/// Where a chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The chunk.
    pub chunk: u32,
    /// Its shard.
    pub owner: u16,
    /// How often it was moved.
    pub version: u64,
}

/// Durable, serializable, shared by all gates, the scribe and the keeper.
pub trait Truth {
    /// The epoch, and the last cluster version.
    fn state(&mut self) -> Result<(u64, u64), Unknown>;
    /// One transaction for a whole group of one gate. Groups of a gate and epoch are numbered from 1; a number that was carried out is not carried out again.
    fn commit(
        &mut self,
        epoch: u64,
        seat: usize,
        group: u64,
        proposed: &[Proposed],
    ) -> Result<Vec<Verdict>, Unknown>;
    /// Begins the epoch after `from`, if that is the present one; no commit of `from` succeeds any more. Answers the present epoch.
    fn bump(&mut self, from: u64) -> Result<u64, Unknown>;
    /// The last cluster version, and the commits of closed epochs without one, at most `limit` of each gate, by gate and counter.
    fn unversioned(&mut self, limit: usize) -> Result<(u64, Vec<Stamp>), Unknown>;
    /// Gives commits the versions from `first` on, if the epoch is this one and `first` is the next. Returns whether these are their commit versions.
    /// If they are cut off from the log by now, that is assumed in the epoch of the caller: no other process gives commit versions in it.
    fn assign_versions(&mut self, epoch: u64, first: u64, commits: &[CommitId]) -> Result<bool, Unknown>;
    /// Commits with versions above `after`, of one shard or of all, in order: at most `limit`, and no more behind those that reach
    /// [`LOG_PAGE_BYTES`](crate::limits::LOG_PAGE_BYTES). There are none only where there are no more.
    fn log(&mut self, shard: Option<u16>, after: u64, limit: usize) -> Result<LogPage, Unknown>;
    /// The first of `count` new chunk numbers, which belong to this shard.
    fn lease(&mut self, shard: u16, count: u32) -> Result<u32, Unknown>;
    /// Where all chunks are.
    fn placement(&mut self) -> Result<Vec<Route>, Unknown>;
    /// Every base still to come in this epoch knows these counters: keys last touched before need no rows.
    fn forget(&mut self, epoch: u64, frontier: &[u64]) -> Result<(), Unknown>;
}

/// A commit in the cluster's sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionedCommit {
    /// Its commit version, from 1 on.
    pub commit_version: u64,
    /// When it got its commit version, by the clock of truth, in microseconds since 1970; 0 where that was not written down.
    pub at_us: u64,
    /// The committed record.
    pub record: Arc<Record>,
}

/// A page of the log.
///
/// Commits up to the *base* of the log may be replaced by fewer records with the same content, in the last commit versions up to the base. So a
/// reader that has the commits up to some version below the base cannot go on from there, unless it has read this very base so far: it begins with
/// nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogPage {
    /// The base; 0 while the log has everything.
    pub base: u64,
    /// The commits.
    pub commits: Vec<VersionedCommit>,
}

impl LogPage {
    /// May a reader that has everything up to `commit_version` go on with this page? Its content began with the log of base `begun`.
    pub fn continues(&self, commit_version: u64, begun: u64) -> bool {
        commit_version == 0 || self.base <= commit_version || self.base == begun
    }
}

/// The outcome of cutting the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogCut {
    /// It begins with the base.
    Done,
    /// This follower still needs commits below.
    NeededBy(String),
    /// The base is not above the present one, or its records are not all there.
    Outdated,
}

/// A follower of the sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Following {
    /// Its name among those of the cluster.
    pub name: String,
    /// It has everything up to here.
    pub commit_version: u64,
    /// When it said so last, in microseconds before now.
    pub silent_us: u64,
}

/// Usage of shared limits, as gates announced it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToldUsage {
    /// The time, in microseconds since 1970 by the clock of truth.
    pub now_us: u64,
    /// The last announcement of each other gate, by name.
    pub others: Vec<(String, Vec<u8>)>,
}

/// The cluster's sequence of commits, for followers that take no part in it.
pub trait Sequence {
    /// Commits with versions above `after`, in order, as [`Truth::log`] gives them.
    fn after(&mut self, after: u64, limit: usize) -> Result<LogPage, Unknown>;
    /// The follower of this name has everything up to a commit version; later commits are kept for it, as long as it reports within
    /// [`FOLLOWER_KEPT_US`](crate::limits::FOLLOWER_KEPT_US).
    fn follows(&mut self, name: &str, commit_version: u64) -> Result<(), Unknown>;
    /// All followers that have reported within that time, by name.
    fn followers(&mut self) -> Result<Vec<Following>, Unknown>;
    /// Stores record `number`, from 1 on, of a base at a commit version; the first one drops earlier records of `maker`.
    fn put_base(
        &mut self,
        maker: &str,
        base: u64,
        number: u64,
        parts: &[(u16, Bytes)],
    ) -> Result<(), Unknown>;
    /// Begins the log with a base of `records` records, if every follower has all commits in it.
    fn cut(&mut self, maker: &str, base: u64, records: u64) -> Result<LogCut, Unknown>;
    /// Announces the usage at a gate, as bytes that truth does not read; returns the announcements of the others within
    /// [`USAGE_KEPT_US`](crate::limits::USAGE_KEPT_US), by name, and the time by the clock of truth, which is one for all gates.
    fn tell_usage(&mut self, gate: &str, usage: &[u8]) -> Result<ToldUsage, Unknown>;
    /// Deletes some of the log below the base; false where nothing is left of it.
    fn delete_below_base(&mut self) -> Result<bool, Unknown>;
    /// The last commit version, and the last commits so far: one of each gate and epoch, but for epochs whose commits have all got versions. Earlier
    /// ones got theirs before. So when these have commit versions, all present commits have.
    fn newest(&mut self) -> Result<(u64, Vec<CommitId>), Unknown>;
    /// The last commit version of these commits; nothing while one of them has none.
    fn version_of(&mut self, commits: &[CommitId]) -> Result<Option<u64>, Unknown>;
    /// Where all chunks are.
    fn routes(&mut self) -> Result<Vec<Route>, Unknown>;
}

/// A call of [`Truth`], to be made by a driver.
#[derive(Clone, Debug)]
pub enum Call {
    /// See [`Truth::state`].
    State,
    /// See [`Truth::commit`].
    Commit {
        /// The group's epoch.
        epoch: u64,
        /// The gate's seat.
        seat: usize,
        /// The group's number.
        group: u64,
        /// The transactions.
        proposed: Arc<Vec<Proposed>>,
    },
    /// See [`Truth::bump`].
    Bump {
        /// The epoch that ends.
        from: u64,
    },
    /// See [`Truth::unversioned`].
    Unversioned {
        /// Of each gate.
        limit: usize,
    },
    /// See [`Truth::assign_versions`].
    AssignVersions {
        /// The epoch of the writer.
        epoch: u64,
        /// The first commit version.
        first: u64,
        /// The commits.
        commits: Vec<CommitId>,
    },
    /// See [`Truth::log`].
    Log {
        /// One shard, or all.
        shard: Option<u16>,
        /// Commit versions above this one.
        after: u64,
        /// The maximum.
        limit: usize,
    },
    /// See [`Truth::lease`].
    Lease {
        /// The shard that will hold them.
        shard: u16,
        /// How many.
        count: u32,
    },
    /// See [`Truth::placement`].
    Placement,
    /// See [`Truth::forget`].
    Forget {
        /// The epoch meant.
        epoch: u64,
        /// A counter for each seat.
        frontier: Box<[u64]>,
    },
}

/// The answer to a call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The epoch and the last commit version.
    State(u64, u64),
    /// One for each transaction of the group.
    Verdicts(Vec<Verdict>),
    /// The present epoch.
    Epoch(u64),
    /// The last commit version, and stamps without one.
    Unversioned(u64, Vec<Stamp>),
    /// Whether the commits have these versions.
    Assigned(bool),
    /// A page of the log.
    Log(LogPage),
    /// The first chunk number, how many, and their shard.
    Leased(u32, u32, u16),
    /// Where chunks are.
    Placement(Vec<Route>),
    /// Done.
    Done,
}

/// Makes a call.
pub fn perform(truth: &mut dyn Truth, call: &Call) -> Result<Reply, Unknown> {
    Ok(match call {
        Call::State => {
            let (epoch, commit_version) = truth.state()?;
            Reply::State(epoch, commit_version)
        }
        Call::Commit { epoch, seat, group, proposed } => {
            Reply::Verdicts(truth.commit(*epoch, *seat, *group, proposed)?)
        }
        Call::Bump { from } => Reply::Epoch(truth.bump(*from)?),
        Call::Unversioned { limit } => {
            let (commit_version, stamps) = truth.unversioned(*limit)?;
            Reply::Unversioned(commit_version, stamps)
        }
        Call::AssignVersions { epoch, first, commits } => {
            Reply::Assigned(truth.assign_versions(*epoch, *first, commits)?)
        }
        Call::Log { shard, after, limit } => Reply::Log(truth.log(*shard, *after, *limit)?),
        Call::Lease { shard, count } => Reply::Leased(truth.lease(*shard, *count)?, *count, *shard),
        Call::Placement => Reply::Placement(truth.placement()?),
        Call::Forget { epoch, frontier } => {
            truth.forget(*epoch, frontier)?;
            Reply::Done
        }
    })
}
