//! The backing store of one machine: a folder with a log and checkpoints.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use world::disk::Disk;
use world::failpoint;
use world::panics::caught;

use crate::backing::{BackingStore, CheckpointSink, Records};
use crate::folder::log_folder;
use crate::{
    Anchor, BlobRef, CheckpointMark, CheckpointWriter, Checkpoints, DurableError, DurableResult, Folder, Log,
    LogOptions, OpenMode,
};

/// A database folder, open.
pub struct LocalFolder {
    log: Mutex<Log>,
    truncating: Mutex<()>,
    checkpoints: Checkpoints,
    // Last, so that the lock is freed after the files are closed.
    folder: Folder,
}

impl LocalFolder {
    /// Opens a database folder, or creates one; cuts a torn tail of the log, and removes what an interrupted checkpoint left.
    pub fn open(
        disk: Arc<dyn Disk>,
        path: &Path,
        mode: OpenMode,
        options: LogOptions,
    ) -> DurableResult<Self> {
        let folder = Folder::open(&disk, path, mode)?;
        let checkpoints = Checkpoints::open(Arc::clone(&disk), path)?;
        let covered = checkpoints.latest_version().unwrap_or(0);
        let dir = log_folder(path);
        let (log, _) = Log::open(disk, &dir, options, covered + 1)?;
        if log.last_version() < covered {
            let what =
                format!("the log ends at version {}, before the checkpoint at {covered}", log.last_version());
            return Err(DurableError::corrupt(&dir, 0, what));
        }
        Ok(Self { log: Mutex::new(log), truncating: Mutex::default(), checkpoints, folder })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Changes the log. After a panic its state is unknown, so it takes no more.
    fn with_log(&self, change: impl FnOnce(&mut Log) -> DurableResult<()>) -> DurableResult<()> {
        let mut log = self.log.lock();
        caught(|| change(&mut log)).unwrap_or_else(|panicked| Err(log.poison(panicked.to_string())))
    }
}

impl BackingStore for LocalFolder {
    fn append(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        self.with_log(|log| log.append(records))
    }

    fn sync(&self) -> DurableResult<()> {
        self.with_log(Log::sync)
    }

    fn append_and_sync(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        self.with_log(|log| {
            log.append(records)?;
            failpoint::visit("records are written");
            log.sync()
        })
    }

    fn recover(&self, from_version: u64) -> DurableResult<Records> {
        Ok(Box::new(self.log.lock().records_from(from_version)?))
    }

    fn last_version(&self) -> u64 {
        self.log.lock().last_version()
    }

    fn truncate_before(&self, commit_version: u64) -> DurableResult<()> {
        let _one_at_a_time = self.truncating.lock();
        let (disk, dir) = self.log.lock().home();
        // Files are removed beside commits: only the list of them is theirs too.
        loop {
            let Some(segment) = self.log.lock().first_before(commit_version)? else { return Ok(()) };
            let length = segment.remove(&*disk, &dir)?;
            self.log.lock().forget_first(length);
        }
    }

    fn begin_checkpoint(&self, commit_version: u64) -> DurableResult<Box<dyn CheckpointSink + '_>> {
        Ok(Box::new(Sink { writer: self.checkpoints.begin(commit_version)?, log: &self.log, commit_version }))
    }

    fn latest_checkpoint(&self) -> DurableResult<Option<(u64, Vec<u8>)>> {
        self.checkpoints.latest()
    }

    fn anchors(&self) -> Vec<Anchor> {
        self.checkpoints.anchors()
    }

    fn anchor_manifest(&self, anchor: &Anchor) -> DurableResult<Vec<u8>> {
        self.checkpoints.manifest_of(anchor)
    }

    fn keep_anchors(&self, commit_versions: &[u64]) -> DurableResult<()> {
        self.checkpoints.keep_anchors(commit_versions)
    }

    fn history(&self) -> u64 {
        self.checkpoints.history()
    }

    fn set_history(&self, history: u64) -> DurableResult<()> {
        self.checkpoints.set_history(history)
    }

    fn read_blob(&self, blob: BlobRef) -> DurableResult<Vec<u8>> {
        self.checkpoints.read(blob)
    }

    fn read_blob_part(&self, blob: BlobRef, at: u32, length: u32) -> DurableResult<Vec<u8>> {
        self.checkpoints.read_part(blob, at, length)
    }

    fn read_blob_end(&self, blob: BlobRef, length: u32) -> DurableResult<Vec<u8>> {
        self.checkpoints.read_end(blob, length)
    }

    fn retire(&self, live_files: &[u32]) -> DurableResult<()> {
        self.checkpoints.retire(live_files)
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn log_bytes(&self) -> u64 {
        self.log.lock().bytes()
    }

    fn close(&self) -> DurableResult<()> {
        self.log.lock().close()
    }
}

struct Sink<'a> {
    writer: CheckpointWriter<'a>,
    log: &'a Mutex<Log>,
    commit_version: u64,
}

impl CheckpointSink for Sink<'_> {
    fn put(&mut self, bytes: &[u8]) -> DurableResult<BlobRef> {
        self.writer.put(bytes)
    }

    fn settle(&mut self) -> DurableResult<()> {
        self.writer.settle()
    }

    fn adopt(&mut self) -> DurableResult<()> {
        self.writer.adopt()
    }

    fn set_commit_version(&mut self, commit_version: u64) {
        self.commit_version = commit_version;
        self.writer.set_commit_version(commit_version);
    }

    fn finish(self: Box<Self>, manifest: &[u8], mark: &CheckpointMark) -> DurableResult<()> {
        {
            // A checkpoint must never be ahead of the log: the next commits go on behind its version.
            let mut log = self.log.lock();
            log.sync()?;
            log.advance_to(self.commit_version)?;
        }
        self.writer.finish(manifest, mark)
    }
}

#[cfg(test)]
mod tests;
