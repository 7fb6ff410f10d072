//! Checkpoints: the graph as of one place, written while readers and writers go on; and bulk loads, which are made durable by one.
//!
//! Idea: a snapshot is immutable, so a checkpoint simply writes it out: only chunks and index runs that no earlier checkpoint stored.
//! Afterwards the log before its place is dropped. Invariant: `CURRENT` names either the old checkpoint or the new one, and the
//! log reaches back to whichever it is.

use crate::{Engine, TransactError};
use durable::{BlobRef, CheckpointMark, DurableError};
use store::{BlobKey, Snapshot, StoreError};

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Place that it stands for.
    pub place: u64,
    /// Chunks, index runs and other pieces written.
    pub blobs: usize,
    /// Bytes written.
    pub bytes: u64,
}

impl Engine {
    /// Writes a checkpoint of the latest snapshot. Does nothing for a database in memory, or where nothing was committed since
    /// the last one.
    pub fn checkpoint(&self) -> Result<CheckpointReport, TransactError> {
        let _one_at_a_time = self.shared.checkpointing.lock();
        let snapshot = self.snapshot();
        if !self.shared.backing.is_durable() || self.shared.checkpointed_place() == Some(snapshot.place()) {
            return Ok(CheckpointReport { place: snapshot.place(), ..CheckpointReport::default() });
        }
        self.write_checkpoint(&snapshot)
    }

    fn write_checkpoint(&self, snapshot: &Snapshot) -> Result<CheckpointReport, TransactError> {
        let backing = &self.shared.backing;
        let mut report = CheckpointReport { place: snapshot.place(), ..CheckpointReport::default() };
        let mut sink = backing.begin_checkpoint(snapshot.place())?;
        let written = snapshot.checkpoint(&mut |bytes: &[u8]| -> Result<BlobKey, TransactError> {
            report.blobs += 1;
            report.bytes += bytes.len() as u64;
            Ok(BlobKey(sink.put(bytes)?.encode()))
        })?;
        sink.finish(written.manifest(), &CheckpointMark::default())?;
        written.keep();
        self.shared.set_checkpointed_place(snapshot.place());
        // The checkpoint stands whether or not the log before it can be dropped now; the next one tries again.
        let _ = backing.truncate_before(snapshot.place() + 1);
        self.shared.log_changed();
        Ok(report)
    }

    /// Replaces the latest snapshot by one that `make` builds from it at the given place: a bulk load. No commit happens
    /// meanwhile; the load is durable, by a checkpoint, before anyone sees it.
    pub fn install(
        &self,
        make: impl FnOnce(&Snapshot, u64) -> Result<Snapshot, TransactError>,
    ) -> Result<CheckpointReport, TransactError> {
        let mut committer = self.shared.committer.lock();
        let _one_at_a_time = self.shared.checkpointing.lock();
        let current = self.snapshot();
        let place = current.place().max(self.shared.backing.last_place()) + 1;
        let next = make(&current, place)?;
        let report = match self.shared.backing.is_durable() {
            true => self.write_checkpoint(&next).inspect_err(|_| {
                committer.jump_to(current.place(), self.shared.backing.last_place());
            })?,
            false => CheckpointReport { place, ..CheckpointReport::default() },
        };
        // Its names stay due for the log: which of them the checkpoint has, and which came while it was made, nobody need know.
        committer.jump_to(place, place);
        self.shared.store.publish(next);
        self.close_feeds();
        Ok(report)
    }

    /// Bytes of log since the last checkpoint, as of the last commit.
    pub fn log_bytes(&self) -> u64 {
        self.shared.log_bytes()
    }
}

/// Reads stored chunks back for the store.
pub(crate) struct Blobs(pub std::sync::Arc<dyn durable::BackingStore>);

impl store::ChunkSource for Blobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        self.0.read_blob(BlobRef::decode(&key.0)).map_err(|error| match error {
            DurableError::Corrupt { .. } => StoreError::Corrupt(error.to_string().into()),
            other => StoreError::Source(other.to_string().into()),
        })
    }
}
