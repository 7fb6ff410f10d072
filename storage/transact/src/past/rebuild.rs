//! The graph at a moment: the present, a cached snapshot, or an anchor and the log behind it.

use super::{Known, point_of};
use crate::history::{History, Moment, Point};
use crate::replay::{graph_with_load, replay};
use crate::{Engine, TransactError};
use durable::Anchor;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Names, Snapshot};

impl Engine {
    /// How much history is kept.
    pub fn history(&self) -> History {
        self.shared.past.history()
    }
    /// Sets how much history is kept, durably. Less history is given up at once; more is kept from the last checkpoint on.
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
    /// The oldest commit whose graph can be read.
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
    /// The moment is before the horizon, or has not come yet; the log or a checkpoint cannot be read.
    pub fn snapshot_at(&self, moment: Moment) -> Result<Snapshot, TransactError> {
        if self.is_gate() {
            return Err(TransactError::NotInCluster {
                what: "the graph of an earlier moment",
                instead: crate::SEE_GUIDE,
            });
        }
        if let Some(present) = self.present_at(moment)? {
            return Ok(present);
        }
        if self.history() == History::None {
            return Err(TransactError::NotKept { asked: moment, oldest: None });
        }
        self.past_at(moment).map(|(snapshot, _)| snapshot)
    }

    /// The graph at a moment of the past, and its last commit; whether or not history is kept.
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
            Moment::CommitVersion(commit_version) if commit_version == point.commit_version => {
                Ok(Some(current))
            }
            Moment::CommitVersion(commit_version) if commit_version > point.commit_version => {
                Err(TransactError::NotReached { asked: moment, newest: point })
            }
            Moment::Time(micros) if micros > self.shared.clock.wall_us() => {
                Err(TransactError::NotReached { asked: moment, newest: point })
            }
            Moment::Time(micros) if micros >= point.time_micros => {
                // A pending commit may have this time or an earlier one: it is awaited. Later ones are given a later time, so that
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
        let (from, at) =
            match past.nearest(moment).filter(|(_, at)| at.commit_version >= anchor.commit_version) {
                Some(nearest) => nearest,
                None => (self.open_anchor(anchor)?, point_of(anchor)),
            };
        let mut replayed =
            replay(from, backing.recover(at.commit_version + 1)?, |point| moment.includes(point))?;
        while let Some((load_at, load)) = replayed.load {
            if anchors.last().is_some_and(|latest| latest.commit_version >= load_at.commit_version) {
                // Its checkpoint could not be written: what came right behind it is in the next one only.
                return Err(TransactError::NotKept { asked: moment, oldest: oldest() });
            }
            // There is none yet: until then nothing is given up that its record names.
            let open = |manifest: &[u8]| self.snapshot().open_beside(manifest);
            let graph = graph_with_load(backing.as_ref(), (load_at, load), open)?;
            let graph = graph.leased(self.shared.files.lease_on(&graph));
            let behind =
                replay(graph, backing.recover(load_at.commit_version + 1)?, |point| moment.includes(point))?;
            replayed = behind.after(load_at, replayed.log_bytes);
        }
        let at = replayed.last.unwrap_or(at);
        // What never was in the log ends it too.
        let beside = anchors
            .iter()
            .find(|anchor| anchor.beside_log && anchor.commit_version > at.commit_version)
            .map(point_of);
        let until = replayed.next.into_iter().chain(beside).min_by_key(|point| point.commit_version);
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
        Ok(snapshot.leased(self.shared.files.lease_of(anchor.commit_version, &snapshot)))
    }
}
