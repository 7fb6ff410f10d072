//! The commits since an earlier one, read again: from the log, with the graph that they begin with.
//!
//! Idea: the commit at which a reader resumes is a moment of the past, so the graph there is rebuilt as any other; from there on the log has every
//! commit, and commits write nothing extra for it. [`crate::Retention`] says how long log is retained for it. Invariants: only published commits are
//! returned, each once, in order. A bulk load, which was never in the log, is returned as the graph behind it. Nothing is retained for a slow reader:
//! one that falls behind the removal of the log gets an error. Cost: the replay of at most one anchor's log, then that of the commits read, a group
//! of them in memory at a time.

use crate::history::{Moment, Point};
use crate::past::point_of;
use crate::record::LoadMark;
use crate::replay::{GROUP_BYTES, GROUP_COMMITS, graph_with_load};
use crate::{CommitRecord, Engine, TransactError, record};
use durable::Records;
use std::sync::Arc;
use store::{Change, Snapshot};

/// The next piece.
pub enum Stretch {
    /// Some commits, in order.
    Commits {
        /// Their records; there is at least one.
        records: Vec<Arc<CommitRecord>>,
        /// The graph with the last of them.
        after: Snapshot,
    },
    /// The graph was replaced as a whole, by a bulk load.
    Replaced {
        /// The graph after it.
        graph: Snapshot,
        /// The commit it ends with.
        at: Point,
    },
}

/// The commits since an earlier one. Does not wait for further commits at the newest one: ask again later.
pub struct Since {
    engine: Engine,
    graph: Snapshot,
    at: Point,
    /// The log from there on, and up to which commit it may be read.
    records: Option<(Records, u64)>,
    /// A bulk load that is next.
    load: Option<(Point, LoadMark)>,
}

impl Engine {
    /// The commits after the one at this commit version, with the graph as of that one.
    ///
    /// # Errors
    /// [`TransactError::NotReached`] or [`TransactError::NotKept`]; the log or a checkpoint cannot be read.
    pub fn since(&self, commit_version: u64) -> Result<Since, TransactError> {
        let moment = Moment::CommitVersion(commit_version);
        let (graph, newest) = self.shared.past.newest(&self.shared.store);
        let (graph, at) = match commit_version.cmp(&newest.commit_version) {
            std::cmp::Ordering::Equal => (graph, newest),
            std::cmp::Ordering::Greater => return Err(TransactError::NotReached { asked: moment, newest }),
            std::cmp::Ordering::Less => self.past_at(moment)?,
        };
        Ok(Since { engine: self.clone(), graph, at, records: None, load: None })
    }
    /// The oldest commit since which commits can be read; none where nothing is on disk.
    pub fn retained(&self) -> Option<Point> {
        self.shared.backing.anchors().first().map(point_of)
    }
}

impl Since {
    /// The graph up to the last commit that was handed out; at first, where it begins.
    pub fn graph(&self) -> &Snapshot {
        &self.graph
    }
    /// The last commit of that graph.
    pub fn at(&self) -> Point {
        self.at
    }
    /// The next piece; none at the newest commit.
    ///
    /// # Errors
    /// [`TransactError::NotKept`] where the log was removed meanwhile; the log or a checkpoint cannot be read.
    pub fn read_next(&mut self) -> Result<Option<Stretch>, TransactError> {
        let shared = self.engine.shared.clone();
        let _kept = shared.past.giving_up.read();
        self.read_on().map_err(|error| {
            let oldest = self.engine.retained();
            match oldest.is_none_or(|oldest| oldest.commit_version > self.at.commit_version) {
                true => {
                    TransactError::NotKept { asked: Moment::CommitVersion(self.at.commit_version), oldest }
                }
                false => error,
            }
        })
    }
    fn read_on(&mut self) -> Result<Option<Stretch>, TransactError> {
        if let Some(load) = self.load.take() {
            return self.behind_load(load).map(Some);
        }
        let backing = &self.engine.shared.backing;
        let (mut records, until) = match self.records.take() {
            Some(opened) => opened,
            None => {
                let newest = self.engine.newest().commit_version;
                if newest <= self.at.commit_version {
                    return Ok(None);
                }
                if !backing.is_durable() {
                    return Err(TransactError::NotKept {
                        asked: Moment::CommitVersion(self.at.commit_version),
                        oldest: None,
                    });
                }
                (backing.recover(self.at.commit_version + 1)?, newest)
            }
        };
        let (mut group, mut bytes) = (Vec::new(), 0);
        while group.len() < GROUP_COMMITS && bytes <= GROUP_BYTES {
            // What lies behind is perhaps not published yet.
            let Some(found) = records.next().transpose()?.filter(|found| found.commit_version <= until)
            else {
                break;
            };
            if let Some(mark) = record::decode_load(found.commit_version, &found.payload)? {
                let time_micros = record::time_micros(found.commit_version, &found.payload)?;
                self.load = Some((Point { commit_version: found.commit_version, time_micros }, mark));
                break;
            }
            bytes += found.payload.len();
            group.push(Arc::new(record::decode(found.commit_version, &found.payload)?));
            if found.commit_version == until {
                break;
            }
        }
        let Some(last) = group.last().cloned() else {
            return match self.load.take() {
                Some(load) => self.behind_load(load).map(Some),
                None => Ok(None),
            };
        };
        let lists: Vec<&[Change]> = group.iter().map(|commit| commit.changes.as_slice()).collect();
        self.graph = self.graph.apply(last.commit_version, &lists)?;
        self.at = Point { commit_version: last.commit_version, time_micros: last.time_micros };
        if last.commit_version < until && self.load.is_none() {
            self.records = Some((records, until));
        }
        Ok(Some(Stretch::Commits { records: group, after: self.graph.clone() }))
    }
    /// The graph behind a bulk load: that of the first checkpoint that has it, or the one of its record.
    fn behind_load(&mut self, (point, mark): (Point, LoadMark)) -> Result<Stretch, TransactError> {
        let (engine, backing) = (&self.engine, &self.engine.shared.backing);
        let anchor =
            backing.anchors().into_iter().find(|anchor| anchor.commit_version >= point.commit_version);
        let (graph, at) = match anchor {
            Some(anchor) => (engine.open_anchor(&anchor)?, point_of(&anchor)),
            None => {
                let open = |manifest: &[u8]| engine.snapshot().open_beside(manifest);
                let graph = graph_with_load(backing.as_ref(), (point, mark), open)?;
                (graph.leased(engine.shared.files.lease_on(&graph)), point)
            }
        };
        (self.graph, self.at, self.records) = (graph.clone(), at, None);
        Ok(Stretch::Replaced { graph, at })
    }
}
