//! The database that an object belongs to, and the process that opened it.
//!
//! A forked process has the memory of its parent and none of its threads: a wait for the executors would never end. So no calls are made there, and
//! nothing is dropped there.

use crate::errors::misused;
use database::Error;
use parking_lot::Mutex;
use std::ops::Deref;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

static LAST: AtomicU64 = AtomicU64::new(0);

/// A database that this process opened, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessDatabase {
    /// Tells databases of one process apart.
    pub number: u64,
    process: u32,
}

impl ProcessDatabase {
    pub fn new() -> ProcessDatabase {
        ProcessDatabase { number: LAST.fetch_add(1, Ordering::Relaxed) + 1, process: process::id() }
    }
    pub fn is_here(self) -> bool {
        self.process == process::id()
    }
    /// May it be used in this process?
    pub fn check(self) -> Result<(), Error> {
        if self.is_here() {
            return Ok(());
        }
        let hint =
            "connect in the new process, or begin processes by \"spawn\" (multiprocessing.set_start_method)";
        Err(misused("the database was opened before this process was forked", hint))
    }
}

/// Objects that end when their database is closed.
pub trait Ends: Send + Sync {
    /// Ends it: nothing of it holds the database any more.
    fn end(&self);
}

/// The objects of a database that may still be used.
#[derive(Clone, Default)]
pub struct Dependents(Arc<Mutex<Vec<Weak<dyn Ends>>>>);

impl Dependents {
    pub fn add(&self, one: Weak<dyn Ends>) {
        let mut all = self.0.lock();
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(one);
    }
    /// Ends all of them.
    pub fn end(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        all.iter().filter_map(Weak::upgrade).for_each(|one| one.end());
    }
}

/// Something that is dropped only in the process that made it.
pub struct OwnedByProcess<T> {
    held: Option<T>,
    home: ProcessDatabase,
}

impl<T> OwnedByProcess<T> {
    pub fn new(held: T, home: ProcessDatabase) -> OwnedByProcess<T> {
        OwnedByProcess { held: Some(held), home }
    }
    pub fn home(&self) -> ProcessDatabase {
        self.home
    }
}

impl<T> Deref for OwnedByProcess<T> {
    type Target = Option<T>;
    fn deref(&self) -> &Option<T> {
        &self.held
    }
}

impl<T> Drop for OwnedByProcess<T> {
    fn drop(&mut self) {
        if !self.home.is_here() {
            std::mem::forget(self.held.take());
        }
    }
}
