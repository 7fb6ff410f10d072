//! Following the commits: the view of the graph moves with them, timestamp by timestamp.

use crate::StandingError;
use crate::limits::COMMITS_KNOWN_MAX;
use crate::shown::{Shown, view_of};
use crate::view::{Timestamp, Touched, View};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::Restriction;
use transact::{CommitRecord, Engine, Feed, FeedEnd, Point, Waker};

/// How long the change feed may lag behind a visible commit, before it is read again.
const FEED_PATIENCE: Duration = Duration::from_millis(1);

/// A commit as queries meet it.
pub(crate) struct Step {
    pub timestamp: Timestamp,
    pub at: Point,
    pub touched: Touched,
}

/// The view, and its source of commits.
pub(crate) struct Follower {
    pub view: View,
    pub timestamp: Timestamp,
    /// The last commit that was absorbed.
    pub at: Point,
    pub feed: Feed,
    pub waker: Option<Waker>,
    /// The last commits that were absorbed, and the one it began with.
    pub known: VecDeque<Point>,
    /// Under a restriction, what it hides from the view.
    shown: Option<Shown>,
}

/// The result of gathering commits.
pub(crate) enum Gathered {
    /// These, in order.
    Steps(Vec<Step>),
    /// The graph was replaced (a bulk load), or the feed cut off: begin anew from the newest snapshot.
    Anew,
}

impl Follower {
    /// From the present on. `waker` is called when there are commits to gather.
    pub fn begin(engine: &Engine, waker: Option<Waker>, restriction: Option<&Arc<Restriction>>) -> Follower {
        let (snapshot, at, feed) = engine.subscribe_waking(waker.clone());
        debug_assert_eq!(snapshot.commit_version(), at.commit_version);
        let (view, shown) = view_of(snapshot, restriction);
        Follower { view, timestamp: 1, at, feed, waker, known: VecDeque::from([at]), shown }
    }
    /// As [`Follower::begin`], from now on, with the same waker and the same restriction; its timestamps go on.
    pub fn begin_anew(&self, engine: &Engine) -> Follower {
        let restriction = self.shown.as_ref().map(Shown::restriction);
        Follower { timestamp: self.timestamp + 1, ..Follower::begin(engine, self.waker.clone(), restriction) }
    }
    /// The commit at this version, if it is one of the last.
    pub fn known(&self, commit_version: u64) -> Option<Point> {
        let at = self.known.binary_search_by_key(&commit_version, |known| known.commit_version).ok()?;
        Some(self.known[at])
    }
    /// Takes up the commits that came since.
    pub fn gather(&mut self, engine: &Engine) -> Result<Gathered, StandingError> {
        let mut records: Vec<Arc<CommitRecord>> = Vec::new();
        let mut target = engine.snapshot();
        // A commit is visible before the feed tells of it, and the feed may tell of later ones than the snapshot holds.
        loop {
            let last = records.last().map_or(self.at.commit_version, |record| record.commit_version);
            if last == target.commit_version() {
                break;
            }
            if last > target.commit_version() {
                target = engine.snapshot();
                continue;
            }
            match self.feed.next(FEED_PATIENCE) {
                Ok(Some(record)) => records.push(record),
                Ok(None) => {}
                Err(FeedEnd::Closed | FeedEnd::Lagged) => return Ok(Gathered::Anew),
            }
        }
        if records.is_empty() {
            return Ok(Gathered::Steps(Vec::new()));
        }
        let target = match &mut self.shown {
            Some(shown) => shown.prepare(target),
            None => target,
        };
        self.view.prepare(target);
        let mut steps = Vec::with_capacity(records.len());
        for record in records {
            debug_assert!(self.at.commit_version < record.commit_version, "commits come in order, each once");
            self.timestamp += 1;
            let record = match &mut self.shown {
                Some(shown) => match shown.record(self.timestamp, &record, &self.view)? {
                    Some(record) => record,
                    None => return Ok(Gathered::Anew),
                },
                None => record,
            };
            let touched = self.view.absorb(self.timestamp, &record)?;
            self.at = Point { commit_version: record.commit_version, time_micros: record.time_micros };
            if self.known.len() == COMMITS_KNOWN_MAX {
                self.known.pop_front();
            }
            self.known.push_back(self.at);
            steps.push(Step { timestamp: self.timestamp, at: self.at, touched });
        }
        Ok(Gathered::Steps(steps))
    }
    /// All queries have processed the gathered commits: the newest snapshot is the base from now on.
    pub fn settle(&mut self) {
        debug_assert_eq!(
            self.view.newest().commit_version(),
            self.at.commit_version,
            "the newest snapshot ends with the last commit taken up"
        );
        self.view.rebase();
        self.shown.iter_mut().for_each(Shown::rebase);
    }
}
