//! Latches: waiting within a call for an event that happens once, elsewhere, such as the end of a compilation on another thread.
//!
//! Idea: work on a fiber pauses, and its executor leaves it alone until the latch opens, as it does with an operator that returned `Waiting`. Work
//! without a fiber, which is that of a client's own thread, sleeps there.
//! Invariants: an open latch wakes all waiters, and stays open. A waiter notices the end of its own query: on an executor at once, on another thread
//! within [`LATCH_LOOK`]. Cost: a command to the executor.

use crate::accounting::watch::{self, Stopped, UNITS_PER_LOOK};
use crate::terms::limits::LATCH_LOOK;
use parking_lot::{Condvar, Mutex};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use world::fiber;

/// Something that happens once. Opened by one, waited for by any number.
#[derive(Default)]
pub struct Latch {
    state: Mutex<LatchState>,
    opened: Condvar,
}

#[derive(Default)]
struct LatchState {
    is_open: bool,
    /// Called when it opens: one for each executor that left work alone.
    wakers: Vec<Box<dyn FnOnce() + Send>>,
}

thread_local! {
    /// The latch for which the fiber that has just paused on this thread waits.
    static AWAITED: RefCell<Option<Arc<Latch>>> = const { RefCell::new(None) };
}

impl Latch {
    /// Opens the latch. Opening it again does nothing.
    pub fn open(&self) {
        let wakers = {
            let mut state = self.state.lock();
            state.is_open = true;
            std::mem::take(&mut state.wakers)
        };
        self.opened.notify_all();
        wakers.into_iter().for_each(|wake| wake());
    }
    /// Has it happened?
    pub fn is_open(&self) -> bool {
        self.state.lock().is_open
    }
    /// Waits until it is open.
    ///
    /// # Errors
    /// The waiter's query is over.
    pub fn wait(self: &Arc<Latch>) -> Result<(), Stopped> {
        loop {
            watch::spend(UNITS_PER_LOOK)?;
            if self.is_open() {
                return Ok(());
            }
            if fiber::is_running() {
                AWAITED.set(Some(self.clone()));
                watch::give_way();
                // Nobody took it where the fiber is not an executor's.
                AWAITED.take();
            } else {
                let mut state = self.state.lock();
                if !state.is_open {
                    self.opened.wait_for(&mut state, LATCH_LOOK);
                }
            }
        }
    }
    /// Calls `wake` when it opens; now, if it is open.
    pub(crate) fn on_open(&self, wake: Box<dyn FnOnce() + Send>) {
        let mut state = self.state.lock();
        if !state.is_open {
            return state.wakers.push(wake);
        }
        drop(state);
        wake();
    }
}

/// The latch for which the fiber that has just paused on this thread waits; none if it only yielded.
pub(crate) fn take_awaited() -> Option<Arc<Latch>> {
    AWAITED.take()
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}
