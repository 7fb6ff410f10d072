//! How edges are cut into shares that tasks take: a counting sort by chunk.

use model::CHUNK_SLOTS;
use model::id::SLOT_BITS;
use std::ops::Range;

/// Edges one partition task takes; small enough that tasks outnumber threads.
pub(in crate::bulk) const SHARE_EDGES: usize = 1 << 17;

/// Items of one share, sorted by chunk; `starts[chunk]..starts[chunk + 1]` are a chunk's.
pub(super) struct Share<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Share<T> {
    pub(super) fn new(chunk_bound: usize, source: impl Iterator<Item = (usize, T)> + Clone) -> Share<T> {
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
    pub(super) fn of(&self, chunk: usize) -> &[T] {
        &self.items[self.starts[chunk] as usize..self.starts[chunk + 1] as usize]
    }
}

pub(in crate::bulk) fn chunk_of(vertex: u32) -> usize {
    (vertex >> SLOT_BITS) as usize
}

pub(in crate::bulk) fn slot_in_chunk(vertex: u32) -> usize {
    vertex as usize & (CHUNK_SLOTS - 1)
}

/// Runs of things of these sizes, each ended by the thing with which it reaches `enough`.
pub(in crate::bulk) fn runs_by_size(
    sizes: impl ExactSizeIterator<Item = usize>,
    enough: usize,
) -> Vec<Range<usize>> {
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
