//! The backing store of a database in memory: it keeps nothing, and says so.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::backing::{BackingStore, CheckpointSink, Records};
use crate::{BlobRef, DurableError, DurableResult};

/// Keeps only the last commit version, so that the order of commits is checked as it is on disk.
#[derive(Debug, Default)]
pub struct Volatile {
    last_version: AtomicU64,
}

impl Volatile {
    /// A store that keeps nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl BackingStore for Volatile {
    fn append(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        for &(commit_version, _) in records {
            let last = self.last_version.load(Ordering::Acquire);
            if commit_version <= last {
                return Err(DurableError::OutOfOrder { commit_version, last });
            }
            self.last_version.store(commit_version, Ordering::Release);
        }
        Ok(())
    }

    fn sync(&self) -> DurableResult<()> {
        Ok(())
    }

    fn recover(&self, _from_version: u64) -> DurableResult<Records> {
        Ok(Box::new(std::iter::empty()))
    }

    fn last_version(&self) -> u64 {
        self.last_version.load(Ordering::Acquire)
    }

    fn truncate_before(&self, _version: u64) -> DurableResult<()> {
        Ok(())
    }

    fn begin_checkpoint(&self, _version: u64) -> DurableResult<Box<dyn CheckpointSink + '_>> {
        Err(DurableError::Volatile)
    }

    fn latest_checkpoint(&self) -> DurableResult<Option<(u64, Vec<u8>)>> {
        Ok(None)
    }

    fn read_blob(&self, _blob: BlobRef) -> DurableResult<Vec<u8>> {
        Err(DurableError::Volatile)
    }

    fn read_blob_part(&self, _blob: BlobRef, _at: u32, _length: u32) -> DurableResult<Vec<u8>> {
        Err(DurableError::Volatile)
    }

    fn read_blob_end(&self, _blob: BlobRef, _length: u32) -> DurableResult<Vec<u8>> {
        Err(DurableError::Volatile)
    }

    fn retire(&self, _live_files: &[u32]) -> DurableResult<()> {
        Ok(())
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn log_bytes(&self) -> u64 {
        0
    }

    fn close(&self) -> DurableResult<()> {
        Ok(())
    }
}
