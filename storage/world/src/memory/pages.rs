//! Bytes in pages of their own: a buffer that grows without a copy and whose memory the system has back when it is dropped.
//!
//! An allocator keeps freed memory for the thread that freed it, so that many threads with large buffers hold many times the memory in use. Here the
//! kernel moves pages instead of bytes, a page takes memory when it is written first, and dropping unmaps.
//!
//! Invariant: `start` maps `reserved` bytes (none where that is zero), of which the first `len` were written.

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

/// Pages are taken in multiples of this.
const STEP_BYTES: usize = 64 << 10;

/// A growing buffer of bytes.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    len: usize,
    reserved: usize,
}

// SAFETY: the mapping belongs to this value alone, which hands out references only by its own borrow.
unsafe impl Send for Pages {}
// SAFETY: as above; nothing changes behind a shared reference.
unsafe impl Sync for Pages {}

impl Default for Pages {
    fn default() -> Pages {
        Pages { start: NonNull::dangling(), len: 0, reserved: 0 }
    }
}

impl Pages {
    /// Appends bytes.
    ///
    /// # Errors
    /// The system gives no more memory; the buffer is as it was.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = self.len.checked_add(bytes.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        if len > self.reserved {
            self.reserve(len)?;
        }
        debug_assert!(len <= self.reserved);
        // SAFETY: the mapping holds `reserved >= len` bytes, and `bytes` cannot lie in it, since it is borrowed exclusively.
        unsafe { self.start.as_ptr().add(self.len).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len = len;
        Ok(())
    }
    /// Maps at least `len` bytes, twice the former size: unwritten pages take only addresses.
    fn reserve(&mut self, len: usize) -> io::Result<()> {
        let wanted = len.max(2 * self.reserved).checked_next_multiple_of(STEP_BYTES);
        let wanted = wanted.filter(|wanted| isize::try_from(*wanted).is_ok());
        let wanted = wanted.ok_or(io::ErrorKind::OutOfMemory)?;
        let (old, flags) = (self.start.as_ptr().cast(), MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping aliases nothing; a moved one was this value's own, and its old address is forgotten.
        let start = unsafe {
            if self.reserved == 0 {
                mmap_anonymous(std::ptr::null_mut(), wanted, ProtFlags::READ | ProtFlags::WRITE, flags)
            } else {
                mremap(old, self.reserved, wanted, MremapFlags::MAYMOVE)
            }
        }?;
        self.start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.reserved = wanted;
        Ok(())
    }
    /// Bytes of memory that it takes.
    #[must_use]
    pub fn resident_bytes(&self) -> usize {
        self.len.next_multiple_of(STEP_BYTES).min(self.reserved)
    }
}

impl Deref for Pages {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the first `len` bytes of the mapping were written; an empty slice needs no memory.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.reserved > 0 {
            // SAFETY: the mapping is this value's own, and nobody can borrow from it any more.
            let outcome = unsafe { munmap(self.start.as_ptr().cast(), self.reserved) };
            debug_assert!(outcome.is_ok(), "{outcome:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;

    /// The obvious twin is a `Vec`.
    #[test]
    fn pages_hold_what_a_vec_holds() {
        let seed = Chance::system_seed();
        let mut chance = Chance::seeded(seed);
        for _ in 0..20 {
            let (mut pages, mut twin) = (Pages::default(), Vec::new());
            assert!(pages.is_empty());
            for _ in 0..20 {
                let length = [0, 1, STEP_BYTES - 1, STEP_BYTES, chance.index(200_000)][chance.index(5)];
                let bytes = chance.bytes(length);
                pages.extend_from_slice(&bytes).unwrap();
                twin.extend_from_slice(&bytes);
                assert!(*pages == *twin, "seed {seed}");
            }
        }
    }

    #[test]
    fn what_is_dropped_is_given_back_and_too_much_is_refused() {
        let before = crate::memory::resident_bytes().unwrap_or(0);
        for _ in 0..10 {
            let mut pages = Pages::default();
            (0..1_024).for_each(|_| pages.extend_from_slice(&[7; STEP_BYTES]).unwrap());
            assert_eq!(pages.resident_bytes(), 64 << 20);
        }
        let after = crate::memory::resident_bytes().unwrap_or(0);
        // Ten times 64 MiB were written; other tests of the process hold something, too.
        assert!(after < before + (256 << 20), "{before} bytes became {after}");
        assert!(Pages::default().reserve(usize::MAX / 2 + 1).is_err());
        assert!(Pages::default().reserve(1 << 60).is_err(), "more than there are addresses");
    }
}
