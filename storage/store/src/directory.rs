//! The chunk directory: chunk number to chunk cell, a paged vector copied along one path on write.
//!
//! A cell is one immutable version of a chunk: its meta, a base that is paged (see `page`), and a delta that is not. Versions share the
//! base until a fold. Cost of a write: three short vectors of pointers; of a look-up: four loads.

use crate::StoreError;
use crate::chunk::{Base, Chunk, ChunkMeta, ChunkRead};
use crate::delta::Delta;
use crate::page::{Page, Paged, Read};
use crate::pager::Pager;
use crate::views::Views;
use model::ChunkNo;
use std::fmt;
use std::sync::atomic::Ordering;
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

/// What a base must agree with when it is loaded: slot bound and number of vertices of the version that was stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseKnown {
    pub(crate) slot_bound: u32,
    pub(crate) live: u32,
}

/// One version of a chunk. Without a delta it is stored when its base is; with one, when a checkpoint wrote both as one.
pub(crate) struct Cell {
    pub(crate) meta: Arc<ChunkMeta>,
    base: Arc<Page<Base>>,
    delta: Option<Arc<Delta>>,
    /// The version as a whole, where it has a delta.
    folded: OnceLock<BlobKey>,
    views: Views,
}

impl Cell {
    /// A version whose base is new.
    pub(crate) fn new(chunk: Chunk, pager: &Arc<Pager>) -> Cell {
        let known = BaseKnown { slot_bound: chunk.meta.slot_bound, live: chunk.meta.live };
        let page = Page::new(chunk.base, known, pager);
        Cell::over(page, chunk.meta, chunk.delta)
    }
    /// A version over a base that others share.
    pub(crate) fn over(base: Arc<Page<Base>>, meta: Arc<ChunkMeta>, delta: Option<Arc<Delta>>) -> Cell {
        base.pager().cells.fetch_add(1, Ordering::Relaxed);
        Cell { meta, base, delta, folded: OnceLock::new(), views: Views::default() }
    }
    pub(crate) fn stored(meta: Arc<ChunkMeta>, blob: BlobKey, pager: &Arc<Pager>) -> Cell {
        let known = BaseKnown { slot_bound: meta.slot_bound, live: meta.live };
        Cell::over(Page::stored(blob, known, pager), meta, None)
    }
    pub(crate) fn base(&self) -> &Arc<Page<Base>> {
        &self.base
    }
    pub(crate) fn delta(&self) -> Option<&Arc<Delta>> {
        self.delta.as_ref()
    }
    /// What this version keeps for readers.
    pub(crate) fn views(&self) -> &Views {
        &self.views
    }
    /// The chunk, its base loaded if need be.
    #[inline]
    pub(crate) fn chunk(&self) -> Result<ChunkRef<'_>, StoreError> {
        Ok(ChunkRef { cell: self, base: self.base.read()? })
    }
    /// The chunk if its base is in memory.
    pub(crate) fn loaded(&self) -> Option<ChunkRef<'_>> {
        Some(ChunkRef { cell: self, base: self.base.peek()? })
    }
    /// The blob that holds all of this version.
    pub(crate) fn blob(&self) -> Option<BlobKey> {
        match self.delta {
            None => self.base.blob(),
            Some(_) => self.folded.get().copied(),
        }
    }
    pub(crate) fn set_stored(&self, blob: BlobKey) {
        match self.delta {
            None => self.base.set_stored(blob),
            Some(_) => {
                self.folded.get_or_init(|| blob);
            }
        }
    }
    /// All blobs that this version may still be read from.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = BlobKey> {
        self.base.blob().into_iter().chain(self.folded.get().copied())
    }
    /// The same version without its delta, to be read from the blob that has both.
    pub(crate) fn without_delta(&self) -> Option<Cell> {
        let (Some(_), Some(blob)) = (&self.delta, self.folded.get()) else { return None };
        Some(Cell::stored(self.meta.clone(), *blob, self.base.pager()))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.base.pager().cells.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A chunk being read: its base stays alive as long as this.
pub(crate) struct ChunkRef<'a> {
    cell: &'a Cell,
    base: Read<Base>,
}

impl ChunkRead for ChunkRef<'_> {
    #[inline(always)]
    fn meta(&self) -> &Arc<ChunkMeta> {
        &self.cell.meta
    }
    #[inline(always)]
    fn base(&self) -> &Arc<Base> {
        self.base.shared()
    }
    #[inline(always)]
    fn delta(&self) -> Option<&Arc<Delta>> {
        self.cell.delta.as_ref()
    }
}

impl Paged for Base {
    type Known = BaseKnown;
    fn decode(bytes: &[u8], known: &BaseKnown) -> Result<Base, StoreError> {
        crate::chunk_bytes::decode(bytes, *known)
    }
    fn heap_bytes(&self) -> usize {
        self.room_bytes()
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
