//! A finished import beside the graph, and how it is merged with commits made meanwhile.
//!
//! ```text
//!   given ── commits ──> current        given: the snapshot that the import looked things up in
//!     └── built ────────────┴─> onto    new chunks as they are; existing chunks merged again where they changed;
//!                                       indexes: those of `given` with the new vertices, and the changes since
//! ```
//!
//! Invariant: [`Built::onto`] gives the same as a build from `current` would have, or fails with [`StoreError::Outdated`]. Cost: the chunks
//! that changed since the last call, so the caller catches up without a lock and does the last, small step under it.

use super::edges::EdgeParts;
use super::parallel::{Parallel, run};
use super::spill::Aside;
use super::vertices::Target;
use crate::StoreError;
use crate::chunks::chunk::{Chunk, ChunkRead};
use crate::chunks::{chunk_bytes, compact};
use crate::commits::allocator::Allocator;
use crate::commits::draft::Draft;
use crate::indexes::changes::{changed_edges, changed_entries, changed_slots};
use crate::indexes::collect::collect_entries;
use crate::indexes::edges::not_unique;
use crate::indexes::gather::Gathered;
use crate::indexes::run::Entry;
use crate::indexes::tree::Index;
use crate::paging::spill::{Emit, Room};
use crate::schema::catalog::Catalog;
use crate::schema::statistics::Counter;
use crate::snapshots::root::Snapshot;
use crate::versions::cell::Cell;
use model::schema::{IndexId, SchemaTarget};
use model::{ChunkNo, KeyId, LabelSetId, Value, VertexId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A chunk that was there, with the new edges.
struct Merged {
    /// The version they were merged into.
    on: Arc<Cell>,
    cell: Arc<Cell>,
    counts: Counts,
    /// For indexes over edges: their position among all indexes, and their entries of the new edges.
    entries: Vec<(usize, Vec<Entry>)>,
}

type Counts = Vec<(Counter, i64)>;

/// The result of an import.
pub struct Built {
    given: Snapshot,
    /// With the indexes and constraints that come along.
    catalog: Catalog,
    new: Vec<(ChunkNo, Arc<Cell>)>,
    new_counts: Counts,
    /// New edges of chunks that were there.
    parts: BTreeMap<ChunkNo, EdgeParts>,
    merged: BTreeMap<ChunkNo, Merged>,
    /// As of `seen`, with the new vertices.
    indexes: Vec<(IndexId, Arc<Index>)>,
    seen: Snapshot,
    /// Chunks with room left, by label set, and their next slot.
    open: Vec<(LabelSetId, ChunkNo, usize)>,
}

impl Built {
    pub(super) fn assemble(
        given: &Snapshot,
        base: &Snapshot,
        target: &Target<'_>,
        edges: Edges<'_>,
        emit: Option<&dyn Emit>,
        open: Vec<(LabelSetId, ChunkNo, usize)>,
        parallel: Parallel<'_>,
    ) -> Result<Built, StoreError> {
        let numbers: Vec<ChunkNo> = target.new_chunks().collect();
        let pager = &base.root.pager;
        let built = run(parallel, numbers.len(), &|at| {
            let chunk = target.take(numbers[at])?;
            let vertices = chunk.meta.live as i64;
            let (chunk, mut counts) = edges.take(numbers[at], target)?.merged(chunk);
            counts.push((Counter::Vertices(chunk.meta.birth), vertices));
            let cell = match emit {
                Some(emit) => {
                    let blob = emit.put(&chunk_bytes::encode(&chunk))?;
                    Cell::stored(chunk.meta, blob, pager)
                }
                None => Cell::new(chunk, pager),
            };
            Ok((Arc::new(cell), counts))
        })?;
        emit.map_or(Ok(()), Emit::settle)?;
        let mut parts = BTreeMap::new();
        for number in edges.chunks() {
            if numbers.binary_search(&number).is_err() {
                parts.insert(number, edges.take(number, target)?);
            }
        }
        let mut new_counts: BTreeMap<Counter, i64> = BTreeMap::new();
        let mut new = Vec::with_capacity(numbers.len());
        for (number, (cell, counts)) in numbers.into_iter().zip(built) {
            counts.into_iter().for_each(|(counter, count)| *new_counts.entry(counter).or_default() += count);
            new.push((number, cell));
        }
        let indexes = extended_indexes(base, &new, target.room(), emit, parallel)?;
        Ok(Built {
            given: given.clone(),
            catalog: base.root.catalog.clone(),
            new,
            new_counts: new_counts.into_iter().collect(),
            parts,
            merged: BTreeMap::new(),
            indexes,
            seen: given.clone(),
            open,
        })
    }

    /// The snapshot that the import looked things up in.
    pub fn given(&self) -> &Snapshot {
        &self.given
    }

    /// Vertices with this value, new ones included, by the index over just this key; none where there is no such index.
    pub fn seek(
        &self,
        target: SchemaTarget,
        key: KeyId,
        value: &Value,
    ) -> Result<Option<Vec<VertexId>>, StoreError> {
        let fits = |index: &Index| index.definition.target == target && index.definition.keys == [key];
        let index = self.indexes.iter().find(|(_, index)| fits(index));
        index.map(|(_, index)| index.seek(std::slice::from_ref(value))).transpose()
    }

    /// `current`, which must be `given` or later, with the imported vertices and edges. Later calls need later snapshots.
    ///
    /// # Errors
    /// [`StoreError::Outdated`] where commits made meanwhile conflict with the import: indexes or constraints were created or dropped, an end of a
    /// new edge is gone, or a unique value exists already.
    pub fn onto(&mut self, current: &Snapshot, commit_version: u64) -> Result<Snapshot, StoreError> {
        let (ours, theirs) = (&self.given.root.catalog, &current.root.catalog);
        if ours.indexes() != theirs.indexes() || ours.constraints() != theirs.constraints() {
            return Err(StoreError::Outdated("indexes or constraints were made or dropped"));
        }
        let mut draft = Draft::new(current);
        let (names, entries) = (draft.catalog.names.clone(), draft.catalog.entries.clone());
        draft.catalog = Catalog { names, entries, ..self.catalog.clone() };
        self.catch_up(current, &draft.catalog)?;
        draft.indexes = self.indexes.clone();
        self.merge(current)?;
        self.index_edges(&mut draft)?;
        self.new_counts.iter().for_each(|(counter, count)| draft.count(*counter, *count));
        for (number, merged) in &self.merged {
            merged.counts.iter().for_each(|(counter, count)| draft.count(*counter, *count));
            draft.directory.set(*number, merged.cell.clone());
        }
        self.new.iter().for_each(|(number, cell)| draft.directory.set(*number, cell.clone()));
        draft.finish(commit_version)
    }

    /// The result was published: the free slots in the last chunks may be allocated.
    pub fn installed(&self, allocator: &Allocator) {
        self.open.iter().for_each(|(labels, number, fill)| allocator.reopen(*labels, *number, *fill));
    }

    /// Brings the indexes from `seen` to `current`.
    fn catch_up(&mut self, current: &Snapshot, catalog: &Catalog) -> Result<(), StoreError> {
        let seen = self.seen.clone();
        let changed = current.chunks_changed_since(&seen);
        for (_, index) in &mut self.indexes {
            let (mut gone, mut come) = (Vec::new(), Vec::new());
            for number in &changed {
                // A chunk once made is there for ever.
                if let Some(new) = current.root.directory.get(*number) {
                    let cells = (seen.root.directory.get(*number), new);
                    changed_entries(catalog, &index.definition, *number, cells, (&mut gone, &mut come))?;
                }
            }
            if gone.is_empty() && come.is_empty() {
                continue;
            }
            let index = Arc::make_mut(index);
            let delta_min = current.root.options.index_delta_min;
            for entry in gone {
                index.remove(entry.key, entry.vertex, delta_min)?;
            }
            for entry in come {
                if is_taken(index, &entry)? {
                    return Err(StoreError::Outdated("a value that may be there only once came into being"));
                }
                index.insert(entry.key, entry.vertex, delta_min)?;
            }
        }
        self.seen = current.clone();
        Ok(())
    }

    /// Merges the new edges into the chunks that were there, as far as those changed.
    fn merge(&mut self, current: &Snapshot) -> Result<(), StoreError> {
        for (number, parts) in &self.parts {
            let outdated = || StoreError::Outdated("an end of a new relationship was deleted");
            let on = current.root.directory.get(*number).ok_or_else(outdated)?;
            if self.merged.get(number).is_some_and(|merged| Arc::ptr_eq(&merged.on, on)) {
                continue;
            }
            let chunk = on.chunk()?;
            if !parts.slots().all(|slot| chunk.exists(slot)) {
                return Err(outdated());
            }
            let (chunk, counts) = parts.merged(compact::compact(&chunk));
            let cell = Arc::new(Cell::new(chunk, &current.root.pager));
            let mut entries = Vec::new();
            for (at, (_, index)) in self.indexes.iter().enumerate() {
                let SchemaTarget::Edges(edge_type) = index.definition.target else { continue };
                let (mut gone, mut come) = (Vec::new(), Vec::new());
                let (keys, cells) = (&index.definition.keys, (Some(on), &cell));
                changed_edges(*number, cells, edge_type, keys, (&mut gone, &mut come))?;
                debug_assert!(gone.is_empty(), "edges only come");
                entries.push((at, come));
            }
            self.merged.insert(*number, Merged { on: on.clone(), cell, counts, entries });
        }
        Ok(())
    }

    /// Puts the new edges of chunks that were there into the indexes over edges.
    fn index_edges(&self, draft: &mut Draft<'_>) -> Result<(), StoreError> {
        for (at, entries) in self.merged.values().flat_map(|merged| &merged.entries) {
            let index = Arc::make_mut(&mut draft.indexes[*at].1);
            for entry in entries {
                let keys = index.definition.keys.len();
                let other = || index.seek_entries(&entry.key.values()[..keys]);
                if index.definition.unique
                    && let Some(other) = other()?.first()
                {
                    return Err(not_unique(&index.definition, other, entry));
                }
                index.insert(entry.key.clone(), entry.vertex, draft.from.options.index_delta_min)?;
            }
        }
        Ok(())
    }
}

/// Does a unique index hold these values already?
fn is_taken(index: &Index, entry: &Entry) -> Result<bool, StoreError> {
    let values = &entry.key.values()[..index.definition.keys.len()];
    Ok(index.definition.unique && !index.seek(values)?.is_empty())
}

impl Snapshot {
    /// Numbers of the chunks of which this snapshot holds another version than an earlier one.
    pub fn chunks_changed_since(&self, earlier: &Snapshot) -> Vec<ChunkNo> {
        let (now, before) = (&self.root.directory, &earlier.root.directory);
        let same = |number: &ChunkNo| match (now.get(*number), before.get(*number)) {
            (Some(now), Some(before)) => Arc::ptr_eq(now, before),
            (now, before) => now.is_none() && before.is_none(),
        };
        (0..now.bound().max(before.bound())).filter(|number| !same(number)).collect()
    }
    /// Vertices of one chunk that may differ from an earlier snapshot, or exist in only one of the two.
    pub fn vertices_changed_since(&self, earlier: &Snapshot, number: ChunkNo) -> Vec<VertexId> {
        let Some(new) = self.root.directory.get(number) else { return Vec::new() };
        let slots = changed_slots(earlier.root.directory.get(number), new);
        slots.into_iter().map(|slot| VertexId::new(number, slot as u16)).collect()
    }
}

/// The indexes of `base` with the vertices of the new chunks. Where memory is short, one after the other.
fn extended_indexes(
    base: &Snapshot,
    new: &[(ChunkNo, Arc<Cell>)],
    room: Option<Room<'_>>,
    emit: Option<&dyn Emit>,
    parallel: Parallel<'_>,
) -> Result<Vec<(IndexId, Arc<Index>)>, StoreError> {
    let (catalog, indexes) = (Draft::new(base).catalog, &base.root.indexes);
    let one_by_one = |count: usize, task: &(dyn Fn(usize) + Sync)| (0..count).for_each(task);
    let parallel: Parallel<'_> = if room.is_some() { &one_by_one } else { parallel };
    let extended = run(parallel, indexes.len(), &|at| -> Result<Arc<Index>, StoreError> {
        let index = &indexes[at].1;
        let mut gathered = Gathered::new(&index.definition, room);
        for (number, cell) in new {
            gathered.take(|open| collect_entries(&catalog, *number, cell, &index.definition, open))?;
        }
        if gathered.is_empty() {
            return Ok(index.clone());
        }
        gathered.take_index(index);
        Ok(Arc::new(gathered.index(emit, &base.root.pager)?))
    })?;
    emit.map_or(Ok(()), Emit::settle)?;
    Ok(indexes.iter().map(|(id, _)| *id).zip(extended).collect())
}

/// Where the new edges of each chunk are.
pub(super) enum Edges<'a> {
    Held(BTreeMap<ChunkNo, Mutex<EdgeParts>>),
    Aside(Aside<'a>),
}

impl Edges<'_> {
    fn take(&self, chunk: ChunkNo, target: &Target<'_>) -> Result<EdgeParts, StoreError> {
        match self {
            Edges::Held(parts) => Ok(parts
                .get(&chunk)
                .map_or_else(EdgeParts::default, |parts| std::mem::take(&mut *parts.lock()))),
            Edges::Aside(aside) => aside.parts(chunk, target),
        }
    }
    fn chunks(&self) -> Vec<ChunkNo> {
        match self {
            Edges::Held(parts) => parts.keys().copied().collect(),
            Edges::Aside(aside) => aside.chunks(),
        }
    }
}

impl EdgeParts {
    /// A chunk without delta with these edges, and the change of the statistics.
    pub(super) fn merged(&self, mut chunk: Chunk) -> (Chunk, Counts) {
        let mut counts: BTreeMap<Counter, i64> = BTreeMap::new();
        self.count(&chunk, &mut counts);
        self.merge_into(&mut chunk);
        (chunk, counts.into_iter().collect())
    }
}
