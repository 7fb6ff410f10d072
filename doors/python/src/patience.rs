//! Waiting that Ctrl-C ends: Python tells of signals only to whoever asks, on its first thread.

use database::Interrupter;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use world::threads;

/// How often whoever waits looks for signals.
pub const LOOK_EVERY: Duration = Duration::from_millis(5);
/// What a query that was ended by a signal is told.
pub const CTRL_C: &str = "interrupted by Ctrl-C";

/// What a signal's handler raised while a statement ran.
#[derive(Clone, Default)]
pub struct Pressed(Arc<Mutex<Option<PyErr>>>);

impl Pressed {
    /// Looks for signals from a thread that does not hold the interpreter; if a handler raised, what runs is ended.
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
