//! All rows of a run, for whoever keeps its result.
//!
//! Invariant: rows are entered before the piece of work ends that they came of, so at the end of the run the log has all of them, or has given
//! up. Cost: a short lock and a clone of each row; values are shared.

use model::Value;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Rows of a run, up to a number of bytes.
pub struct RowLog {
    /// None behind the limit, or where they were taken.
    rows: Mutex<Option<Vec<(u32, Value)>>>,
    bytes: AtomicUsize,
    bytes_max: usize,
}

impl RowLog {
    /// A log that gives up beyond so many bytes.
    pub fn within(bytes_max: usize) -> RowLog {
        RowLog { rows: Mutex::new(Some(Vec::new())), bytes: AtomicUsize::new(0), bytes_max }
    }
    pub(crate) fn enter(&self, more: &[(u32, Value)], bytes: usize) {
        let mut rows = self.rows.lock();
        if let Some(known) = &mut *rows {
            if self.bytes.load(Relaxed) + bytes > self.bytes_max {
                *rows = None;
                self.bytes.store(0, Relaxed);
            } else {
                known.extend_from_slice(more);
                self.bytes.fetch_add(bytes, Relaxed);
            }
        }
    }
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }
    /// The rows and their bytes, once; none where they were too many.
    pub fn take(&self) -> Option<(Vec<(u32, Value)>, usize)> {
        let rows = self.rows.lock().take()?;
        Some((rows, self.bytes.swap(0, Relaxed)))
    }
}

pub(crate) fn row_bytes(value: &Value) -> usize {
    size_of::<(u32, Value)>() + value.heap_bytes()
}
