//! Opening a database: the latest checkpoint, and every commit logged after it.
//!
//! Cost: the manifest and the log tail; chunks are read when they are first touched, so opening does not grow with the graph.

use crate::checkpoint::{Blobs, Stand, mark};
use crate::history::{History, Point};
use crate::kept_files::{Horizon, KeptLimits, files_of};
use crate::past::Past;
use crate::remote::GateParts;
use crate::replay::{Replayed, graph_with_load, replay};
use crate::{Engine, OpenOptions, TransactError};
use durable::{Anchor, BackingStore, DurableError, LocalFolder, OpenMode, Volatile};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{BlobKey, Names, Snapshot, Store, StoreError};
use world::disk::{Disk, DiskError};

/// The report of opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Commit version of the checkpoint, if there was one.
    pub checkpoint: Option<u64>,
    /// Commits replayed from the log.
    pub replayed: u64,
}

/// Opens the database in a folder, or an empty one in memory.
pub fn open(
    folder: Option<(Arc<dyn Disk>, &Path)>,
    options: &OpenOptions,
) -> Result<(Engine, RecoveryReport), TransactError> {
    let backing: Arc<dyn BackingStore> = match folder {
        None => Arc::new(Volatile::new()),
        Some((disk, path)) => {
            let mode = if options.create { OpenMode::CreateIfMissing } else { OpenMode::Existing };
            Arc::new(LocalFolder::open(disk, path, mode, options.log)?)
        }
    };
    open_backing(backing, options)
}

/// Opens the database that a backing store holds.
pub fn open_backing(
    backing: Arc<dyn BackingStore>,
    options: &OpenOptions,
) -> Result<(Engine, RecoveryReport), TransactError> {
    let Recovered { report, anchor, mut stored, base, replayed, load_unfinished } =
        recover(&backing, options)?;
    if load_unfinished {
        // As long as no checkpoint names them.
        stored.extend(files_of(replayed.snapshot.blobs()));
    } else if backing.anchors().len() <= 1 {
        // No reader is there yet. With older anchors their files count too; finding them takes time, and can wait for the next checkpoint.
        backing.retire(&stored.iter().copied().collect::<Vec<_>>())?;
    }
    let newest = replayed.last.unwrap_or(base);
    let past = Past::new(backing.history(), newest, anchor.log_bytes, replayed.log_bytes);
    let store = Store::from_snapshot(replayed.snapshot);
    if report.checkpoint.is_none() && backing.is_durable() {
        store.attach(Arc::new(Blobs(backing.clone())));
    }
    let engine = Engine::new(store, backing, past, (options, None));
    let shared = &engine.shared;
    shared.load_unfinished.store(load_unfinished, Ordering::Release);
    let mut committer = shared.committer.lock();
    let leased = committer.tip.leased(shared.files.checkpointed(base.commit_version, stored));
    shared.reshape(&mut committer, leased);
    drop(committer);
    if let Some(commit_version) = report.checkpoint {
        shared.set_checkpointed_version(commit_version);
    }
    Ok((engine, report))
}

/// The engine of a cluster's gate: transactions begin and commit at the shards.
pub fn open_gate(gate: GateParts, options: &OpenOptions) -> Engine {
    let backing: Arc<dyn BackingStore> = Arc::new(Volatile::new());
    let past = Past::new(backing.history(), Point::default(), 0, 0);
    let store = Store::of_writer(gate.empty, gate.allocator);
    Engine::new(store, backing, past, (options, Some(gate.remote)))
}

/// The state that opening recovered.
struct Recovered {
    report: RecoveryReport,
    /// The latest checkpoint, and the files it reads from.
    anchor: Anchor,
    stored: BTreeSet<u32>,
    base: Point,
    replayed: Replayed,
    /// A bulk load is in the log, and there was no space for the checkpoint behind it.
    load_unfinished: bool,
}

fn recover(backing: &Arc<dyn BackingStore>, options: &OpenOptions) -> Result<Recovered, TransactError> {
    let mut report = RecoveryReport::default();
    let mut finished_at = None;
    loop {
        let anchor = backing.anchors().last().copied().unwrap_or_default();
        let from = match backing.latest_checkpoint()? {
            None => Snapshot::empty(Arc::new(Names::new()), options.store),
            Some((commit_version, manifest)) => {
                report.checkpoint = Some(commit_version);
                Snapshot::open(&manifest, Arc::new(Blobs(backing.clone())), options.store)?
            }
        };
        let base = Point { commit_version: from.commit_version(), time_micros: anchor.time_micros };
        let stored = files_of(from.blobs());
        let mut replayed = replay(from, backing.recover(base.commit_version + 1)?, |_| true)?;
        report.replayed += replayed.commits;
        let mut load_unfinished = false;
        while let Some((at, load)) = replayed.load {
            if finished_at >= Some(at.commit_version) {
                // Otherwise the same load would be finished for ever.
                let what = "a bulk load that was finished is not in the checkpoint behind it";
                return Err(StoreError::Corrupt(what.into()).into());
            }
            finished_at = Some(at.commit_version);
            let open =
                |manifest: &[u8]| Snapshot::open(manifest, Arc::new(Blobs(backing.clone())), options.store);
            let graph = graph_with_load(backing.as_ref(), (at, load), open)?;
            let stand = Stand { at, logged_bytes: anchor.log_bytes + replayed.log_bytes, beside_log: true };
            match finish_load(backing.as_ref(), options, &graph, stand) {
                Ok(()) => break,
                Err(TransactError::Durable(DurableError::Disk(DiskError::Full { .. }))) => {
                    // The load stands by its record, and the graph can be read. The next checkpoint tries again.
                    load_unfinished = true;
                    let behind = replay(graph, backing.recover(at.commit_version + 1)?, |_| true)?;
                    report.replayed += behind.commits;
                    replayed = behind.after(at, replayed.log_bytes);
                }
                Err(error) => return Err(error),
            }
        }
        if replayed.load.is_none() {
            return Ok(Recovered { report, anchor, stored, base, replayed, load_unfinished });
        }
    }
}

/// Writes the checkpoint behind a bulk load that a crash came before.
fn finish_load(
    backing: &dyn BackingStore,
    options: &OpenOptions,
    graph: &Snapshot,
    stand: Stand,
) -> Result<(), TransactError> {
    let mut sink = backing.begin_checkpoint(stand.at.commit_version)?;
    let written = graph.checkpoint(&mut |bytes: &[u8]| -> Result<BlobKey, TransactError> {
        Ok(BlobKey(sink.put(bytes)?.encode()))
    })?;
    let (history, now_micros) = (History::of_number(backing.history()), options.clock.wall_us());
    let horizon = Horizon::of(history, &KeptLimits::of(options), graph, now_micros, stand.logged_bytes);
    let mark = mark(backing.anchors(), stand, &horizon);
    Ok(sink.finish(written.manifest(), &mark)?)
}

impl Engine {
    /// Ends the engine in order: a checkpoint if there is something to write, the log's end mark, the feeds' end.
    pub fn close(&self) -> Result<(), TransactError> {
        self.close_feeds();
        if self.log_bytes() > 0 {
            self.checkpoint()?;
        }
        Ok(self.shared.backing.close()?)
    }
}
