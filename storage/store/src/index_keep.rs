//! How a commit keeps the indexes: what they held for a vertex before a change, what they shall hold after it, and new ones. For edges see
//! `index_edges`.

use crate::StoreError;
use crate::apply::Draft;
use crate::catalog::Catalog;
use crate::chunk::ChunkRead;
use crate::directory::Cell;
use crate::filter::LabelFilter;
use crate::index::Index;
use crate::index_edges::collect_edges;
use crate::index_run::{Entry, IndexKey};
use model::schema::{IndexDefinition, SchemaTarget};
use model::{ChunkNo, KeyId, LabelSetId, Value, VertexId, pace};
use std::sync::Arc;

impl Draft<'_> {
    /// What the indexes that `wanted` picks hold for a vertex with these labels.
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
    /// Brings the indexes from what they held for a vertex, or an edge that leaves it, to what they shall hold.
    pub(crate) fn reindex(
        &mut self,
        vertex: VertexId,
        before: Vec<(usize, IndexKey)>,
        after: Vec<(usize, IndexKey)>,
    ) -> Result<(), StoreError> {
        let delta_min = self.from.options.index_delta_min;
        for (at, key) in before.iter().filter(|entry| !after.contains(entry)) {
            let index = Arc::make_mut(&mut self.indexes[*at].1);
            index.remove(key.clone(), vertex.dense(), delta_min)?;
        }
        for (at, key) in after.into_iter().filter(|entry| !before.contains(entry)) {
            Arc::make_mut(&mut self.indexes[at].1).insert(key, vertex.dense(), delta_min)?;
        }
        Ok(())
    }
    /// From what was prepared for it beside other commits, or from nothing.
    pub(crate) fn create_index(&mut self, definition: &IndexDefinition) -> Result<(), StoreError> {
        self.catalog.add_index(definition)?;
        self.flush();
        let index = match self.from.prepared.take(definition) {
            Some(prepared) => prepared.caught_up(&self.catalog, &self.directory, self.from.options)?.index,
            None => Index::over(&self.catalog, &self.directory, definition, &self.from.pager)?,
        };
        self.indexes.push((definition.id, Arc::new(index)));
        Ok(())
    }
}

/// Appends what an index over `definition` holds for the vertices of one chunk, or for the edges that leave them.
pub(crate) fn collect_entries(
    catalog: &Catalog,
    number: ChunkNo,
    cell: &Cell,
    definition: &IndexDefinition,
    entries: &mut Vec<Entry>,
) -> Result<(), StoreError> {
    let label = match definition.target {
        SchemaTarget::Vertices(label) => label,
        SchemaTarget::Edges(edge_type) => {
            return collect_edges(number, cell, edge_type, &definition.keys, entries);
        }
    };
    let filter = LabelFilter::Has(label);
    if !cell.meta.label_sets.iter().any(|set| filter.accepts(catalog.labels_of(*set))) {
        return Ok(());
    }
    let chunk = cell.chunk()?;
    for slot in 0..chunk.meta().slot_bound as usize {
        pace::spend(1)?;
        if chunk.labels(slot).is_some_and(|set| filter.accepts(catalog.labels_of(set)))
            && let Some(key) = index_key(&chunk, slot, &definition.keys)
        {
            entries.push(Entry { key, vertex: VertexId::new(number, slot as model::Slot).dense() });
        }
    }
    Ok(())
}

/// The values of `keys` of a vertex; none if one of them is null.
pub(crate) fn index_key(chunk: &impl ChunkRead, slot: usize, keys: &[KeyId]) -> Option<IndexKey> {
    let value = |key: &KeyId| {
        let value = chunk.property(slot, *key);
        (!value.is_null()).then(|| value.to_value())
    };
    match keys {
        [key] => value(key).map(IndexKey::One),
        _ => {
            keys.iter().map(value).collect::<Option<Vec<Value>>>().map(|values| IndexKey::Many(values.into()))
        }
    }
}
