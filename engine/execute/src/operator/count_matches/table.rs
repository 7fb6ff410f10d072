//! A number for each vertex, zero where none was set; memory grows with the parts of the graph that are touched.

use model::CHUNK_SLOTS;

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
