//! Which vertices are seen, and which are next.
//!
//! Idea: one bit per vertex, and one growing list of found vertices in the order of their distance, so that a level is a
//! range of the list. Invariant: a vertex is in the list at most once. Cost: bound/8 bytes (untouched pages cost
//! nothing) and 4 bytes per found vertex.

use crate::spare::BITS;

/// A bitmap of at most so many words is cheaper to make than to borrow.
const OWN_WORDS_MAX: usize = 64;
/// Touched words are cleared one by one where they are at most one in so many.
const CLEARED_SHARE: usize = 16;

/// One bit per vertex, in memory that an earlier search left clean: few vertices of a large graph cost little.
#[derive(Debug, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    /// Of lent words those that were zero and are not, as far as there is room; the last place is for those that have none.
    touched: Vec<u32>,
    /// How many there were.
    touched_len: usize,
    /// The words go back to the searches to come.
    is_lent: bool,
}

impl Bitmap {
    /// No vertex of those below `vertex_bound`.
    pub fn new(vertex_bound: u32) -> Bitmap {
        let count = (vertex_bound as usize).div_ceil(64);
        let lent = if count > OWN_WORDS_MAX { BITS.take_if_free(count) } else { None };
        let is_lent = lent.is_some();
        let touched = if is_lent { vec![0; count / CLEARED_SHARE + 1] } else { Vec::new() };
        Bitmap { words: lent.unwrap_or_else(|| vec![0; count]), touched, touched_len: 0, is_lent }
    }

    /// Vertices below this may be in it.
    pub fn vertex_bound(&self) -> usize {
        self.words.len() * 64
    }

    /// Is the vertex in it? It is below the bound.
    #[inline(always)]
    pub fn contains(&self, vertex: u32) -> bool {
        self.words[vertex as usize / 64] >> (vertex % 64) & 1 == 1
    }

    /// Sets the bit and says whether it was clear.
    #[inline(always)]
    pub fn insert(&mut self, vertex: u32) -> bool {
        let at = vertex as usize / 64;
        let (before, bit) = (self.words[at], 1 << (vertex % 64));
        self.set_word(at, before | bit);
        before & bit == 0
    }

    /// Without a branch for the word: whether it was zero is a toss.
    #[inline(always)]
    fn set_word(&mut self, at: usize, word: u64) {
        let was_zero = self.words[at] == 0;
        self.words[at] = word;
        if let Some(last) = self.touched.len().checked_sub(1) {
            self.touched[self.touched_len.min(last)] = at as u32;
            self.touched_len += usize::from(was_zero);
        }
    }

    /// Adds the vertices of another, whose bound is no larger.
    pub fn add(&mut self, other: &Bitmap) {
        for (at, word) in other.marked_words() {
            self.set_word(at, self.words[at] | word);
        }
    }

    /// Words that are not zero, and where each lies.
    pub fn marked_words(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let all = self.words.iter().copied().enumerate();
        all.filter(|(_, word)| *word != 0)
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

    /// Takes all vertices out.
    pub fn clear(&mut self) {
        if self.touched_len < self.touched.len() {
            self.touched[..self.touched_len].iter().for_each(|at| self.words[*at as usize] = 0);
        } else {
            self.words.fill(0);
        }
        self.touched_len = 0;
    }

    /// Bytes held: of lent ones those that are needed.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8 + self.touched.len() * 4
    }
}

impl Drop for Bitmap {
    fn drop(&mut self) {
        if self.is_lent {
            self.clear();
            BITS.give_lent(std::mem::take(&mut self.words));
        }
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

    /// Forgets all, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
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
    spare.touched_len = 0;
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
        for bound in [1, 63, 64, 65, 200, 1_000_u32, 10_000, 70_000] {
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
            let marked: u32 = bits.marked_words().map(|(_, word)| word.count_ones()).sum();
            assert_eq!(marked as usize, set.len());
            assert!(bits.bytes() >= (bound as usize).div_ceil(64) * 8);
            bits.clear();
            assert_eq!((bits.marked_words().count(), bits.next_clear(0, bound)), (0, Some(0)));
        }
    }

    /// Of few vertices and of many, whoever had the memory before.
    #[test]
    fn a_bitmap_begins_empty_in_the_memory_of_another() {
        let bound = 100_000;
        for count in [1, 5, 30, 5_000, 100_000_u32, 3] {
            let mut bits = Bitmap::new(bound);
            assert_eq!(bits.marked_words().count(), 0, "before {count}");
            (0..count).for_each(|number| assert!(bits.insert((number * 7_919) % bound)));
            if count % 2 == 1 {
                bits.clear();
                assert!(bits.insert(bound - 1));
            }
        }
    }
}
