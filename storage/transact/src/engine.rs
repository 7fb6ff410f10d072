//! The engine: the state that transactions of one database share, and its interface.
//!
//! ```text
//!   commit -> validate, apply (one at a time) -> pending (many) -> append + sync (one group at a time) -> publish -> feed
//! ```
//!
//! The assignment of commit versions is in `commit`, sync and publishing in `pending`. Invariant: a snapshot is published only after its records are
//! synced. Locks are taken in this order: committer, pending commits, feeds.

use crate::committer::{Basis, Committer, Input, Refusal};
use crate::feed::{Feed, Feeds, Waker};
use crate::history::Point;
use crate::kept_files::{Files, KeptLimits};
use crate::past::Past;
use crate::pending::{LogThread, PendingCommits};
use crate::reads::Inner as Reads;
use crate::remote::{self, ClusterProcess, ClusterReport, Remote};
use crate::reserve::{EXEMPT, RESERVE_AFTER_REFUSALS, WriteReservations};
use crate::watch_table::WatchSets;
use crate::{Mode, OpenOptions, TransactError, Transaction};
use durable::BackingStore;
use order::{BankCounts, Gatekeepers};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use store::{Change, Names, Snapshot, Store, StoreOptions};
use world::clock::Clock;

/// The transaction engine of one database. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    /// For threads of its own, which do not keep it.
    pub itself: Weak<Shared>,
    pub store: Store,
    pub backing: Arc<dyn BackingStore>,
    pub clock: Arc<dyn Clock>,
    pub gatekeepers: Mutex<Gatekeepers>,
    pub committer: Mutex<Committer>,
    pub pending: Mutex<PendingCommits>,
    /// Made when two commits first meet; none if the operating system gave none then.
    pub log_thread: OnceLock<Option<LogThread>>,
    /// A group is published, or failed.
    pub all_published: Condvar,
    /// Snapshots that writing transactions began with, and how many did.
    pub active: Mutex<BTreeMap<u64, usize>>,
    pub feeds: Mutex<Feeds>,
    pub checkpointing: Mutex<()>,
    /// A bulk load is in the log, and the checkpoint behind it failed.
    pub load_unfinished: AtomicBool,
    pub past: Past,
    pub reservations: WriteReservations,
    pub watch_sets: Arc<WatchSets>,
    pub files: Files,
    pub store_options: StoreOptions,
    /// The shards, where this is the engine of a cluster's gate.
    pub remote: Option<Arc<dyn Remote>>,
    pub limits: KeptLimits,
    /// Commit version of the last checkpoint plus one; 0 for none.
    checkpointed: AtomicU64,
    pub commits: AtomicU64,
    pub groups: AtomicU64,
    pub conflicts: AtomicU64,
}

/// Counters of an engine since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitCounts {
    /// Transactions committed.
    pub commits: u64,
    /// Groups they were synced in.
    pub groups: u64,
    /// Transactions refused because of conflicts.
    pub conflicts: u64,
}

impl Engine {
    pub(crate) fn new(
        store: Store,
        backing: Arc<dyn BackingStore>,
        past: Past,
        (options, remote): (&OpenOptions, Option<Arc<dyn Remote>>),
    ) -> Engine {
        let gatekeepers = Gatekeepers::new(options.gatekeepers);
        // A bulk load that was cut short may have taken a commit version of the log.
        let (log_version, time_micros) = (backing.last_version(), past.newest(&store).1.time_micros);
        let committer = Committer::new(&gatekeepers, store.current(), log_version, time_micros);
        let shared = |itself: &Weak<Shared>| Shared {
            itself: itself.clone(),
            store,
            backing,
            clock: options.clock.clone(),
            gatekeepers: Mutex::new(gatekeepers),
            committer: Mutex::new(committer),
            pending: Mutex::default(),
            log_thread: OnceLock::new(),
            all_published: Condvar::new(),
            active: Mutex::default(),
            feeds: Mutex::default(),
            checkpointing: Mutex::default(),
            load_unfinished: AtomicBool::new(false),
            past,
            reservations: WriteReservations::default(),
            watch_sets: Arc::default(),
            files: Files::default(),
            store_options: options.store,
            remote: remote.clone(),
            limits: KeptLimits::of(options),
            checkpointed: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            groups: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
        };
        Engine { shared: Arc::new_cyclic(shared) }
    }
    /// The graph as of the last commit. At a cluster's gate: the snapshot of the transaction that began last, for reads of the catalogue only, since
    /// its chunks may be gone; [`Engine::latest`] has the rest.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.remote.as_ref().map_or_else(|| self.shared.store.current(), |remote| remote.last())
    }
    /// Is this the engine of a cluster's gate?
    pub fn is_gate(&self) -> bool {
        self.shared.remote.is_some()
    }
    /// The graph as of the last commit, wherever it lies.
    ///
    /// # Errors
    /// The shards of a cluster do not answer.
    pub fn latest(&self) -> Result<Snapshot, TransactError> {
        match &self.shared.remote {
            Some(remote) => Ok(remote.begin()?),
            None => Ok(self.snapshot()),
        }
    }
    /// As [`Engine::latest`], but commits of this time may be missing, where to have them would mean to wait.
    pub fn latest_within(&self, age: Duration) -> Result<Snapshot, TransactError> {
        match &self.shared.remote {
            Some(remote) => Ok(remote.begin_within(age)?),
            None => Ok(self.snapshot()),
        }
    }
    /// Begins a transaction on the latest snapshot, whose commit the first gatekeeper stamps.
    pub fn begin(&self, mode: Mode) -> Transaction {
        self.begin_at(0, mode)
    }
    /// Begins a transaction on the latest snapshot, whose commit this gatekeeper stamps; numbers beyond the last begin anew.
    pub fn begin_at(&self, gatekeeper: usize, mode: Mode) -> Transaction {
        if let Some(remote) = &self.shared.remote {
            let base = remote.begin().map_err(TransactError::from);
            return Transaction::begun(self.shared.clone(), mode, base, gatekeeper);
        }
        if mode == Mode::Read {
            return Transaction::new(self.shared.clone(), mode, self.snapshot(), gatekeeper);
        }
        // The snapshot is taken under the lock, so that what it can conflict with is not forgotten in between.
        let mut active = self.shared.active.lock();
        let base = self.snapshot();
        *active.entry(base.commit_version()).or_default() += 1;
        drop(active);
        Transaction::new(self.shared.clone(), mode, base, gatekeeper)
    }
    /// As [`Engine::begin_at`], over the snapshot that [`Engine::latest`] has just returned to the same statement: at a cluster's gate the shards
    /// need not be asked once more.
    pub fn begin_over(&self, latest: &Snapshot, gatekeeper: usize, mode: Mode) -> Transaction {
        match &self.shared.remote {
            Some(_) => Transaction::begun(self.shared.clone(), mode, Ok(latest.unmasked()), gatekeeper),
            None => self.begin_at(gatekeeper, mode),
        }
    }
    /// Begins a refused transaction anew. One that was refused often gets a reservation: commits that would write its read set wait for it, for a
    /// bounded time.
    pub fn begin_again(&self, gatekeeper: usize, refused: &Transaction) -> Transaction {
        let (refusals, reads) = refused.refusal();
        let reads = reads.filter(|_| refusals >= RESERVE_AFTER_REFUSALS);
        self.begin_in_turn(gatekeeper, refused, refusals, reads)
    }
    /// Begins the transaction that follows `before` in its session, if that was refused or committed in a contended reservation: the read set of that
    /// one is reserved at once. For transactions whose statements come one by one, which single statements would otherwise always overtake.
    pub fn begin_fairly(&self, gatekeeper: usize, before: &Transaction) -> Transaction {
        match before.take_contended() {
            Some(reads) => self.begin_in_turn(gatekeeper, before, 0, Some(reads)),
            None => {
                let (refusals, reads) = before.refusal();
                self.begin_in_turn(gatekeeper, before, refusals, reads)
            }
        }
    }
    fn begin_in_turn(
        &self,
        gatekeeper: usize,
        before: &Transaction,
        refusals: u32,
        reads: Option<Reads>,
    ) -> Transaction {
        let reservation = reads.filter(|_| !self.is_gate()).map(|reads| {
            let everything = Reads { everything: true, ..Reads::default() };
            let was_in_vain = refusals > 0 && before.reservation.is_some();
            let reserved = if was_in_vain { everything } else { reads };
            let reservation = self.shared.reservations.take(reserved, before.took_ns());
            // What was accepted before the reservation is published before the snapshot is taken.
            let accepted = self.shared.committer.lock().tip.commit_version();
            self.shared.land(accepted);
            reservation
        });
        let mut again = self.begin_at(gatekeeper, before.mode());
        (again.refusals, again.reservation) = (refusals, reservation);
        again
    }
    /// Every commit from now on, with the snapshot it begins after.
    pub fn subscribe(&self) -> (Snapshot, Feed) {
        let (snapshot, _, feed) = self.subscribe_waking(None);
        (snapshot, feed)
    }
    /// As [`Engine::subscribe`], for a subscriber that does not block: `waker` is called when there is something to read. Also returns the snapshot
    /// and its last commit.
    pub fn subscribe_waking(&self, waker: Option<Waker>) -> (Snapshot, Point, Feed) {
        let _nothing_is_published = self.shared.pending.lock();
        let (snapshot, at) = self.shared.past.newest(&self.shared.store);
        let feed = self.shared.feeds.lock().subscribe(snapshot.commit_version(), waker);
        (snapshot, at, feed)
    }
    /// Numbers of names, made where they are new; in a cluster they are committed first.
    pub fn define<T>(
        &self,
        mut make: impl FnMut(&Names) -> Result<T, TransactError>,
    ) -> Result<T, TransactError> {
        let Some(remote) = &self.shared.remote else { return make(self.shared.store.names()) };
        let mut made = None;
        remote::alter(&**remote, &mut |base| {
            made = Some(make(base.names())?);
            Ok(Vec::new())
        })?;
        made.ok_or(TransactError::NotInCluster { what: "names that nobody made", instead: crate::SEE_GUIDE })
    }
    /// Commits changes made from the latest snapshot while no other commit can intervene: catalogue commands, bulk loads. In a cluster `make` is
    /// called again if another commit came between.
    pub fn alter(
        &self,
        mut make: impl FnMut(&Snapshot) -> Result<Vec<Change>, TransactError>,
    ) -> Result<u64, TransactError> {
        if let Some(remote) = &self.shared.remote {
            return remote::alter(&**remote, &mut make);
        }
        let mut committer = self.shared.alone();
        let current = committer.tip.clone();
        let changes = make(&current)?;
        if changes.is_empty() {
            return Ok(current.commit_version());
        }
        let (reads, base) = (Reads::default(), Basis::of(&current));
        let mut input = Input {
            changes,
            reads,
            base,
            stamp: self.shared.stamp(0),
            reservation: Some(EXEMPT),
            made: None,
        };
        match self.shared.accept(&mut committer, &mut input) {
            Ok((waiting, leads)) => self.shared.await_publishing(&waiting, leads),
            Err(Refusal::Failed(error)) => Err(error),
            Err(Refusal::DelayedCommit) => unreachable!("catalogue commands are exempt from turns"),
        }
    }
    /// Counters since the engine was opened.
    pub fn counts(&self) -> CommitCounts {
        CommitCounts {
            commits: self.shared.commits.load(Ordering::Relaxed),
            groups: self.shared.groups.load(Ordering::Relaxed),
            conflicts: self.shared.conflicts.load(Ordering::Relaxed),
        }
    }
    /// The processes of its cluster (or this one alone), and counts of how commits and reads were ordered.
    pub fn cluster_report(&self) -> ClusterReport {
        if let Some(remote) = &self.shared.remote {
            return remote.report();
        }
        let (commits, bank) = (self.counts(), self.bank_counts());
        let itself = ClusterProcess {
            role: "database",
            state: Some("serves".to_string()),
            commits: Some(commits.commits),
            questions: Some(bank.questions),
            ..ClusterProcess::default()
        };
        let order = vec![
            ("commits", commits.commits, "commits since the database was opened"),
            ("groups", commits.groups, "groups of them that shared a sync of the log"),
            ("conflicts", commits.conflicts, "transactions that were refused, to be tried again"),
            (
                "byVectors",
                bank.by_vectors,
                "pairs of commits that conflicted and were in order by their vectors",
            ),
            ("questions", bank.questions, "pairs that were concurrent, and decided by the oracle"),
            ("restamped", bank.restamped, "stamps that came too late and were given anew"),
            ("announcements", bank.announcements, "messages between gatekeepers that told their clocks"),
            ("tauMicros", bank.tau_us, "time between announcements, in microseconds"),
        ];
        ClusterReport { processes: vec![itself], order }
    }
    /// Counters of the gatekeepers and the oracle, as of the last commit.
    pub fn bank_counts(&self) -> BankCounts {
        self.shared.committer.lock().bank.counts()
    }
    /// The store under the engine.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }
    /// Ends all feeds.
    pub(crate) fn close_feeds(&self) {
        self.shared.feeds.lock().close();
    }
}

impl Shared {
    /// The present, after which every commit is later than this.
    pub fn no_commit_until_after(&self, micros: u64) -> (Snapshot, Point) {
        let mut committer = self.alone();
        committer.not_before(micros.saturating_add(1));
        self.past.newest(&self.store)
    }
    /// Commit version of the last checkpoint.
    pub fn checkpointed_version(&self) -> Option<u64> {
        self.checkpointed.load(Ordering::Acquire).checked_sub(1)
    }
    pub fn set_checkpointed_version(&self, commit_version: u64) {
        self.checkpointed.store(commit_version + 1, Ordering::Release);
    }

    /// A writing transaction ended.
    pub fn retire(&self, base: u64) {
        if self.remote.is_some() {
            return;
        }
        let mut active = self.active.lock();
        if let Some(count) = active.get_mut(&base) {
            *count -= 1;
            if *count == 0 {
                active.remove(&base);
            }
        }
    }
}
