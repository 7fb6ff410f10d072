//! The engine of commits: validates, orders, logs, publishes.
//!
//! ```text
//!   commit ─┐
//!   commit ─┼─> queue ─> one committer: validate, apply ─> append + sync ─> publish ─> feed
//!   commit ─┘            (one of those who wait leads, and takes the whole queue)
//! ```
//!
//! Idea: group commit by turns. A committing thread queues its changes; if nobody leads it leads, takes everything queued and settles
//! it, so one sync serves all that arrived while the last one ran. Who was settled leaves at once, without waiting for the next group.
//! Each commit passes through a gatekeeper, which stamps it as it queues; the bank gives it a place that extends the order of the stamps.
//! Invariants: a snapshot is published only after its records are synced; places strictly increase; a record in the log applies to the
//! snapshot of the record before it; a name is in a record that is synced before or with the first that uses it.

use crate::conflicts::Conflicts;
use crate::feed::{CommitRecord, Feed, Feeds};
use crate::footprint::footprint;
use crate::history::Point;
use crate::kept::Files;
use crate::past::Past;
use crate::reads::Inner as Reads;
use crate::reserve::{EXEMPT, RESERVE_AFTER_REFUSALS, Turns};
use crate::transaction::explain;
use crate::{Mode, OpenOptions, TransactError, Transaction, constraints, record, refine};
use durable::BackingStore;
use order::{Bank, BankCounts, Gatekeepers, Stamp};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use store::{Change, Snapshot, Store, StoreOptions};
use world::clock::Clock;

/// Keys remembered for validation before the oldest reader is looked up and what it cannot conflict with is forgotten.
const FORGET_AT_KEYS: usize = 1 << 16;
/// A group takes no further transaction once its records have so many bytes: one sync pays for them anyhow, and memory is bounded.
const GROUP_BYTES_ENOUGH: usize = 64 << 20;
/// Bytes one record may have, so that it fits into what the log takes at once, behind a group that was just not enough.
pub(crate) const RECORD_BYTES_MAX: usize = durable::GROUP_BYTES_MAX as usize - 2 * GROUP_BYTES_ENOUGH;

/// The transaction engine of one database. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub store: Store,
    pub backing: Arc<dyn BackingStore>,
    pub clock: Arc<dyn Clock>,
    queue: Mutex<Queue>,
    /// A group was settled.
    settled: Condvar,
    pub committer: Mutex<Committer>,
    active: Mutex<BTreeMap<u64, usize>>,
    feeds: Mutex<Feeds>,
    pub checkpointing: Mutex<()>,
    pub past: Past,
    pub turns: Turns,
    pub files: Files,
    pub store_options: StoreOptions,
    pub anchor_log_bytes: u64,
    /// Place of the last checkpoint plus one; 0 for none.
    checkpointed: AtomicU64,
    commits: AtomicU64,
    groups: AtomicU64,
    conflicts: AtomicU64,
}

pub(crate) struct Committer {
    bank: Bank,
    conflicts: Conflicts,
    last_time_micros: u64,
    /// Keys at which what no open transaction can conflict with is forgotten next.
    forget_at_keys: usize,
}

struct Queue {
    waiting: Vec<Arc<Pending>>,
    gatekeepers: Gatekeepers,
    /// Somebody settles a group now.
    led: bool,
}

/// What a transaction began with.
#[derive(Clone, Copy)]
pub(crate) struct Basis {
    place: u64,
    labels: usize,
    edge_types: usize,
}

impl Basis {
    pub fn of(snapshot: &Snapshot) -> Basis {
        let names = snapshot.catalog().names();
        Basis { place: snapshot.place(), labels: names.labels().len(), edge_types: names.edge_types().len() }
    }
    /// Who looked for a label or type that did not exist yet recorded nothing by which it could be found. New ones are rare: whoever
    /// began before one tries again.
    fn knows_names_of(&self, current: &Snapshot) -> bool {
        let now = Basis::of(current);
        self.place == now.place || (self.labels == now.labels && self.edge_types == now.edge_types)
    }
}

struct Pending {
    input: Mutex<Option<Input>>,
    outcome: Mutex<Option<Result<u64, TransactError>>>,
    /// It waits for somebody's turn to end, and is then tried again.
    held: AtomicBool,
    /// What it read, if it was refused because of that.
    refused: Mutex<Option<Reads>>,
}

/// What is to be committed.
struct Input {
    changes: Vec<Change>,
    reads: Reads,
    base: Basis,
    stamp: Stamp,
    turn: Option<u64>,
}

/// Why a commit does not happen now.
enum Refusal {
    /// Somebody's turn comes first.
    Held,
    Failed(TransactError),
}

impl<E: Into<TransactError>> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Failed(error.into())
    }
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
        options: &OpenOptions,
    ) -> Engine {
        let place = store.current().place();
        let gatekeepers = Gatekeepers::new(options.gatekeepers);
        let (clock, store_options) = (options.clock.clone(), options.store);
        let committer = Committer {
            // A bulk load that was cut short may have taken a place of the log.
            bank: Bank::new(&gatekeepers, place.max(backing.last_place())),
            conflicts: Conflicts::starting_at(place),
            last_time_micros: past.newest(&store).1.time_micros,
            forget_at_keys: FORGET_AT_KEYS,
        };
        let shared = Shared {
            store,
            backing,
            clock,
            queue: Mutex::new(Queue { waiting: Vec::new(), gatekeepers, led: false }),
            settled: Condvar::new(),
            committer: Mutex::new(committer),
            active: Mutex::default(),
            feeds: Mutex::default(),
            checkpointing: Mutex::default(),
            past,
            turns: Turns::default(),
            files: Files::default(),
            store_options,
            anchor_log_bytes: options.anchor_log_bytes,
            checkpointed: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            groups: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
        };
        Engine { shared: Arc::new(shared) }
    }
    /// The graph as of the last commit.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.store.current()
    }
    /// Begins a transaction on the latest snapshot, whose commit the first gatekeeper stamps.
    pub fn begin(&self, mode: Mode) -> Transaction {
        self.begin_at(0, mode)
    }
    /// Begins a transaction on the latest snapshot, whose commit this gatekeeper stamps; numbers beyond the last begin anew.
    pub fn begin_at(&self, gatekeeper: usize, mode: Mode) -> Transaction {
        if mode == Mode::Read {
            return Transaction::new(self.shared.clone(), mode, self.snapshot(), gatekeeper);
        }
        // The snapshot is taken under the lock, so that what it can conflict with is not forgotten in between.
        let mut active = self.shared.active.lock();
        let base = self.snapshot();
        *active.entry(base.place()).or_default() += 1;
        drop(active);
        Transaction::new(self.shared.clone(), mode, base, gatekeeper)
    }
    /// Begins anew what was refused because of a conflict. Who was refused often gets a turn: commits that would write what it read wait for
    /// it, for a bounded time.
    pub fn begin_again(&self, gatekeeper: usize, refused: &Transaction) -> Transaction {
        let (refusals, reads) = refused.refusal();
        let turn = reads.filter(|_| refusals >= RESERVE_AFTER_REFUSALS).map(|reads| {
            let everything = Reads { everything: true, ..Reads::default() };
            let reserved = if refused.turn.is_some() { everything } else { reads };
            let turn = self.shared.turns.take(reserved, refused.age_ns());
            // What was accepted before the turn is published before the snapshot is taken.
            drop(self.shared.committer.lock());
            turn
        });
        let mut again = self.begin_at(gatekeeper, refused.mode());
        (again.refusals, again.turn) = (refusals, turn);
        again
    }
    /// Every commit from now on, with the snapshot it begins after.
    pub fn subscribe(&self) -> (Snapshot, Feed) {
        let _committer = self.shared.committer.lock();
        let snapshot = self.snapshot();
        let feed = self.shared.feeds.lock().subscribe(snapshot.place());
        (snapshot, feed)
    }
    /// Changes made from the latest snapshot while no other commit can intervene: catalogue commands, bulk loads.
    pub fn alter(
        &self,
        make: impl FnOnce(&Snapshot) -> Result<Vec<Change>, TransactError>,
    ) -> Result<u64, TransactError> {
        let mut committer = self.shared.committer.lock();
        let current = self.snapshot();
        let changes = make(&current)?;
        if changes.is_empty() {
            return Ok(current.place());
        }
        let stamp = self.shared.queue.lock().gatekeepers.stamp(0, self.shared.clock.now_ns() / 1_000);
        let (reads, base) = (Reads::default(), Basis::of(&current));
        let pending = Arc::new(Pending::new(Input { changes, reads, base, stamp, turn: Some(EXEMPT) }));
        self.shared.commit_group(&mut committer, std::slice::from_ref(&pending));
        pending.take_outcome()
    }
    /// What happened since the engine was opened.
    pub fn counts(&self) -> CommitCounts {
        CommitCounts {
            commits: self.shared.commits.load(Ordering::Relaxed),
            groups: self.shared.groups.load(Ordering::Relaxed),
            conflicts: self.shared.conflicts.load(Ordering::Relaxed),
        }
    }
    /// What the gatekeepers and the oracle did, as of the last commit.
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

impl Committer {
    /// Goes on from the snapshot of this place, above what the log has taken; transactions that began before it are tried again.
    pub fn jump_to(&mut self, place: u64, log_place: u64) {
        self.bank.next_epoch(place.max(log_place));
        self.conflicts = Conflicts::starting_at(place);
    }
    /// No commit from now on is earlier than this.
    pub fn not_before(&mut self, micros: u64) {
        self.last_time_micros = self.last_time_micros.max(micros);
    }
}

impl Pending {
    fn new(input: Input) -> Pending {
        Pending {
            input: Mutex::new(Some(input)),
            outcome: Mutex::default(),
            held: AtomicBool::new(false),
            refused: Mutex::default(),
        }
    }
    /// Need it wait no longer for the committer?
    fn is_seen_to(&self) -> bool {
        self.held.load(Ordering::Acquire) || self.outcome.lock().is_some()
    }
    fn take_outcome(&self) -> Result<u64, TransactError> {
        self.outcome.lock().take().expect("the committer settles every transaction it takes")
    }
}

/// Held by whoever leads: the lead ends, and those who wait are woken, even if a panic ends the group.
struct Leading<'a>(&'a Shared);

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.queue.lock().led = false;
        self.0.settled.notify_all();
    }
}

/// A transaction that passed validation, waiting for the log.
struct Accepted<'a> {
    pending: &'a Pending,
    record: Arc<CommitRecord>,
    payload: Vec<u8>,
}

impl Shared {
    /// Commits at a gatekeeper, in a turn or not. If it is refused because of what it read, that comes back.
    pub fn commit(
        &self,
        changes: Vec<Change>,
        reads: Reads,
        base: Basis,
        (gatekeeper, turn): (usize, Option<u64>),
    ) -> (Result<u64, TransactError>, Option<Reads>) {
        let now_us = self.clock.now_ns() / 1_000;
        let stamp = self.queue.lock().gatekeepers.stamp(gatekeeper, now_us);
        let pending = Arc::new(Pending::new(Input { changes, reads, base, stamp, turn }));
        loop {
            self.settle(&pending);
            if !pending.held.swap(false, Ordering::AcqRel) {
                return (pending.take_outcome(), pending.refused.lock().take());
            }
            self.turns.wait_for_end();
        }
    }

    /// Queues a transaction, and leads a group or waits for who does, until it is settled or held back.
    fn settle(&self, pending: &Arc<Pending>) {
        let mut queue = self.queue.lock();
        queue.waiting.push(pending.clone());
        while queue.led && !pending.is_seen_to() {
            self.settled.wait(&mut queue);
        }
        if !pending.is_seen_to() {
            queue.led = true;
            drop(queue);
            let _leading = Leading(self);
            // Whoever arrived while the lock was awaited goes along.
            let mut committer = self.committer.lock();
            let mut queue = self.queue.lock();
            let group = std::mem::take(&mut queue.waiting);
            committer.bank.exchange(&mut queue.gatekeepers);
            drop(queue);
            self.commit_group(&mut committer, &group);
        }
    }

    fn commit_group(&self, committer: &mut Committer, mut group: &[Arc<Pending>]) {
        while !group.is_empty() {
            let settled = self.commit_some(committer, group);
            group = &group[settled..];
        }
    }

    /// Settles transactions from the front of a group, as many as go into one append; how many those were.
    fn commit_some(&self, committer: &mut Committer, group: &[Arc<Pending>]) -> usize {
        let mut current = self.store.current();
        let (names, mark) = self.store.names().undurable();
        let mut names: Vec<Change> = names.into_iter().map(Change::DefineName).collect();
        let mut accepted: Vec<Accepted<'_>> = Vec::with_capacity(group.len());
        let mut bytes = 0;
        let mut settled = 0;
        for pending in group {
            if bytes >= GROUP_BYTES_ENOUGH {
                break;
            }
            settled += 1;
            let mut input = pending.input.lock().take().expect("a transaction is committed once");
            match self.accept(committer, &current, &names, &mut input) {
                Ok((next, record, payload)) => {
                    names.clear();
                    bytes += payload.len() + durable::RECORD_FRAME_BYTES;
                    current = next;
                    accepted.push(Accepted { pending, record: Arc::new(record), payload });
                }
                Err(Refusal::Held) => {
                    *pending.input.lock() = Some(input);
                    pending.held.store(true, Ordering::Release);
                }
                Err(Refusal::Failed(error)) => {
                    self.conflicts.fetch_add(error.is_retryable() as u64, Ordering::Relaxed);
                    *pending.refused.lock() = error.is_retryable().then_some(input.reads);
                    *pending.outcome.lock() = Some(Err(error));
                }
            }
        }
        if accepted.is_empty() {
            return settled;
        }
        let records: Vec<(u64, &[u8])> =
            accepted.iter().map(|one| (one.record.place, one.payload.as_slice())).collect();
        match self.backing.append_and_sync(&records) {
            Ok(()) => {
                self.store.names().mark_durable(mark);
                self.past.logged(bytes as u64);
                self.publish(current, &accepted);
            }
            Err(error) => {
                committer.jump_to(self.store.current().place(), self.backing.last_place());
                accepted.iter().for_each(|one| *one.pending.outcome.lock() = Some(Err(error.clone().into())));
            }
        }
        self.forget_old(committer);
        settled
    }

    /// Validates one transaction against all before it, and applies it.
    fn accept(
        &self,
        committer: &mut Committer,
        current: &Snapshot,
        names: &[Change],
        input: &mut Input,
    ) -> Result<(Snapshot, CommitRecord, Vec<u8>), Refusal> {
        let Input { changes, reads, base, stamp, turn } = input;
        if !base.knows_names_of(current) {
            let what = "a label or relationship type that it could not know came into being meanwhile";
            return Err(TransactError::Conflict { what }.into());
        }
        committer.conflicts.validate(reads, base.place).map_err(|what| TransactError::Conflict { what })?;
        if !committer.bank.admits(stamp) {
            *stamp = committer.bank.restamp(&mut self.queue.lock().gatekeepers, stamp);
        }
        let place = committer.bank.take();
        let time_micros = self.clock.wall_us().max(committer.last_time_micros);
        let applied = current
            .apply(place, &[changes.as_slice()])
            .map_err(|error| explain(error, current).into())
            .and_then(|next| {
                constraints::check(changes, &next)?;
                let footprint = footprint(changes, current, &next)?;
                if self.turns.holds_back(*turn, &footprint) {
                    return Err(Refusal::Held);
                }
                let mut changes = std::mem::take(changes);
                // Only now: to the store every name that was handed out is known, and one defined to it counts as durable.
                changes.splice(0..0, names.iter().cloned());
                let record = CommitRecord { place, time_micros, changes };
                let payload = record::encode(&record);
                if payload.len() > RECORD_BYTES_MAX {
                    return Err(TransactError::TooLarge.into());
                }
                Ok((footprint, next, record, payload))
            });
        match applied {
            Ok((footprint, next, record, payload)) => {
                let alone = committer.bank.is_alone();
                let touched = if alone { Default::default() } else { refine::touched(reads, &footprint) };
                committer.bank.settle(stamp.clone(), touched);
                committer.conflicts.record(place, footprint);
                committer.last_time_micros = time_micros;
                Ok((next, record, payload))
            }
            Err(error) => {
                committer.bank.withdraw(place);
                Err(error)
            }
        }
    }

    fn publish(&self, current: Snapshot, accepted: &[Accepted<'_>]) {
        let point =
            |one: &Accepted<'_>| Point { place: one.record.place, time_micros: one.record.time_micros };
        let (Some(first), Some(last)) = (accepted.first(), accepted.last()) else { return };
        self.past.publish(&self.store, current, point(first), point(last));
        self.commits.fetch_add(accepted.len() as u64, Ordering::Relaxed);
        self.groups.fetch_add(1, Ordering::Relaxed);
        let mut feeds = self.feeds.lock();
        if !feeds.is_empty() {
            feeds.publish(&accepted.iter().map(|one| one.record.clone()).collect::<Vec<_>>());
        }
        drop(feeds);
        accepted.iter().for_each(|one| *one.pending.outcome.lock() = Some(Ok(one.record.place)));
    }

    fn forget_old(&self, committer: &mut Committer) {
        if committer.conflicts.len() > committer.forget_at_keys {
            let active = self.active.lock();
            let oldest = active.keys().next().copied().unwrap_or_else(|| self.store.current().place());
            committer.conflicts.forget_until(oldest);
            // Going through all keys is paid for by as many written since.
            committer.forget_at_keys = FORGET_AT_KEYS.max(2 * committer.conflicts.len());
        }
    }

    /// The present, after which every commit is later than this.
    pub fn no_commit_until_after(&self, micros: u64) -> (Snapshot, Point) {
        let mut committer = self.committer.lock();
        committer.not_before(micros.saturating_add(1));
        self.past.newest(&self.store)
    }
    /// Place of the last checkpoint.
    pub fn checkpointed_place(&self) -> Option<u64> {
        self.checkpointed.load(Ordering::Acquire).checked_sub(1)
    }
    pub fn set_checkpointed_place(&self, place: u64) {
        self.checkpointed.store(place + 1, Ordering::Release);
    }

    /// A writing transaction ended.
    pub fn retire(&self, base: u64) {
        let mut active = self.active.lock();
        if let Some(count) = active.get_mut(&base) {
            *count -= 1;
            if *count == 0 {
                active.remove(&base);
            }
        }
    }
}
