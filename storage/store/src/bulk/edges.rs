//! The edges of an import, one type at a time: pairs are sorted by source chunk into outgoing tables, and these by target chunk
//! into incoming ones.
//!
//! Each pass is a counting sort: tasks partition their share by chunk, then one task a chunk gathers its slices from all shares.
//! Incoming lists come out sorted because shares are visited in the order of their sources.

use super::vertices::Target;
use super::{Parallel, column_ref, run};
use crate::StoreError;
use crate::allocator::Allocator;
use crate::chunk::{Chunk, ChunkRead};
use crate::column::PropertyRef;
use crate::fold::overlay_columns;
use crate::statistics::Counter;
use crate::table::{EdgeTable, Lane};
use model::id::SLOT_BITS;
use model::{CHUNK_SLOTS, ChunkNo, Column, EdgeTypeId, KeyId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Edges one partition task takes; small enough that tasks outnumber threads.
const SHARE_EDGES: usize = 1 << 17;

/// Edges of one type above which the incoming tables are made in passes, a part of the target chunks in each.
const PASS_EDGES_MIN: usize = 1 << 20;
/// Such passes: what is on its way to the target chunks takes 12 bytes an edge, and so a quarter of that.
const PASSES: usize = 4;

/// Sources and targets.
type Pairs = Vec<(u32, u32)>;

/// Edges of one [`super::Bulk::edges`] call.
pub(super) struct EdgeBatch {
    pub(super) pairs: Pairs,
    pub(super) columns: Vec<(KeyId, Column)>,
}

/// Edges without properties as batches of a size that one task takes.
pub(super) fn cut(pairs: Pairs) -> Vec<EdgeBatch> {
    let batch = |pairs| EdgeBatch { pairs, columns: Vec::new() };
    if pairs.len() <= 2 * SHARE_EDGES {
        return vec![batch(pairs)];
    }
    pairs.chunks(SHARE_EDGES).map(|part| batch(part.to_vec())).collect()
}

/// Values of an edge column by edge slot, owned until they are merged.
type NewValues = (KeyId, Vec<(u32, model::Value)>);

/// What an import adds to the edges of one chunk.
#[derive(Default)]
pub(super) struct EdgeParts {
    tables: Vec<(Lane, Arc<EdgeTable>)>,
    /// By type: bound of the new edge slots, and new values.
    columns: Vec<(EdgeTypeId, u32, Vec<NewValues>)>,
}

impl EdgeParts {
    /// The outgoing edges of one type.
    pub(super) fn of_out(part: &OutPart) -> EdgeParts {
        let columns = part.columns.clone();
        EdgeParts {
            tables: vec![(Lane::out(part.edge_type), part.table.clone())],
            columns: vec![(part.edge_type, part.slot_bound, columns)],
        }
    }
    /// Adds outgoing edges and their properties as they lie in a base of nothing else.
    pub(super) fn add_out(&mut self, edge_type: EdgeTypeId, slot_bound: u32, base: &crate::chunk::Base) {
        self.tables.extend(base.tables.iter().cloned());
        let mut columns: Vec<NewValues> = Vec::new();
        for ((_, key), column) in &base.edge_columns {
            let mut values = Vec::new();
            column.for_each(|slot, value| values.push((slot, value.to_value())));
            columns.push((*key, values));
        }
        self.columns.push((edge_type, slot_bound, columns));
    }
    /// Adds the incoming edges of one type.
    pub(super) fn add_in(&mut self, edge_type: EdgeTypeId, table: EdgeTable) {
        self.tables.push((Lane::into(edge_type), Arc::new(table)));
    }
    /// Adds the new edges to the statistics, by the labels of their ends in this chunk.
    pub(super) fn count(&self, chunk: &Chunk, counts: &mut BTreeMap<Counter, i64>) {
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
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        self.tables
            .iter()
            .flat_map(|(_, table)| (0..table.offsets.len() - 1).filter(|slot| !table.range(*slot).is_empty()))
    }
    /// Puts tables and columns into a chunk without delta.
    pub(super) fn merge_into(&self, chunk: &mut Chunk) {
        let base = Arc::get_mut(&mut chunk.base);
        let mut base = match base {
            Some(base) => std::mem::replace(base, crate::chunk::Base::empty()),
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

fn copy_base(base: &crate::chunk::Base) -> crate::chunk::Base {
    crate::chunk::Base {
        exists: base.exists,
        slot_count: base.slot_count,
        labels: base.labels.clone(),
        columns: base.columns.clone(),
        tables: base.tables.clone(),
        edge_columns: base.edge_columns.clone(),
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

/// Items of one share, sorted by chunk; `starts[chunk]..starts[chunk + 1]` are a chunk's.
struct Share<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Share<T> {
    fn new(chunk_bound: usize, source: impl Iterator<Item = (usize, T)> + Clone) -> Share<T> {
        let mut starts = vec![0u32; chunk_bound + 1];
        source.clone().for_each(|(chunk, _)| starts[chunk + 1] += 1);
        (0..chunk_bound).for_each(|chunk| starts[chunk + 1] += starts[chunk]);
        let mut next = starts.clone();
        let mut items = vec![T::default(); starts[chunk_bound] as usize];
        for (chunk, item) in source {
            items[next[chunk] as usize] = item;
            next[chunk] += 1;
        }
        Share { starts, items }
    }
    fn of(&self, chunk: usize) -> &[T] {
        &self.items[self.starts[chunk] as usize..self.starts[chunk + 1] as usize]
    }
}

pub(super) fn chunk_of(vertex: u32) -> usize {
    (vertex >> SLOT_BITS) as usize
}

fn slot_in_chunk(vertex: u32) -> usize {
    vertex as usize & (CHUNK_SLOTS - 1)
}

/// Where the properties of a pair are; nothing where no batch has any, which saves half the memory.
trait Origin: Copy + Default + Ord + Send + Sync {
    fn new(batch: usize, row: usize) -> Self;
    /// Batch and row.
    fn get(self) -> Option<(usize, usize)>;
}

impl Origin for () {
    fn new(_batch: usize, _row: usize) {}
    fn get(self) -> Option<(usize, usize)> {
        None
    }
}

impl Origin for (u32, u32) {
    fn new(batch: usize, row: usize) -> (u32, u32) {
        (batch as u32, row as u32)
    }
    fn get(self) -> Option<(usize, usize)> {
        Some((self.0 as usize, self.1 as usize))
    }
}

/// A pair on its way to its source's chunk.
#[derive(Clone, Copy, Default)]
struct Pair<O> {
    source_slot: u16,
    target: u32,
    origin: O,
}

/// Builds the tables of one edge type and adds them to `parts`.
pub(super) fn build(
    edge_type: EdgeTypeId,
    batches: Vec<EdgeBatch>,
    target: &Target<'_>,
    allocator: &Allocator,
    parallel: Parallel<'_>,
    parts: &mut BTreeMap<ChunkNo, EdgeParts>,
) -> Result<(), StoreError> {
    let bound = target.chunk_bound() as usize;
    let out = build_out_of(edge_type, batches, target, allocator, parallel)?;
    let into = build_in(edge_type, &out, target, parallel, bound)?;
    for part in out {
        let held = parts.entry(part.chunk).or_default();
        held.tables.push((Lane::out(edge_type), part.table));
        held.columns.push((edge_type, part.slot_bound, part.columns));
    }
    for (chunk, table) in into {
        parts.entry(chunk).or_default().tables.push((Lane::into(edge_type), Arc::new(table)));
    }
    Ok(())
}

/// Runs of batches with about [`SHARE_EDGES`] edges each, or one that is larger.
fn share_out(batches: &[EdgeBatch]) -> Vec<Range<usize>> {
    runs_by_size(batches.iter().map(|batch| batch.pairs.len()), SHARE_EDGES)
}

/// Runs of things of these sizes, each ended by the thing with which it reaches `enough`.
fn runs_by_size(sizes: impl ExactSizeIterator<Item = usize>, enough: usize) -> Vec<Range<usize>> {
    let (mut runs, mut start, mut sum, count) = (Vec::new(), 0, 0, sizes.len());
    for (at, size) in sizes.enumerate() {
        sum += size;
        if sum >= enough || at + 1 == count {
            runs.push(start..at + 1);
            (start, sum) = (at + 1, 0);
        }
    }
    runs
}

/// New outgoing edges of one chunk.
pub(super) struct OutPart {
    edge_type: EdgeTypeId,
    pub(super) chunk: ChunkNo,
    pub(super) table: Arc<EdgeTable>,
    pub(super) slot_bound: u32,
    columns: Vec<NewValues>,
}

/// The outgoing tables of these edges.
pub(super) fn build_out_of(
    edge_type: EdgeTypeId,
    batches: Vec<EdgeBatch>,
    target: &Target<'_>,
    allocator: &Allocator,
    parallel: Parallel<'_>,
) -> Result<Vec<OutPart>, StoreError> {
    let build_out = match batches.iter().all(|batch| batch.columns.is_empty()) {
        true => build_out::<()>,
        false => build_out::<(u32, u32)>,
    };
    build_out(edge_type, batches, target, allocator, parallel, target.chunk_bound() as usize)
}

/// The edges of an outgoing table as their targets see them.
pub(super) fn arrivals(part: &OutPart) -> impl Iterator<Item = Arrival> + Clone {
    (0..part.table.offsets.len() - 1).flat_map(move |slot| {
        let source = (part.chunk << SLOT_BITS) + slot as u32;
        part.table.range(slot).map(move |position| {
            let target = part.table.neighbours[position];
            Arrival { target, source, slot: part.table.edge_slot(position) }
        })
    })
}

fn build_out<O: Origin>(
    edge_type: EdgeTypeId,
    mut batches: Vec<EdgeBatch>,
    target: &Target<'_>,
    allocator: &Allocator,
    parallel: Parallel<'_>,
    bound: usize,
) -> Result<Vec<OutPart>, StoreError> {
    let ranges = share_out(&batches);
    let pairs: Vec<Mutex<Pairs>> =
        batches.iter_mut().map(|batch| Mutex::new(std::mem::take(&mut batch.pairs))).collect();
    let shares = run(parallel, ranges.len(), &|at| {
        // Taken, so that each share replaces what it was made of.
        let taken: Vec<(usize, Pairs)> =
            ranges[at].clone().map(|batch| (batch, std::mem::take(&mut *pairs[batch].lock()))).collect();
        let rows = taken
            .iter()
            .flat_map(|(batch, pairs)| pairs.iter().enumerate().map(move |(row, pair)| (*batch, row, *pair)));
        if let Some((_, _, pair)) = rows.clone().find(|(_, _, pair)| chunk_of(pair.0) >= bound) {
            return Err(StoreError::NoVertex(model::VertexId::from_dense(pair.0)));
        }
        Ok(Share::new(
            bound,
            rows.map(|(batch, row, (source, target))| {
                let source_slot = slot_in_chunk(source) as u16;
                (chunk_of(source), Pair { source_slot, target, origin: O::new(batch, row) })
            }),
        ))
    })?;
    let columns = columns_by_key(&batches);
    let chunks: Vec<usize> =
        (0..bound).filter(|chunk| shares.iter().any(|share| !share.of(*chunk).is_empty())).collect();
    run(parallel, chunks.len(), &|at| {
        out_part(edge_type, chunks[at], &shares, &batches, &columns, target, allocator)
    })
}

fn out_part<O: Origin>(
    edge_type: EdgeTypeId,
    chunk: usize,
    shares: &[Share<Pair<O>>],
    batches: &[EdgeBatch],
    columns: &BTreeMap<KeyId, Vec<Option<usize>>>,
    target: &Target<'_>,
    allocator: &Allocator,
) -> Result<OutPart, StoreError> {
    let slot_count = target.slot_count(chunk as ChunkNo)?;
    let pairs = || shares.iter().flat_map(|share| share.of(chunk));
    let mut offsets = vec![0u32; slot_count + 1];
    for pair in pairs() {
        match offsets.get_mut(pair.source_slot as usize + 1) {
            Some(offset) => *offset += 1,
            None => target.check_vertex(chunk as ChunkNo, pair.source_slot as usize)?,
        }
    }
    (0..slot_count).for_each(|slot| offsets[slot + 1] += offsets[slot]);
    let mut next = offsets.clone();
    let mut sorted = vec![Pair::default(); offsets[slot_count] as usize];
    for pair in pairs() {
        let place = &mut next[pair.source_slot as usize];
        sorted[*place as usize] = *pair;
        *place += 1;
    }
    for (slot, ends) in offsets.windows(2).enumerate() {
        if ends[0] < ends[1] {
            target.check_vertex(chunk as ChunkNo, slot)?;
            let list = &mut sorted[ends[0] as usize..ends[1] as usize];
            list.sort_unstable_by_key(|pair| (pair.target, pair.origin));
        }
    }
    let first = allocator.take_edges(chunk as ChunkNo, edge_type, sorted.len())?;
    let neighbours: Arc<[u32]> = sorted.iter().map(|pair| pair.target).collect();
    let slot_bound = first + sorted.len() as u32;
    let slots = (first > 0).then(|| (first..slot_bound).collect());
    let columns = edge_values(&sorted, first, batches, columns);
    let table = Arc::new(EdgeTable::new(offsets.into(), neighbours, slots));
    Ok(OutPart { edge_type, chunk: chunk as ChunkNo, table, slot_bound, columns })
}

/// For each property key, which column of each batch holds it.
fn columns_by_key(batches: &[EdgeBatch]) -> BTreeMap<KeyId, Vec<Option<usize>>> {
    let mut columns: BTreeMap<KeyId, Vec<Option<usize>>> = BTreeMap::new();
    for (batch, held) in batches.iter().enumerate() {
        for (column, (key, _)) in held.columns.iter().enumerate() {
            columns.entry(*key).or_insert_with(|| vec![None; batches.len()])[batch] = Some(column);
        }
    }
    columns
}

/// Property values of the edges of one chunk, by edge slot.
fn edge_values<O: Origin>(
    sorted: &[Pair<O>],
    first: u32,
    batches: &[EdgeBatch],
    columns: &BTreeMap<KeyId, Vec<Option<usize>>>,
) -> Vec<NewValues> {
    let mut found = Vec::new();
    for (key, columns) in columns {
        let mut values = Vec::new();
        for (at, pair) in sorted.iter().enumerate() {
            let Some((batch, row)) = pair.origin.get() else { continue };
            let Some(column) = columns[batch] else { continue };
            let value = column_ref(&batches[batch].columns[column].1, row);
            if !value.is_null() {
                values.push((first + at as u32, value.to_value()));
            }
        }
        if !values.is_empty() {
            found.push((*key, values));
        }
    }
    found
}

/// An edge on its way to its target's chunk.
#[derive(Clone, Copy, Default)]
pub(super) struct Arrival {
    pub(super) target: u32,
    pub(super) source: u32,
    pub(super) slot: u32,
}

fn build_in(
    _edge_type: EdgeTypeId,
    out: &[OutPart],
    target: &Target<'_>,
    parallel: Parallel<'_>,
    bound: usize,
) -> Result<Vec<(ChunkNo, EdgeTable)>, StoreError> {
    let groups = runs_by_size(out.iter().map(|part| part.table.len()), SHARE_EDGES);
    let edges: usize = out.iter().map(|part| part.table.len()).sum();
    let passes = if edges < PASS_EDGES_MIN { 1 } else { PASSES };
    let step = bound.div_ceil(passes).max(1);
    let mut tables = Vec::new();
    for first in (0..bound).step_by(step) {
        let chunks = first..(first + step).min(bound);
        let last = chunks.end == bound;
        let shares = run(parallel, groups.len(), &|at| share_in(&out[groups[at].clone()], &chunks, last))?;
        let met: Vec<usize> =
            chunks.filter(|chunk| shares.iter().any(|share| !share.of(chunk - first).is_empty())).collect();
        tables.extend(run(parallel, met.len(), &|at| {
            let arrivals = || shares.iter().flat_map(|share| share.of(met[at] - first));
            Ok((met[at] as ChunkNo, in_table(met[at], &arrivals, target)?))
        })?);
    }
    Ok(tables)
}

/// The edges of some outgoing tables that lead to these chunks.
fn share_in(parts: &[OutPart], chunks: &Range<usize>, last: bool) -> Result<Share<Arrival>, StoreError> {
    let arrivals = parts.iter().flat_map(arrivals).map(|arrival| (chunk_of(arrival.target), arrival));
    if last && let Some((_, arrival)) = arrivals.clone().find(|(chunk, _)| *chunk >= chunks.end) {
        return Err(StoreError::NoVertex(model::VertexId::from_dense(arrival.target)));
    }
    let within = arrivals.filter(|(chunk, _)| chunks.contains(chunk));
    Ok(Share::new(chunks.len(), within.map(|(chunk, arrival)| (chunk - chunks.start, arrival))))
}

pub(super) fn in_table<'s, I: Iterator<Item = &'s Arrival>>(
    chunk: usize,
    arrivals: &dyn Fn() -> I,
    target: &Target<'_>,
) -> Result<EdgeTable, StoreError> {
    let slot_count = target.slot_count(chunk as ChunkNo)?;
    let mut offsets = vec![0u32; slot_count + 1];
    for arrival in arrivals() {
        match offsets.get_mut(slot_in_chunk(arrival.target) + 1) {
            Some(offset) => *offset += 1,
            None => target.check_vertex(chunk as ChunkNo, slot_in_chunk(arrival.target))?,
        }
    }
    for slot in 0..slot_count {
        if offsets[slot + 1] > 0 {
            target.check_vertex(chunk as ChunkNo, slot)?;
        }
        offsets[slot + 1] += offsets[slot];
    }
    let mut next = offsets.clone();
    let len = offsets[slot_count] as usize;
    let (mut neighbours, mut slots) = (vec![0u32; len], vec![0u32; len]);
    for arrival in arrivals() {
        let place = &mut next[slot_in_chunk(arrival.target)];
        neighbours[*place as usize] = arrival.source;
        slots[*place as usize] = arrival.slot;
        *place += 1;
    }
    Ok(EdgeTable::new(offsets.into(), neighbours.into(), Some(slots.into())))
}
