//! Outgoing tables: pairs are sorted by source chunk, then by source and target.

use super::share::{SHARE_EDGES, Share, chunk_of, runs_by_size, slot_in_chunk};
use crate::StoreError;
use crate::bulk::batch::{EdgeBatch, Pairs, column_ref};
use crate::bulk::parallel::{Parallel, run};
use crate::bulk::vertices::Target;
use crate::chunks::table::EdgeTable;
use crate::commits::allocator::Allocator;
use model::{ChunkNo, EdgeTypeId, KeyId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Values of an edge column by edge slot, owned until they are merged.
pub(super) type NewValues = (KeyId, Vec<(u32, model::Value)>);

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

/// Runs of batches with about [`SHARE_EDGES`] edges each, or one that is larger.
fn share_out(batches: &[EdgeBatch]) -> Vec<Range<usize>> {
    runs_by_size(batches.iter().map(|batch| batch.pairs.len()), SHARE_EDGES)
}

/// New outgoing edges of one chunk.
pub(in crate::bulk) struct OutPart {
    pub(super) edge_type: EdgeTypeId,
    pub(in crate::bulk) chunk: ChunkNo,
    pub(in crate::bulk) table: Arc<EdgeTable>,
    pub(in crate::bulk) slot_bound: u32,
    pub(super) columns: Vec<NewValues>,
}

/// The outgoing tables of these edges.
pub(in crate::bulk) fn build_out_of(
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
