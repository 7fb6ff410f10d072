//! One sorted list of neighbours to probe, with a bit for each vertex in it, so that most probes end at the bit.

use crate::operator::count_matches::lists::Lists;
use crate::turn::Try;
use model::CHUNK_SLOTS;

/// Words of bits for one chunk.
const CHUNK_WORDS: usize = CHUNK_SLOTS / u64::BITS as usize;

/// A list, cached until that of another vertex is needed.
#[derive(Default)]
pub(super) struct CachedList {
    owner: Option<u32>,
    /// Rising; parallel edges stand in it as often as there are.
    list: Vec<u32>,
    /// By chunk: which of its vertices are in the list. Memory grows with the chunks touched.
    bits: Vec<Option<Box<[u64; CHUNK_WORDS]>>>,
    blocks_made: usize,
}

fn place(vertex: u32) -> (usize, usize, u64) {
    let (chunk, slot) = (vertex as usize / CHUNK_SLOTS, vertex as usize % CHUNK_SLOTS);
    (chunk, slot / u64::BITS as usize, 1 << (slot % u64::BITS as usize))
}

impl CachedList {
    pub fn is_of(&self, vertex: u32) -> bool {
        self.owner == Some(vertex)
    }
    /// Makes this the list of `vertex`; returns how much that looked at.
    pub fn hold(&mut self, vertex: u32, lists: &Lists, scratch: &mut Vec<u32>) -> Try<usize> {
        if self.is_of(vertex) {
            return Ok(0);
        }
        self.owner = None;
        for old in self.list.drain(..) {
            let (chunk, word, _) = place(old);
            if let Some(Some(block)) = self.bits.get_mut(chunk) {
                block[word] = 0;
            }
        }
        self.list.extend_from_slice(lists.of(vertex, scratch)?);
        self.list.sort_unstable();
        for far in &self.list {
            let (chunk, word, bit) = place(*far);
            if self.bits.len() <= chunk {
                self.bits.resize_with(chunk + 1, || None);
            }
            let made = &mut self.blocks_made;
            let block = self.bits[chunk].get_or_insert_with(|| {
                *made += 1;
                Box::new([0; CHUNK_WORDS])
            });
            block[word] |= bit;
        }
        self.owner = Some(vertex);
        Ok(self.list.len())
    }
    /// All of it, rising.
    pub fn list(&self) -> &[u32] {
        &self.list
    }
    /// How often the vertex stands in it.
    #[inline]
    pub fn times(&self, vertex: u32) -> usize {
        let (chunk, word, bit) = place(vertex);
        let Some(Some(block)) = self.bits.get(chunk) else { return 0 };
        if block[word] & bit == 0 {
            return 0;
        }
        let first = self.list.partition_point(|far| *far < vertex);
        self.list[first..].iter().take_while(|far| **far == vertex).count()
    }
    pub fn bytes(&self) -> usize {
        self.blocks_made * size_of::<[u64; CHUNK_WORDS]>() + self.list.capacity() * size_of::<u32>()
    }
}
