//! Durable storage behind a trait, so that commits are independent of its implementation.
//!
//! Idea: a store that can append a group of records, return them in order, and keep immutable blobs under a manifest is enough to recover a graph.
//! [`crate::LocalFolder`] keeps it in files, [`crate::Volatile`] nowhere; a distributed one fits here too. Invariant: records that
//! [`BackingStore::append`] wrote and [`BackingStore::sync`] confirmed are returned by [`BackingStore::recover`] after any crash, in the order of
//! commit versions, complete, unless they were given up by [`BackingStore::truncate_before`].

use crate::{Anchor, BlobRef, CheckpointMark, DurableError, DurableResult};

/// One record of the log: a commit version, and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The commit version, from 1 upwards.
    pub commit_version: u64,
    /// The bytes that were appended there.
    pub payload: Vec<u8>,
}

/// Records in the order of their commit versions; an error ends it.
pub type Records = Box<dyn Iterator<Item = DurableResult<Record>> + Send>;

/// Storage of commits and checkpoints. All methods may be called from any thread; appends are serialised.
pub trait BackingStore: Send + Sync {
    /// Appends a group of records in one write. Commit versions must be above all earlier ones, and above 0. Not yet durable.
    /// A full disk, a record too large, or a commit version out of order leaves everything as it was; after any other error the store takes
    /// no more records, and whether the group survives shows only on the next open.
    fn append(&self, records: &[(u64, &[u8])]) -> DurableResult<()>;

    /// Makes every record appended so far durable. A failure is final: the store takes no more records.
    fn sync(&self) -> DurableResult<()>;

    /// Appends a group and makes it durable: the step of a group commit.
    fn append_and_sync(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        self.append(records)?;
        self.sync()
    }

    /// The records from this commit version on, as far as they were appended before the call.
    fn recover(&self, from_version: u64) -> DurableResult<Records>;

    /// The commit version that the next record must be above: that of the last record appended or given up, or of a checkpoint that was begun
    /// to be finished ahead of the log; 0 before the first. So it may be above the last record that is handed back.
    fn last_version(&self) -> u64;

    /// Gives up records before this commit version, as far as that frees whole segments. Call it when a checkpoint covers them.
    fn truncate_before(&self, commit_version: u64) -> DurableResult<()>;

    /// Begins a checkpoint that stands for every record up to this commit version. One at a time; dropping the writer abandons it.
    fn begin_checkpoint(&self, commit_version: u64) -> DurableResult<Box<dyn CheckpointSink + '_>>;

    /// The latest finished checkpoint: its commit version and its manifest.
    fn latest_checkpoint(&self) -> DurableResult<Option<(u64, Vec<u8>)>>;

    /// The checkpoints that are kept, by rising commit version; the last is the latest, or the beginning of the log before the first.
    fn anchors(&self) -> Vec<Anchor> {
        Vec::new()
    }

    /// The manifest of one of [`BackingStore::anchors`] whose sequence is not 0.
    fn anchor_manifest(&self, _anchor: &Anchor) -> DurableResult<Vec<u8>> {
        Err(DurableError::Volatile)
    }

    /// Gives up all anchors that are not at these commit versions; the latest checkpoint stays whatever is listed.
    fn keep_anchors(&self, _versions: &[u64]) -> DurableResult<()> {
        Ok(())
    }

    /// How far back the past is to be kept, as noted by [`BackingStore::set_history`]; 0 before.
    fn history(&self) -> u64 {
        0
    }

    /// Notes for good how far back the past is to be kept, in numbers of the caller.
    fn set_history(&self, _history: u64) -> DurableResult<()> {
        Err(DurableError::Volatile)
    }

    /// Reads a blob of the latest checkpoint, or of an older one whose files were not retired.
    fn read_blob(&self, blob: BlobRef) -> DurableResult<Vec<u8>>;

    /// Reads a part of a blob, without a look at its checksum: the caller has one of the part.
    fn read_blob_part(&self, blob: BlobRef, at: u32, length: u32) -> DurableResult<Vec<u8>>;

    /// Reads the last `length` bytes of a blob, or all that it has, as [`BackingStore::read_blob_part`] does; nothing of one that is kept in parts.
    fn read_blob_end(&self, blob: BlobRef, length: u32) -> DurableResult<Vec<u8>>;

    /// Removes every blob file that is not listed here. The caller knows which files ([`BlobRef::file`]) the latest manifest,
    /// and everyone still reading an older one, refers to.
    fn retire(&self, live_files: &[u32]) -> DurableResult<()>;

    /// Whether anything survives the end of the process. If not, checkpoints are refused with [`crate::DurableError::Volatile`].
    fn is_durable(&self) -> bool;

    /// Bytes the log holds on disk, for deciding when a checkpoint pays.
    fn log_bytes(&self) -> u64;

    /// Marks the end of an orderly run. Not needed for safety; it lets the next open tell a torn tail from damage.
    fn close(&self) -> DurableResult<()>;
}

/// A checkpoint being written.
pub trait CheckpointSink: Send {
    /// Writes a blob; it can be read once the checkpoint is finished.
    fn put(&mut self, bytes: &[u8]) -> DurableResult<BlobRef>;

    /// Makes what was written so far durable and readable ahead of the end, so that little is left to do at [`CheckpointSink::finish`].
    fn settle(&mut self) -> DurableResult<()>;

    /// As [`CheckpointSink::settle`], and blobs written so far stay when the sink is dropped or the process ends: until the next
    /// [`BackingStore::retire`] that does not list them.
    fn adopt(&mut self) -> DurableResult<()>;

    /// Moves the checkpoint to a later commit version than it was begun at: of a bulk load, which learns its commit version when all else is written.
    fn set_commit_version(&mut self, commit_version: u64);

    /// Makes all blobs and the manifest durable, then makes this the latest checkpoint in one step.
    fn finish(self: Box<Self>, manifest: &[u8], mark: &CheckpointMark) -> DurableResult<()>;
}
