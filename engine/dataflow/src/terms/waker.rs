//! Waiting for something outside the dataflow without holding the core: a page from disk, an answer from another machine.
//!
//! An operator that waits takes [`Context::waker`](crate::Context::waker), hands the waker to the code that brings the awaited data, and returns
//! [`Flow::Waiting`](crate::Flow::Waiting). It is then parked: its executor runs others, and does not call it again until the waker is called. A call
//! that comes before the operator has returned is not lost, because commands are taken between turns. A cancelled query does not wait for parked
//! operators: they are dropped with their scope instance or query at once, and their wakers then do nothing.

use std::fmt;
use std::sync::Arc;

/// Wakes one operator, once. Cheap to clone, to be called from any thread.
#[derive(Clone)]
pub struct OperatorWaker(pub(crate) Option<Arc<dyn Fn() + Send + Sync>>);

impl OperatorWaker {
    /// May the operator be parked? Where it is called in line, on the calling thread, nothing would wake it, and no other task waits for that thread.
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
