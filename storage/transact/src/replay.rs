//! Replays the log from a snapshot: for recovery, and to rebuild the past.
//!
//! Idea: many small commits are applied in one copy-on-write pass, so each chunk is copied once a group and not once a commit. Invariant: records
//! come in the order of their commit versions, and begin right behind the snapshot's. Replay cannot pass a bulk load.

use crate::history::Point;
use crate::record::{self, LoadMark};
use crate::{CommitRecord, TransactError};
use durable::{BackingStore, Records};
use store::{Change, Snapshot, StoreError};

/// Commits applied at once: bounds the copies for each.
pub(crate) const GROUP_COMMITS: usize = 1_024;
/// Bytes of records applied at once: bounds the memory of a replay.
pub(crate) const GROUP_BYTES: usize = 32 << 20;

/// Where a replay came to.
pub(crate) struct Replayed {
    /// The graph there.
    pub snapshot: Snapshot,
    /// Commits applied.
    pub commits: u64,
    /// Bytes of their records and the load's, with the log's framing.
    pub log_bytes: u64,
    /// The last commit applied.
    pub last: Option<Point>,
    /// The commit behind it, if that was not wanted.
    pub next: Option<Point>,
    /// The bulk load that ended it.
    pub load: Option<(Point, LoadMark)>,
}

/// Applies records to a snapshot as long as they are wanted.
pub(crate) fn replay(
    from: Snapshot,
    records: Records,
    wanted: impl Fn(Point) -> bool,
) -> Result<Replayed, TransactError> {
    let mut replayed =
        Replayed { snapshot: from, commits: 0, log_bytes: 0, last: None, next: None, load: None };
    let mut group: Vec<CommitRecord> = Vec::with_capacity(GROUP_COMMITS);
    let mut bytes = 0;
    for found in records {
        let found = found?;
        let time_micros = record::time_micros(found.commit_version, &found.payload)?;
        let point = Point { commit_version: found.commit_version, time_micros };
        if !wanted(point) {
            replayed.next = Some(point);
            break;
        }
        replayed.log_bytes += (found.payload.len() + durable::RECORD_FRAME_BYTES) as u64;
        if let Some(mark) = record::decode_load(found.commit_version, &found.payload)? {
            replayed.load = Some((point, mark));
            break;
        }
        group.push(record::decode(found.commit_version, &found.payload)?);
        bytes += found.payload.len();
        replayed.last = Some(point);
        replayed.commits += 1;
        if group.len() == GROUP_COMMITS || bytes > GROUP_BYTES {
            replayed.apply(&mut group)?;
            bytes = 0;
        }
    }
    replayed.apply(&mut group)?;
    Ok(replayed)
}

impl Replayed {
    /// The same for a replay that began behind a bulk load, as part of a longer one.
    pub fn after(mut self, load: Point, log_bytes: u64) -> Replayed {
        self.last = self.last.or(Some(load));
        self.log_bytes += log_bytes;
        self
    }
    fn apply(&mut self, group: &mut Vec<CommitRecord>) -> Result<(), TransactError> {
        if let Some(last) = group.last() {
            let lists: Vec<&[Change]> = group.iter().map(|commit| commit.changes.as_slice()).collect();
            self.snapshot = self.snapshot.apply(last.commit_version, &lists)?;
            group.clear();
        }
        Ok(())
    }
}

/// The graph right behind a bulk load, by its record. `open` opens the graph of a manifest.
pub(crate) fn graph_with_load(
    backing: &dyn BackingStore,
    (at, load): (Point, LoadMark),
    open: impl FnOnce(&[u8]) -> Result<Snapshot, StoreError>,
) -> Result<Snapshot, TransactError> {
    let built = open(&backing.read_blob(load.manifest)?)?;
    let replayed =
        replay(built, backing.recover(load.base + 1)?, |point| point.commit_version < at.commit_version)?;
    Ok(replayed.snapshot.apply(at.commit_version, &[])?)
}
