//! Which calls of a session run now, and on whose thread: an interruption ends those, and nothing that begins later.
//!
//! Invariant: a call is entered before it does anything and left behind its last act; an interruption of calls is settled when the last of
//! them is left, under the same lock that sees them.

use database::Interrupter;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};

static LAST: AtomicU64 = AtomicU64::new(0);

/// One call, which may be given up before it began.
#[derive(Clone)]
pub struct Call {
    number: u64,
    given_up: Arc<AtomicBool>,
}

impl Call {
    pub fn new() -> Call {
        Call { number: LAST.fetch_add(1, Ordering::Relaxed) + 1, given_up: Arc::default() }
    }
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }
}

/// The calls of a session that run now.
#[derive(Clone)]
pub struct Running {
    interrupter: Interrupter,
    calls: Arc<Mutex<Vec<(u64, ThreadId)>>>,
}

impl Running {
    pub fn new(interrupter: Interrupter) -> Running {
        Running { interrupter, calls: Arc::default() }
    }
    /// The call begins, on this thread; false if it was given up.
    pub fn enter(&self, call: &Call) -> bool {
        let mut calls = self.calls.lock();
        let goes_on = !call.is_given_up();
        if goes_on {
            calls.push((call.number, thread::current().id()));
        }
        goes_on
    }
    /// The call is over.
    pub fn leave(&self, call: &Call) {
        let mut calls = self.calls.lock();
        calls.retain(|(number, _)| *number != call.number);
        if calls.is_empty() {
            self.interrupter.settle();
        }
    }
    /// Does a call of this thread run?
    pub fn is_here(&self) -> bool {
        let here = thread::current().id();
        self.calls.lock().iter().any(|(_, thread)| *thread == here)
    }
    /// Ends this call, or lets it not begin.
    pub fn give_up(&self, call: &Call, reason: &'static str) {
        let calls = self.calls.lock();
        call.given_up.store(true, Ordering::Release);
        if calls.iter().any(|(number, _)| *number == call.number) {
            self.interrupter.interrupt(reason);
        }
    }
    /// Ends the calls that run, and results that were not read to their end; nothing that begins later.
    pub fn interrupt(&self, reason: &'static str) {
        match self.calls.lock().is_empty() {
            false => self.interrupter.interrupt(reason),
            true => self.interrupter.end_running(reason),
        }
    }
    /// The session is closed: calls that start from now on end at once.
    pub fn close(&self) {
        self.interrupter.close();
    }
}
