//! A job in the background: it sleeps, is nudged or wakes by itself, works a step, sleeps again, and stops on request.
//!
//! Invariant: a nudge is never lost; one that comes during a step leads to another step. After [`Background::stop`] returns,
//! or the handle is dropped, no step runs any more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Signal, Thread, try_spawn};

/// When a step wants the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Another step at once: there is more to do.
    Again,
    /// Nothing to do until a nudge.
    Rest,
    /// A step after this time, or at a nudge.
    RestFor(Duration),
    /// The job is over.
    End,
}

#[derive(Default)]
struct Shared {
    nudged: Signal,
    stopping: AtomicBool,
}

/// A job that runs in the background.
pub struct Background {
    shared: Arc<Shared>,
    thread: Option<Thread<()>>,
}

impl Background {
    /// Starts the job: `step` is called once at once, and then as its own answer says.
    ///
    /// # Panics
    /// When the operating system gives no more threads.
    pub fn start(name: &str, step: impl FnMut() -> Pace + Send + 'static) -> Self {
        Self::try_start(name, step).expect("the operating system gives a thread")
    }

    /// As [`Background::start`], if the operating system gives a thread.
    pub fn try_start(name: &str, mut step: impl FnMut() -> Pace + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let inside = Arc::clone(&shared);
        let thread = try_spawn(name, move || {
            while !inside.stopping.load(Ordering::Acquire) {
                match step() {
                    Pace::Again => {}
                    Pace::Rest => inside.nudged.wait(),
                    Pace::RestFor(time) => {
                        inside.nudged.wait_for(time);
                    }
                    Pace::End => return,
                }
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Asks for a step soon.
    pub fn nudge(&self) {
        self.shared.nudged.raise();
    }

    /// Requests a step soon whenever it is called. It keeps nothing alive: dropping the job waits for its end all the same.
    pub fn nudger(&self) -> impl Fn() + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.nudged.raise()
    }

    /// Whether the job was stopped or ended by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(Thread::is_finished)
    }

    /// Ends the job after the step that is running, and waits for that.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.nudged.raise();
        drop(self.thread.take());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}
