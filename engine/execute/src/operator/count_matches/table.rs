//! A number for each vertex, zero where none was set; memory grows with the parts of the graph that are touched.

use model::CHUNK_SLOTS;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one block.
const BLOCK_BYTES: usize = CHUNK_SLOTS * size_of::<u64>();

/// Numbers by dense vertex number, a block for each chunk.
#[derive(Default)]
pub(super) struct Table {
    blocks: Vec<Option<Box<[u64]>>>,
    made: usize,
}

impl Table {
    #[inline]
    pub fn get(&self, vertex: u32) -> u64 {
        let at = vertex as usize;
        match self.blocks.get(at / CHUNK_SLOTS) {
            Some(Some(block)) => block[at % CHUNK_SLOTS],
            _ => 0,
        }
    }
    #[inline]
    pub fn cell(&mut self, vertex: u32) -> &mut u64 {
        let (block, slot) = (vertex as usize / CHUNK_SLOTS, vertex as usize % CHUNK_SLOTS);
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, || None);
        }
        let made = &mut self.made;
        let block = self.blocks[block].get_or_insert_with(|| {
            *made += 1;
            vec![0; CHUNK_SLOTS].into()
        });
        &mut block[slot]
    }
    pub fn bytes(&self) -> usize {
        self.made * BLOCK_BYTES
    }
}

/// The same for several threads: a number, once set, never changes, so any thread may set it.
pub(super) struct SharedTable {
    blocks: Box<[OnceLock<Box<[AtomicU64]>>]>,
}

impl SharedTable {
    /// For vertices below `bound`.
    pub fn new(bound: u32) -> SharedTable {
        let blocks = (bound as usize).div_ceil(CHUNK_SLOTS);
        SharedTable { blocks: (0..blocks).map(|_| OnceLock::new()).collect() }
    }
    #[inline]
    pub fn get(&self, vertex: u32) -> u64 {
        let (block, slot) = (vertex as usize / CHUNK_SLOTS, vertex as usize % CHUNK_SLOTS);
        self.blocks[block].get().map_or(0, |block| block[slot].load(Ordering::Relaxed))
    }
    /// Sets the number of a vertex. Returns the bytes that were taken for it: those of a block, for its first.
    #[inline]
    pub fn set(&self, vertex: u32, number: u64) -> usize {
        let (block, slot) = (vertex as usize / CHUNK_SLOTS, vertex as usize % CHUNK_SLOTS);
        let mut taken = 0;
        let block = self.blocks[block].get_or_init(|| {
            taken = BLOCK_BYTES;
            (0..CHUNK_SLOTS).map(|_| AtomicU64::new(0)).collect()
        });
        let before = block[slot].swap(number, Ordering::Relaxed);
        debug_assert!(before == 0 || before == number, "a vertex goes on in one number of ways");
        taken
    }
}
