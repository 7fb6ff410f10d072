//! All rows of a run, for caching its result.
//!
//! Invariant: rows are entered before the end of the slice that made them, so at the end of the run the log has all of them, or has given up. Cost: a
//! short lock and a clone of each row, as columns; values are shared.

use crate::kept_rows::KeptRows;
use crate::vertex_values::VertexValues;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Rows of a run, up to a number of bytes.
pub struct RowLog {
    /// None behind the limit, or where they were taken.
    rows: Mutex<Option<VertexValues>>,
    bytes: AtomicUsize,
    bytes_max: usize,
}

impl RowLog {
    /// A log that gives up beyond `bytes_max` bytes.
    pub fn within(bytes_max: usize) -> RowLog {
        RowLog { rows: Mutex::new(Some(VertexValues::default())), bytes: AtomicUsize::new(0), bytes_max }
    }
    pub(crate) fn enter(&self, more: &VertexValues) {
        if more.is_empty() {
            return;
        }
        let mut rows = self.rows.lock();
        let Some(known) = &mut *rows else { return };
        let before = self.bytes.load(Relaxed) + more.all_bytes();
        let mut bytes = before;
        if before <= self.bytes_max {
            let was_alike = known.is_empty() || known.is_like(more);
            known.extend(more);
            if !was_alike {
                // Values were turned, and take more.
                bytes = known.all_bytes();
            }
        }
        if bytes > self.bytes_max {
            (*rows, bytes) = (None, 0);
        }
        self.bytes.store(bytes, Relaxed);
    }
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }
    /// The rows in little room, once; none where they were too many.
    pub fn take(&self) -> Option<KeptRows> {
        let rows = self.rows.lock().take()?;
        self.bytes.store(0, Relaxed);
        Some(KeptRows::of(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    /// The size is that of the logged rows, also where values are converted, and the log gives up for good when it is too large.
    #[test]
    fn bytes_are_those_of_the_rows() {
        let log = RowLog::within(1_000);
        let rows = |values: &[Value]| {
            let mut rows = VertexValues::default();
            values.iter().for_each(|value| rows.push(1, value.clone()));
            rows
        };
        log.enter(&rows(&[Value::Int(1), Value::Int(2)]));
        assert_eq!(log.bytes(), 24);
        log.enter(&rows(&[Value::Null]));
        assert_eq!(log.bytes(), 3 * (4 + size_of::<Value>()));
        log.enter(&rows(&vec![Value::Int(3); 60]));
        assert_eq!((log.bytes(), log.take().is_none()), (0, true));
        log.enter(&rows(&[Value::Int(1)]));
        assert!(log.take().is_none());
    }
}
