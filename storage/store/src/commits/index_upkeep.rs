//! Maintenance of indexes by a commit: entries of a vertex or an edge before and after a change, and new indexes.

use super::draft::{Draft, Part};
use crate::StoreError;
use crate::indexes::collect::{edge_entry, index_key};
use crate::indexes::prepared::PreparedIndex;
use crate::indexes::run::{Entry, EntryChange, IndexKey};
use crate::indexes::tree::Index;
use crate::snapshots::root::Snapshot;
use model::schema::{IndexDefinition, SchemaTarget};
use model::{EdgeRef, LabelSetId, VertexId};
use std::sync::Arc;

impl Draft<'_> {
    /// The entries of a vertex with these labels in the indexes that `wanted` picks.
    pub(crate) fn index_keys(
        &mut self,
        vertex: VertexId,
        labels: LabelSetId,
        wanted: impl Fn(&IndexDefinition) -> bool,
    ) -> Result<Vec<(usize, IndexKey)>, StoreError> {
        let mut found = Vec::new();
        if self.indexes.is_empty() {
            return Ok(found);
        }
        let names = self.catalog.names.clone();
        let labels = names.labels_of(labels).map_or(&[][..], |labels| labels);
        for at in 0..self.indexes.len() {
            let definition = self.indexes[at].1.definition.clone();
            let SchemaTarget::Vertices(label) = definition.target else { continue };
            if labels.binary_search(&label).is_err() || !wanted(&definition) {
                continue;
            }
            let chunk = self.chunk(vertex)?;
            found.extend(index_key(chunk, vertex.slot() as usize, &definition.keys).map(|key| (at, key)));
        }
        Ok(found)
    }
    /// Replaces the entries of a vertex, or of an edge that leaves it, before a change by those after it.
    pub(crate) fn reindex(
        &mut self,
        vertex: VertexId,
        before: Vec<(usize, IndexKey)>,
        after: Vec<(usize, IndexKey)>,
    ) -> Result<(), StoreError> {
        let delta_min = self.from.options.index_delta_min;
        for (at, key) in before.iter().filter(|entry| !after.contains(entry)) {
            self.note(*at, false, vertex, key);
            let index = Arc::make_mut(&mut self.indexes[*at].1);
            index.remove(key.clone(), vertex.dense(), delta_min)?;
        }
        for (at, key) in after.into_iter().filter(|entry| !before.contains(entry)) {
            self.note(at, true, vertex, &key);
            Arc::make_mut(&mut self.indexes[at].1).insert(key, vertex.dense(), delta_min)?;
        }
        Ok(())
    }
    /// Records an entry that an index of a share gains or loses.
    fn note(&mut self, at: usize, came: bool, vertex: VertexId, key: &IndexKey) {
        if matches!(self.part, Part::Share) {
            let entry = Entry { key: key.clone(), vertex: vertex.dense() };
            self.entry_changes.push(EntryChange { index: self.indexes[at].0, came, entry });
        }
    }
    /// From a build prepared beside other commits, or from nothing. A share cannot check uniqueness.
    pub(crate) fn create_index(&mut self, definition: &IndexDefinition) -> Result<(), StoreError> {
        self.catalog.add_index(definition)?;
        self.flush()?;
        if matches!(self.part, Part::Share) {
            let of_share = IndexDefinition { unique: false, ..definition.clone() };
            let index = Index::over(&self.catalog, &self.directory, &of_share, &self.from.pager)?;
            self.indexes.push((definition.id, Arc::new(index)));
            return Ok(());
        }
        let index = match self.from.prepared.take(definition) {
            Some(prepared) => {
                prepared.caught_up(&self.catalog, &self.directory, self.from.options.index_delta_min)?.index
            }
            None => Index::over(&self.catalog, &self.directory, definition, &self.from.pager)?,
        };
        self.indexes.push((definition.id, Arc::new(index)));
        Ok(())
    }
    /// The entries of an edge in the indexes that `wanted` picks.
    pub(crate) fn edge_index_keys(
        &mut self,
        edge: EdgeRef,
        wanted: impl Fn(&IndexDefinition) -> bool,
    ) -> Result<Vec<(usize, IndexKey)>, StoreError> {
        let mut found = Vec::new();
        for at in 0..self.indexes.len() {
            let definition = self.indexes[at].1.definition.clone();
            if definition.target == SchemaTarget::Edges(edge.id.edge_type()) && wanted(&definition) {
                let chunk = self.chunk(edge.source)?;
                found.extend(edge_entry(chunk, edge, &definition.keys).map(|entry| (at, entry.key)));
            }
        }
        Ok(found)
    }
}

impl Snapshot {
    /// Builds an index beside commits, for the commit that will create it, or updates an earlier preparation to this snapshot. Call it with the
    /// current snapshot, two or three times; then commit the change. It fails where the index is unique and the graph is not.
    pub fn prepare_index(&self, definition: &IndexDefinition) -> Result<(), StoreError> {
        let root = &self.root;
        let prepared = match root.prepared.take(definition) {
            Some(prepared) => {
                prepared.caught_up(&root.catalog, &root.directory, root.options.index_delta_min)?
            }
            None => PreparedIndex::new(&root.catalog, &root.directory, definition, &root.pager)?,
        };
        root.prepared.put(prepared);
        Ok(())
    }
    /// Drops the preparation: the index will not be created after all.
    pub fn forget_prepared(&self, definition: &IndexDefinition) {
        self.root.prepared.take(definition);
    }
}
