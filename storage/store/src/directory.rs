//! The chunk directory: chunk number to chunk cell, a paged vector copied along one path on write.
//!
//! A cell is one immutable version of a chunk and knows whether its bytes are stored. A cell opened from a checkpoint holds only
//! its meta and a blob key until something touches it. Cost of a write: three short vectors of pointers; of a look-up: four loads.

use crate::StoreError;
use crate::chunk::{Chunk, ChunkMeta};
use model::ChunkNo;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Names stored bytes; only the source that made it knows what is in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKey(pub [u8; 20]);

impl fmt::Debug for BlobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Where chunks and index runs are read from when first touched.
pub trait ChunkSource: Send + Sync {
    /// The bytes stored under `key`; [`StoreError::Source`] where the medium fails.
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError>;
}

/// One version of a chunk.
pub(crate) struct Cell {
    pub(crate) meta: Arc<ChunkMeta>,
    chunk: OnceLock<Chunk>,
    pub(crate) blob: OnceLock<BlobKey>,
    source: Option<Arc<dyn ChunkSource>>,
}

impl Cell {
    pub(crate) fn new(chunk: Chunk) -> Cell {
        let meta = chunk.meta.clone();
        Cell { meta, chunk: OnceLock::from(chunk), blob: OnceLock::new(), source: None }
    }
    pub(crate) fn stored(meta: ChunkMeta, blob: BlobKey, source: Arc<dyn ChunkSource>) -> Cell {
        Cell {
            meta: Arc::new(meta),
            chunk: OnceLock::new(),
            blob: OnceLock::from(blob),
            source: Some(source),
        }
    }
    /// The chunk, read from its source if nothing touched it before.
    #[inline]
    pub(crate) fn chunk(&self) -> Result<&Chunk, StoreError> {
        match self.chunk.get() {
            Some(chunk) => Ok(chunk),
            None => self.load(),
        }
    }
    #[cold]
    fn load(&self) -> Result<&Chunk, StoreError> {
        let (Some(source), Some(blob)) = (&self.source, self.blob.get()) else {
            return Err(StoreError::corrupt("a chunk cell has neither chunk nor blob"));
        };
        let chunk = crate::chunk_bytes::decode(&source.read(*blob)?, &self.meta)?;
        Ok(self.chunk.get_or_init(|| chunk))
    }
    /// The chunk if it is in memory.
    pub(crate) fn loaded(&self) -> Option<&Chunk> {
        self.chunk.get()
    }
}

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
