//! The entries of an index before and after, where two versions of a chunk differ.
//!
//! Cost: the deltas of both versions, where they share their base; else all of the chunk.

use super::collect::{collect_edges, edge_at, edge_entry, index_key};
use super::run::{Entry, IndexKey};
use crate::StoreError;
use crate::chunks::chunk::ChunkRead;
use crate::chunks::edge_set::pack;
use crate::chunks::table::Lane;
use crate::schema::catalog::Catalog;
use crate::schema::filter::LabelFilter;
use crate::versions::cell::{Cell, ChunkRef};
use model::schema::{IndexDefinition, SchemaTarget};
use model::{ChunkNo, EdgeTypeId, KeyId, Slot, VertexId, pace};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The entries of a slot in two versions of a chunk.
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

/// Appends the entries of an index before and after, for the changed vertices of one chunk.
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

/// Appends the entries of such an index before and after, for the edges in which two versions of a chunk differ. Cost: their deltas, where they share
/// their base.
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
