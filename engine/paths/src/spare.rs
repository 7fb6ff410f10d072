//! Memory that searches leave to the searches after them, clean.
//!
//! Why: fresh memory comes from the system page by page, each cleared at first touch; for a search that takes a millisecond that is a good part of
//! it. Invariant: buffers here hold zeros only; a search that returns one has cleared it, by its touched entries or all of it.
//! Cost: a lock to take and one to give. What is kept is bounded; what is more goes back to the allocator.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Bytes kept of each kind: two searches in lanes over a million vertices.
const SPARE_BYTES_MAX: usize = 64 << 20;
/// Bytes lent at once to those that would do with less: see [`Spare::take_if_free`].
const LENT_BYTES_MAX: usize = 64 << 20;
/// A buffer is not lent to a search that needs less than one in this many of its entries.
const WASTE_MAX: usize = 4;

/// Buffers of one kind of number.
pub(crate) struct Spare<T> {
    clean: Mutex<Vec<Vec<T>>>,
    lent_bytes: AtomicUsize,
}

/// A byte a vertex.
pub(crate) static BYTES: Spare<u8> = Spare::new();
/// A bit a vertex.
pub(crate) static BITS: Spare<u64> = Spare::new();
/// A word a vertex, or a bit, that several executors write.
pub(crate) static WORDS: Spare<AtomicU64> = Spare::new();

/// The same for few sources.
pub(crate) static BYTE_WORDS: Spare<AtomicU8> = Spare::new();

/// Numbers that begin as zero.
pub(crate) trait Number: Default {
    /// So many of them, of memory that the system has cleared.
    fn fresh(count: usize) -> Vec<Self>;
    fn clear(&mut self);
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn fresh(count: usize) -> Vec<$number> {
                vec![0; count]
            }
            fn clear(&mut self) {
                *self = 0;
            }
        }
    )*};
}

plain!(u8, u64);

macro_rules! atomics {
    ($($atomic:ty, $number:ty;)*) => {$(
        impl Number for $atomic {
            fn fresh(count: usize) -> Vec<$atomic> {
                // One by one they would be written.
                let zeroed: Vec<$number> = vec![0; count];
                zeroed.into_iter().map(<$atomic>::new).collect()
            }
            fn clear(&mut self) {
                *self.get_mut() = 0;
            }
        }
    )*};
}

atomics! {
    AtomicU8, u8;
    AtomicU64, u64;
}

impl<T: Number> Spare<T> {
    const fn new() -> Spare<T> {
        Spare { clean: Mutex::new(Vec::new()), lent_bytes: AtomicUsize::new(0) }
    }
    /// So many zeros.
    pub(crate) fn take(&self, count: usize) -> Vec<T> {
        let fits = |buffer: &Vec<T>| buffer.capacity() >= count && buffer.capacity() / WASTE_MAX <= count;
        let mut clean = self.clean.lock();
        let Some(at) = clean.iter().position(fits) else {
            drop(clean);
            return T::fresh(count);
        };
        let mut buffer = clean.swap_remove(at);
        drop(clean);
        buffer.resize_with(count, T::default);
        buffer
    }
    /// The same, if little enough is lent in this way; to be returned by [`Spare::give_lent`].
    pub(crate) fn take_if_free(&self, count: usize) -> Option<Vec<T>> {
        let bytes = count * size_of::<T>();
        if self.lent_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > LENT_BYTES_MAX {
            self.lent_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        Some(self.take(count))
    }
    /// Takes back zeros.
    pub(crate) fn give(&self, buffer: Vec<T>) {
        let bytes = |buffer: &Vec<T>| buffer.capacity() * size_of::<T>();
        let size = bytes(&buffer);
        let mut clean = self.clean.lock();
        let held: usize = clean.iter().map(bytes).sum();
        // Smaller ones make room, or those of a graph that has grown since would stay for ever.
        let small: usize = clean.iter().map(bytes).filter(|held| *held < size).sum();
        if size == 0 || held - small + size > SPARE_BYTES_MAX {
            return;
        }
        let is_full = held + size > SPARE_BYTES_MAX;
        let dropped: Vec<_> = clean.extract_if(.., |held| is_full && bytes(held) < size).collect();
        clean.push(buffer);
        drop(clean);
        drop(dropped);
    }
    /// The same for a buffer lent by [`Spare::take_if_free`], at its full length.
    pub(crate) fn give_lent(&self, buffer: Vec<T>) {
        self.lent_bytes.fetch_sub(buffer.len() * size_of::<T>(), Ordering::Relaxed);
        self.give(buffer);
    }
    /// Takes back anything.
    pub(crate) fn give_used(&self, mut buffer: Vec<T>) {
        if buffer.capacity() * size_of::<T>() <= SPARE_BYTES_MAX {
            buffer.iter_mut().for_each(T::clear);
            self.give(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_clean_however_long() {
        let spare: Spare<u8> = Spare::new();
        for count in [100, 40, 90, 100, 7, 100] {
            let mut bytes = spare.take(count);
            assert_eq!(bytes, vec![0; count]);
            bytes.fill(9);
            spare.give_used(bytes);
        }
        assert!(spare.clean.lock().len() <= 3, "buffers are used again");
    }

    #[test]
    fn small_buffers_make_room_for_a_large_one() {
        let spare: Spare<u8> = Spare::new();
        let sizes = || spare.clean.lock().iter().map(Vec::capacity).collect::<Vec<_>>();
        let quarter = SPARE_BYTES_MAX / 4;
        (0..4).for_each(|_| spare.give(vec![0; quarter]));
        spare.give(vec![0; quarter]);
        assert_eq!(sizes(), [quarter; 4], "no more of the same");
        spare.give(vec![0; quarter * 3]);
        assert_eq!(sizes(), [quarter * 3]);
        spare.give(vec![0; quarter]);
        spare.give(vec![0; quarter * 2]);
        assert_eq!(
            sizes(),
            [quarter * 3, quarter],
            "a larger one stays, and nothing goes for one that does not fit"
        );
        spare.give(Vec::new());
        assert_eq!(sizes().len(), 2);
    }

    #[test]
    fn what_is_lent_is_bounded() {
        let spare: Spare<u8> = Spare::new();
        let first = spare.take_if_free(LENT_BYTES_MAX - 10).expect("nothing is lent");
        assert!(spare.take_if_free(11).is_none());
        spare.give_lent(first);
        assert_eq!(spare.take_if_free(11).map(|bytes| bytes.len()), Some(11));
    }
}
