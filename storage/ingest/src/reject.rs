//! Lines that are left out: counted, and the first of them kept with file and line.

use crate::Rejected;
use crate::error::shortened;
use crate::options::REJECTED_SHOWN_MAX;
use crate::source::InputFile;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A rejected line of one file.
type Line = (u64, String);

/// Rejected lines of one block, or of one task.
#[derive(Default)]
pub(crate) struct Rejects {
    count: u64,
    first: Vec<Line>,
}

impl Rejects {
    /// Leaves out a line. Lines come in order.
    #[cold]
    pub fn add(&mut self, line: u64, what: impl Into<String>) {
        self.count += 1;
        if self.first.len() < REJECTED_SHOWN_MAX {
            self.first.push((line, shortened(&what.into()).into_owned()));
        }
    }
}

/// Rejected lines of the whole import.
pub(crate) struct Rejection {
    strict: bool,
    stopped: AtomicBool,
    count: AtomicU64,
    /// By file and line.
    first: Mutex<Vec<(usize, Line)>>,
}

impl Rejection {
    pub fn new(strict: bool) -> Rejection {
        Rejection {
            strict,
            stopped: AtomicBool::new(false),
            count: AtomicU64::new(0),
            first: Mutex::default(),
        }
    }
    /// Adds the rejected lines of `file`.
    pub fn take(&self, file: usize, rejects: Rejects) {
        if rejects.count == 0 {
            return;
        }
        self.count.fetch_add(rejects.count, Ordering::Relaxed);
        self.stopped.fetch_or(self.strict, Ordering::Relaxed);
        let mut first = self.first.lock();
        first.extend(rejects.first.into_iter().map(|line| (file, line)));
        first.sort();
        first.truncate(REJECTED_SHOWN_MAX);
    }
    /// Must the import stop, being strict?
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
    /// Lines left out so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
    /// The first of them.
    pub fn first(&self, files: &[InputFile]) -> Vec<Rejected> {
        let first = self.first.lock();
        let rejected = |(file, (line, what)): &(usize, Line)| Rejected {
            file: files[*file].shown.clone(),
            line: *line,
            what: what.clone(),
        };
        first.iter().map(rejected).collect()
    }
}
