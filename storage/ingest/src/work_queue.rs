//! Blocks that many threads parse, handed on one after the other in the order of the files.
//!
//! Problem: a graph must be the same with any number of threads, and no file be held in memory. Idea: parsed blocks wait in a work queue until all
//! before them were passed on; the thread that adds the one that is due passes on as many as are ready. Invariant: one thread at a time passes on.
//! While [`WAITING_MANY`] wait, threads cut blocks of the file that is due, so the due block is never behind waiting ones; while [`WAITING_MAX`] wait
//! and a thread passes on, the others pause.

use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;

/// Blocks that may wait before threads turn to the file that is due.
const WAITING_MANY: usize = 16;
/// Blocks that may wait while one thread hands on.
const WAITING_MAX: usize = 32;

/// A job and a block of it.
type PartNumber = (usize, usize);

struct State<T> {
    due: PartNumber,
    /// None for a block of which nothing could be parsed.
    waiting: BTreeMap<PartNumber, Option<T>>,
    /// Blocks of each job, once they were all cut.
    ends: Vec<Option<usize>>,
    handing_on: bool,
    stopped: bool,
}

impl<T> State<T> {
    fn next(&mut self) -> Option<Option<T>> {
        while self.ends.get(self.due.0).is_some_and(|end| *end == Some(self.due.1)) {
            self.due = (self.due.0 + 1, 0);
        }
        let found = self.waiting.remove(&self.due)?;
        self.due.1 += 1;
        Some(found)
    }
}

/// The work queue; `F` takes a job and a parsed block.
pub(crate) struct WorkQueue<T, F, E> {
    state: Mutex<State<T>>,
    /// Only locked by the thread that passes on.
    take: Mutex<F>,
    error: Mutex<Option<E>>,
    moved: Condvar,
}

/// Held by the thread that passes on, so that no other waits for it in vain if it panics.
struct HandingOn<'b, T, F, E>(&'b WorkQueue<T, F, E>, bool);

impl<T, F, E> Drop for HandingOn<'_, T, F, E> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.handing_on = false;
        state.stopped |= !self.1;
        self.0.moved.notify_all();
    }
}

impl<T, F: FnMut(usize, T) -> Result<(), E>, E> WorkQueue<T, F, E> {
    pub fn new(jobs: usize, take: F) -> WorkQueue<T, F, E> {
        let state = State {
            due: (0, 0),
            waiting: BTreeMap::new(),
            ends: vec![None; jobs],
            handing_on: false,
            stopped: false,
        };
        WorkQueue {
            state: Mutex::new(state),
            take: Mutex::new(take),
            error: Mutex::default(),
            moved: Condvar::new(),
        }
    }
    /// Waits while too much waits; then the only job that a block may be cut of, if it matters.
    pub fn turn(&self) -> Option<usize> {
        let mut state = self.state.lock();
        while state.handing_on && !state.stopped && state.waiting.len() >= WAITING_MAX {
            self.moved.wait(&mut state);
        }
        (state.waiting.len() >= WAITING_MANY).then_some(state.due.0)
    }
    /// Adds a block to the work queue, and passes on ready ones unless another thread does.
    pub fn put(&self, job: usize, number: usize, parsed: Option<T>) {
        self.state.lock().waiting.insert((job, number), parsed);
        self.hand_on();
    }
    /// No more blocks of this job: it has `count`.
    pub fn end(&self, job: usize, count: usize) {
        self.state.lock().ends[job] = Some(count);
        self.hand_on();
    }
    fn hand_on(&self) {
        let mut state = self.state.lock();
        if state.handing_on || state.stopped {
            return;
        }
        state.handing_on = true;
        let mut handing_on = HandingOn(self, false);
        let mut take = self.take.lock();
        while let Some(parsed) = state.next() {
            let job = state.due.0;
            drop(state);
            if let Some(Err(error)) = parsed.map(|parsed| take(job, parsed)) {
                self.error.lock().get_or_insert(error);
                return;
            }
            state = self.state.lock();
            self.moved.notify_all();
        }
        // Under the lock: who puts a block from here on sees that nobody hands on.
        state.handing_on = false;
        drop(state);
        handing_on.1 = true;
        std::mem::forget(handing_on);
        self.moved.notify_all();
    }
    pub fn is_stopped(&self) -> bool {
        self.state.lock().stopped
    }
    /// The error that ended it, if any.
    pub fn finish(self) -> Result<(), E> {
        match self.error.into_inner() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
