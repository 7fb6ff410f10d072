//! Compaction: a chunk's delta becomes part of a new base.
//!
//! Only the parts that the delta touches are rewritten: tables of lanes and columns of keys in it; the rest is shared with the old base. Readers hold
//! the old chunk by `Arc` and notice nothing. Cost: linear in the touched tables and columns, paid once for every 32nd of the base that changed.

use crate::chunks::chunk::{Base, Chunk, ChunkRead};
use crate::chunks::column::{PropertyRef, StoredColumn};
use crate::chunks::delta::{Delta, Life, bit};
use crate::chunks::edge_set::{neighbour_of, slot_of};
use crate::chunks::list_delta::merge;
use crate::chunks::table::{EdgeTable, Lane};
use model::{ChunkNo, EdgeTypeId, KeyId, LabelSetId, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// New values of one column, by slot; null clears.
pub(crate) type Overrides<'a> = Vec<(u32, PropertyRef<'a>)>;

/// A delta is compacted when it has one change for this many edges and vertices of its base. A change takes some 320 bytes in a delta and 8 in a
/// base, so a smaller share saves memory; a compaction costs some 10 ns for each of these, so a larger one saves time.
const COMPACT_SHARE: usize = 32;

/// The thresholds of chunks differ by up to a half, in this many steps: chunks with equal writes would otherwise all be compacted by one commit.
const COMPACT_TURNS: usize = 32;

/// Is the delta large enough, beside its base, to be compacted?
pub(crate) fn is_due(number: ChunkNo, chunk: &impl ChunkRead, changes_min: usize) -> bool {
    chunk.delta().is_some_and(|delta| {
        let turn = number as usize * 13 % COMPACT_TURNS;
        let share = chunk.base().weight() / COMPACT_SHARE;
        delta.weight >= changes_min && delta.weight >= share * 3 / 4 + share / 2 * turn / COMPACT_TURNS
    })
}

/// The same chunk with its delta compacted into a new base.
pub(crate) fn compact(chunk: &impl ChunkRead) -> Chunk {
    let Some(delta) = chunk.delta() else { return chunk.to_chunk() };
    let labels = compact_labels(chunk, delta);
    let base = Base {
        exists: chunk.existing(),
        slot_count: chunk.meta().slot_bound.max(chunk.base().slot_count),
        columns: compact_columns(chunk, delta),
        tables: compact_tables(chunk, delta),
        edge_columns: compact_edge_columns(chunk, delta),
        labels,
        part: None,
    };
    debug_assert!(chunk.base().is_whole());
    let mut meta = chunk.meta().clone();
    let sets = present_sets(&base, chunk.meta().birth, chunk.meta().live);
    if sets != meta.label_sets {
        Arc::make_mut(&mut meta).label_sets = sets;
    }
    Chunk { meta, base: Arc::new(base), delta: None }
}

/// Label sets of the vertices of a base, sorted.
pub(crate) fn present_sets(base: &Base, birth: LabelSetId, live: u32) -> Vec<LabelSetId> {
    let mut sets: Vec<LabelSetId> = base.labels.iter().map(|(_, set)| *set).collect();
    if base.labels.len() < live as usize || live == 0 {
        sets.push(birth);
    }
    sets.sort_unstable();
    sets.dedup();
    sets
}

fn compact_labels(chunk: &impl ChunkRead, delta: &Delta) -> Vec<(u16, LabelSetId)> {
    let mut labels: BTreeMap<u16, LabelSetId> = chunk.base().labels.iter().copied().collect();
    delta.for_each(|slot, vertex| match (vertex.life, vertex.labels) {
        (Life::Gone, _) => {
            labels.remove(&(slot as u16));
        }
        (_, Some(set)) if set == chunk.meta().birth => {
            labels.remove(&(slot as u16));
        }
        (_, Some(set)) => {
            labels.insert(slot as u16, set);
        }
        _ => {}
    });
    labels.into_iter().collect()
}

fn compact_columns(chunk: &impl ChunkRead, delta: &Delta) -> Vec<(KeyId, Arc<StoredColumn>)> {
    let mut overrides: BTreeMap<KeyId, Overrides<'_>> = BTreeMap::new();
    delta.for_each(|slot, vertex| {
        let slot = slot as u32;
        if vertex.life == Life::Gone {
            let held = chunk.base().columns.iter().filter(|(_, column)| !column.get(slot).is_null());
            held.for_each(|(key, _)| overrides.entry(*key).or_default().push((slot, PropertyRef::Null)));
        } else {
            let values = vertex.properties.iter();
            values.for_each(|(key, value)| overrides.entry(*key).or_default().push((slot, value.into())));
        }
    });
    let slot_count = chunk.meta().slot_bound.max(chunk.base().slot_count);
    overlay_columns(&chunk.base().columns, overrides, |_| slot_count)
}

fn compact_edge_columns(
    chunk: &impl ChunkRead,
    delta: &Delta,
) -> Vec<((EdgeTypeId, KeyId), Arc<StoredColumn>)> {
    let mut overrides: BTreeMap<(EdgeTypeId, KeyId), Overrides<'_>> = BTreeMap::new();
    for ((edge_type, slot), values) in delta.edge_properties.iter() {
        for (key, value) in values.iter() {
            let value: &Value = value;
            overrides.entry((*edge_type, *key)).or_default().push((*slot, value.into()));
        }
    }
    overlay_columns(&chunk.base().edge_columns, overrides, |(edge_type, _)| {
        chunk.meta().edge_slot_bound(*edge_type)
    })
}

/// Columns with overrides laid over them; columns without are shared.
pub(crate) fn overlay_columns<K: Ord + Copy>(
    columns: &[(K, Arc<StoredColumn>)],
    mut overrides: BTreeMap<K, Overrides<'_>>,
    slot_count: impl Fn(&K) -> u32,
) -> Vec<(K, Arc<StoredColumn>)> {
    let mut compacted = Vec::with_capacity(columns.len() + overrides.len());
    for (key, column) in columns {
        match overrides.remove(key) {
            None => compacted.push((*key, column.clone())),
            Some(values) => {
                let new = overlay_column(Some(column), &values, slot_count(key));
                compacted.extend(new.map(|column| (*key, Arc::new(column))));
            }
        }
    }
    for (key, values) in overrides {
        let new = overlay_column(None, &values, slot_count(&key));
        compacted.extend(new.map(|column| (key, Arc::new(column))));
    }
    compacted.sort_by_key(|(key, _)| *key);
    compacted
}

fn overlay_column(
    column: Option<&Arc<StoredColumn>>,
    overrides: &[(u32, PropertyRef<'_>)],
    slot_count: u32,
) -> Option<StoredColumn> {
    let mut values: Vec<(u32, PropertyRef<'_>)> = Vec::with_capacity(slot_count as usize);
    let mut next = overrides.iter().peekable();
    if let Some(column) = column {
        column.for_each(|slot, value| {
            while let Some((slot, value)) = next.next_if(|(other, _)| *other < slot) {
                values.push((*slot, *value));
            }
            match next.next_if(|(other, _)| *other == slot) {
                Some((slot, value)) => values.push((*slot, *value)),
                None => values.push((slot, value)),
            }
        });
    }
    values.extend(next.copied());
    values.retain(|(_, value)| !value.is_null());
    StoredColumn::build(slot_count, &values)
}

fn compact_tables(chunk: &impl ChunkRead, delta: &Delta) -> Vec<(Lane, Arc<EdgeTable>)> {
    let mut tables: Vec<(Lane, Arc<EdgeTable>)> = Vec::new();
    for lane in chunk.lanes() {
        let base = chunk.base().table(lane);
        if delta.lanes.binary_search(&lane).is_ok() {
            let table = compact_table(chunk, delta, base.map(|table| &**table), lane);
            tables.extend((table.len() > 0).then(|| (lane, Arc::new(table))));
        } else {
            tables.extend(base.map(|table| (lane, table.clone())));
        }
    }
    tables
}

fn compact_table(chunk: &impl ChunkRead, delta: &Delta, base: Option<&EdgeTable>, lane: Lane) -> EdgeTable {
    let slot_count = chunk.meta().slot_bound.max(chunk.base().slot_count) as usize;
    let mut offsets = Vec::with_capacity(slot_count + 1);
    let capacity = base.map_or(0, EdgeTable::len) + delta.weight;
    let (mut neighbours, mut slots) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
    offsets.push(0);
    for slot in 0..slot_count {
        let list = if bit(&delta.dirty, slot) { chunk.list_delta(slot, lane) } else { None };
        match (list, base) {
            (None, None) => {}
            (None, Some(table)) => {
                neighbours.extend_from_slice(table.list(slot));
                slots.extend(table.range(slot).map(|position| table.edge_slot(position)));
            }
            (Some(_), _) => merge(base, slot, list, |edge| {
                neighbours.push(neighbour_of(edge));
                slots.push(slot_of(edge));
            }),
        }
        offsets.push(neighbours.len() as u32);
    }
    EdgeTable::new(offsets.into(), neighbours.into(), Some(slots.into()))
}
