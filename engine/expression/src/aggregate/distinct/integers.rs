//! A set of integers that is a bitmap where they lie close together, as ids and small counts do, and a hash table elsewhere.
//!
//! Invariant: an integer below the bitmap's end is never in the table. Cost: the bitmap has at most a few words for each integer held,
//! so it is never much larger than the table would be.

use std::collections::HashSet;

/// Words a bitmap may have at once, however few integers are held.
const WORDS_MIN: usize = 16;
/// Words it may have for each integer held when it grows; growth at most doubles that.
const WORDS_PER_INTEGER: usize = 2;

/// Integers, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Integers {
    words: Vec<u64>,
    in_words: usize,
    sparse: HashSet<i64, foldhash::fast::FixedState>,
}

impl Integers {
    #[inline]
    pub(super) fn insert(&mut self, int: i64) {
        // Negative ones become large.
        let word = (int as u64 / 64) as usize;
        if word < self.words.len() {
            self.set(int as u64);
        } else if word < WORDS_MIN + WORDS_PER_INTEGER * self.len() {
            self.grow(word + 1);
            self.set(int as u64);
        } else {
            self.sparse.insert(int);
        }
    }
    #[inline]
    fn set(&mut self, at: u64) {
        let (word, bit) = (&mut self.words[(at / 64) as usize], 1 << (at % 64));
        self.in_words += usize::from(*word & bit == 0);
        *word |= bit;
    }
    #[cold]
    fn grow(&mut self, words: usize) {
        self.words.resize(words.next_power_of_two(), 0);
        let end = self.words.len() as u64 * 64;
        let moved: Vec<i64> = self.sparse.iter().copied().filter(|int| (*int as u64) < end).collect();
        for int in moved {
            self.sparse.remove(&int);
            self.set(int as u64);
        }
        debug_assert!(self.sparse.iter().all(|int| *int as u64 >= end), "what fits into the bitmap is in it");
    }
    pub(super) fn merge(&mut self, other: Integers) {
        if self.words.len() < other.words.len() {
            self.grow(other.words.len());
        }
        self.words.iter_mut().zip(&other.words).for_each(|(mine, theirs)| *mine |= theirs);
        self.in_words = self.words.iter().map(|word| word.count_ones() as usize).sum();
        other.sparse.into_iter().for_each(|int| self.insert(int));
    }
    pub(super) fn len(&self) -> usize {
        self.in_words + self.sparse.len()
    }
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * 8 + super::table_bytes(self.sparse.capacity(), size_of::<i64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn holds_what_a_hash_set_holds() {
        let seed = world::chance::Chance::from_system().next_u64();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for _ in 0..200 {
            let (mut sets, mut twin) = ([Integers::default(), Integers::default()], HashSet::new());
            let range = 1 << (1 + chance.index(40));
            for _ in 0..chance.index(3_000) {
                let int = chance.below(range) as i64 - if chance.happens(0.1) { 50 } else { 0 };
                sets[chance.index(2)].insert(int);
                twin.insert(int);
            }
            let [mut one, other] = sets;
            one.merge(other);
            assert_eq!(one.len(), twin.len());
            twin.iter().for_each(|int| one.insert(*int));
            assert_eq!(one.len(), twin.len(), "each is in it already");
            assert!(one.bytes() <= 8 * WORDS_MIN + 96 * (twin.len() + 64));
        }
    }
}
