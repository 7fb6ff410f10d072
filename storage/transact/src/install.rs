//! Bulk loads: a graph built beside the present one becomes part of it, while commits go on.
//!
//! ```text
//!   build on a snapshot ──> onto the latest ──> pieces, manifest written, synced ──> again, while much changed ──┐
//!   commits ──────────────────────────────────────────────────────────────────────────────────> the load, one of them ──> checkpoint
//! ```
//!
//! Idea: putting a build onto a later snapshot costs the changes in between. So it is done first without the lock of commits, and the result is
//! written and synced with a manifest of its own. Then the load becomes a pending commit like others, whose record only says where that manifest is:
//! commits wait for it as long as for each other. A checkpoint right behind it makes the record unnecessary. Invariants: the load is durable, by its
//! record, before it is visible; after any earlier failure, the graph is as it was. The graph with it is the manifest's with the commits behind that
//! one's base, so an open after a crash completes the load.

use crate::checkpoint::Stand;
use crate::history::Point;
use crate::pending::Accepted;
use crate::record::{self, LoadMark};
use crate::{CheckpointReport, CommitRecord, Engine, TransactError};
use durable::{CheckpointSink, DurableError, DurableResult};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::Written;
use store::{BlobKey, Emit, NameCounts, Snapshot, StoreError};

/// Times that a load catches up with commits before it makes them wait.
const CATCH_UPS_MAX: usize = 4;
/// Commits that may happen while it catches up without it being done once more.
const COMMITS_LEFT_FEW: u64 = 200;

/// A checkpoint being written ahead of its commit version.
struct Ahead<'a> {
    sink: Box<dyn CheckpointSink + 'a>,
    written: Written,
    files: BTreeSet<u32>,
    report: CheckpointReport,
}

impl Ahead<'_> {
    /// Writes one piece.
    fn put(&mut self, bytes: &[u8]) -> DurableResult<BlobKey> {
        self.report.blobs += 1;
        self.report.bytes += bytes.len() as u64;
        let blob = self.sink.put(bytes)?;
        self.files.insert(blob.file);
        Ok(BlobKey(blob.encode()))
    }
    /// Writes the blobs that no checkpoint and no earlier call wrote.
    fn write(&mut self, next: &Snapshot) -> Result<Written, TransactError> {
        let ahead = std::mem::take(&mut self.written);
        let written = next.checkpoint_after(&ahead, &mut |bytes: &[u8]| -> Result<BlobKey, TransactError> {
            Ok(self.put(bytes)?)
        });
        self.written = ahead;
        written
    }
    /// Writes ahead, and makes it durable.
    fn write_ahead(&mut self, next: &Snapshot) -> Result<(), TransactError> {
        let written = self.write(next)?;
        self.written = written.with(std::mem::take(&mut self.written));
        Ok(self.sink.settle()?)
    }
    /// The content of the load's record; the last manifest was written onto the graph at `base`.
    fn mark(&mut self, base: u64) -> Result<LoadMark, TransactError> {
        let manifest = self.sink.put(self.written.manifest())?;
        self.files.insert(manifest.file);
        // Whether the files are listed may be unknown then, but not whether the load happened.
        let adopted = self.sink.adopt().map_err(|error| match error {
            DurableError::Unconfirmed { cause } => DurableError::Poisoned { cause: cause.to_string() },
            other => other,
        });
        adopted?;
        Ok(LoadMark { manifest, base })
    }
}

/// A bulk load in the making: blobs of it may be written before it is complete. Checkpoints wait while it lives; dropping it undoes all.
pub struct Load<'a> {
    engine: &'a Engine,
    _one_at_a_time: MutexGuard<'a, ()>,
    /// None for a database in memory.
    ahead: Option<Mutex<Ahead<'a>>>,
}

impl Emit for Load<'_> {
    fn put(&self, bytes: &[u8]) -> Result<BlobKey, StoreError> {
        let ahead = self.ahead.as_ref().ok_or(StoreError::Unsupported("pieces of a database in memory"))?;
        ahead.lock().put(bytes).map_err(|error| StoreError::Source(error.to_string().into()))
    }
    fn settle(&self) -> Result<(), StoreError> {
        let settled = self.ahead.as_ref().map_or(Ok(()), |ahead| ahead.lock().sink.settle());
        settled.map_err(|error| StoreError::Source(error.to_string().into()))
    }
}

impl Engine {
    /// Begins a bulk load.
    pub fn begin_load(&self) -> Result<Load<'_>, TransactError> {
        let shared = &self.shared;
        if shared.remote.is_some() {
            let instead = "`tanglewood import bolt://GATE --from FILES` sends what files hold to a gate; `tanglewood cluster up DIR --from DATABASE` begins a cluster with it";
            return Err(TransactError::NotInCluster { what: "bulk imports", instead });
        }
        let one_at_a_time = shared.checkpointing.lock();
        let ahead = match shared.backing.is_durable() {
            true => Some(Mutex::new(Ahead {
                sink: shared.backing.begin_checkpoint(self.snapshot().commit_version())?,
                written: Written::default(),
                files: BTreeSet::new(),
                report: CheckpointReport::default(),
            })),
            false => None,
        };
        Ok(Load { engine: self, _one_at_a_time: one_at_a_time, ahead })
    }
    /// Begins a bulk load and ends it at once: see [`Load::install`].
    pub fn install(
        &self,
        make: impl FnMut(&Snapshot, u64) -> Result<Snapshot, TransactError>,
    ) -> Result<CheckpointReport, TransactError> {
        self.begin_load()?.install(make)
    }
}

impl Load<'_> {
    /// Can pieces be written ahead?
    pub fn is_durable(&self) -> bool {
        self.ahead.is_some()
    }
    /// Replaces the latest snapshot by one that `make` builds from it at the given commit version: a bulk load. `make` is called several times, each
    /// time with the latest snapshot; commits go on meanwhile, but for the last call. The load is durable before it is visible. Transactions that
    /// began before it are refused, as retryable.
    ///
    /// # Errors
    /// An error of `make`, as [`TransactError::Conflict`] where that is [`StoreError::Outdated`]; or the disk failed. Then nothing has changed.
    pub fn install(
        self,
        mut make: impl FnMut(&Snapshot, u64) -> Result<Snapshot, TransactError>,
    ) -> Result<CheckpointReport, TransactError> {
        let mut make =
            |current: &Snapshot, commit_version: u64| make(current, commit_version).map_err(outdated);
        let Load { engine, _one_at_a_time, ahead } = self;
        let mut ahead = ahead.map(Mutex::into_inner);
        let mut base = 0;
        for _ in 0..CATCH_UPS_MAX {
            let current = engine.snapshot();
            base = current.commit_version();
            let next = make(&current, base)?;
            ahead.as_mut().map_or(Ok(()), |ahead| ahead.write_ahead(&next))?;
            if engine.snapshot().commit_version() - base < COMMITS_LEFT_FEW {
                break;
            }
        }
        let mark = ahead.as_mut().map(|ahead| ahead.mark(base)).transpose()?;
        let logged_bytes = engine.shared.past.logged_bytes();
        let written = ahead.as_ref().map(|ahead| &ahead.files);
        let (next, at) = engine.commit_load(&mut make, mark.zip(written))?;
        let mut report =
            CheckpointReport { commit_version: at.commit_version, ..CheckpointReport::default() };
        if let Some(ahead) = ahead {
            (report.blobs, report.bytes) = (ahead.report.blobs, ahead.report.bytes);
            let stand = Stand { at, logged_bytes, beside_log: true };
            if engine.finish_load(ahead, &next, stand).is_err() {
                // The load stands by its record. The next checkpoint tries again, and says what is wrong.
                engine.shared.load_unfinished.store(true, Ordering::Release);
            }
        }
        engine.give_up_behind_checkpoint();
        Ok(report)
    }
}

impl Engine {
    /// The step that is a commit: the graph with the load, and when that was.
    fn commit_load(
        &self,
        make: &mut dyn FnMut(&Snapshot, u64) -> Result<Snapshot, TransactError>,
        mark: Option<(LoadMark, &BTreeSet<u32>)>,
    ) -> Result<(Snapshot, Point), TransactError> {
        let shared = &self.shared;
        let mut committer = shared.committer.lock();
        shared.make_ready(&mut committer)?;
        let at = committer.next_point(shared.backing.last_version(), shared.clock.wall_us());
        let Point { commit_version, time_micros } = at;
        let mut next = make(&committer.tip, commit_version)?;
        if let Some((_, written)) = &mark {
            next = next.leased(shared.files.lease_on_load(&next, written));
        }
        let record = Arc::new(CommitRecord { commit_version, time_micros, changes: Vec::new() });
        let payload = match mark {
            Some((mark, _)) => record::encode_load(time_micros, mark),
            None => record::encode(&record)?,
        };
        // Its names stay due for the log: which of them the manifest has, and which came while it was made, nobody need know.
        let named = NameCounts::default();
        let accepted = Accepted { record, payload, snapshot: next.clone(), named, is_load: true };
        shared.watch_sets.clear(commit_version);
        let (waiting, leads) = shared.enqueue(accepted, &mut committer)?;
        committer.jump_to(next.clone(), commit_version);
        committer.not_before(time_micros);
        drop(committer);
        shared.await_publishing(&waiting, leads)?;
        Ok((next, at))
    }

    /// Writes the checkpoint of the graph with the load, from which the past after it is rebuilt.
    fn finish_load(&self, mut ahead: Ahead<'_>, next: &Snapshot, stand: Stand) -> Result<(), TransactError> {
        ahead.sink.set_commit_version(stand.at.commit_version);
        let written = ahead.write(next)?;
        let Ahead { sink, written: earlier, files, .. } = ahead;
        let lease = self.finish_checkpoint(sink, written.with(earlier), next, files, stand)?;
        let mut committer = self.shared.committer.lock();
        self.shared.make_ready(&mut committer)?;
        let renewed = committer.tip.leased(lease);
        self.shared.reshape(&mut committer, renewed);
        Ok(())
    }
}

/// The load and commits made meanwhile conflict: trying again may succeed.
fn outdated(error: TransactError) -> TransactError {
    match error {
        TransactError::Store(StoreError::Outdated(what)) => TransactError::Conflict { what },
        other => other,
    }
}
