//! Waiting for something outside the dataflow without holding the core: a page from disk, an answer from another machine.
//!
//! An operator that needs it asks [`Context::waker`](crate::Context::waker), hands the waker to whoever brings what it waits for, and
//! returns [`Flow::Waiting`](crate::Flow::Waiting). It is then parked: its executor runs others, and nobody asks it again until the waker
//! is called. A call that comes before the operator has returned is not lost, because commands are taken between turns. Cancelling parks
//! nobody: a parked operator goes with its scope instance or its query at once, and its waker then does nothing.

use std::fmt;
use std::sync::Arc;

/// Wakes one operator, once. Cheap to clone, to be called from any thread.
#[derive(Clone)]
pub struct OperatorWaker(pub(crate) Option<Arc<dyn Fn() + Send + Sync>>);

impl OperatorWaker {
    /// May the operator be parked? Where it is called in line, on the thread of who asks, nobody would wake it, and nobody else waits for that thread.
    pub fn can_wake(&self) -> bool {
        self.0.is_some()
    }
    /// Makes the operator's `resume` come. Calling it again does nothing.
    pub fn wake(&self) {
        if let Some(wake) = &self.0 {
            wake();
        }
    }
}

impl fmt::Debug for OperatorWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorWaker")
    }
}
