//! Background work of the database: checkpoints, once the log has grown or memory fills, and removal of files that no reader needs.
//!
//! Idea: a commit only compares two numbers, and at most starts a thread; no commit waits for a checkpoint. Files that only a reader still needed are
//! removed when that reader ends, whether or not there are commits. A failed checkpoint loses nothing, since the log still holds every commit; the
//! next is tried when the log has grown by as much again, and the failure can be queried. Invariant: no thread outlives the database.

use parking_lot::Mutex;
use std::sync::Arc;
use store::StoreError;
use transact::{ANCHOR_LOG_BYTES, CheckpointReport, Engine, History, TransactError};
use world::clock::monotonic_ns;
use world::failpoint;
use world::panics::caught;
use world::threads::{Background, Pace, Thread, try_spawn};

#[derive(Default)]
struct State {
    running: Option<Thread<()>>,
    /// Bytes of log at which the next is made, where the last one failed.
    not_before_bytes: u64,
    failure: Option<TransactError>,
}

/// Background checkpoints of one database.
pub(crate) struct Housekeeping {
    state: Arc<Mutex<State>>,
    /// Removes files that the last reader has released; none for a database in memory.
    _giving_up: Option<Background>,
}

impl Housekeeping {
    /// For a database that has just been opened; one in a folder watches for released files.
    pub fn of(engine: &Engine, in_folder: bool) -> Housekeeping {
        let watch = || {
            let watched = engine.clone();
            let job = Background::try_start("give up", move || {
                if watched.has_garbage() {
                    // What cannot be given back now is tried again with the next checkpoint.
                    drop(watched.give_up());
                }
                Pace::Rest
            });
            // Where the system gives no thread, the next checkpoint gives it up.
            job.ok().inspect(|job| engine.on_garbage(Arc::new(job.nudger())))
        };
        Housekeeping { state: Arc::default(), _giving_up: in_folder.then(watch).flatten() }
    }
    /// Starts a checkpoint if the log has reached so many bytes (fewer where the past is kept) and none is running.
    pub fn after_commit(&self, engine: &Engine, checkpoint_log_bytes: u64) {
        let checkpoint_log_bytes = match engine.history() {
            History::None => checkpoint_log_bytes,
            _ => checkpoint_log_bytes.min(ANCHOR_LOG_BYTES),
        };
        let log_bytes = engine.log_bytes();
        let is_due = log_bytes >= checkpoint_log_bytes || engine.store().wants_checkpoint();
        if !is_due {
            return;
        }
        // Whoever finds the lock taken finds a checkpoint being started.
        let Some(mut state) = self.state.try_lock() else { return };
        let busy = state.running.as_ref().is_some_and(|thread| !thread.is_finished());
        if busy || log_bytes < state.not_before_bytes {
            return;
        }
        let (engine, shared) = (engine.clone(), self.state.clone());
        let running = try_spawn("checkpoint", move || {
            let began_ns = monotonic_ns();
            let outcome = caught(|| {
                failpoint::visit("checkpoint in the background");
                engine.checkpoint()
            });
            let outcome = outcome.unwrap_or_else(|panicked| {
                Err(TransactError::Store(StoreError::Source(panicked.to_string().into())))
            });
            log_checkpoint(began_ns, outcome.as_ref());
            let mut state = shared.lock();
            state.not_before_bytes =
                if outcome.is_ok() { 0 } else { engine.log_bytes() + checkpoint_log_bytes };
            state.failure = outcome.err();
        });
        // Where the system gives no thread, the next commit asks for one again.
        state.running = running.ok();
    }
    /// Why the last background checkpoint failed, if it did.
    pub fn failure(&self) -> Option<TransactError> {
        self.state.lock().failure.clone()
    }
    /// Waits for a checkpoint that runs.
    pub fn finish(&self) {
        let running = self.state.lock().running.take();
        drop(running);
    }
}

/// Logs a checkpoint for the operator.
pub(crate) fn log_checkpoint(began_ns: u64, outcome: Result<&CheckpointReport, &TransactError>) {
    let took_ms = monotonic_ns().saturating_sub(began_ns) / 1_000_000;
    match outcome {
        Ok(report) => tracing::info!(
            target: "tanglewood::storage",
            commit = report.commit_version,
            pieces = report.blobs,
            bytes = report.bytes,
            took_ms,
            "checkpoint"
        ),
        Err(error) => {
            tracing::error!(target: "tanglewood::storage", %error, took_ms, "checkpoint failed; the log keeps every commit");
        }
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        self.finish();
    }
}
