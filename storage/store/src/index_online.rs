//! Building an index while commits go on.
//!
//! Idea: the entries are collected from a snapshot, beside everybody; what was committed meanwhile is found by comparing the directory of
//! that snapshot with the next one, and only chunks that differ are looked at, and in those that share their base only the
//! vertices that changed. Each round takes less time than the last, so the commit that creates the index finds almost nothing left
//! to do. Whatever was prepared, the index is the one that a build from nothing gives; only the time differs. Limit: see
//! [`PREPARED_MAX`].

use crate::StoreError;
use crate::catalog::Catalog;
use crate::chunk::ChunkRead;
use crate::directory::{Cell, Directory};
use crate::filter::LabelFilter;
use crate::index::Index;
use crate::index_edges::{changed_edges, not_unique};
use crate::index_gather::Gathered;
use crate::index_keep::{collect_entries, index_key};
use crate::index_run::{Entry, IndexKey};
use crate::pager::Pager;
use crate::snapshot::{Snapshot, StoreOptions};
use model::schema::{IndexDefinition, SchemaTarget};
use model::{ChunkNo, Slot, VertexId, pace};
use parking_lot::Mutex;
use std::sync::Arc;

/// Indexes prepared at once; the oldest is forgotten for one more.
const PREPARED_MAX: usize = 4;

/// An index as of one directory.
pub(crate) struct PreparedIndex {
    pub(crate) index: Index,
    directory: Directory,
}

/// Indexes prepared for commits to come.
#[derive(Default)]
pub(crate) struct Prepared(Mutex<Vec<PreparedIndex>>);

impl Prepared {
    /// The index prepared for this definition, with its name and number: it may have been prepared before it had them.
    pub(crate) fn take(&self, definition: &IndexDefinition) -> Option<PreparedIndex> {
        let mut all = self.0.lock();
        let at = all.iter().position(|prepared| is_for(&prepared.index.definition, definition))?;
        let mut taken = all.swap_remove(at);
        taken.index.definition = Arc::new(definition.clone());
        Some(taken)
    }
    fn put(&self, prepared: PreparedIndex) {
        let mut all = self.0.lock();
        if all.len() == PREPARED_MAX {
            all.remove(0);
        }
        all.push(prepared);
    }
}

/// Would both hold the same? Names and numbers are given last.
fn is_for(prepared: &IndexDefinition, definition: &IndexDefinition) -> bool {
    prepared.target == definition.target
        && prepared.keys == definition.keys
        && prepared.unique == definition.unique
}

impl Snapshot {
    /// Builds an index beside commits, for the commit that will create it, or brings what was prepared before up to this snapshot.
    /// Call it with the current snapshot, two or three times; then commit the change. It fails where the index is unique and the graph is not.
    pub fn prepare_index(&self, definition: &IndexDefinition) -> Result<(), StoreError> {
        let root = &self.root;
        let prepared = match root.prepared.take(definition) {
            Some(prepared) => prepared.caught_up(&root.catalog, &root.directory, root.options)?,
            None => PreparedIndex {
                index: Index::over(&root.catalog, &root.directory, definition, &root.pager)?,
                directory: root.directory.clone(),
            },
        };
        root.prepared.put(prepared);
        Ok(())
    }
    /// Forgets what was prepared: the index will not be created after all.
    pub fn forget_prepared(&self, definition: &IndexDefinition) {
        self.root.prepared.take(definition);
    }
}

impl Index {
    /// An index over all that a directory holds.
    pub(crate) fn over(
        catalog: &Catalog,
        directory: &Directory,
        definition: &IndexDefinition,
        pager: &Arc<Pager>,
    ) -> Result<Index, StoreError> {
        let mut gathered = Gathered::new(definition, None);
        for (number, cell) in directory.iter() {
            gathered.take(|open| collect_entries(catalog, number, cell, definition, open))?;
        }
        gathered.index(None, pager)
    }
}

/// What the index holds for a slot of two versions of a chunk.
struct Comparison<'a> {
    catalog: &'a Catalog,
    definition: &'a IndexDefinition,
    filter: LabelFilter,
}

impl Comparison<'_> {
    fn key(&self, chunk: Option<&impl ChunkRead>, slot: usize) -> Option<IndexKey> {
        let chunk = chunk?;
        let labels = chunk.labels(slot)?;
        self.filter.accepts(self.catalog.labels_of(labels)).then_some(())?;
        index_key(chunk, slot, &self.definition.keys)
    }
}

/// Slots in which two versions of a chunk may differ.
pub(crate) fn changed_slots(old: Option<&Arc<Cell>>, new: &Arc<Cell>) -> Vec<usize> {
    let shared = old.filter(|old| Arc::ptr_eq(old.base(), new.base()));
    let Some(old) = shared else { return (0..new.meta.slot_bound as usize).collect() };
    let mut slots = Vec::new();
    if let Some(delta) = new.delta() {
        delta.for_each(|slot, vertex| {
            let before = old.delta().and_then(|delta| delta.vertex(slot));
            if !before.is_some_and(|before| std::ptr::eq(before, vertex)) {
                slots.push(slot);
            }
        });
    }
    slots
}

/// Appends what an index held for the vertices of one chunk that changed, and what it shall hold for them.
pub(crate) fn changed_entries(
    catalog: &Catalog,
    definition: &IndexDefinition,
    number: ChunkNo,
    (old, new): (Option<&Arc<Cell>>, &Arc<Cell>),
    (gone, come): (&mut Vec<Entry>, &mut Vec<Entry>),
) -> Result<(), StoreError> {
    let label = match definition.target {
        SchemaTarget::Vertices(label) => label,
        SchemaTarget::Edges(edge_type) => {
            return changed_edges(number, (old, new), edge_type, &definition.keys, (gone, come));
        }
    };
    let comparison = Comparison { catalog, definition, filter: LabelFilter::Has(label) };
    let before = old.map(|cell| cell.chunk()).transpose()?;
    let after = new.chunk()?;
    for slot in changed_slots(old, new) {
        pace::spend(1)?;
        let (was, is) = (comparison.key(before.as_ref(), slot), comparison.key(Some(&after), slot));
        if was != is {
            let vertex = VertexId::new(number, slot as Slot).dense();
            gone.extend(was.map(|key| Entry { key, vertex }));
            come.extend(is.map(|key| Entry { key, vertex }));
        }
    }
    Ok(())
}

impl PreparedIndex {
    /// The index as of this directory.
    pub(crate) fn caught_up(
        mut self,
        catalog: &Catalog,
        directory: &Directory,
        options: StoreOptions,
    ) -> Result<PreparedIndex, StoreError> {
        let definition = self.index.definition.clone();
        // Who leaves a key goes first, so that who comes to it is not taken for a duplicate.
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for (number, new) in directory.iter() {
            let old = self.directory.get(number);
            if old.is_none_or(|old| !Arc::ptr_eq(old, new)) {
                changed_entries(catalog, &definition, number, (old, new), (&mut gone, &mut come))?;
            }
        }
        for Entry { key, vertex } in gone {
            pace::spend(1)?;
            self.index.remove(key, vertex, options.index_delta_min)?;
        }
        for Entry { key, vertex } in come {
            pace::spend(1)?;
            if definition.unique
                && let Some(other) = self.index.seek_entries(&key.values()[..definition.keys.len()])?.first()
            {
                return Err(not_unique(&definition, other, &Entry { key, vertex }));
            }
            self.index.insert(key, vertex, options.index_delta_min)?;
        }
        self.directory = directory.clone();
        Ok(self)
    }
}
