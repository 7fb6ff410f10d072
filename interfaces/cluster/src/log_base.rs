//! The base of the cluster's log, made by a replica: old commits as few records that make the same graph. The commits that it replaces are deleted.
//!
//! ```text
//!   replica at commit version n ── its graph as records ──> truth, beside the log ── all followers have n? ──> the log begins with them ──> what is below is deleted
//! ```
//!
//! Idea: a base is a part of the log like any other, so new shards and replicas read it as they read commits. The first live follower by name makes
//! it. Cost: the graph is written once more whenever as many bytes were committed as it has; so bases cost no more than commits.

use crate::follower::FollowProgress;
use crate::load;
use crate::replica::Connect;
use database::Database;
use model::ChunkNo;
use parking_lot::{Condvar, Mutex};
use protocol::{LogCut, Sequence, Unknown};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use world::threads::{self, Thread};

/// Bytes of them after which another is due, of a small graph.
const BASE_BYTES: u64 = 256 << 20;
/// Cost of reading a commit again, in bytes of a base.
const COMMIT_COST_BYTES: u64 = 4 << 10;
/// It looks so often whether a base is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A follower that was silent for so long makes no base: the next one by name does.
const SILENT_US: u64 = 60_000_000;

/// Why there is no base.
enum NotMade {
    Store(StoreError),
    Unknown,
    /// It is no longer wanted.
    Stopped,
}

impl From<StoreError> for NotMade {
    fn from(error: StoreError) -> NotMade {
        NotMade::Store(error)
    }
}

impl From<Unknown> for NotMade {
    fn from(Unknown: Unknown) -> NotMade {
        NotMade::Unknown
    }
}

/// The thread that makes bases, until this is dropped.
pub(crate) struct BaseMaker {
    stop: Arc<BaseStop>,
    _thread: Thread<()>,
}

#[derive(Default)]
struct BaseStop {
    is_wanted: Mutex<bool>,
    told: Condvar,
}

/// The parts of its replica that it needs.
pub(crate) struct BaseParts {
    pub(crate) name: String,
    pub(crate) shards: u16,
    /// Commits after which a base is due, of a small graph.
    pub(crate) after: u64,
    pub(crate) database: Database,
    pub(crate) progress: Arc<FollowProgress>,
    pub(crate) connect: Arc<Connect>,
}

impl BaseMaker {
    /// Begins.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(parts: BaseParts) -> std::io::Result<BaseMaker> {
        let stop = Arc::new(BaseStop::default());
        let making =
            BaseMaking { parts, stop: stop.clone(), made: None, bytes_before: 0, last_bytes: 0, told: None };
        let thread = threads::try_spawn("cluster-base", move || making.run())?;
        Ok(BaseMaker { stop, _thread: thread })
    }
}

impl Drop for BaseMaker {
    fn drop(&mut self) {
        *self.stop.is_wanted.lock() = true;
        self.stop.told.notify_all();
    }
}

struct BaseMaking {
    parts: BaseParts,
    stop: Arc<BaseStop>,
    /// A base that waits for followers: its commit version, and how many records it has.
    made: Option<(u64, u64)>,
    /// Bytes that had been followed when the last base was made.
    bytes_before: u64,
    /// Bytes of the last base.
    last_bytes: u64,
    /// The follower that it waits for, which is logged once.
    told: Option<String>,
}

impl BaseMaking {
    fn run(mut self) {
        let mut truth = None;
        loop {
            let mut is_wanted = self.stop.is_wanted.lock();
            if !*is_wanted {
                self.stop.told.wait_for(&mut is_wanted, LOOK_EVERY);
            }
            if *is_wanted {
                return;
            }
            drop(is_wanted);
            if truth.is_none() {
                truth = (self.parts.connect)().ok();
            }
            match truth.as_mut().map(|truth| self.look(&mut **truth)) {
                None | Some(Ok(())) => {}
                Some(Err(NotMade::Stopped)) => return,
                Some(Err(NotMade::Unknown)) => truth = None,
                Some(Err(NotMade::Store(error))) => {
                    self.tell(format!("no base of the cluster's log can be made: {error}"));
                }
            }
        }
    }
    fn tell(&mut self, what: String) {
        if self.told.as_ref() != Some(&what) {
            eprintln!("{what}");
            self.told = Some(what);
        }
    }

    fn look(&mut self, truth: &mut dyn Sequence) -> Result<(), NotMade> {
        let followers = truth.followers()?;
        let first = followers.iter().find(|other| other.silent_us < SILENT_US);
        if first.is_none_or(|first| first.name != self.parts.name) {
            self.made = None;
            return Ok(());
        }
        // What cannot be deleted now is another time: a new base is worth more.
        while truth.delete_below_base().unwrap_or(false) {
            if *self.stop.is_wanted.lock() {
                return Err(NotMade::Stopped);
            }
        }
        if self.made.is_none() && self.is_due() {
            self.made = self.make(truth)?;
        }
        let Some((base, records)) = self.made else { return Ok(()) };
        match truth.cut(&self.parts.name, base, records)? {
            LogCut::NeededBy(name) => self.tell(format!(
                "the cluster's log keeps what {name} has not read yet, which is behind version {base}; it does so for a week"
            )),
            LogCut::Done | LogCut::Outdated => (self.made, self.told) = (None, None),
        }
        Ok(())
    }

    fn is_due(&self) -> bool {
        let (commit_version, base, bytes) = self.parts.progress.read();
        // Before the log was read it is not known which base it has.
        let Some(base) = base else { return false };
        let commits = commit_version.saturating_sub(base);
        commits > 0
            && (commits >= self.parts.after.max(self.last_bytes / COMMIT_COST_BYTES)
                || bytes - self.bytes_before >= BASE_BYTES.max(self.last_bytes))
    }

    /// Stores the graph of the replica as records; returns its commit version, and their number. None where they are no fewer than the commits.
    fn make(&mut self, truth: &mut dyn Sequence) -> Result<Option<(u64, u64)>, NotMade> {
        let (_, _, bytes_before) = self.parts.progress.read();
        let graph = self.parts.database.snapshot();
        let owners: BTreeMap<ChunkNo, u16> =
            truth.routes()?.iter().map(|route| (route.chunk, route.owner)).collect();
        let (base, name) = (graph.commit_version(), &self.parts.name);
        let (mut records, mut bytes) = (0, 0);
        load::records::<NotMade>(&graph, &owners, self.parts.shards, |parts| {
            if *self.stop.is_wanted.lock() {
                return Err(NotMade::Stopped);
            }
            records += 1;
            bytes += parts.iter().map(|(_, part)| part.len() as u64).sum::<u64>();
            Ok(truth.put_base(name, base, records, &parts)?)
        })?;
        (self.bytes_before, self.last_bytes) = (bytes_before, bytes);
        // A graph without records is no base: there is nothing to begin with.
        Ok((records > 0 && records <= base).then_some((base, records)))
    }
}
