//! The replica of a gate: a database in a folder that follows the cluster's sequence, begun when something first asks for it.

use crate::follower::{Follower, GraphCopy, NotTaken};
use database::{Database, Error, Interrupted, Options, ReplicaHost};
use parking_lot::Mutex;
use protocol::{CommitId, Sequence};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use transact::Followed;
use world::clock;

/// Whoever waits for a replica looks so often whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Commits get their places so soon; truth is asked again after this.
const PLACED_SOON: Duration = Duration::from_millis(2);

/// Code of a disk that took no commit, and may take the next.
const DISK_FAILED: &str = "Neo.DatabaseError.Transaction.TransactionLogError";

/// Connects to the database that the cluster trusts; why it cannot, for people.
pub type Connect = Box<dyn Fn() -> Result<Box<dyn Sequence + Send>, String> + Send + Sync>;

/// See the head of this file.
pub struct GateReplica {
    folder: PathBuf,
    options: Options,
    connect: Connect,
    running: Mutex<Option<Arc<Running>>>,
    /// Held by who opens it.
    opening: Mutex<()>,
}

struct Running {
    // Ends first: it writes into the database.
    follower: Follower,
    database: Database,
    /// For questions; the follower has its own connection.
    truth: Mutex<Box<dyn Sequence + Send>>,
}

impl GateReplica {
    /// A replica in a folder that nobody else uses. Nothing is opened yet.
    pub fn new(folder: PathBuf, options: Options, connect: Connect) -> GateReplica {
        GateReplica {
            folder,
            options: Options { read_only: true, ..options },
            connect,
            running: Mutex::default(),
            opening: Mutex::default(),
        }
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
    /// Opens it, if it is not open. Nobody else may do so meanwhile.
    fn open(&self) -> Result<Arc<Running>, Error> {
        if let Some(running) = &*self.running.lock() {
            return Ok(running.clone());
        }
        let unavailable =
            |why: String| unavailable(format!("the replica of this gate cannot be started: {why}"));
        let (mut following, truth) =
            ((self.connect)().map_err(unavailable)?, (self.connect)().map_err(unavailable)?);
        let database = Database::open(&self.folder, self.options.clone())?;
        if !is_of_this_history(&database, &mut *following).map_err(unavailable)? {
            return Err(stopped(
                "the database that the cluster trusts has another history: it was set back".into(),
            ));
        }
        let follower = Follower::start(following, database_copy(&database))
            .map_err(|error| unavailable(error.to_string()))?;
        let begun = Arc::new(Running { follower, database, truth: Mutex::new(truth) });
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
            world::threads::sleep(PLACED_SOON);
        };
        let place = loop {
            if let Some(place) = running.place_of(&newest) {
                break place.max(last);
            }
            may_wait()?;
            world::threads::sleep(PLACED_SOON);
        };
        while !running.follower.await_place(place, LOOK_EVERY).map_err(stopped)? {
            may_wait()?;
        }
        Ok(running.database.clone())
    }
    fn running(&self) -> Option<Database> {
        self.running.lock().as_ref().map(|running| running.database.clone())
    }
}

impl Running {
    fn place_of(&self, commits: &[CommitId]) -> Option<u64> {
        self.truth.try_lock_for(LOOK_EVERY)?.place_of(commits).ok().flatten()
    }
    fn behind(&self) -> Error {
        match self.follower.place() {
            Ok(place) => unavailable(format!(
                "the replica of this gate has not caught up yet: it is at commit {place}"
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

/// Is the last commit here the one that truth has at its place? A place that was given again, to another commit, was given later.
fn is_of_this_history(database: &Database, truth: &mut dyn Sequence) -> Result<bool, String> {
    let newest = database.kept().1;
    let Some(before) = newest.place.checked_sub(1) else { return Ok(true) };
    let page = truth
        .after(before, 1)
        .map_err(|_| "the database that the cluster trusts does not answer".to_string())?;
    Ok(page.first().is_some_and(|commit| commit.place == newest.place && commit.at_us <= newest.time_micros))
}

/// A database that takes over commits.
fn database_copy(database: &Database) -> impl GraphCopy + 'static {
    struct Taking(Database);
    impl GraphCopy for Taking {
        fn place(&self) -> u64 {
            self.0.place()
        }
        fn take(&mut self, commits: Vec<Followed>) -> Result<(), NotTaken> {
            self.0.follow(commits).map_err(|error| match error.code == DISK_FAILED {
                true => NotTaken::ForNow(error.to_string()),
                false => NotTaken::ForGood(error.to_string()),
            })
        }
    }
    Taking(database.clone())
}
