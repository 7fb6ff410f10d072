//! Waits that Ctrl-C ends: Python reports signals only when polled, on its first thread.

use crate::errors::ended;
use crate::running::Call;
use database::{Error, Interrupter};
use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use world::threads;

/// How often a wait polls for signals.
pub const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How seldom a wait for another thread polls.
const LOOK_SELDOM: Duration = Duration::from_millis(50);
/// The reason with which a query ends that was ended by a signal.
pub const CTRL_C: &str = "interrupted by Ctrl-C";

/// The exception that a signal's handler raised while a statement ran.
#[derive(Clone, Default)]
pub struct Pressed(Arc<Mutex<Option<PyErr>>>);

impl Pressed {
    /// Polls for signals from a thread that does not hold the interpreter; if a handler raised, the running statement is ended.
    pub fn look(&self, interrupter: &Interrupter) {
        let raised = Python::try_attach(|py| py.check_signals().err()).flatten();
        if let Some(raised) = raised {
            self.0.lock().get_or_insert(raised);
            interrupter.interrupt(CTRL_C);
        }
    }
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().take()
    }
}

/// Does work that cannot look for signals itself, on a thread of its own. `end` is called once if a handler raised: it makes the work end
/// soon, which is waited for.
pub fn patiently<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    end: impl Fn() + Sync,
) -> PyResult<T> {
    let working = threads::try_spawn("python call", work)?;
    let mut raised = None;
    loop {
        let is_finished = py.detach(|| {
            // Most work is short.
            let mut pause = Duration::from_micros(50);
            while !working.is_finished() && pause < LOOK_EVERY {
                threads::sleep(pause);
                pause *= 2;
            }
            working.is_finished()
        });
        if is_finished {
            break;
        }
        if raised.is_none()
            && let Err(error) = py.check_signals()
        {
            raised = Some(error);
            end();
        }
    }
    let outcome = py.detach(|| working.join());
    raised.map_or(Ok(outcome), Err)
}

/// Locks, and looks for signals while another thread has it. For a thread that does not hold the interpreter.
pub fn locked<T>(lock: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    let mut pause = LOOK_EVERY;
    loop {
        if let Some(held) = lock.try_lock_for(pause) {
            return Ok(held);
        }
        Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(()))?;
        pause = (pause * 2).min(LOOK_SELDOM);
    }
}

/// Locks for a call that works beside its thread, unless it is given up first.
pub fn locked_for<'a, T>(lock: &'a Mutex<T>, call: &Call) -> Result<MutexGuard<'a, T>, Error> {
    while !call.is_given_up() {
        if let Some(held) = lock.try_lock_for(LOOK_EVERY) {
            return Ok(held);
        }
    }
    Err(ended(CTRL_C))
}
