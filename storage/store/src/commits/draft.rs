//! The next snapshot in the making: working copies of the changed chunks, and the new root.

use crate::StoreError;
use crate::chunks::chunk::{Base, Chunk, ChunkRead};
use crate::chunks::compact;
use crate::chunks::delta::Delta;
use crate::commits::change::Change;
use crate::indexes::run::EntryChange;
use crate::indexes::tree::Index;
use crate::paging::page::{Page, Pin};
use crate::paging::pager::Pager;
use crate::schema::catalog::Catalog;
use crate::schema::statistics::{Counter, IndexStatistics};
use crate::snapshots::root::{LayerCache, Root, Snapshot};
use crate::snapshots::sight::Sights;
use crate::versions::cell::Cell;
use crate::versions::directory::Directory;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::schema::IndexId;
use model::{ChunkNo, LabelSetId, VertexId, walk};
use std::sync::Arc;

/// Units of work ([`walk::spend`]) that applying a change counts as: some 200 ns and more.
pub(super) const CHANGE_UNITS: usize = 4;

/// A chunk being written to, and the page of its base, unless the base is new.
pub(super) struct Working {
    pub(super) chunk: Chunk,
    pub(super) page: Option<Arc<Page<Base>>>,
    /// The pin that keeps the base in memory, where it could not be read again.
    pub(super) held: Option<Arc<Pin<Base>>>,
}

/// Which chunks are written to; changes of others are ignored.
pub(crate) enum Part {
    /// All.
    Whole,
    /// Those of this share: the others lie with other shards.
    Share,
    /// These, and nothing of the catalogue.
    Chunks(HashSet<ChunkNo, FixedState>),
}

/// The next snapshot in the making.
pub(crate) struct Draft<'a> {
    pub(crate) from: &'a Root,
    pub(crate) directory: Directory,
    pub(super) chunks: HashMap<ChunkNo, Working, FixedState>,
    pub(crate) catalog: Catalog,
    pub(crate) indexes: Vec<(IndexId, Arc<Index>)>,
    pub(super) part: Part,
    /// Entries that the indexes of a share have gained and lost so far.
    pub(super) entry_changes: Vec<EntryChange>,
    counts: HashMap<Counter, i64, FixedState>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Draft<'a> {
        Draft::of_part(snapshot, Part::Whole)
    }
    pub(crate) fn of_part(snapshot: &'a Snapshot, part: Part) -> Draft<'a> {
        let from = &*snapshot.root;
        let mut catalog = from.catalog.clone();
        catalog.names = from.names.table();
        Draft {
            from,
            directory: from.directory.clone(),
            chunks: HashMap::default(),
            catalog,
            indexes: from.indexes.clone(),
            part,
            entry_changes: Vec::new(),
            counts: HashMap::default(),
        }
    }
    /// Is a change at this vertex to be written to this part?
    pub(super) fn owns(&self, vertex: VertexId) -> bool {
        let chunk = vertex.chunk();
        match &self.part {
            Part::Whole => true,
            Part::Share => self.chunks.contains_key(&chunk) || self.directory.get(chunk).is_some(),
            Part::Chunks(chunks) => chunks.contains(&chunk),
        }
    }

    /// Does a change touch this part, with at least one of its ends?
    pub(super) fn is_concerned(&self, change: &Change) -> bool {
        match &self.part {
            Part::Whole | Part::Share => true,
            Part::Chunks(chunks) => change.chunks().iter().flatten().any(|chunk| chunks.contains(chunk)),
        }
    }

    /// The new snapshot.
    pub(crate) fn finish(mut self, commit_version: u64) -> Result<Snapshot, StoreError> {
        self.flush()?;
        let mut statistics = self.from.statistics.clone();
        statistics.names = self.catalog.names.clone();
        self.counts.into_iter().for_each(|(counter, difference)| statistics.add(counter, difference));
        let size = |(id, index): &(IndexId, Arc<Index>)| IndexStatistics {
            index: *id,
            entries: index.entry_count(),
            distinct: index.distinct_estimate(),
        };
        statistics.indexes = self.indexes.iter().map(size).collect();
        Ok(Snapshot::from_root(Root {
            commit_version,
            directory: self.directory,
            catalog: self.catalog,
            names: self.from.names.clone(),
            indexes: self.indexes,
            statistics,
            options: self.from.options,
            layers: LayerCache::default(),
            sights: Sights::default(),
            lease: self.from.lease.clone(),
            pager: self.from.pager.clone(),
            prepared: self.from.prepared.clone(),
            uncommitted: self.from.uncommitted.clone(),
        }))
    }
    /// Puts the working copies into the directory, compacting those whose delta is due.
    ///
    /// # Errors
    /// The query of this thread was ended.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        for (number, Working { chunk, page, held }) in self.chunks.drain() {
            let changed = chunk.delta.as_ref().map_or(0, |delta| delta.weight);
            walk::spend(1 + changed)?;
            let due = compact::is_due(number, &chunk, self.from.options.compact_changes_min);
            let cell = match page.filter(|_| !due) {
                Some(page) => Cell::over(page, chunk.meta, chunk.delta),
                None => Cell::new(if due { compact::compact(&chunk) } else { chunk }, &self.from.pager),
            };
            held.into_iter().for_each(|held| cell.hold(held));
            self.directory.set(number, Arc::new(cell));
        }
        Ok(())
    }

    pub(crate) fn count(&mut self, counter: Counter, difference: i64) {
        *self.counts.entry(counter).or_default() += difference;
    }
    pub(crate) fn chunk(&mut self, vertex: VertexId) -> Result<&mut Chunk, StoreError> {
        let missing = StoreError::NoVertex(vertex);
        if vertex.0 > u32::MAX as u64 {
            return Err(missing);
        }
        match self.chunks.entry(vertex.chunk()) {
            hashbrown::hash_map::Entry::Occupied(working) => Ok(&mut working.into_mut().chunk),
            hashbrown::hash_map::Entry::Vacant(vacant) => {
                let cell = self.directory.get(vertex.chunk()).ok_or(missing)?;
                let (chunk, page) = (cell.chunk()?.to_chunk(), Some(cell.base().clone()));
                let held = cell.held().cloned();
                Ok(&mut vacant.insert(Working { chunk, page, held }).chunk)
            }
        }
    }
    /// Chunk, slot and labels of a vertex that must exist.
    pub(super) fn existing(
        &mut self,
        vertex: VertexId,
    ) -> Result<(&mut Chunk, usize, LabelSetId), StoreError> {
        let slot = vertex.slot() as usize;
        let chunk = self.chunk(vertex)?;
        let labels = chunk.labels(slot).ok_or(StoreError::NoVertex(vertex))?;
        Ok((chunk, slot, labels))
    }
}

/// The delta to write one change to; `outside` is the heap bytes of its values.
pub(super) fn delta_of<'c>(chunk: &'c mut Chunk, pager: &Arc<Pager>, outside: usize) -> &'c mut Delta {
    let delta = Arc::make_mut(chunk.delta.get_or_insert_with(|| Arc::new(Delta::new(pager))));
    delta.count_change(outside);
    delta
}
