//! The past: the graph as it was at any moment that is kept.
//!
//! ```text
//!   log        |--------------------------------------------------------> commits, each with its time
//!   anchors    A0          A1          A2                      latest     checkpoints that are kept, blobs shared
//!   asked for                    ^ = A1 + the log from A1 to here
//! ```
//! Idea: nothing is kept for the past but what there is anyway: some checkpoints are not given up, and neither is the log behind the
//! oldest of them. A moment is rebuilt from the nearest anchor before it and the commits between; rebuilt moments and the last
//! commits are remembered, and serve as starting points too. Invariants: anchors lie at most [`ANCHOR_LOG_BYTES`] of log apart (and a
//! checkpoint's worth more), so one question costs a bounded replay; a checkpoint that holds what never was in the log stays as
//! long as anything before it, since nobody can get behind it by replay. Cost: the present pays nothing, not even a lock.

use crate::history::{History, Moment, Point};
use crate::open::graph_with_load;
use crate::replay::replay;
use crate::{Engine, TransactError};
use durable::Anchor;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{Names, Snapshot, Store};

/// Bytes of log between anchors, unless told otherwise: a checkpoint is only given up if its neighbours are no farther apart than that. Replaying so much takes
/// about two seconds where transactions are small.
pub const ANCHOR_LOG_BYTES: u64 = 64 << 20;
/// Bytes of log that are kept so that commits can be asked for again: beyond it the oldest anchor goes, and the log before the next. A
/// longer history keeps more.
pub const RETAINED_LOG_BYTES_MAX: u64 = 1 << 30;
/// Moments of the past that stay in memory after they were rebuilt; the one asked for longest ago goes first.
pub const PAST_SNAPSHOTS_MAX: usize = 4;
/// Groups of commits whose snapshots stay in memory where history is kept: asking for these costs nothing.
pub const RECENT_GROUPS_MAX: usize = 16;

/// What an engine knows of its past.
pub(crate) struct Past {
    history: AtomicU64,
    newest: Mutex<Newest>,
    rebuilt: Mutex<Vec<Known>>,
    /// One moment is rebuilt at a time: that bounds what rebuilding takes from the present.
    rebuilding: Mutex<()>,
    /// Read while anchors and log are in use, written while they are given up.
    pub giving_up: RwLock<()>,
    /// Bytes of records that were ever logged, and how many of them the last checkpoint covers.
    logged_bytes: AtomicU64,
    covered_bytes: AtomicU64,
}

#[derive(Default)]
struct Newest {
    point: Point,
    recent: VecDeque<Known>,
}

/// A snapshot, from which commit it holds, and before which one it ends.
#[derive(Clone)]
struct Known {
    snapshot: Snapshot,
    at: Point,
    until: Option<Point>,
}

impl Known {
    /// Is it the very answer?
    fn answers(&self, moment: Moment) -> bool {
        let exact = moment == Moment::Place(self.at.place);
        exact || (moment.includes(self.at) && self.until.is_some_and(|until| !moment.includes(until)))
    }
}

impl Past {
    /// The past of an engine that goes on at `newest`.
    pub fn new(history: u64, newest: Point, covered_bytes: u64, replayed_bytes: u64) -> Past {
        Past {
            history: AtomicU64::new(history),
            newest: Mutex::new(Newest { point: newest, recent: VecDeque::new() }),
            rebuilt: Mutex::default(),
            rebuilding: Mutex::default(),
            giving_up: RwLock::default(),
            logged_bytes: AtomicU64::new(covered_bytes + replayed_bytes),
            covered_bytes: AtomicU64::new(covered_bytes),
        }
    }
    pub fn history(&self) -> History {
        History::of_number(self.history.load(Ordering::Acquire))
    }
    /// The current snapshot and the commit it ends with.
    pub fn newest(&self, store: &Store) -> (Snapshot, Point) {
        let newest = self.newest.lock();
        (store.current(), newest.point)
    }
    /// Makes a snapshot the current one. `first` and `last` are the first and last commit it has beyond the one before it.
    pub fn publish(&self, store: &Store, snapshot: Snapshot, first: Point, last: Point) {
        let mut newest = self.newest.lock();
        store.publish(snapshot.clone());
        newest.point = last;
        if self.history.load(Ordering::Acquire) != 0 {
            if let Some(before) = newest.recent.back_mut() {
                before.until = Some(first);
            }
            if newest.recent.len() == RECENT_GROUPS_MAX {
                newest.recent.pop_front();
            }
            newest.recent.push_back(Known { snapshot, at: last, until: None });
        }
    }
    /// Replaces the current snapshot by the same graph in another shape. No commit may land meanwhile.
    pub fn reshape(&self, store: &Store, graph: Snapshot) {
        let _newest = self.newest.lock();
        store.publish(graph);
    }
    /// So many bytes of records were appended to the log.
    pub fn logged(&self, bytes: u64) {
        self.logged_bytes.fetch_add(bytes, Ordering::AcqRel);
    }
    /// Bytes of records ever logged.
    pub fn logged_bytes(&self) -> u64 {
        self.logged_bytes.load(Ordering::Acquire)
    }
    /// A checkpoint covers the first so many bytes of records.
    pub fn covered(&self, bytes: u64) {
        self.covered_bytes.store(bytes, Ordering::Release);
    }
    /// Bytes of records behind the last checkpoint.
    pub fn uncovered_bytes(&self) -> u64 {
        self.logged_bytes().saturating_sub(self.covered_bytes.load(Ordering::Acquire))
    }
    /// What lies before this place can no longer be rebuilt.
    pub fn forget_before(&self, place: u64) {
        self.newest.lock().recent.retain(|known| known.at.place >= place);
        self.rebuilt.lock().retain(|known| known.at.place >= place);
    }

    /// The answer, if it is in memory.
    fn remembered(&self, moment: Moment) -> Option<Known> {
        let newest = self.newest.lock();
        if let Some(known) = newest.recent.iter().find(|known| known.answers(moment)) {
            return Some(known.clone());
        }
        drop(newest);
        let mut rebuilt = self.rebuilt.lock();
        let at = rebuilt.iter().position(|known| known.answers(moment))?;
        let known = rebuilt.remove(at);
        rebuilt.push(known.clone());
        Some(known)
    }
    fn remember(&self, known: Known) {
        let mut rebuilt = self.rebuilt.lock();
        if rebuilt.len() == PAST_SNAPSHOTS_MAX {
            rebuilt.remove(0);
        }
        rebuilt.push(known);
    }
    /// The nearest snapshot in memory that a replay to `moment` can begin with.
    fn nearest(&self, moment: Moment) -> Option<(Snapshot, Point)> {
        let newest = self.newest.lock();
        let rebuilt = self.rebuilt.lock();
        let fitting = newest.recent.iter().chain(rebuilt.iter()).filter(|known| moment.includes(known.at));
        fitting.max_by_key(|known| known.at.place).map(|known| (known.snapshot.clone(), known.at))
    }
}

/// The commit an anchor ends with.
pub(crate) fn point_of(anchor: &Anchor) -> Point {
    Point { place: anchor.place, time_micros: anchor.time_micros }
}

impl Engine {
    /// How far back the past is kept.
    pub fn history(&self) -> History {
        self.shared.past.history()
    }
    /// Changes how far back the past is kept, for good. What is given up is given up at once; what is to be kept is kept from the
    /// last checkpoint on.
    pub fn set_history(&self, history: History) -> Result<(), TransactError> {
        if history == self.history() {
            return Ok(());
        }
        if !self.shared.backing.is_durable() {
            return Err(TransactError::NoHistoryInMemory);
        }
        self.shared.backing.set_history(history.number())?;
        self.shared.past.history.store(history.number(), Ordering::Release);
        if history == History::None {
            self.shared.past.forget_before(u64::MAX);
        }
        self.give_up()
    }
    /// The oldest commit after which the graph can be asked for.
    pub fn oldest(&self) -> Point {
        let newest = || self.shared.past.newest.lock().point;
        match self.history() {
            History::None => newest(),
            _ => self.shared.backing.anchors().first().map_or_else(newest, point_of),
        }
    }
    /// The last commit.
    pub fn newest(&self) -> Point {
        self.shared.past.newest.lock().point
    }

    /// The graph as it was at a moment.
    ///
    /// # Errors
    /// The moment is not kept any more, or has not come yet; the log or a checkpoint cannot be read.
    pub fn snapshot_at(&self, moment: Moment) -> Result<Snapshot, TransactError> {
        if let Some(present) = self.present_at(moment)? {
            return Ok(present);
        }
        if self.history() == History::None {
            return Err(TransactError::NotKept { asked: moment, oldest: None });
        }
        self.past_at(moment).map(|(snapshot, _)| snapshot)
    }

    /// The graph as it was at a moment that lies in the past, and the last commit that it holds; whether or not history is kept.
    pub(crate) fn past_at(&self, moment: Moment) -> Result<(Snapshot, Point), TransactError> {
        let past = &self.shared.past;
        let found = |known: Known| (known.snapshot, known.at);
        if let Some(known) = past.remembered(moment) {
            return Ok(found(known));
        }
        let _one_at_a_time = past.rebuilding.lock();
        if let Some(known) = past.remembered(moment) {
            return Ok(found(known));
        }
        let _kept = past.giving_up.read();
        self.rebuild(moment).map(found)
    }

    /// The current snapshot, if it is the answer.
    fn present_at(&self, moment: Moment) -> Result<Option<Snapshot>, TransactError> {
        let past = &self.shared.past;
        let (current, point) = past.newest(&self.shared.store);
        match moment {
            Moment::Place(place) if place == point.place => Ok(Some(current)),
            Moment::Place(place) if place > point.place => {
                Err(TransactError::NotReached { asked: moment, newest: point })
            }
            Moment::Time(micros) if micros > self.shared.clock.wall_us() => {
                Err(TransactError::NotReached { asked: moment, newest: point })
            }
            Moment::Time(micros) if micros >= point.time_micros => {
                // A commit in flight may have this time or an earlier one: it is awaited. Later ones are given a later time, so that
                // whoever asks again gets the same answer.
                let settled = self.shared.no_commit_until_after(micros);
                Ok((micros >= settled.1.time_micros).then_some(settled.0))
            }
            _ => Ok(None),
        }
    }

    fn rebuild(&self, moment: Moment) -> Result<Known, TransactError> {
        let (past, backing) = (&self.shared.past, &self.shared.backing);
        let anchors = backing.anchors();
        let anchor = anchors.iter().rev().find(|anchor| moment.includes(point_of(anchor)));
        let oldest = || anchors.first().map(point_of);
        let anchor = anchor.ok_or_else(|| TransactError::NotKept { asked: moment, oldest: oldest() })?;
        let (from, at) = match past.nearest(moment).filter(|(_, at)| at.place >= anchor.place) {
            Some(nearest) => nearest,
            None => (self.open_anchor(anchor)?, point_of(anchor)),
        };
        let mut replayed = replay(from, backing.recover(at.place + 1)?, |point| moment.includes(point))?;
        while let Some((load_at, load)) = replayed.load {
            if anchors.last().is_some_and(|latest| latest.place >= load_at.place) {
                // Its checkpoint could not be written: what came right behind it is in the next one only.
                return Err(TransactError::NotKept { asked: moment, oldest: oldest() });
            }
            // There is none yet: until then nothing is given up that its record names.
            let open = |manifest: &[u8]| self.snapshot().open_beside(manifest);
            let graph = graph_with_load(backing.as_ref(), (load_at, load), open)?;
            let graph = graph.leased(self.shared.files.lease_on(&graph));
            let behind = replay(graph, backing.recover(load_at.place + 1)?, |point| moment.includes(point))?;
            replayed = behind.after(load_at, replayed.log_bytes);
        }
        let at = replayed.last.unwrap_or(at);
        // What never was in the log ends it too.
        let beside = anchors.iter().find(|anchor| anchor.beside_log && anchor.place > at.place).map(point_of);
        let until = replayed.next.into_iter().chain(beside).min_by_key(|point| point.place);
        let known = Known { snapshot: replayed.snapshot, at, until };
        past.remember(known.clone());
        Ok(known)
    }

    pub(crate) fn open_anchor(&self, anchor: &Anchor) -> Result<Snapshot, TransactError> {
        if anchor.sequence == 0 {
            return Ok(Snapshot::empty(Arc::new(Names::new()), self.shared.store_options));
        }
        let manifest = self.shared.backing.anchor_manifest(anchor)?;
        let snapshot = self.snapshot().open_beside(&manifest)?;
        Ok(snapshot.leased(self.shared.files.lease_of(anchor.place, &snapshot)))
    }
}
