//! The replica of a gate: a database in a folder that follows the cluster's sequence, started on first use.

use crate::follower::{Follower, GraphCopy, NotTaken, too_old};
use crate::log_base::{BaseMaker, BaseParts};
use database::{Database, Error, Interrupted, Options, ReplicaHost};
use parking_lot::Mutex;
use protocol::limits::BASE_COMMITS;
use protocol::{CommitId, Sequence, VersionedCommit};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use transact::Followed;
use world::disk::{self, RealDisk};
use world::{clock, files};

/// How often a caller that waits for a replica checks whether it may go on.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Pause before truth is asked again whether commits have their versions.
const VERSIONED_SOON: Duration = Duration::from_millis(2);

/// In the folder of a replica that has not taken all of the log's base yet: the commit version of that base, in digits. It goes on with this base alone.
const BASE_NAME: &str = "BASE";

/// Code of a disk that took no commit, and may take the next.
const DISK_FAILED: &str = "Neo.DatabaseError.Transaction.TransactionLogError";

/// Connects to the database that the cluster trusts; why it cannot, for people.
pub type Connect = Box<dyn Fn() -> Result<Box<dyn Sequence + Send>, String> + Send + Sync>;

/// See the head of this file.
pub struct GateReplica {
    name: String,
    shards: u16,
    /// Commits after which it makes a base of the log, of a small graph.
    base_after: u64,
    folder: PathBuf,
    options: Options,
    connect: Arc<Connect>,
    running: Mutex<Option<Arc<Running>>>,
    /// Held by the thread that opens it.
    opening: Mutex<()>,
}

struct Running {
    // Both end first: one reads the database, the other writes into it.
    _base: BaseMaker,
    follower: Follower,
    database: Database,
    /// For questions; the follower has its own connection.
    truth: Mutex<Box<dyn Sequence + Send>>,
}

impl GateReplica {
    /// A replica of the gate with this number, in a cluster of this many shards, in a folder of its own. Nothing is opened yet.
    pub fn new(
        (gate, shards): (u16, u16),
        folder: PathBuf,
        options: Options,
        connect: Connect,
    ) -> GateReplica {
        GateReplica {
            name: format!("gate-{gate}"),
            shards,
            base_after: BASE_COMMITS,
            folder,
            options: Options { read_only: true, ..options },
            connect: Arc::new(connect),
            running: Mutex::default(),
            opening: Mutex::default(),
        }
    }
    /// Makes a base of the cluster's log after as few as `commits` commits, while the graph is small.
    #[must_use]
    pub fn with_base_after(self, commits: u64) -> GateReplica {
        GateReplica { base_after: commits, ..self }
    }
    /// Was it begun before, by this process or one before it?
    pub fn is_there(&self) -> bool {
        self.running.lock().is_some() || world::files::exists(&self.folder)
    }
    /// Opens it, and lets it follow.
    ///
    /// # Errors
    /// The folder cannot be opened, or truth does not answer.
    pub fn begin(&self) -> Result<(), Error> {
        self.begun().map(drop)
    }
    fn begun(&self) -> Result<Arc<Running>, Error> {
        let _opening = self.opening.lock();
        self.open()
    }
    /// Opens it, if it is not open, under the lock `opening`.
    fn open(&self) -> Result<Arc<Running>, Error> {
        if let Some(running) = &*self.running.lock() {
            return Ok(running.clone());
        }
        let unavailable =
            |why: String| unavailable(format!("the replica of this gate cannot be started: {why}"));
        let (mut following, truth) =
            ((self.connect)().map_err(unavailable)?, (self.connect)().map_err(unavailable)?);
        let database = Database::open(&self.folder, self.options.clone())?;
        let copy = DatabaseCopy::new(&database, &self.folder);
        if let Some(why) =
            cannot_follow(&database, copy.base_begun(), &mut *following).map_err(unavailable)?
        {
            return Err(stopped(why));
        }
        let failed = |error: std::io::Error| unavailable(error.to_string());
        let follower = Follower::start(&self.name, following, copy).map_err(failed)?;
        let base = BaseMaker::start(BaseParts {
            name: self.name.clone(),
            shards: self.shards,
            after: self.base_after,
            database: database.clone(),
            progress: follower.progress(),
            connect: self.connect.clone(),
        });
        let (base, truth) = (base.map_err(failed)?, Mutex::new(truth));
        let begun = Arc::new(Running { _base: base, follower, database, truth });
        *self.running.lock() = Some(begun.clone());
        Ok(begun)
    }
}

impl ReplicaHost for GateReplica {
    fn caught_up(&self, patience: Duration, interrupted: Interrupted<'_>) -> Result<Database, Error> {
        let until_ns = clock::after_ns(patience);
        let may_wait = |behind: &dyn Fn() -> Error| match interrupted() {
            Some(reason) => Err(Error::new("Neo.TransientError.Transaction.Terminated", reason)),
            None if clock::monotonic_ns() >= until_ns => Err(behind()),
            None => Ok(()),
        };
        let opening = || unavailable("the replica of this gate is being opened".to_string());
        let running = loop {
            if let Some(running) = self.running.lock().clone() {
                break running;
            }
            match self.opening.try_lock_for(LOOK_EVERY) {
                Some(_opening) => break self.open()?,
                None => may_wait(&opening)?,
            }
        };
        let may_wait = || may_wait(&|| running.behind());
        let (last, newest) = loop {
            let newest = running.truth.try_lock_for(LOOK_EVERY).map(|mut truth| truth.newest());
            match newest {
                Some(Ok(newest)) => break newest,
                _ => may_wait()?,
            }
            world::threads::sleep(VERSIONED_SOON);
        };
        let commit_version = loop {
            if let Some(commit_version) = running.version_of(&newest) {
                break commit_version.max(last);
            }
            may_wait()?;
            world::threads::sleep(VERSIONED_SOON);
        };
        while !running.follower.await_version(commit_version, LOOK_EVERY).map_err(stopped)? {
            may_wait()?;
        }
        Ok(running.database.clone())
    }
    fn running(&self) -> Option<Database> {
        self.running.lock().as_ref().map(|running| running.database.clone())
    }
}

impl Running {
    fn version_of(&self, commits: &[CommitId]) -> Option<u64> {
        self.truth.try_lock_for(LOOK_EVERY)?.version_of(commits).ok().flatten()
    }
    fn behind(&self) -> Error {
        match self.follower.commit_version() {
            Ok(commit_version) => unavailable(format!(
                "the replica of this gate has not caught up yet: it is at commit {commit_version}"
            ))
            .hint("it carries out the cluster's commits one after the other; try again later"),
            Err(failure) => stopped(failure),
        }
    }
}

fn unavailable(message: String) -> Error {
    Error { retryable: true, ..Error::new("Neo.TransientError.General.DatabaseUnavailable", message) }
}

fn stopped(failure: String) -> Error {
    let message = format!("the replica of this gate stands still: {failure}");
    Error::new("Tanglewood.DatabaseError.Cluster.Replica", message).hint(
        "end the gate, move the folder of its replica away, and start it again: the replica is made anew",
    )
}

/// Why this database cannot follow, if so: its last commit is not truth's at that commit version, or commits that it lacks are cut off from the log.
/// A commit version that was given again, to another commit, was given later.
fn cannot_follow(
    database: &Database,
    base_begun: Option<u64>,
    truth: &mut dyn Sequence,
) -> Result<Option<String>, String> {
    let newest = database.kept().1;
    let Some(before) = newest.commit_version.checked_sub(1) else { return Ok(None) };
    let page = truth
        .after(before, 1)
        .map_err(|_| "the database that the cluster trusts does not answer".to_string())?;
    if newest.commit_version < page.base && base_begun != Some(page.base) {
        return Ok(Some(too_old(newest.commit_version, page.base)));
    }
    let is_same = |commit: &VersionedCommit| {
        commit.commit_version == newest.commit_version && commit.at_us <= newest.time_micros
    };
    let other = || "the database that the cluster trusts has another history: it was set back".to_string();
    Ok((!page.commits.first().is_some_and(is_same)).then(other))
}

/// A database that takes over commits.
struct DatabaseCopy {
    database: Database,
    /// The file that marks an incomplete base.
    base_file: PathBuf,
    base: Option<u64>,
}

impl DatabaseCopy {
    fn new(database: &Database, folder: &Path) -> DatabaseCopy {
        let base_file = folder.join(BASE_NAME);
        let base = files::read_text(&base_file).ok().and_then(|text| text.trim().parse().ok());
        DatabaseCopy { database: database.clone(), base_file, base }
    }
}

impl GraphCopy for DatabaseCopy {
    fn commit_version(&self) -> u64 {
        self.database.commit_version()
    }
    fn take(&mut self, commits: Vec<Followed>) -> Result<(), NotTaken> {
        self.database.follow(commits).map_err(|error| match error.code == DISK_FAILED {
            true => NotTaken::ForNow(error.to_string()),
            false => NotTaken::ForGood(error.to_string()),
        })
    }
    fn base_begun(&self) -> Option<u64> {
        self.base
    }
    fn begin_base(&mut self, base: u64) -> Result<(), NotTaken> {
        let written = disk::write_synced(&RealDisk, &self.base_file, base.to_string().as_bytes());
        written.map_err(|error| NotTaken::ForNow(error.to_string()))?;
        self.base = Some(base);
        Ok(())
    }
    fn has_base(&mut self) -> Result<(), NotTaken> {
        // What is kept of the past begins with a checkpoint; it must be there before nobody knows any more that it is needed.
        let failed = |what: &str, why: String| NotTaken::ForNow(format!("{what}: {why}"));
        let made = self.database.checkpoint();
        made.map_err(|error| failed("its first checkpoint cannot be made", error.to_string()))?;
        if files::exists(&self.base_file) {
            let removed = files::remove_file(&self.base_file);
            removed
                .map_err(|error| failed("it cannot note that it has the log's base", error.to_string()))?;
        }
        self.base = None;
        Ok(())
    }
}
