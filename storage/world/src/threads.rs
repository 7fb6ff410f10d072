//! Threads with names that are always joined: helpers for loaders, and jobs that run in the background.
//!
//! Queries do not run here: they run on the workers. A thread here may block, on disk for instance.

use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

mod background;
mod signal;

pub use background::{Background, Pace};
pub use signal::Signal;

/// A running thread. Dropping it waits for its end, so that no thread outlives its purpose.
#[derive(Debug)]
pub struct Thread<T> {
    handle: Option<JoinHandle<T>>,
}

impl<T> Thread<T> {
    /// Waits for its end and returns its result. A panic of the thread goes on in the caller.
    pub fn join(mut self) -> T {
        let handle = self.handle.take().expect("only join and drop take it");
        handle.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        // A thread that drops the last handle on itself cannot wait for itself; it is about to end anyway.
        if handle.thread().id() != thread::current().id() {
            // The panic was reported on the thread's own standard error; a destructor must not panic again.
            let _ = handle.join();
        }
    }
}

/// Starts a thread.
///
/// # Panics
/// When the operating system gives no more threads.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Thread<T> {
    try_spawn(name, work).expect("the operating system gives a thread")
}

/// Starts a thread, if the operating system gives one.
pub fn try_spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Thread<T>> {
    let handle = thread::Builder::new().name(name.to_string()).spawn(work)?;
    Ok(Thread { handle: Some(handle) })
}

/// Blocks the thread that calls it for at least this time. Never call it on a worker: it holds up every query there.
pub fn sleep(time: Duration) {
    thread::sleep(time);
}

/// Calls `work` once for each of the inputs, on up to `threads` threads, and returns the results in the order of the inputs.
/// Each thread takes the next input when it is done with one, so a slow input holds up nobody. A panic goes on in the caller.
pub fn map_parallel<I: Sync, T: Send>(
    name: &str,
    threads: usize,
    inputs: &[I],
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take_turns = || {
        let mut done = Vec::new();
        while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < inputs.len()) {
            done.push((index, work(&inputs[index])));
        }
        done
    };
    let count = threads.clamp(1, inputs.len().max(1));
    let mut results = in_parallel(name, count, |_| take_turns()).into_iter().flatten().collect::<Vec<_>>();
    results.sort_unstable_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` with 0 to `threads` - 1, each on a thread of its own (the first on the caller's), and returns the results in that
/// order when all are done. `work` may borrow. A panic goes on in the caller.
pub fn in_parallel<T: Send>(name: &str, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|index| {
                let builder = thread::Builder::new().name(format!("{name}-{index}"));
                let started = builder.spawn_scoped(scope, move || work(index));
                started.expect("the operating system gives a thread")
            })
            .collect();
        let mut results = Vec::with_capacity(threads);
        if threads > 0 {
            results.push(work(0));
        }
        for other in others {
            results.push(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    })
}

#[cfg(test)]
mod tests;
