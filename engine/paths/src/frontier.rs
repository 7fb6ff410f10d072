//! Which vertices are seen, and which are next.
//!
//! Idea: one bit per vertex, and one growing list of found vertices in the order of their distance, so that a level is a
//! range of the list. Invariant: a vertex is in the list at most once. Cost: bound/8 bytes (untouched pages cost
//! nothing) and 4 bytes per found vertex.

/// One bit per vertex.
pub(crate) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    pub(crate) fn new(vertex_bound: u32) -> Bitmap {
        Bitmap { words: vec![0; (vertex_bound as usize).div_ceil(64)] }
    }

    #[inline(always)]
    pub(crate) fn contains(&self, vertex: u32) -> bool {
        self.words[vertex as usize / 64] >> (vertex % 64) & 1 == 1
    }

    /// Sets the bit and says whether it was clear.
    #[inline(always)]
    pub(crate) fn insert(&mut self, vertex: u32) -> bool {
        let word = &mut self.words[vertex as usize / 64];
        let bit = 1 << (vertex % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// The first vertex from `from` on, below `bound`, whose bit is clear.
    #[inline(always)]
    pub(crate) fn next_clear(&self, from: u32, bound: u32) -> Option<u32> {
        let mut at = from as usize / 64;
        let mut clear = !*self.words.get(at)? & (u64::MAX << (from % 64));
        while clear == 0 {
            at += 1;
            clear = !*self.words.get(at)?;
        }
        let vertex = at as u32 * 64 + clear.trailing_zeros();
        (vertex < bound).then_some(vertex)
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.capacity() * 8
    }
}

/// So many found vertices are handed over as they lie; fewer are copied.
const HANDED_OVER_MIN: usize = 4096;

/// Found vertices, level after level.
///
/// A piece of a list is absorbed in two passes. The first only reads bits, and writes every vertex whose bit is clear
/// behind the found ones: without a branch, since half of these tests are unpredictable, and without a store to the
/// bitmap, which the next read would wait for. The second goes over those few and sets their bits.
#[derive(Default)]
pub(crate) struct Found {
    room: Vec<u32>,
    used: usize,
}

impl Found {
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    pub(crate) fn get(&self, position: usize) -> u32 {
        debug_assert!(position < self.used);
        self.room[position]
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.room[..self.used]
    }

    fn make_room(&mut self, count: usize) {
        let wanted = self.used + count;
        if self.room.len() < wanted {
            self.room.resize(wanted.max(self.room.len() * 2), 0);
        }
    }

    /// Adds those of `piece` that are not seen yet: which are not is said by `is_seen`, and `take` sees one and says whether it counts.
    #[inline(always)]
    pub(crate) fn absorb<S>(
        &mut self,
        piece: &[u32],
        seen: &mut S,
        is_seen: impl Fn(&S, u32) -> bool,
        take: impl Fn(&mut S, u32) -> bool,
    ) {
        self.make_room(piece.len());
        let mut end = self.used;
        for &vertex in piece {
            self.room[end] = vertex;
            end += !is_seen(seen, vertex) as usize;
        }
        for at in self.used..end {
            let vertex = self.room[at];
            if take(seen, vertex) {
                self.room[self.used] = vertex;
                self.used += 1;
            }
        }
    }

    pub(crate) fn push(&mut self, vertex: u32) {
        self.make_room(1);
        self.room[self.used] = vertex;
        self.used += 1;
    }

    /// The vertices at these positions, to be put into another order.
    pub(crate) fn part(&mut self, positions: std::ops::Range<usize>) -> &mut [u32] {
        &mut self.room[positions]
    }

    /// Takes them all out, and keeps the room for the next, unless they nearly fill it.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        let used = std::mem::take(&mut self.used);
        if used < HANDED_OVER_MIN || used * 2 < self.room.len() {
            return self.room[..used].to_vec();
        }
        let mut room = std::mem::take(&mut self.room);
        room.truncate(used);
        room
    }

    /// Forgets the first `count` vertices.
    pub(crate) fn drop_front(&mut self, count: usize) {
        self.room.copy_within(count..self.used, 0);
        self.used -= count;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.room.capacity() * 4
    }
}

/// A part of a level is put into order if it holds at least one in so many of all vertices: then the order pays for itself.
const ORDERED_SHARE: usize = 64;

/// Whether `count` vertices are dense enough for [`put_in_order`].
pub(crate) fn is_dense(count: usize, vertex_bound: u32) -> bool {
    count * ORDERED_SHARE >= vertex_bound as usize
}

/// Puts distinct vertices into the order of ids, so that their lists are read in the order in which they lie in memory.
/// `spare` is an empty bitmap, and empty again afterwards. Cost: about two nanoseconds a vertex.
pub(crate) fn put_in_order(vertices: &mut [u32], spare: &mut Bitmap) {
    for &vertex in vertices.iter() {
        spare.insert(vertex);
    }
    let mut slots = vertices.iter_mut();
    for (at, word) in spare.words.iter_mut().enumerate() {
        while *word != 0 {
            let vertex = at as u32 * 64 + word.trailing_zeros();
            *word &= *word - 1;
            *slots.next().expect("as many bits as vertices, which are distinct") = vertex;
        }
    }
}

/// Sorted sources without duplicates, each below the bound.
pub(crate) fn checked_sources(sources: &[u32], bound: u32) -> Result<Vec<u32>, crate::PathError> {
    let mut sorted = sources.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    match sorted.last() {
        Some(&vertex) if vertex >= bound => Err(crate::PathError::VertexOutOfBounds { vertex, bound }),
        _ => Ok(sorted),
    }
}

#[cfg(test)]
mod bitmap_tests {
    use super::Bitmap;
    use std::collections::BTreeSet;

    #[test]
    fn a_bitmap_is_a_set() {
        for bound in [1, 63, 64, 65, 200, 1_000_u32] {
            let (mut bits, mut set) = (Bitmap::new(bound), BTreeSet::new());
            let mut state = u64::from(bound);
            for _ in 0..3 * bound {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let vertex = (state >> 33) as u32 % bound;
                assert_eq!(bits.contains(vertex), set.contains(&vertex));
                assert_eq!(bits.insert(vertex), set.insert(vertex));
                let from = (state >> 20) as u32 % bound;
                let wanted = (from..bound).find(|vertex| !set.contains(vertex));
                assert_eq!(bits.next_clear(from, bound), wanted, "from {from} below {bound}");
            }
            assert_eq!(bits.bytes(), (bound as usize).div_ceil(64) * 8);
            bits.clear();
            assert_eq!(bits.next_clear(0, bound), Some(0));
        }
    }
}
