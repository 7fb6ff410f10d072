//! A signal between threads: raised by some, awaited by one, remembered until taken.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Raised or not. Raising twice before it is taken counts once.
#[derive(Debug, Default)]
pub struct Signal {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// A signal that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it and wakes the waiting threads.
    pub fn raise(&self) {
        *self.raised.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until it is raised, and takes it.
    pub fn wait(&self) {
        let mut raised = self.raised.lock();
        while !*raised {
            self.changed.wait(&mut raised);
        }
        *raised = false;
    }

    /// Waits until it is raised, and takes it, but no longer than this. Whether it was raised.
    pub fn wait_for(&self, longest: Duration) -> bool {
        let mut raised = self.raised.lock();
        self.changed.wait_while_for(&mut raised, |raised| !*raised, longest);
        std::mem::take(&mut *raised)
    }

    /// Takes it if it is raised, without waiting. Whether it was.
    pub fn take(&self) -> bool {
        std::mem::take(&mut *self.raised.lock())
    }
}
