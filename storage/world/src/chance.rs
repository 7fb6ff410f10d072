//! Chance that can be replayed: a small seeded generator (xoshiro256**, seeded through SplitMix64; Blackman and Vigna 2018).
//!
//! The same seed gives the same draws on every machine. Not for secrets. A draw costs about a nanosecond.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

mod skewed;

pub use skewed::{PowerLaw, Zipf};

/// A generator of draws.
#[derive(Clone, Debug)]
pub struct Chance {
    state: [u64; 4],
}

impl Chance {
    /// The generator that this seed stands for, always the same.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let mut position = seed;
        let state = std::array::from_fn(|_| split_mix(&mut position));
        Self { state }
    }

    /// A generator that differs from run to run, seeded by the operating system.
    #[must_use]
    pub fn from_system() -> Self {
        Self::seeded(Self::system_seed())
    }

    /// A seed from the operating system, to be printed and given to [`Chance::seeded`].
    #[must_use]
    pub fn system_seed() -> u64 {
        // The keys of a fresh hasher are the operating system's chance; within one process they count up, so hash the process too.
        RandomState::new().hash_one(std::process::id())
    }

    /// A second generator that is independent of what this one draws next.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::seeded(self.next_u64())
    }

    /// 64 even bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// An even draw from 0 to `bound` - 1, without bias (Lemire 2019).
    ///
    /// # Panics
    /// When `bound` is 0: there is nothing to draw from.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has nothing to draw");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// An even draw from a range that must not be empty.
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    /// An even index into something of this length, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("smaller than a usize")
    }

    /// An even draw from 0 (included) to 1 (excluded), in steps of 2^-53.
    pub fn float(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.float() < probability
    }

    /// Brings the items into an even random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// One of the items, each as likely; none if there are none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { Some(&items[self.index(items.len())]) }
    }

    /// So many random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}

fn split_mix(position: &mut u64) -> u64 {
    *position = position.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *position;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
