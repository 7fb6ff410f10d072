//! The edges that an import adds to one chunk, and their merge into the chunk.

use super::out::{NewValues, OutPart};
use crate::chunks::chunk::{Base, Chunk, ChunkRead};
use crate::chunks::column::PropertyRef;
use crate::chunks::compact::overlay_columns;
use crate::chunks::table::{EdgeTable, Lane};
use crate::schema::statistics::Counter;
use model::{ChunkNo, EdgeTypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The edges that an import adds to one chunk.
#[derive(Default)]
pub(in crate::bulk) struct EdgeParts {
    tables: Vec<(Lane, Arc<EdgeTable>)>,
    /// By type: bound of the new edge slots, and new values.
    columns: Vec<(EdgeTypeId, u32, Vec<NewValues>)>,
}

impl EdgeParts {
    /// The outgoing edges of one type.
    pub(in crate::bulk) fn of_out(part: &OutPart) -> EdgeParts {
        let columns = part.columns.clone();
        EdgeParts {
            tables: vec![(Lane::out(part.edge_type), part.table.clone())],
            columns: vec![(part.edge_type, part.slot_bound, columns)],
        }
    }
    /// Adds outgoing edges and their properties as they lie in a base of nothing else.
    pub(in crate::bulk) fn add_out(&mut self, edge_type: EdgeTypeId, slot_bound: u32, base: &Base) {
        self.tables.extend(base.tables.iter().cloned());
        let mut columns: Vec<NewValues> = Vec::new();
        for ((_, key), column) in &base.edge_columns {
            let mut values = Vec::new();
            column.for_each(|slot, value| values.push((slot, value.to_value())));
            columns.push((*key, values));
        }
        self.columns.push((edge_type, slot_bound, columns));
    }
    /// Adds the tables of one type: by source chunk, and by target chunk.
    pub(in crate::bulk) fn add_all(
        all: &mut BTreeMap<ChunkNo, EdgeParts>,
        edge_type: EdgeTypeId,
        out: Vec<OutPart>,
        into: Vec<(ChunkNo, EdgeTable)>,
    ) {
        for part in out {
            let held = all.entry(part.chunk).or_default();
            held.tables.push((Lane::out(edge_type), part.table));
            held.columns.push((edge_type, part.slot_bound, part.columns));
        }
        for (chunk, table) in into {
            all.entry(chunk).or_default().add_in(edge_type, table);
        }
    }
    /// Adds the incoming edges of one type.
    pub(in crate::bulk) fn add_in(&mut self, edge_type: EdgeTypeId, table: EdgeTable) {
        self.tables.push((Lane::into(edge_type), Arc::new(table)));
    }
    /// Adds the new edges to the statistics, by the labels of their ends in this chunk.
    pub(in crate::bulk) fn count(&self, chunk: &Chunk, counts: &mut BTreeMap<Counter, i64>) {
        for (lane, table) in &self.tables {
            for slot in 0..table.offsets.len() - 1 {
                let degree = table.range(slot).len() as i64;
                if let Some(labels) = chunk.labels(slot).filter(|_| degree > 0) {
                    let edge_type = lane.edge_type();
                    let out = Counter::Out(edge_type, labels);
                    let counter = if lane.is_out() { out } else { Counter::In(edge_type, labels) };
                    *counts.entry(counter).or_default() += degree;
                }
            }
        }
    }
    /// Slots of this chunk that are ends of the new edges.
    pub(in crate::bulk) fn slots(&self) -> impl Iterator<Item = usize> {
        self.tables
            .iter()
            .flat_map(|(_, table)| (0..table.offsets.len() - 1).filter(|slot| !table.range(*slot).is_empty()))
    }
    /// Puts tables and columns into a chunk without delta.
    pub(in crate::bulk) fn merge_into(&self, chunk: &mut Chunk) {
        let base = Arc::get_mut(&mut chunk.base);
        let mut base = match base {
            Some(base) => std::mem::replace(base, Base::empty()),
            None => copy_base(&chunk.base),
        };
        for (lane, table) in &self.tables {
            match base.tables.binary_search_by_key(lane, |(other, _)| *other) {
                Ok(at) => base.tables[at].1 = Arc::new(merge_tables(&base.tables[at].1, table)),
                Err(at) => base.tables.insert(at, (*lane, table.clone())),
            }
        }
        let meta = Arc::make_mut(&mut chunk.meta);
        for (edge_type, bound, columns) in &self.columns {
            let edge_type = *edge_type;
            meta.raise_edge_slot_bound(edge_type, *bound);
            let bound = meta.edge_slot_bound(edge_type);
            let overrides = columns
                .iter()
                .map(|(key, values)| {
                    let values = values.iter().map(|(slot, value)| (*slot, PropertyRef::from(value)));
                    ((edge_type, *key), values.collect::<Vec<_>>())
                })
                .collect::<BTreeMap<_, _>>();
            if !overrides.is_empty() {
                base.edge_columns = overlay_columns(&base.edge_columns, overrides, |(other, _)| {
                    if *other == edge_type { bound } else { 0 }
                });
            }
        }
        chunk.base = Arc::new(base);
    }
}

fn copy_base(base: &Base) -> Base {
    Base {
        exists: base.exists,
        slot_count: base.slot_count,
        labels: base.labels.clone(),
        columns: base.columns.clone(),
        tables: base.tables.clone(),
        edge_columns: base.edge_columns.clone(),
        part: base.part,
    }
}

/// Two tables of one lane as one; their edges differ.
fn merge_tables(old: &EdgeTable, new: &EdgeTable) -> EdgeTable {
    let slot_count = old.offsets.len().max(new.offsets.len()) - 1;
    let len = old.len() + new.len();
    let mut offsets = Vec::with_capacity(slot_count + 1);
    let (mut neighbours, mut slots) = (Vec::with_capacity(len), Vec::with_capacity(len));
    offsets.push(0);
    for slot in 0..slot_count {
        let mut left = old.range(slot).map(|at| old.packed(at)).peekable();
        for right in new.range(slot).map(|at| new.packed(at)) {
            while let Some(edge) = left.next_if(|edge| *edge < right) {
                neighbours.push((edge >> 32) as u32);
                slots.push(edge as u32);
            }
            neighbours.push((right >> 32) as u32);
            slots.push(right as u32);
        }
        for edge in left {
            neighbours.push((edge >> 32) as u32);
            slots.push(edge as u32);
        }
        offsets.push(neighbours.len() as u32);
    }
    EdgeTable::new(offsets.into(), neighbours.into(), Some(slots.into()))
}
