//! Retention of files: gives up anchors behind the horizon, log segments before the oldest anchor, and blob files that no anchor and no reader needs.
//!
//! Idea: every snapshot holds a lease, which it passes on to snapshots made from it; a lease knows the blob files that its holders may still read. A
//! checkpoint renews the lease of the present, and adds its own files to those of the leases before it, whose holders share chunks with it. A file is
//! removed when neither an anchor nor a living lease names it. Invariant: a file is removed only when `CURRENT` does not name it any more, and no
//! snapshot reads it afterwards.

mod give_up;

use crate::feed::Waker;
use crate::history::History;
use crate::{OpenOptions, Retention, TransactError};
use durable::{Anchor, BackingStore, BlobRef};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use store::{BlobKey, Lease, Snapshot};

/// Blob files by their users.
#[derive(Default)]
pub(crate) struct Files {
    inner: Mutex<Inner>,
    ended: Arc<Bell>,
}

/// Rung when a lease ends: perhaps something can be given up.
#[derive(Default)]
struct Bell {
    rung: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

#[derive(Default)]
struct Inner {
    /// By the anchor's commit version, as far as it was looked up.
    of_anchors: BTreeMap<u64, BTreeSet<u32>>,
    leases: Vec<(Weak<dyn Any + Send + Sync>, BTreeSet<u32>)>,
}

impl Inner {
    /// Files that an anchor or a reader needs.
    fn live(&mut self) -> Vec<u32> {
        self.leases.retain(|(lease, _)| lease.strong_count() > 0);
        let leased = self.leases.iter().map(|(_, files)| files);
        let live: BTreeSet<u32> = self.of_anchors.values().chain(leased).flatten().copied().collect();
        live.into_iter().collect()
    }
}

/// The content of a lease; its last holder rings the bell.
struct EndedSignal(Arc<Bell>);

impl Drop for EndedSignal {
    fn drop(&mut self) {
        self.0.rung.store(true, Ordering::Release);
        let waker = self.0.waker.lock().clone();
        waker.inspect(|waker| waker());
    }
}

/// The files in which these blobs lie.
pub(crate) fn files_of(blobs: impl IntoIterator<Item = BlobKey>) -> BTreeSet<u32> {
    blobs.into_iter().map(|key| BlobRef::decode(&key.0).file).collect()
}

impl Files {
    /// A lease on the files of an anchor, for a snapshot that was opened from it.
    pub fn lease_of(&self, anchor: u64, snapshot: &Snapshot) -> Lease {
        let files = files_of(snapshot.blobs());
        let mut inner = self.inner.lock();
        inner.of_anchors.insert(anchor, files.clone());
        self.lease(&mut inner, files)
    }
    /// A lease on the files of a snapshot that no anchor stands for.
    pub fn lease_on(&self, snapshot: &Snapshot) -> Lease {
        self.lease(&mut self.inner.lock(), files_of(snapshot.blobs()))
    }
    /// A lease for a graph with a bulk load: on its base, and on the files that the load was written ahead into. Its readers have it from the
    /// beginning, whether or not the checkpoint behind the load succeeds.
    pub fn lease_on_load(&self, snapshot: &Snapshot, written: &BTreeSet<u32>) -> Lease {
        let files = files_of(snapshot.blobs());
        self.lease(&mut self.inner.lock(), files.union(written).copied().collect())
    }
    /// A checkpoint was written into these files, or shares them: the lease for the present from now on.
    pub fn checkpointed(&self, commit_version: u64, files: BTreeSet<u32>) -> Lease {
        let mut inner = self.inner.lock();
        inner.leases.iter_mut().for_each(|(_, held)| held.extend(&files));
        // An earlier checkpoint at this commit version is gone.
        inner.of_anchors.remove(&commit_version);
        self.lease(&mut inner, files)
    }
    fn lease(&self, inner: &mut Inner, files: BTreeSet<u32>) -> Lease {
        let lease: Lease = Arc::new(EndedSignal(self.ended.clone()));
        inner.leases.retain(|(lease, _)| lease.strong_count() > 0);
        inner.leases.push((Arc::downgrade(&lease), files));
        lease
    }
    /// Did a lease end since the last call?
    pub fn take_ended(&self) -> bool {
        self.ended.rung.swap(false, Ordering::AcqRel)
    }
    pub fn has_ended(&self) -> bool {
        self.ended.rung.load(Ordering::Acquire)
    }
    /// All files that are needed.
    fn live(
        &self,
        anchors: &[Anchor],
        backing: &dyn BackingStore,
        present: &Snapshot,
    ) -> Result<Vec<u32>, TransactError> {
        let mut inner = self.inner.lock();
        inner.of_anchors.retain(|commit_version, _| {
            anchors.iter().any(|anchor| anchor.commit_version == *commit_version)
        });
        for anchor in anchors.iter().filter(|anchor| anchor.sequence > 0) {
            if let Entry::Vacant(unknown) = inner.of_anchors.entry(anchor.commit_version) {
                let manifest = backing.anchor_manifest(anchor)?;
                unknown.insert(files_of(present.open_beside(&manifest)?.blobs()));
            }
        }
        Ok(inner.live())
    }
}

/// The retention settings that an engine was opened with.
#[derive(Clone)]
pub(crate) struct KeptLimits {
    pub anchor_log_bytes: u64,
    pub retained_log_bytes: u64,
    retention: Option<Retention>,
}

impl KeptLimits {
    pub fn of(options: &OpenOptions) -> KeptLimits {
        KeptLimits {
            anchor_log_bytes: options.anchor_log_bytes,
            retained_log_bytes: options.retained_log_bytes,
            retention: options.retention.clone(),
        }
    }
    /// How long commits are retained for re-reading, by the graph's catalogue.
    pub fn retention(&self, graph: &Snapshot) -> Duration {
        self.retention.as_ref().map_or(Duration::ZERO, |retention| retention(graph.catalog().entries()))
    }
}

/// Decides which anchors stay.
#[derive(Clone, Copy)]
pub(crate) struct Horizon {
    /// How much history is kept, whatever log that takes.
    pub history: History,
    /// How long commits are retained, within the limit on log below.
    pub retention: Duration,
    pub retained_bytes_max: u64,
    /// How far anchors lie apart, in bytes of log.
    pub apart_bytes: u64,
    pub now_micros: u64,
    /// Bytes of records ever logged.
    pub logged_bytes: u64,
}

impl Horizon {
    /// The horizon by these limits and the graph's catalogue, after `logged_bytes` of log.
    pub fn of(
        history: History,
        limits: &KeptLimits,
        graph: &Snapshot,
        now_micros: u64,
        logged_bytes: u64,
    ) -> Horizon {
        Horizon {
            history,
            retention: limits.retention(graph),
            retained_bytes_max: limits.retained_log_bytes,
            apart_bytes: limits.anchor_log_bytes,
            now_micros,
            logged_bytes,
        }
    }
    /// The first of these anchors that stays.
    fn first(&self, anchors: &[Anchor]) -> usize {
        let latest = anchors.len() - 1;
        let at_or_behind = |span: Duration| {
            let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
            let horizon_micros = self.now_micros.saturating_sub(micros);
            anchors.iter().rposition(|anchor| anchor.time_micros <= horizon_micros).unwrap_or(0)
        };
        let by_history = match self.history {
            History::None => latest,
            History::Span(span) => at_or_behind(span),
            History::Forever => 0,
        };
        let fits =
            |anchor: &Anchor| self.logged_bytes.saturating_sub(anchor.log_bytes) <= self.retained_bytes_max;
        let by_retention = match self.retention.is_zero() {
            true => latest,
            false => at_or_behind(self.retention).max(anchors.iter().position(fits).unwrap_or(latest)),
        };
        by_history.min(by_retention)
    }
}

/// Commit versions of the anchors that stay: everything from the last one at or before the horizon, without those whose neighbours are near enough to
/// each other, in bytes of log. The latest is last, and always stays.
pub(crate) fn thinned(anchors: &[Anchor], horizon: &Horizon) -> Vec<u64> {
    if anchors.is_empty() {
        return Vec::new();
    }
    let (first, apart_bytes) = (horizon.first(anchors), horizon.apart_bytes);
    let mut kept: Vec<u64> = Vec::new();
    let mut last_bytes = 0;
    for (at, anchor) in anchors.iter().enumerate().skip(first) {
        let next_bytes = anchors.get(at + 1).map_or(u64::MAX, |next| next.log_bytes);
        if at == first || anchor.beside_log || next_bytes.saturating_sub(last_bytes) > apart_bytes {
            kept.push(anchor.commit_version);
            last_bytes = anchor.log_bytes;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: u64 = 64 << 20;

    fn horizon(history: History, now_micros: u64) -> Horizon {
        let (retention, retained_bytes_max) = (Duration::ZERO, 0);
        Horizon { history, retention, retained_bytes_max, apart_bytes: APART, now_micros, logged_bytes: 0 }
    }
    fn anchor(commit_version: u64, time_micros: u64, log_mib: u64) -> Anchor {
        Anchor {
            commit_version,
            time_micros,
            log_bytes: log_mib << 20,
            sequence: commit_version as u32,
            beside_log: false,
        }
    }

    #[test]
    fn readers_of_a_load_keep_its_files_until_the_last_of_them_ends() {
        let files = Files::default();
        let graph = Snapshot::empty(Arc::new(store::Names::new()), store::StoreOptions::default());
        let live = || files.inner.lock().live();
        let loaded = graph.leased(files.lease_on_load(&graph, &BTreeSet::from([4, 7])));
        let reader = loaded.clone();
        // The checkpoint right behind it failed; the next one has written the graph anew.
        let present = loaded.leased(files.checkpointed(9, BTreeSet::from([8])));
        drop(loaded);
        assert_eq!(live(), [4, 7, 8]);
        assert!(!files.has_ended());
        drop(reader);
        assert!(files.take_ended());
        assert_eq!(live(), [8]);
        drop(present);
        assert_eq!(live(), [0; 0]);
    }

    #[test]
    fn anchors_stay_behind_the_horizon_and_near_enough() {
        let mut anchors = vec![anchor(0, 0, 0), anchor(1, 100, 30), anchor(2, 200, 60), anchor(3, 300, 90)];
        anchors.extend([anchor(4, 400, 120), anchor(5, 500, 200), anchor(6, 600, 201)]);
        let kept = |anchors: &[Anchor], span| {
            thinned(anchors, &horizon(History::Span(Duration::from_micros(span)), 1_000))
        };
        assert_eq!(thinned(&anchors, &horizon(History::None, 1_000)), [6]);
        assert_eq!(
            thinned(&anchors, &horizon(History::Forever, 1_000)),
            [0, 2, 4, 5, 6],
            "at most 64 MiB apart, or neighbours"
        );
        assert_eq!(kept(&anchors, 2_000), [0, 2, 4, 5, 6]);
        assert_eq!(kept(&anchors, 650), [3, 4, 5, 6], "one behind the horizon is needed to get up to it");
        assert_eq!(kept(&anchors, 300), [6]);
        anchors[1].beside_log = true;
        assert_eq!(
            thinned(&anchors, &horizon(History::Forever, 0)),
            [0, 1, 3, 4, 5, 6],
            "nobody gets behind a bulk load by replay"
        );
        let apart = |mib: [u64; 4]| {
            let anchors: Vec<Anchor> = (0..)
                .zip(mib)
                .map(|(commit_version, mib)| anchor(commit_version, commit_version, mib))
                .collect();
            thinned(&anchors, &horizon(History::Forever, 0))
        };
        assert_eq!(apart([0, 32, 63, 65]), [0, 2, 3]);
        assert_eq!(apart([0, 32, 64, 65]), [0, 2, 3], "just as far as it may be");
        assert_eq!(apart([0, 32, 65, 66]), [0, 1, 3]);
        assert_eq!(thinned(&[], &horizon(History::Forever, 0)), [0; 0]);
    }

    #[test]
    fn a_retention_keeps_anchors_as_long_as_their_log_is_not_too_much() {
        let anchors = [anchor(0, 0, 0), anchor(1, 100, 90), anchor(2, 200, 180), anchor(3, 300, 270)];
        let kept = |history, retention_micros, retained_mib: u64, logged_mib: u64| {
            let retention = Duration::from_micros(retention_micros);
            let (retained_bytes_max, logged_bytes) = (retained_mib << 20, logged_mib << 20);
            let horizon = Horizon { retention, retained_bytes_max, logged_bytes, ..horizon(history, 1_000) };
            thinned(&anchors, &horizon)
        };
        assert_eq!(kept(History::None, 0, 1_024, 300), [3]);
        assert_eq!(kept(History::None, 1, 1_024, 300), [3]);
        assert_eq!(kept(History::None, 750, 1_024, 300), [2, 3]);
        assert_eq!(kept(History::None, u64::MAX, 1_024, 300), [0, 1, 2, 3]);
        assert_eq!(kept(History::None, u64::MAX, 210, 300), [1, 2, 3], "just as much as it may be");
        assert_eq!(kept(History::None, u64::MAX, 209, 300), [2, 3]);
        assert_eq!(kept(History::None, u64::MAX, 0, 300), [3], "the latest always stays");
        assert_eq!(
            kept(History::Span(Duration::from_micros(850)), 750, 209, 300),
            [1, 2, 3],
            "history is not bounded"
        );
        assert_eq!(
            kept(History::Span(Duration::from_micros(750)), u64::MAX, 1_024, 300),
            [0, 1, 2, 3],
            "the longer one counts"
        );
    }
}
