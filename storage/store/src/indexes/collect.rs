//! The entries of an index for the vertices of a chunk, or for the edges that leave them.

use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::edge_set::{neighbour_of, slot_of};
use crate::chunks::list_delta::merge;
use crate::chunks::table::Lane;
use crate::indexes::run::{Entry, IndexKey};
use crate::schema::catalog::Catalog;
use crate::schema::filter::LabelFilter;
use crate::versions::cell::Cell;
use model::schema::{IndexDefinition, SchemaTarget};
use model::{ChunkNo, EdgeId, EdgeRef, EdgeTypeId, KeyId, Slot, Value, VertexId, pace};

/// Appends the entries of an index over `definition` for the vertices of one chunk, or for the edges that leave them.
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

/// The entry of an edge in an index over `keys`, given its source's chunk; none if one of the keys is null.
pub(crate) fn edge_entry(chunk: &impl ChunkRead, edge: EdgeRef, keys: &[KeyId]) -> Option<Entry> {
    let value = |key: &KeyId| {
        let value = chunk.edge_property(edge.id.edge_type(), edge.id.slot(), *key);
        (!value.is_null()).then(|| value.to_value())
    };
    let mut values = keys.iter().map(value).collect::<Option<Vec<Value>>>()?;
    values.extend([Value::Int(edge.id.0 as i64), Value::Int(i64::from(edge.target.dense()))]);
    Some(Entry { key: IndexKey::Many(values.into()), vertex: edge.source.dense() })
}

/// The edge of this number that leaves a slot.
pub(crate) fn edge_at(number: ChunkNo, slot: usize, edge_type: EdgeTypeId, packed: u64) -> EdgeRef {
    EdgeRef {
        id: EdgeId::new(number, edge_type, slot_of(packed)),
        source: VertexId::new(number, slot as Slot),
        target: VertexId::from_dense(neighbour_of(packed)),
    }
}

/// Appends the entries of an index over edges of this type for those that leave the vertices of one chunk.
pub(crate) fn collect_edges(
    number: ChunkNo,
    cell: &Cell,
    edge_type: EdgeTypeId,
    keys: &[KeyId],
    entries: &mut Vec<Entry>,
) -> Result<(), StoreError> {
    if cell.meta.edge_slot_bound(edge_type) == 0 {
        return Ok(());
    }
    let (chunk, lane) = (cell.chunk()?, Lane::out(edge_type));
    let table = chunk.base().table(lane).map(|table| &**table);
    for slot in 0..chunk.meta().slot_bound as usize {
        let mut paced = pace::spend(1);
        merge(table, slot, chunk.list_delta(slot, lane), |packed| {
            if paced.is_ok() {
                entries.extend(edge_entry(&chunk, edge_at(number, slot, edge_type, packed), keys));
                paced = pace::spend(1);
            }
        });
        paced?;
    }
    Ok(())
}
