//! The memory budget of a store: counts bytes in memory, and evicts pages that can be read again.
//!
//! Idea: a page (see `page`) that is stored and that no view pins may leave memory at any time; its next reader loads it. CLOCK picks the one to
//! evict: a hand goes round the pages in memory, clears the mark of those that were read since its last round, and evicts those without one.
//! Invariants: pages that are not stored, or pinned, are never evicted; pins take at most half of the room that pages have, so the hand always finds
//! something; deltas and other memory that cannot be evicted are charged first, and where they take too much a checkpoint is requested, which makes
//! them evictable. Cost: a mark on a read page, a turn of the hand on a load; without a budget nothing but the counters.

use crate::paging::source::ChunkSource;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Part of the budget that pages keep however much deltas take: an eighth.
const PAGES_SHARE_MIN: usize = 8;
/// A checkpoint is requested when memory that can be evicted only after it takes more than this part of the budget: a quarter.
const UNSTORED_SHARE_MAX: usize = 4;
/// Memory is short when less than this part of the room for stored pages is left: an eighth.
const SPARE_SHARE: usize = 8;
/// Rounds the hand makes at most for one load: the first takes marks, the second evicts.
const ROUNDS_MAX: usize = 2;

/// The result of a sweep at a page.
pub(crate) enum SweepOutcome {
    /// It stays.
    Stays,
    /// It is no longer in memory.
    Left,
}

/// An entry that the hand visits.
pub(crate) trait Evict: Send + Sync {
    /// Loses its mark, or leaves memory where it has none and may.
    fn turn(&self) -> SweepOutcome;
}

#[derive(Default)]
struct Clock {
    /// The hand stands at the front; a page that stays goes to the back, where new ones come.
    ring: VecDeque<Weak<dyn Evict>>,
}

/// Counters of a store's memory, at one moment. Bytes are upper estimates: parts that versions share may be counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagingReport {
    /// Bytes that may be held; none where there is no budget.
    pub budget_bytes: Option<u64>,
    /// Bytes of chunk bases and index leaves in memory.
    pub page_bytes: u64,
    /// Of these, bytes that no checkpoint stored yet.
    pub unstored_bytes: u64,
    /// Of `page_bytes`, bytes that adjacency views read in place.
    pub pinned_bytes: u64,
    /// Bytes of deltas, cached lists, views, and the heads of chunks that are away.
    pub version_bytes: u64,
    /// Versions of chunks that are still referenced.
    pub chunk_versions: u64,
    /// Pages read from storage since the store was opened.
    pub loads: u64,
    /// Pages that left memory since then.
    pub evictions: u64,
}

impl PagingReport {
    /// All bytes counted.
    pub fn total_bytes(&self) -> u64 {
        self.page_bytes + self.version_bytes
    }
}

/// The budget of one store, shared by all its snapshots.
pub(crate) struct Pager {
    budget: usize,
    source: OnceLock<Arc<dyn ChunkSource>>,
    pub(crate) pages: AtomicUsize,
    pub(crate) unstored: AtomicUsize,
    pub(crate) pinned: AtomicUsize,
    /// Bytes that describe pages which may be away.
    overhead: AtomicUsize,
    versions: AtomicUsize,
    pub(crate) cells: AtomicUsize,
    pub(crate) loads: AtomicU64,
    evictions: AtomicU64,
    clock: Mutex<Clock>,
}

impl Pager {
    /// A pager with this budget in bytes, or none.
    pub(crate) fn new(budget_bytes: Option<u64>) -> Arc<Pager> {
        let budget = budget_bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        Arc::new(Pager {
            budget,
            source: OnceLock::new(),
            pages: AtomicUsize::new(0),
            unstored: AtomicUsize::new(0),
            pinned: AtomicUsize::new(0),
            overhead: AtomicUsize::new(0),
            versions: AtomicUsize::new(0),
            cells: AtomicUsize::new(0),
            loads: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            clock: Mutex::default(),
        })
    }
    /// Where stored pages are read from; the first one given stays.
    pub(crate) fn attach(&self, source: Arc<dyn ChunkSource>) {
        self.source.get_or_init(|| source);
    }
    pub(crate) fn source(&self) -> Option<&Arc<dyn ChunkSource>> {
        self.source.get()
    }
    pub(crate) fn has_budget(&self) -> bool {
        self.budget != usize::MAX
    }
    /// Bytes that stored pages may take: the rest of the budget, and at least a share.
    fn room(&self) -> usize {
        let held = self.versions.load(Ordering::Relaxed) + self.overhead.load(Ordering::Relaxed);
        let taken = held + self.unstored.load(Ordering::Relaxed);
        self.budget.saturating_sub(taken).max(self.budget / PAGES_SHARE_MIN)
    }
    fn stored(&self) -> usize {
        self.pages.load(Ordering::Relaxed).saturating_sub(self.unstored.load(Ordering::Relaxed))
    }
    /// Would this many more pinned bytes still leave the hand half of the room?
    pub(crate) fn may_pin(&self, bytes: usize) -> bool {
        !self.has_budget() || self.pinned.load(Ordering::Relaxed) + bytes <= self.room() / 2
    }
    /// Is memory filling with data that only a checkpoint can make evictable?
    pub(crate) fn wants_checkpoint(&self) -> bool {
        let unstored = self.unstored.load(Ordering::Relaxed) + self.versions.load(Ordering::Relaxed);
        self.has_budget() && unstored > self.budget / UNSTORED_SHARE_MAX
    }
    /// Is at least half of the budget in use?
    pub(crate) fn is_pressed(&self) -> bool {
        let used = self.pages.load(Ordering::Relaxed) + self.versions.load(Ordering::Relaxed);
        self.has_budget() && used > self.budget / 2
    }
    /// Is so little of the budget left that pages will go?
    pub(crate) fn is_short(&self) -> bool {
        !self.has_room(0)
    }
    /// Is memory not short with this many more bytes of stored pages?
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        !self.has_budget() || self.stored() + bytes <= self.room() - self.room() / SPARE_SHARE
    }
    /// A page came into memory, or was stored while there: the hand meets it from now on.
    pub(crate) fn enter(&self, page: Weak<dyn Evict>) {
        if self.has_budget() {
            self.clock.lock().ring.push_back(page);
            self.make_room();
        }
    }
    /// Evicts until the budget holds or the hand went round often enough.
    pub(crate) fn make_room(&self) {
        if self.stored() <= self.room() {
            return;
        }
        // Whoever finds the lock taken finds room being made.
        let Some(mut clock) = self.clock.try_lock() else { return };
        let ring = &mut clock.ring;
        let mut turns = ring.len() * ROUNDS_MAX;
        while turns > 0 && self.stored() > self.room() {
            turns -= 1;
            let Some(page) = ring.pop_front() else { return };
            match page.upgrade().map(|page| page.turn()) {
                Some(SweepOutcome::Stays) => ring.push_back(page),
                Some(SweepOutcome::Left) => {
                    self.evictions.fetch_add(1, Ordering::Relaxed);
                }
                None => {}
            }
        }
    }
    pub(crate) fn report(&self) -> PagingReport {
        let bytes = |counter: &AtomicUsize| counter.load(Ordering::Relaxed) as u64;
        PagingReport {
            budget_bytes: self.has_budget().then_some(self.budget as u64),
            page_bytes: bytes(&self.pages),
            unstored_bytes: bytes(&self.unstored),
            pinned_bytes: bytes(&self.pinned),
            version_bytes: bytes(&self.versions) + bytes(&self.overhead),
            chunk_versions: bytes(&self.cells),
            loads: self.loads.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }
}

/// Bytes charged to the budget until it is dropped.
pub(crate) struct Charge {
    pager: Arc<Pager>,
    bytes: AtomicUsize,
}

impl Charge {
    pub(crate) fn new(pager: &Arc<Pager>, bytes: usize) -> Charge {
        pager.versions.fetch_add(bytes, Ordering::Relaxed);
        Charge { pager: pager.clone(), bytes: AtomicUsize::new(bytes) }
    }
    pub(crate) fn pager(&self) -> &Arc<Pager> {
        &self.pager
    }
    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.pager.versions.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.pager.versions.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// Bytes that describe pages which may be away, until it is dropped. No checkpoint makes them fewer, so they request none.
pub(crate) struct OverheadCharge {
    pager: Arc<Pager>,
    bytes: usize,
}

impl OverheadCharge {
    pub(crate) fn new(pager: &Arc<Pager>, bytes: usize) -> OverheadCharge {
        pager.overhead.fetch_add(bytes, Ordering::Relaxed);
        OverheadCharge { pager: pager.clone(), bytes }
    }
}

impl Drop for OverheadCharge {
    fn drop(&mut self) {
        self.pager.overhead.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Charge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Charge({} bytes)", self.bytes.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that stays as long as it is marked.
    struct Page {
        marks: AtomicUsize,
        pager: Arc<Pager>,
        bytes: usize,
    }

    impl Evict for Page {
        fn turn(&self) -> SweepOutcome {
            if self.marks.load(Ordering::Relaxed) > 0 {
                self.marks.fetch_sub(1, Ordering::Relaxed);
                return SweepOutcome::Stays;
            }
            self.pager.pages.fetch_sub(self.bytes, Ordering::Relaxed);
            SweepOutcome::Left
        }
    }

    fn page(pager: &Arc<Pager>, bytes: usize, marks: usize) -> Arc<Page> {
        pager.pages.fetch_add(bytes, Ordering::Relaxed);
        let page = Arc::new(Page { marks: AtomicUsize::new(marks), pager: pager.clone(), bytes });
        let known: Weak<dyn Evict> = Arc::downgrade(&page) as Weak<dyn Evict>;
        pager.enter(known);
        page
    }

    /// Each share of a budget of 800 bytes, at its bound and one byte beyond.
    #[test]
    fn shares_of_the_budget_hold_at_their_bounds() {
        let pager = Pager::new(Some(800));
        let versions = Charge::new(&pager, 0);
        assert_eq!((pager.room(), pager.stored()), (800, 0));
        assert!(pager.may_pin(400) && !pager.may_pin(401));
        pager.pinned.store(300, Ordering::Relaxed);
        assert!(pager.may_pin(100) && !pager.may_pin(101));
        versions.add(200);
        assert_eq!(pager.room(), 600);
        assert!(!pager.may_pin(1) && !pager.wants_checkpoint());
        versions.add(1);
        assert!(pager.wants_checkpoint());
        pager.pages.store(199, Ordering::Relaxed);
        assert!(!pager.is_pressed());
        pager.pages.store(200, Ordering::Relaxed);
        assert!(pager.is_pressed());
        // Of the room of 599 bytes, an eighth is spare.
        pager.pages.store(525, Ordering::Relaxed);
        assert!(!pager.is_short() && !pager.has_room(1));
        pager.pages.store(526, Ordering::Relaxed);
        assert!(pager.is_short());
        pager.pages.store(200, Ordering::Relaxed);
        pager.unstored.store(50, Ordering::Relaxed);
        assert_eq!((pager.room(), pager.stored()), (549, 150));
        // However much is taken, pages keep an eighth.
        versions.add(447);
        assert_eq!(pager.room(), 102);
        versions.add(3);
        assert_eq!(pager.room(), 100);
        // What describes pages takes room, and asks for no checkpoint.
        let quiet = Pager::new(Some(800));
        let overhead = OverheadCharge::new(&quiet, 700);
        assert!(!quiet.wants_checkpoint() && quiet.may_pin(50) && !quiet.may_pin(51));
        assert_eq!((quiet.room(), quiet.report().version_bytes), (100, 700));
        drop(overhead);
        assert_eq!((quiet.room(), quiet.report().version_bytes), (800, 0));
        let report = pager.report();
        assert_eq!((report.page_bytes, report.unstored_bytes, report.version_bytes), (200, 50, 651));
        assert_eq!((report.budget_bytes, report.total_bytes()), (Some(800), 851));
        drop(versions);
        assert_eq!(pager.report().version_bytes, 0);
    }

    #[test]
    fn without_a_budget_nothing_is_short() {
        let pager = Pager::new(None);
        let _versions = Charge::new(&pager, 1 << 40);
        pager.pages.store(1 << 40, Ordering::Relaxed);
        assert!(
            pager.may_pin(1 << 40) && !pager.wants_checkpoint() && !pager.is_pressed() && !pager.is_short()
        );
        assert_eq!((pager.has_budget(), pager.report().budget_bytes), (false, None));
    }

    /// The hand clears marks first, then evicts until there is room, and forgets pages that are gone.
    #[test]
    fn the_hand_evicts_what_was_not_read() {
        let pager = Pager::new(Some(1_000));
        let read = page(&pager, 400, 1);
        let other = page(&pager, 400, 0);
        let gone = page(&pager, 100, 0);
        pager.pages.fetch_sub(100, Ordering::Relaxed);
        drop(gone);
        assert_eq!(pager.report().evictions, 0);
        let last = page(&pager, 400, 1);
        assert_eq!((pager.report().evictions, pager.stored()), (1, 800));
        assert_eq!(read.marks.load(Ordering::Relaxed), 0);
        assert_eq!(pager.clock.lock().ring.iter().filter(|page| page.upgrade().is_some()).count(), 3 - 1);
        // All are marked: the first round takes the marks, the second evicts.
        drop(other);
        [&read, &last].into_iter().for_each(|page| page.marks.store(1, Ordering::Relaxed));
        let _new = page(&pager, 400, 1);
        assert_eq!((pager.report().evictions, pager.stored()), (2, 800));
        // One that is marked ever again stays; the hand gives up after two rounds.
        let full = Pager::new(Some(100));
        let stubborn = page(&full, 400, 1_000);
        assert_eq!((full.report().evictions, full.stored()), (0, 400));
        assert_eq!(stubborn.marks.load(Ordering::Relaxed), 1_000 - ROUNDS_MAX);
    }
}
