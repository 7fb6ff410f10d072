//! The rows of a file of columns for LOAD PARQUET. The format's reader lies elsewhere and charges here before it allocates.

use crate::ExecuteError;
use dataflow::watch::{self, LoopBytes, Stopped};
use expression::EvalError;
use formats::tables::{MeteredFile, TableFormat, TableRows};
use model::Value;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use world::files::RandomFile;

/// Bytes that are read or unpacked in about the time of one unit of work.
const BYTES_PER_UNIT: u64 = 64;

/// A file that a query reads.
struct QueryFile {
    file: RandomFile,
    account: Mutex<ReadingAccount>,
    /// Bytes that the operator has charged.
    charged: AtomicU64,
}

#[derive(Default)]
struct ReadingAccount {
    /// Bytes of the row in progress, beyond the charge.
    held: LoopBytes,
    /// Bytes held at the last report.
    bytes: u64,
    /// Why the reading ended.
    stopped: Option<Stopped>,
}

impl QueryFile {
    fn note<T>(&self, outcome: Result<T, Stopped>) -> io::Result<T> {
        outcome.map_err(|stopped| {
            self.account.lock().stopped = Some(stopped);
            io::Error::other(stopped)
        })
    }
}

impl MeteredFile for QueryFile {
    fn size_bytes(&self) -> u64 {
        self.file.size_bytes()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(offset, buffer)?;
        self.note(watch::spend(1 + read as u64 / BYTES_PER_UNIT))?;
        Ok(read)
    }
    fn hold(&self, bytes: u64) -> io::Result<()> {
        let (outcome, more) = {
            let mut account = self.account.lock();
            let more = bytes.saturating_sub(std::mem::replace(&mut account.bytes, bytes));
            (account.held.set(bytes.saturating_sub(self.charged.load(Ordering::Relaxed))), more)
        };
        self.note(outcome)?;
        // Not under the lock: work may pause here.
        self.note(watch::spend(1 + more / BYTES_PER_UNIT))
    }
}

pub(super) struct TableValues {
    rows: Box<dyn TableRows>,
    file: Arc<QueryFile>,
    row: u64,
}

impl TableValues {
    pub(super) fn new(format: &dyn TableFormat, file: RandomFile) -> Result<TableValues, ExecuteError> {
        let file = Arc::new(QueryFile { file, account: Mutex::default(), charged: AtomicU64::new(0) });
        match format.open(file.clone()) {
            Ok(rows) => {
                file.account.lock().held.set(0).map_err(EvalError::from)?;
                Ok(TableValues { rows, file, row: 0 })
            }
            Err(what) => Err(refusal(&file, what)),
        }
    }
    /// The number of the row that came last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.row
    }
    /// Bytes of the file that are buffered.
    pub(super) fn held_bytes(&self) -> usize {
        usize::try_from(self.rows.held_bytes()).unwrap_or(usize::MAX)
    }
    /// All its bytes are charged by the operator.
    pub(super) fn is_charged(&self) {
        self.file.charged.store(self.rows.held_bytes(), Ordering::Relaxed);
    }
    /// The next row; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Value>, ExecuteError> {
        let row = self.rows.next();
        self.file.account.lock().held.set(0).map_err(EvalError::from)?;
        self.row += 1;
        row.map_err(|what| refusal(&self.file, what))
    }
}

/// The error of a read: the query's time or memory, or a malformed file.
fn refusal(file: &QueryFile, what: String) -> ExecuteError {
    let mut account = file.account.lock();
    drop(std::mem::take(&mut account.held));
    match account.stopped {
        Some(stopped) => EvalError::from(stopped).into(),
        None => ExecuteError::FileContent(what),
    }
}
