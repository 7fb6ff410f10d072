//! A backing store that somebody meddles with: for the tests of the crates above.
//!
//! Idea: what a test wants to change of a store (slow syncs, lies, refusals) is one or two calls of many. [`Meddler`] has a method for each
//! of those that a test may want to see, which passes it on; [`Meddled`] passes on the rest.

use crate::backing::{BackingStore, CheckpointSink, Records};
use crate::{Anchor, BlobRef, DurableResult, LocalFolder};

/// What is done instead of some calls; as it stands, what was asked for.
pub trait Meddler: Send + Sync {
    /// Instead of [`BackingStore::append_and_sync`].
    fn append_and_sync(&self, inner: &LocalFolder, records: &[(u64, &[u8])]) -> DurableResult<()> {
        inner.append_and_sync(records)
    }
    /// Instead of [`BackingStore::last_version`].
    fn last_version(&self, inner: &LocalFolder) -> u64 {
        inner.last_version()
    }
    /// Instead of [`BackingStore::truncate_before`].
    fn truncate_before(&self, inner: &LocalFolder, commit_version: u64) -> DurableResult<()> {
        inner.truncate_before(commit_version)
    }
}

/// A folder with a [`Meddler`] before it.
pub struct Meddled<M> {
    inner: LocalFolder,
    /// Who meddles.
    pub meddler: M,
}

impl<M: Meddler> Meddled<M> {
    /// Puts `meddler` before a folder.
    pub fn new(inner: LocalFolder, meddler: M) -> Meddled<M> {
        Meddled { inner, meddler }
    }
}

impl<M: Meddler> BackingStore for Meddled<M> {
    fn append(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        self.inner.append(records)
    }
    fn sync(&self) -> DurableResult<()> {
        self.inner.sync()
    }
    fn append_and_sync(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        self.meddler.append_and_sync(&self.inner, records)
    }
    fn recover(&self, from_version: u64) -> DurableResult<Records> {
        self.inner.recover(from_version)
    }
    fn last_version(&self) -> u64 {
        self.meddler.last_version(&self.inner)
    }
    fn truncate_before(&self, commit_version: u64) -> DurableResult<()> {
        self.meddler.truncate_before(&self.inner, commit_version)
    }
    fn begin_checkpoint(&self, commit_version: u64) -> DurableResult<Box<dyn CheckpointSink + '_>> {
        self.inner.begin_checkpoint(commit_version)
    }
    fn latest_checkpoint(&self) -> DurableResult<Option<(u64, Vec<u8>)>> {
        self.inner.latest_checkpoint()
    }
    fn anchors(&self) -> Vec<Anchor> {
        self.inner.anchors()
    }
    fn anchor_manifest(&self, anchor: &Anchor) -> DurableResult<Vec<u8>> {
        self.inner.anchor_manifest(anchor)
    }
    fn keep_anchors(&self, commit_versions: &[u64]) -> DurableResult<()> {
        self.inner.keep_anchors(commit_versions)
    }
    fn history(&self) -> u64 {
        self.inner.history()
    }
    fn set_history(&self, history: u64) -> DurableResult<()> {
        self.inner.set_history(history)
    }
    fn read_blob(&self, blob: BlobRef) -> DurableResult<Vec<u8>> {
        self.inner.read_blob(blob)
    }

    fn read_blob_part(&self, blob: BlobRef, at: u32, length: u32) -> DurableResult<Vec<u8>> {
        self.inner.read_blob_part(blob, at, length)
    }
    fn read_blob_end(&self, blob: BlobRef, length: u32) -> DurableResult<Vec<u8>> {
        self.inner.read_blob_end(blob, length)
    }
    fn retire(&self, live_files: &[u32]) -> DurableResult<()> {
        self.inner.retire(live_files)
    }
    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }
    fn log_bytes(&self) -> u64 {
        self.inner.log_bytes()
    }
    fn close(&self) -> DurableResult<()> {
        self.inner.close()
    }
}
