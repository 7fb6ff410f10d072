//! The edges of an import, one type at a time: pairs are sorted by source chunk into outgoing tables (`out`), and these by target chunk
//! into incoming ones (`into`); `parts` is what becomes of a chunk.
//!
//! Each pass is a counting sort: tasks partition their share by chunk, then one task a chunk gathers its slices from all shares.

mod into;
mod out;
mod parts;

pub(super) use into::{Arrival, arrivals, in_table};
pub(super) use out::{OutPart, build_out_of};
pub(super) use parts::EdgeParts;

use super::Parallel;
use super::vertices::Target;
use crate::StoreError;
use crate::allocator::Allocator;
use model::id::SLOT_BITS;
use model::{CHUNK_SLOTS, ChunkNo, Column, EdgeTypeId, KeyId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Edges one partition task takes; small enough that tasks outnumber threads.
const SHARE_EDGES: usize = 1 << 17;

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
    let into = into::build_in(&out, target, parallel, bound)?;
    EdgeParts::add_all(parts, edge_type, out, into);
    Ok(())
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
