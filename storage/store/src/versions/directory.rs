//! The chunk directory: chunk number to chunk cell, a paged vector copied along one path on write.
//!
//! Cost of a write: three short vectors of pointers; of a look-up: four loads.

use super::cell::Cell;
use crate::paging::pager::Pager;
use model::ChunkNo;
use std::sync::Arc;

/// Bits of a chunk number that pick the cell within a leaf: a leaf is copied on every write, so it is small.
const LEAF_BITS: u32 = 4;

/// Bits that pick the leaf within a branch.
const BRANCH_BITS: u32 = 6;

type Leaf = Vec<Option<Arc<Cell>>>;

/// The directory; cloning copies the top level only.
#[derive(Clone, Default)]
pub(crate) struct Directory {
    tops: Arc<Vec<Arc<Vec<Arc<Leaf>>>>>,
    bound: ChunkNo,
}

impl Directory {
    /// Chunk numbers in use lie below this.
    pub(crate) fn bound(&self) -> ChunkNo {
        self.bound
    }
    #[inline]
    pub(crate) fn get(&self, chunk: ChunkNo) -> Option<&Arc<Cell>> {
        let leaf_at = chunk >> LEAF_BITS;
        let branch = self.tops.get((leaf_at >> BRANCH_BITS) as usize)?;
        let leaf = branch.get((leaf_at & ((1 << BRANCH_BITS) - 1)) as usize)?;
        leaf.get((chunk & ((1 << LEAF_BITS) - 1)) as usize)?.as_ref()
    }
    pub(crate) fn set(&mut self, chunk: ChunkNo, cell: Arc<Cell>) {
        let leaf_at = chunk >> LEAF_BITS;
        let branch = Arc::make_mut(grown(Arc::make_mut(&mut self.tops), (leaf_at >> BRANCH_BITS) as usize));
        let leaf = Arc::make_mut(grown(branch, (leaf_at & ((1 << BRANCH_BITS) - 1)) as usize));
        *grown(leaf, (chunk & ((1 << LEAF_BITS) - 1)) as usize) = Some(cell);
        self.bound = self.bound.max(chunk + 1);
    }
    /// All chunks with their numbers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ChunkNo, &Arc<Cell>)> {
        (0..self.bound).filter_map(|chunk| self.get(chunk).map(|cell| (chunk, cell)))
    }
}

fn grown<T: Default>(vector: &mut Vec<T>, at: usize) -> &mut T {
    if vector.len() <= at {
        vector.resize_with(at + 1, T::default);
    }
    &mut vector[at]
}

/// The chunks of one version of the graph, as readers need them: the directory, and the budget that views are charged to.
#[derive(Clone, Copy)]
pub(crate) struct Chunks<'a> {
    pub(crate) directory: &'a Directory,
    pub(crate) pager: &'a Arc<Pager>,
}
