//! From hashes to group numbers, growing by a small piece at a time.
//!
//! A hash table that is full moves all its entries into one twice as large, which for some millions takes tens of milliseconds. Linear
//! hashing (Litwin 1980) instead splits one bucket after another, each a small hash table: with `n` buckets, `2^k <= n < 2^(k+1)`, the
//! first `n - 2^k` have been split in this round and are told apart by one more bit of the hash than the others.
//!
//! Invariant: there is one bucket for each [`SPLIT_AT`] entries, rounded up. So a bucket holds at most twice as many (give or take what
//! chance does), and one new entry causes at most one split. Cost: an addition and a comparison for a look-up beside that in the bucket.

use super::numbers::NO_GROUP;
use hashbrown::HashTable;

/// Entries for each bucket, on average over a round: a split takes some tens of microseconds.
const SPLIT_AT: usize = 1_536;
/// Room of a bucket from its split on: a table of 4,096 places at most 7/8 full, so that buckets themselves hardly ever grow.
const ROOM: usize = 3_584;
/// A bucket is chosen by the bits from here on: the table within it reads the lowest twelve and the highest seven.
const CHOSEN_BY: u32 = 20;

/// A group, beside its hash: one that is not looked for is seldom looked into.
#[derive(Clone, Copy, Debug)]
struct HashedGroup {
    hash: u64,
    group: u32,
}

/// Bytes of a bucket for each entry that it has room for: a table is at most 7/8 full, and has a byte more for each place.
const BYTES_PER_ROOM: usize = (size_of::<HashedGroup>() + 1) * 8 / 7 + 1;

/// Group numbers by hash.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    buckets: Vec<HashTable<HashedGroup>>,
    /// The buckets of this round's begin, less one: `2^k - 1`.
    mask: usize,
    len: usize,
}

impl Buckets {
    pub(super) fn new() -> Buckets {
        Buckets { buckets: vec![HashTable::new()], mask: 0, len: 0 }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        let bits = (hash >> CHOSEN_BY) as usize;
        let narrow = bits & self.mask;
        if narrow < self.buckets.len() - (self.mask + 1) { bits & (2 * self.mask + 1) } else { narrow }
    }

    /// The group with this hash that is the one looked for.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let found =
            self.buckets[self.bucket(hash)].find(hash, |entry| entry.hash == hash && is_it(entry.group));
        found.map(|entry| entry.group)
    }

    /// A group with this hash, most likely the only one; [`NO_GROUP`] if there is none.
    #[inline]
    pub(super) fn candidate(&self, hash: u64) -> u32 {
        let found = self.buckets[self.bucket(hash)].find(hash, |entry| entry.hash == hash);
        found.map_or(NO_GROUP, |entry| entry.group)
    }

    /// A group that was not there.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, group: u32) {
        let at = self.bucket(hash);
        self.buckets[at].insert_unique(hash, HashedGroup { hash, group }, |entry| entry.hash);
        self.len += 1;
        if self.len > self.buckets.len() * SPLIT_AT {
            self.split();
        }
    }

    /// Splits the next bucket of the round in two.
    fn split(&mut self) {
        let at = self.buckets.len() - (self.mask + 1);
        let entries = std::mem::replace(&mut self.buckets[at], HashTable::with_capacity(ROOM));
        self.buckets.push(HashTable::with_capacity(ROOM));
        for entry in entries {
            let to = self.bucket(entry.hash);
            self.buckets[to].insert_unique(entry.hash, entry, |entry| entry.hash);
        }
        if self.buckets.len() == 2 * (self.mask + 1) {
            self.mask = 2 * self.mask + 1;
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let tables = match self.buckets.as_slice() {
            [one] => one.capacity() * BYTES_PER_ROOM,
            // The first split gave room to both.
            many => many.len() * ROOM * BYTES_PER_ROOM,
        };
        tables + self.buckets.len() * size_of::<HashTable<HashedGroup>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn every_group_is_found_and_buckets_stay_small() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        let (mut buckets, mut hashes) = (Buckets::new(), Vec::new());
        for group in 0..100_000_u32 {
            let hash = chance.below(u64::MAX);
            hashes.push(hash);
            buckets.insert(hash, group);
            assert_eq!(buckets.buckets.len(), (group as usize / SPLIT_AT + 1), "seed {seed}");
            let any = chance.index(hashes.len()) as u32;
            assert_eq!(buckets.find(hashes[any as usize], |held| held == any), Some(any), "seed {seed}");
            assert_eq!(buckets.find(hash ^ 1, |_| true), None, "seed {seed}");
        }
        let most = buckets.buckets.iter().map(HashTable::len).max().expect("there are some");
        assert!(most <= ROOM, "seed {seed}: {most} in one bucket");
        assert_eq!(buckets.buckets.iter().map(HashTable::len).sum::<usize>(), hashes.len());
    }
}
