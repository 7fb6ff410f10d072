//! Indexes over the properties of edges: the same trees, whose entries hold the whole edge.
//!
//! ```text
//!   entry of an index over vertices    values of the keys                        | vertex
//!   entry of an index over edges       values of the keys, edge's id, its target | source
//! ```
//! An edge is indexed if it has the type and none of the keys is null. Invariants: entries differ, since ids do; those with the same
//! values lie together; what is found is exact. Cost: keys are kept one by one, some 100 bytes an edge in memory; a write costs what it
//! costs in an index over vertices, however many edges its ends have.

use crate::StoreError;
use crate::apply::Draft;
use crate::chunk::{ChunkRead, merge};
use crate::directory::{Cell, ChunkRef};
use crate::edge_set::{neighbour_of, pack, slot_of};
use crate::index::Index;
use crate::index_online::changed_slots;
use crate::index_range::{Found, IndexRange};
use crate::index_run::{Entry, IndexKey};
use crate::table::Lane;
use model::schema::{IndexDefinition, SchemaTarget};
use model::{ChunkNo, EdgeId, EdgeRef, EdgeTypeId, KeyId, Slot, Value, VertexId, pace};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

/// What an index over `keys` holds for an edge, whose source's chunk this is; none if one of the keys is null.
fn edge_entry(chunk: &impl ChunkRead, edge: EdgeRef, keys: &[KeyId]) -> Option<Entry> {
    let value = |key: &KeyId| {
        let value = chunk.edge_property(edge.id.edge_type(), edge.id.slot(), *key);
        (!value.is_null()).then(|| value.to_value())
    };
    let mut values = keys.iter().map(value).collect::<Option<Vec<Value>>>()?;
    values.extend([Value::Int(edge.id.0 as i64), Value::Int(i64::from(edge.target.dense()))]);
    Some(Entry { key: IndexKey::Many(values.into()), vertex: edge.source.dense() })
}

/// The edge of an entry; an error where it is an entry of another kind.
pub(crate) fn edge_of(entry: &Entry) -> Result<EdgeRef, StoreError> {
    let strange = || StoreError::corrupt("an index over edges holds something else");
    let [.., id, target] = entry.key.values() else { return Err(strange()) };
    let (Some(id), Some(target)) = (id.as_int(), target.as_int()) else { return Err(strange()) };
    let target = u32::try_from(target).map_err(|_| strange())?;
    let (source, target) = (VertexId::from_dense(entry.vertex), VertexId::from_dense(target));
    Ok(EdgeRef { id: EdgeId(id as u64), source, target })
}

/// Two different entities have the same values in a unique index.
pub(crate) fn not_unique(definition: &IndexDefinition, a: &Entry, b: &Entry) -> StoreError {
    let index = definition.id;
    match (definition.target, edge_of(a), edge_of(b)) {
        (SchemaTarget::Edges(_), Ok(a), Ok(b)) => StoreError::EdgesNotUnique { index, edges: (a.id, b.id) },
        _ => {
            let vertices = (VertexId::from_dense(a.vertex), VertexId::from_dense(b.vertex));
            StoreError::NotUnique { index, vertices }
        }
    }
}

/// The edge of this number that leaves a slot.
fn edge_at(number: ChunkNo, slot: usize, edge_type: EdgeTypeId, packed: u64) -> EdgeRef {
    EdgeRef {
        id: EdgeId::new(number, edge_type, slot_of(packed)),
        source: VertexId::new(number, slot as Slot),
        target: VertexId::from_dense(neighbour_of(packed)),
    }
}

/// Appends what an index over edges of this type holds for those that leave the vertices of one chunk.
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

/// Appends what such an index held and shall hold for the edges in which two versions of a chunk differ. Cost: their deltas, where they
/// share their base.
pub(crate) fn changed_edges(
    number: ChunkNo,
    (old, new): (Option<&Arc<Cell>>, &Arc<Cell>),
    edge_type: EdgeTypeId,
    keys: &[KeyId],
    (gone, come): (&mut Vec<Entry>, &mut Vec<Entry>),
) -> Result<(), StoreError> {
    let Some(old) = old.filter(|old| Arc::ptr_eq(old.base(), new.base())) else {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        old.map_or(Ok(()), |old| collect_edges(number, old, edge_type, keys, &mut before))?;
        collect_edges(number, new, edge_type, keys, &mut after)?;
        let (before, after) = (BTreeSet::from_iter(before), BTreeSet::from_iter(after));
        gone.extend(before.difference(&after).cloned());
        come.extend(after.difference(&before).cloned());
        return Ok(());
    };
    let (before, after, lane) = (old.chunk()?, new.chunk()?, Lane::out(edge_type));
    let mut edges: BTreeSet<(usize, u64)> = BTreeSet::new();
    for slot in changed_slots(Some(old), new) {
        for list in [before.list_delta(slot, lane), after.list_delta(slot, lane)].into_iter().flatten() {
            edges.extend(list.added.iter().chain(list.removed.iter()).map(|packed| (slot, packed)));
        }
    }
    for chunk in [&before, &after] {
        let overrides = chunk.delta().into_iter().flat_map(|delta| delta.edge_properties.iter());
        for ((_, slot), values) in overrides.filter(|((other, _), _)| *other == edge_type) {
            let same = |other: &ChunkRef<'_>| {
                other.edge_overrides(edge_type, *slot).is_some_and(|known| std::ptr::eq(known, &**values))
            };
            if same(&before) && same(&after) {
                continue;
            }
            if let Some((source, target)) = chunk.edge_ends(edge_type, *slot) {
                edges.insert((source, pack(target, *slot)));
            }
        }
    }
    for (slot, packed) in edges {
        pace::spend(1)?;
        let edge = edge_at(number, slot, edge_type, packed);
        let was = before.has_edge(slot, lane, packed).then(|| edge_entry(&before, edge, keys)).flatten();
        let is = after.has_edge(slot, lane, packed).then(|| edge_entry(&after, edge, keys)).flatten();
        if was != is {
            gone.extend(was);
            come.extend(is);
        }
    }
    Ok(())
}

impl Draft<'_> {
    /// What the indexes that `wanted` picks hold for an edge.
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

/// The edges of a range of an index, in its order. A step fails where a leaf cannot be loaded.
pub struct EdgeRange(IndexRange);

impl Iterator for EdgeRange {
    type Item = Result<EdgeRef, StoreError>;
    fn next(&mut self) -> Option<Self::Item> {
        let edge = |found: Found<'_>| match found {
            Found::Stored(run, at) => edge_of(&run.entry(at)),
            Found::Added(entry) => edge_of(&entry),
        };
        self.0.step_with(edge).and_then(Option::transpose).transpose()
    }
}

impl Index {
    /// Edges whose first key lies between the bounds, as [`Index::range`] finds vertices.
    pub(crate) fn edge_range(
        self: &Arc<Index>,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<EdgeRange, StoreError> {
        match self.definition.target {
            SchemaTarget::Edges(_) => Ok(EdgeRange(self.range(lower, upper)?)),
            SchemaTarget::Vertices(_) => Err(StoreError::NoIndex(self.definition.id)),
        }
    }
    /// Edges whose first keys equal `prefix`, as [`Index::seek`] finds vertices.
    pub(crate) fn seek_edges(&self, prefix: &[Value]) -> Result<Vec<EdgeRef>, StoreError> {
        let SchemaTarget::Edges(_) = self.definition.target else {
            return Err(StoreError::NoIndex(self.definition.id));
        };
        self.seek_entries(prefix)?.iter().map(edge_of).collect()
    }
}
