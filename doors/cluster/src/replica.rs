//! The replica of a gate: a database in a folder that follows the cluster's sequence, begun when something first asks for it.

use crate::follower::{Follower, GraphCopy};
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

/// Connects to the database that the cluster trusts; why it cannot, for people.
pub type Connect = Box<dyn Fn() -> Result<Box<dyn Sequence + Send>, String> + Send + Sync>;

/// See the head of this file.
pub struct GateReplica {
    folder: PathBuf,
    options: Options,
    connect: Connect,
    running: Mutex<Option<Arc<Running>>>,
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
        let mut running = self.running.lock();
        if let Some(running) = &*running {
            return Ok(running.clone());
        }
        let unavailable =
            |why: String| unavailable(format!("the replica of this gate cannot be started: {why}"));
        let (following, truth) =
            ((self.connect)().map_err(unavailable)?, (self.connect)().map_err(unavailable)?);
        let database = Database::open(&self.folder, self.options.clone())?;
        let follower = Follower::start(following, database_copy(&database))
            .map_err(|error| unavailable(error.to_string()))?;
        let begun = Arc::new(Running { follower, database, truth: Mutex::new(truth) });
        *running = Some(begun.clone());
        Ok(begun)
    }
}

impl ReplicaHost for GateReplica {
    fn caught_up(&self, patience: Duration, interrupted: Interrupted<'_>) -> Result<Database, Error> {
        let running = self.begun()?;
        let until_ns = clock::after_ns(patience);
        let may_wait = || match interrupted() {
            Some(reason) => Err(Error::new("Neo.TransientError.Transaction.Terminated", reason)),
            None if clock::monotonic_ns() >= until_ns => Err(running.behind()),
            None => Ok(()),
        };
        let newest = loop {
            match running.truth.lock().newest() {
                Ok(newest) => break newest,
                Err(_) => may_wait()?,
            }
            world::threads::sleep(LOOK_EVERY);
        };
        let place = loop {
            if let Some(place) = running.place_of(&newest) {
                break place;
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
        self.truth.lock().place_of(commits).ok().flatten()
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

/// A database that takes over commits.
fn database_copy(database: &Database) -> impl GraphCopy + 'static {
    struct Taking(Database);
    impl GraphCopy for Taking {
        fn place(&self) -> u64 {
            self.0.place()
        }
        fn take(&mut self, commits: Vec<Followed>) -> Result<(), String> {
            self.0.follow(commits).map_err(|error| error.to_string())
        }
    }
    Taking(database.clone())
}
