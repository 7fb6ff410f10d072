//! Bulk loads: what was built beside the graph becomes part of it, while commits go on.
//!
//! ```text
//!   build on a snapshot ──> onto the latest ──> pieces written, synced ──> again, while much changed ──┐
//!   commits ───────────────────────────────────────────────────────────────────────> lock ─> the rest, manifest, publish
//! ```
//!
//! Idea: putting a build onto a later snapshot costs what changed in between, and writing a checkpoint costs what was not written ahead.
//! So both are done first without the lock of commits, and again under it for the little that is left. Invariant: the load is durable,
//! by a checkpoint, before anyone sees it; whatever fails before, the graph is as it was.

use crate::checkpoint::Stand;
use crate::history::Point;
use crate::{CheckpointReport, Engine, TransactError};
use durable::{CheckpointSink, DurableResult};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use store::checkpoint::Written;
use store::{BlobKey, Emit, Snapshot, StoreError};

/// Times that a load catches up with commits before it makes them wait.
const CATCH_UPS_MAX: usize = 4;
/// Commits that may happen while it catches up without it being done once more.
const COMMITS_LEFT_FEW: u64 = 200;

/// A checkpoint being written ahead of its place.
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
    /// Writes what no checkpoint and no earlier call wrote.
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
}

/// A bulk load in the making: pieces of it may be written before it is whole. Checkpoints wait while it lives; dropping it undoes all.
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
        let one_at_a_time = shared.checkpointing.lock();
        let ahead = match shared.backing.is_durable() {
            true => Some(Mutex::new(Ahead {
                sink: shared.backing.begin_checkpoint(self.snapshot().place())?,
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
    /// Replaces the latest snapshot by one that `make` builds from it at the given place: a bulk load. It is called several times, each
    /// time with the latest snapshot; commits go on meanwhile, but for the last call. The load is durable, by a checkpoint, before
    /// anyone sees it. Transactions that began before it are refused, as retryable.
    ///
    /// # Errors
    /// What `make` says, [`TransactError::Conflict`] where that is [`StoreError::Outdated`]; or the disk failed. Nothing happened then.
    pub fn install(
        self,
        mut make: impl FnMut(&Snapshot, u64) -> Result<Snapshot, TransactError>,
    ) -> Result<CheckpointReport, TransactError> {
        let mut make = |current: &Snapshot, place: u64| make(current, place).map_err(outdated);
        let Load { engine, _one_at_a_time, ahead } = self;
        let mut ahead = ahead.map(Mutex::into_inner);
        for _ in 0..CATCH_UPS_MAX {
            let current = engine.snapshot();
            let next = make(&current, current.place() + 1)?;
            ahead.as_mut().map_or(Ok(()), |ahead| ahead.write_ahead(&next))?;
            if engine.snapshot().place() - current.place() < COMMITS_LEFT_FEW {
                break;
            }
        }
        let report = engine.install_last(&mut make, ahead)?;
        engine.give_up_behind_checkpoint();
        Ok(report)
    }
}

impl Engine {
    /// The step for which commits wait.
    fn install_last(
        &self,
        make: &mut dyn FnMut(&Snapshot, u64) -> Result<Snapshot, TransactError>,
        ahead: Option<Ahead<'_>>,
    ) -> Result<CheckpointReport, TransactError> {
        let shared = &self.shared;
        let mut committer = shared.alone();
        let (current, newest) = shared.past.newest(&shared.store);
        let place = current.place().max(shared.backing.last_place()) + 1;
        let next = make(&current, place)?;
        let at = Point { place, time_micros: shared.clock.wall_us().max(newest.time_micros) };
        let mut report = CheckpointReport { place, ..CheckpointReport::default() };
        let next = match ahead {
            None => next,
            Some(mut ahead) => {
                let stand = Stand { at, logged_bytes: shared.past.logged_bytes(), beside_log: true };
                ahead.sink.set_place(place);
                let finished = ahead.write(&next).and_then(|written| {
                    report = CheckpointReport { place, ..ahead.report };
                    let Ahead { sink, written: earlier, files, .. } = ahead;
                    self.finish_checkpoint(sink, written.with(earlier), &next, files, stand)
                });
                let lease = finished.inspect_err(|_| {
                    committer.jump_to(current.clone(), shared.backing.last_place());
                })?;
                next.leased(lease)
            }
        };
        // Its names stay due for the log: which of them the checkpoint has, and which came while it was made, nobody need know.
        committer.jump_to(next.clone(), place);
        committer.not_before(at.time_micros);
        shared.past.publish(&shared.store, next, at, at);
        self.close_feeds();
        Ok(report)
    }
}

/// What was built and what was committed do not agree: trying again may succeed.
fn outdated(error: TransactError) -> TransactError {
    match error {
        TransactError::Store(StoreError::Outdated(what)) => TransactError::Conflict { what },
        other => other,
    }
}
