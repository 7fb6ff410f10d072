//! Words of lanes: a bit a source, as wide as there are sources.
//!
//! Why: a level from below reads the words of vertices all over the graph, so what counts is how many fit into a cache: eight sources in
//! bytes are an eighth of what they are in words of sixty-four. Bits go in and out as `u64`, of which a narrow word holds the lowest.
//! Cost: none beyond the loads and stores themselves; each width is code of its own.

use crate::spare::{BYTE_WORDS, Number, Spare, WORDS};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// A word that several workers may set bits of.
pub(super) trait Word: Number + Send + Sync + 'static {
    /// Lanes it has room for.
    const LANES: usize;
    /// Where clean ones lie.
    fn spare() -> &'static Spare<Self>;
    fn get(&self) -> u64;
    fn put(&self, bits: u64);
    /// Sets bits and returns what it was; alone on the word that costs no locked instruction.
    fn merge<const SHARED: bool>(&self, bits: u64) -> u64;
}

macro_rules! words {
    ($($atomic:ty, $bits:ty, $spare:expr;)*) => {$(
        impl Word for $atomic {
            const LANES: usize = <$bits>::BITS as usize;
            fn spare() -> &'static Spare<Self> {
                &$spare
            }
            #[inline(always)]
            fn get(&self) -> u64 {
                u64::from(self.load(Ordering::Relaxed))
            }
            #[inline(always)]
            fn put(&self, bits: u64) {
                self.store(bits as $bits, Ordering::Relaxed);
            }
            #[inline(always)]
            fn merge<const SHARED: bool>(&self, bits: u64) -> u64 {
                if SHARED {
                    return u64::from(self.fetch_or(bits as $bits, Ordering::Relaxed));
                }
                let before = self.load(Ordering::Relaxed);
                self.store(before | bits as $bits, Ordering::Relaxed);
                u64::from(before)
            }
        }
    )*};
}

words! {
    AtomicU8, u8, BYTE_WORDS;
    AtomicU64, u64, WORDS;
}
