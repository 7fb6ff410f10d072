//! Distances of each vertex from each source of a search, in as few bits as they need.
//!
//! Idea: a distance is written in binary, one plane of words a binary digit, laid out as the search lays out its other words: a bit a vertex,
//! or a word of lanes a vertex. A plane comes into being with the first level that has its digit, so a search of up to seven levels costs
//! three bits a vertex and source, one of up to 255 a byte, and nothing is ever widened. All lanes of a vertex are compared at once.
//! Invariant: a source is at level 0 and not noted as such; vertices that were not found are 0 in all planes. A vertex is noted once a lane.
//! Cost: a word written for each binary one of the distance, a word read for each digit.

use super::words::Word;
use std::sync::OnceLock;

/// Binary digits of the farthest distance.
const PLANES_MAX: usize = u32::BITS as usize;

pub(super) struct Levels<W: Word> {
    words: usize,
    planes: [OnceLock<Vec<W>>; PLANES_MAX],
}

impl<W: Word> Levels<W> {
    /// Nothing found yet, with this many words.
    pub(super) fn new(words: usize) -> Levels<W> {
        Levels { words, planes: [const { OnceLock::new() }; PLANES_MAX] }
    }
    /// These bits of a word are at `level`, which is at least 1; `SHARED` if others may note other bits of it at the time.
    #[inline]
    pub(super) fn note<const SHARED: bool>(&self, word: usize, bits: u64, level: u32) {
        let mut digits = level;
        while digits != 0 {
            let plane = &self.planes[digits.trailing_zeros() as usize];
            plane.get_or_init(|| W::spare().take(self.words))[word].merge::<SHARED>(bits);
            digits &= digits - 1;
        }
    }
    /// Those of these bits of a word that are at `level`, which is at least 1.
    #[inline]
    pub(super) fn at(&self, word: usize, bits: u64, level: u32) -> u64 {
        let (mut left, mut digits) = (bits, level);
        for plane in &self.planes {
            let Some(plane) = plane.get() else { return if digits == 0 { left } else { 0 } };
            let found = plane[word].get();
            left &= if digits & 1 == 1 { found } else { !found };
            if left == 0 {
                return 0;
            }
            digits >>= 1;
        }
        left
    }
    pub(super) fn bytes(&self) -> usize {
        self.planes.iter().filter_map(OnceLock::get).map(|plane| plane.capacity() * size_of::<W>()).sum()
    }
}

impl<W: Word> Drop for Levels<W> {
    fn drop(&mut self) {
        self.planes.iter_mut().filter_map(OnceLock::take).for_each(|plane| W::spare().give_used(plane));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use world::chance::Chance;

    #[test]
    fn levels_are_as_in_a_table() {
        for seed in 0..50 {
            let mut chance = Chance::seeded(seed);
            let most = [7, 300, 70_000][seed as usize % 3];
            let (levels, mut twin) = (Levels::<AtomicU64>::new(5), vec![[0_u32; 64]; 5]);
            for _ in 0..200 {
                let (word, bit) = (chance.below(5) as usize, chance.below(64) as usize);
                if twin[word][bit] == 0 {
                    twin[word][bit] = 1 + chance.below(most) as u32;
                    levels.note::<false>(word, 1 << bit, twin[word][bit]);
                }
            }
            for (word, row) in twin.iter().enumerate() {
                for level in row.iter().copied().filter(|level| *level > 0).chain([1, 2, 255, 256]) {
                    let at = |bit: &usize| row[*bit] == level;
                    let wanted = (0..64).filter(at).fold(0_u64, |bits, bit| bits | 1 << bit);
                    assert_eq!(levels.at(word, u64::MAX, level), wanted, "seed {seed}, level {level}");
                }
            }
            assert!(levels.bytes() <= 5 * 8 * (most.ilog2() as usize + 1));
        }
    }
}
