//! A leaf of an index: a sorted run and the changes since it was made.
//!
//! Invariants: `removed` holds only entries of the run, `added` only entries not in it. When both together outgrow their share, they are merged with
//! the run into a new one; a run that became too long is cut in two, an empty one is dropped.

use crate::StoreError;
use crate::chunks::column::PropertyRef;
use crate::indexes::merge::merged;
use crate::indexes::run::{Entry, IndexRun, RunKnown, order_ref};
use crate::paging::page::Page;
use crate::paging::pager::{Charge, Pager};
use imbl::OrdSet;
use model::{Value, VertexId};
use std::cmp::Ordering;
use std::sync::Arc;

/// Entries of a new leaf.
pub(crate) const LEAF_ENTRIES: usize = 4096;
/// Entries above which a compacted leaf is cut: the most that a compaction copies, which bounds the longest stop of a commit. No longer run is made,
/// in memory or on disk.
pub(crate) const LEAF_ENTRIES_MAX: usize = 2 * LEAF_ENTRIES;
/// Part of its run that a leaf's delta may be as long as: a sixteenth.
const DELTA_SHARE: usize = 16;
/// Entries of the longest run that is read: earlier versions wrote a run and its delta as one, without cutting it.
pub(crate) const LEAF_ENTRIES_READ_MAX: usize = LEAF_ENTRIES_MAX + LEAF_ENTRIES_MAX / DELTA_SHARE;
/// Bytes of an entry in a delta, in a persistent tree with older versions.
const ENTRY_BYTES: usize = 128;

#[derive(Clone)]
pub(crate) struct Leaf {
    /// No entry of this leaf is before it, unless the leaf is the first.
    pub(crate) first: Entry,
    pub(crate) page: Arc<Page<IndexRun>>,
    pub(crate) added: OrdSet<Entry>,
    pub(crate) removed: OrdSet<Entry>,
    /// The charge of the deltas over this run.
    charge: Arc<Charge>,
}

impl Leaf {
    /// A leaf over this run, of an index of `width` keys.
    pub(crate) fn new(first: Entry, run: IndexRun, width: usize, pager: &Arc<Pager>) -> Leaf {
        let known = RunKnown::of(&run, width);
        Leaf::over(first, Page::new(Arc::new(run), known, pager))
    }
    /// A leaf over a run that is there, without delta.
    pub(crate) fn over(first: Entry, page: Arc<Page<IndexRun>>) -> Leaf {
        let charge = Arc::new(Charge::new(page.pager(), 0));
        Leaf { first, page, added: OrdSet::new(), removed: OrdSet::new(), charge }
    }
    /// A leaf as a manifest describes it.
    pub(crate) fn with_delta(mut self, added: Vec<Entry>, removed: Vec<Entry>) -> Leaf {
        self.charge.add((added.len() + removed.len()) * ENTRY_BYTES);
        (self.added, self.removed) = (added.into_iter().collect(), removed.into_iter().collect());
        self
    }
    pub(crate) fn entry_count(&self) -> u64 {
        self.page.known.len + self.added.len() as u64 - self.removed.len() as u64
    }
    pub(crate) fn delta_len(&self) -> usize {
        self.added.len() + self.removed.len()
    }
    pub(crate) fn insert(&mut self, entry: Entry) {
        self.charge.add(ENTRY_BYTES);
        if self.removed.remove(&entry).is_none() {
            self.added.insert(entry);
        }
    }
    pub(crate) fn remove(&mut self, entry: Entry) {
        self.charge.add(ENTRY_BYTES);
        if self.added.remove(&entry).is_none() {
            self.removed.insert(entry);
        }
    }
    /// Did the delta outgrow its share, or is nothing left?
    pub(crate) fn is_fold_due(&self, delta_min: usize) -> bool {
        self.entry_count() == 0
            || self.delta_len() > delta_min.max(self.page.known.len as usize / DELTA_SHARE)
    }
    /// Run and delta as one run.
    pub(crate) fn merged_run(&self) -> Result<IndexRun, StoreError> {
        let run = self.page.read()?;
        match merged(&run, self.added.iter(), self.removed.iter()) {
            Some(run) => Ok(run),
            None => Ok(IndexRun::build(self.entries()?)),
        }
    }
    /// The leaves that come of compaction: one, several where it would be too long, none where it would be empty.
    pub(crate) fn compact(&self) -> Result<Vec<Leaf>, StoreError> {
        let (pager, width) = (self.page.pager(), self.page.known.width);
        let runs = self.compacted_runs()?.into_iter();
        Ok(runs.map(|(first, run)| Leaf::new(first, run, width, pager)).collect())
    }
    /// The runs that come of compaction, none longer than [`LEAF_ENTRIES_MAX`], each with the first entry of its leaf.
    pub(crate) fn compacted_runs(&self) -> Result<Vec<(Entry, IndexRun)>, StoreError> {
        let run = self.merged_run()?;
        if run.len() == 0 {
            return Ok(Vec::new());
        }
        // The first leaf took what came before its first.
        let first = self.first.clone().min(run.entry(0));
        let (len, parts) = (run.len(), run.len().div_ceil(LEAF_ENTRIES_MAX));
        if parts == 1 {
            return Ok(vec![(first, run)]);
        }
        let part = |at: usize| run.slice(len * at / parts..len * (at + 1) / parts);
        let mut runs: Vec<(Entry, IndexRun)> = (0..parts).map(part).map(|run| (run.entry(0), run)).collect();
        runs[0].0 = first;
        debug_assert!(runs.iter().all(|(_, run)| run.len() <= LEAF_ENTRIES_MAX));
        Ok(runs)
    }
    /// All entries, in order.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let run = self.page.read()?;
        let kept = (0..run.len()).map(|at| run.entry(at)).filter(|entry| !self.removed.contains(entry));
        let mut entries: Vec<Entry> = kept.chain(self.added.iter().cloned()).collect();
        entries.sort();
        Ok(entries)
    }
    /// Appends the vertices whose first keys equal `prefix`, in the order of their numbers; `from` is the least such entry.
    pub(crate) fn seek(
        &self,
        prefix: &[Value],
        from: &Entry,
        found: &mut Vec<VertexId>,
    ) -> Result<(), StoreError> {
        let run = self.page.read()?;
        let start = run.start_of(prefix);
        let matching = (start..run.len()).take_while(|at| run.order_to_prefix(*at, prefix).is_eq());
        let before = found.len();
        if self.removed.is_empty() {
            found.extend(matching.map(|at| VertexId::from_dense(run.vertices[at])));
        } else {
            let kept = matching.filter(|at| !self.removed.contains(&run.entry(*at)));
            found.extend(kept.map(|at| VertexId::from_dense(run.vertices[at])));
        }
        let middle = found.len();
        let same = |entry: &&Entry| entry.starts_with(prefix);
        let added = self.added.range(from.clone()..).take_while(same);
        found.extend(added.map(|entry| VertexId::from_dense(entry.vertex)));
        if found.len() > middle && middle > before {
            found[before..].sort_unstable();
        }
        Ok(())
    }
    /// As [`Leaf::seek`], but the entries.
    pub(crate) fn seek_entries(
        &self,
        prefix: &[Value],
        from: &Entry,
        found: &mut Vec<Entry>,
    ) -> Result<(), StoreError> {
        let run = self.page.read()?;
        let (before, start) = (found.len(), run.start_of(prefix));
        let matching = (start..run.len()).take_while(|at| run.order_to_prefix(*at, prefix).is_eq());
        found.extend(matching.map(|at| run.entry(at)).filter(|entry| !self.removed.contains(entry)));
        let same = |entry: &&Entry| entry.starts_with(prefix);
        found.extend(self.added.range(from.clone()..).take_while(same).cloned());
        found[before..].sort();
        Ok(())
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        self.page.peek().map_or(0, |run| IndexRun::heap_bytes(&run)) + self.delta_len() * ENTRY_BYTES
    }
}

impl Entry {
    /// Do the first values of the key equal `prefix`?
    pub(crate) fn starts_with(&self, prefix: &[Value]) -> bool {
        let pairs = self.key.values().iter().zip(prefix);
        pairs.map(|(stored, value)| order_ref(PropertyRef::from(stored), value)).all(Ordering::is_eq)
    }
}
