//! Checkpoints: the graph as of one commit version, written while readers and writers go on.
//!
//! Idea: a snapshot is immutable, so a checkpoint simply writes it out: only chunks and index runs that no earlier checkpoint stored. Afterwards
//! everything behind the horizon is given up: older checkpoints, the log before them, blobs that no manifest names. Invariant: `CURRENT` names either
//! the old checkpoint or the new one, and the log reaches back to whichever it is.

use crate::history::Point;
use crate::kept_files::{Horizon, files_of, thinned};
use crate::{Engine, TransactError};
use durable::{Anchor, BlobRef, CheckpointMark, CheckpointSink, DurableError};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use store::Written;
use store::{BlobKey, Lease, Snapshot, StoreError};

/// Times that a chunk is compacted while commits write to it.
const COMPACT_ATTEMPTS_MAX: usize = 2;

/// The report of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Commit version that it stands for.
    pub commit_version: u64,
    /// Chunks, index runs and other pieces written.
    pub blobs: usize,
    /// Bytes written.
    pub bytes: u64,
}

/// The moment a checkpoint stands for.
#[derive(Clone, Copy)]
pub(crate) struct Stand {
    pub at: Point,
    /// Bytes of records logged up to then.
    pub logged_bytes: u64,
    /// Does it contain data that was never in the log?
    pub beside_log: bool,
}

impl Engine {
    /// Writes a checkpoint of the latest snapshot. Does nothing for a database in memory, or where nothing was committed since
    /// the last one.
    pub fn checkpoint(&self) -> Result<CheckpointReport, TransactError> {
        let shared = &self.shared;
        let _one_at_a_time = shared.checkpointing.lock();
        self.compact_deltas();
        // Counted before the snapshot is taken: replay may turn out a little shorter than counted, never longer.
        let logged_bytes = shared.past.logged_bytes();
        let (snapshot, at) = shared.past.newest(&shared.store);
        if !shared.backing.is_durable() || shared.checkpointed_version() == Some(snapshot.commit_version()) {
            return Ok(CheckpointReport {
                commit_version: snapshot.commit_version(),
                ..CheckpointReport::default()
            });
        }
        let beside_log = shared.load_unfinished.load(Ordering::Acquire);
        let (report, lease) = self.write_checkpoint(&snapshot, Stand { at, logged_bytes, beside_log })?;
        shared.load_unfinished.store(false, Ordering::Release);
        let mut committer = shared.alone();
        let renewed = committer.tip.leased(lease);
        shared.reshape(&mut committer, renewed);
        shared.store.trim();
        committer.tip = shared.store.current();
        drop(committer);
        self.give_up_behind_checkpoint();
        Ok(report)
    }

    /// Compacts the chunks that have deltas, beside commits: the checkpoint would do it for its bytes alone, and so readers profit too. A chunk that
    /// is written to all the time may keep its delta. Where memory is short the checkpoint makes deltas evictable instead; see
    /// [`store::Store::trim`].
    fn compact_deltas(&self) {
        let shared = &self.shared;
        if !shared.backing.is_durable()
            || shared.checkpointed_version() == Some(self.snapshot().commit_version())
        {
            return;
        }
        for chunk in shared.store.chunks_to_compact() {
            for _ in 0..COMPACT_ATTEMPTS_MAX {
                let before = self.snapshot();
                // A chunk that cannot be read is an error for whoever asks for it; its delta stays as it is.
                let Ok(compacted) = before.compact(chunk) else { break };
                let mut committer = shared.committer.lock();
                if shared.make_ready(&mut committer).is_err() {
                    return;
                }
                if let Some(next) = committer.tip.with_compacted(chunk, &before, &compacted) {
                    shared.reshape(&mut committer, next);
                    break;
                }
            }
        }
    }

    fn write_checkpoint(
        &self,
        snapshot: &Snapshot,
        stand: Stand,
    ) -> Result<(CheckpointReport, Lease), TransactError> {
        let mut report =
            CheckpointReport { commit_version: snapshot.commit_version(), ..CheckpointReport::default() };
        let mut sink = self.shared.backing.begin_checkpoint(snapshot.commit_version())?;
        let mut files = BTreeSet::new();
        let written = snapshot.checkpoint(&mut |bytes: &[u8]| -> Result<BlobKey, TransactError> {
            report.blobs += 1;
            report.bytes += bytes.len() as u64;
            let blob = sink.put(bytes)?;
            files.insert(blob.file);
            Ok(BlobKey(blob.encode()))
        })?;
        let lease = self.finish_checkpoint(sink, written, snapshot, files, stand)?;
        Ok((report, lease))
    }

    /// Makes a checkpoint of `snapshot`, whose blobs are written, into these files, the latest one. Returns the new lease of the present.
    pub(crate) fn finish_checkpoint(
        &self,
        sink: Box<dyn CheckpointSink + '_>,
        written: Written,
        snapshot: &Snapshot,
        mut files: BTreeSet<u32>,
        stand: Stand,
    ) -> Result<Lease, TransactError> {
        let (shared, commit_version) = (&self.shared, stand.at.commit_version);
        // Those who read the past wait for the lock, so what can be known before is found before.
        let horizon = self.horizon();
        let _nobody_reads = shared.past.giving_up.write();
        let mark = mark(shared.backing.anchors(), stand, &horizon);
        sink.finish(written.manifest(), &mark)?;
        files.extend(files_of(snapshot.blobs()));
        let lease = shared.files.checkpointed(commit_version, files);
        written.keep();
        shared.past.covered(stand.logged_bytes);
        shared.set_checkpointed_version(commit_version);
        Ok(lease)
    }

    /// The checkpoint stands whether or not the files behind it can be removed now; the next one tries again.
    pub(crate) fn give_up_behind_checkpoint(&self) {
        let horizon = self.horizon();
        let _nobody_reads = self.shared.past.giving_up.write();
        let _ = self.give_up_now(&horizon);
    }

    /// Bytes of log since the last checkpoint, as of the last commit.
    pub fn log_bytes(&self) -> u64 {
        self.shared.past.uncovered_bytes()
    }
}

/// The content of a checkpoint's mark, beside these anchors.
pub(crate) fn mark(mut anchors: Vec<Anchor>, stand: Stand, horizon: &Horizon) -> CheckpointMark {
    let Stand { at: Point { commit_version, time_micros }, logged_bytes: log_bytes, beside_log } = stand;
    anchors.retain(|anchor| anchor.commit_version < commit_version);
    let sequence = anchors.last().map_or(1, |anchor| anchor.sequence + 1);
    anchors.push(Anchor { commit_version, time_micros, log_bytes, sequence, beside_log });
    let kept = thinned(&anchors, horizon);
    CheckpointMark { time_micros, log_bytes, beside_log, kept }
}

/// Reads stored chunks back for the store.
pub(crate) struct Blobs(pub std::sync::Arc<dyn durable::BackingStore>);

impl store::ChunkSource for Blobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        self.0.read_blob(BlobRef::decode(&key.0)).map_err(told)
    }

    fn read_part(&self, key: BlobKey, at: u32, length: u32) -> Result<Vec<u8>, StoreError> {
        self.0.read_blob_part(BlobRef::decode(&key.0), at, length).map_err(told)
    }

    fn read_end(&self, key: BlobKey, length: u32) -> Result<Vec<u8>, StoreError> {
        self.0.read_blob_end(BlobRef::decode(&key.0), length).map_err(told)
    }
}

fn told(error: DurableError) -> StoreError {
    match error {
        DurableError::Corrupt { .. } => StoreError::Corrupt(error.to_string().into()),
        other => StoreError::Source(other.to_string().into()),
    }
}
