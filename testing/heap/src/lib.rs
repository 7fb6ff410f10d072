//! An allocator for tests that counts the bytes it gave: of the whole process, and of each thread.
//!
//! A test that uses this crate gets the allocator with it. What a structure says that it holds is then compared with the bytes that
//! it was given. The process's counts are shared by all tests of a binary: tests that read them take a [`turn`]. A thread's
//! count is its own, so it fits what one thread makes and drops.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static HELD: AtomicIsize = AtomicIsize::new(0);
static MOST: AtomicIsize = AtomicIsize::new(0);
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static HELD_BY_THREAD: Cell<isize> = const { Cell::new(0) };
}

/// Bytes that the process holds.
#[must_use]
pub fn held() -> isize {
    HELD.load(Ordering::Relaxed)
}

/// Most bytes that the process held at once since [`restart_most`].
#[must_use]
pub fn most() -> isize {
    MOST.load(Ordering::Relaxed)
}

/// Restarts [`most`] at the current number of bytes, and returns that.
pub fn restart_most() -> isize {
    let held = held();
    MOST.store(held, Ordering::Relaxed);
    held
}

/// Bytes that this thread allocated minus those it freed, whichever thread allocated them.
#[must_use]
pub fn held_by_thread() -> isize {
    HELD_BY_THREAD.get()
}

/// While it is held no other test that takes a turn runs. A test that failed gave its turn back.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Counting;

fn count(bytes: isize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(held, Ordering::Relaxed);
    // While a thread ends there is nothing left to count with.
    let _ = HELD_BY_THREAD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: everything is passed on to the system's allocator; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
    // In place where that is possible: the most that is held shall be what it would be without this crate.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_counted_and_what_is_given_back_too() {
        let _turn = turn();
        let (before, by_thread) = (restart_most(), held_by_thread());
        // The harness' own threads may allocate a little meanwhile.
        let slack = 1 << 16;
        let mut bytes = vec![7u8; 1 << 20];
        bytes.reserve_exact(3 << 20);
        assert_eq!(held_by_thread() - by_thread, 4 << 20);
        assert!((held() - before - (4 << 20)).abs() < slack);
        drop(bytes);
        let zeroed = vec![0u64; 1 << 17];
        assert_eq!(held_by_thread() - by_thread, 1 << 20);
        drop(zeroed);
        assert_eq!(held_by_thread(), by_thread);
        assert!((most() - before - (4 << 20)).abs() < slack);
        assert!((restart_most() - most()).abs() < slack && (most() - before).abs() < slack);
    }

    /// One thread's bytes are not another's.
    #[test]
    fn each_thread_counts_its_own() {
        let _turn = turn();
        let before = held_by_thread();
        #[allow(clippy::disallowed_methods, reason = "a thread of its own is what is tested")]
        let other = std::thread::spawn(|| (vec![1u8; 5 << 20], held_by_thread()));
        let Ok((bytes, by_other)) = other.join() else { panic!("the thread failed") };
        assert!(by_other > 4 << 20);
        assert!(held_by_thread() - before < 1 << 20);
        drop(bytes);
        assert!(held_by_thread() - before < -(4 << 20), "the one that drops gives back");
    }
}
