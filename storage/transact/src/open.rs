//! Opening a database: the latest checkpoint, and every commit logged after it.
//!
//! Cost: the manifest and the log tail; chunks are read when they are first touched, so opening does not grow with the graph.

use crate::checkpoint::Blobs;
use crate::{CommitRecord, Engine, TransactError, record};
use durable::{BackingStore, BlobRef, LocalFolder, LogOptions, OpenMode, Volatile};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use store::{Change, Snapshot, Store, StoreOptions};
use world::clock::{Clock, RealClock};
use world::disk::Disk;

/// Commits applied at once while the log is replayed: bounds what is copied for each.
const REPLAY_GROUP: usize = 256;
/// Bytes of records applied at once: bounds what replay holds in memory.
const REPLAY_BYTES: usize = 32 << 20;

/// How a database is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// Create the database if the folder is missing or empty.
    pub create: bool,
    /// How the log is kept.
    pub log: LogOptions,
    /// How the store is kept.
    pub store: StoreOptions,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            create: true,
            log: LogOptions::default(),
            store: StoreOptions::default(),
            clock: Arc::new(RealClock),
        }
    }
}

/// What opening found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Place of the checkpoint, if there was one.
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
    let mut report = RecoveryReport::default();
    let store = match backing.latest_checkpoint()? {
        None => Store::new(options.store),
        Some((place, manifest)) => {
            report.checkpoint = Some(place);
            Store::from_snapshot(Snapshot::open(&manifest, Arc::new(Blobs(backing.clone())), options.store)?)
        }
    };
    retire_blobs(&store.current(), backing.as_ref())?;
    report.replayed = replay(&store, backing.as_ref())?;
    let engine = Engine::new(store, backing, options.clock.clone());
    if let Some(place) = report.checkpoint {
        engine.shared.set_checkpointed_place(place);
    }
    Ok((engine, report))
}

/// Removes blob files that the checkpoint does not refer to. Only here: while the database is open, an old snapshot may still
/// read a chunk that a newer checkpoint no longer needs.
fn retire_blobs(snapshot: &Snapshot, backing: &dyn BackingStore) -> Result<(), TransactError> {
    let files: BTreeSet<u32> = snapshot.blobs().iter().map(|key| BlobRef::decode(&key.0).file).collect();
    Ok(backing.retire(&files.into_iter().collect::<Vec<_>>())?)
}

fn replay(store: &Store, backing: &dyn BackingStore) -> Result<u64, TransactError> {
    let mut replayed = 0;
    let mut group: Vec<CommitRecord> = Vec::with_capacity(REPLAY_GROUP);
    let mut bytes = 0;
    for found in backing.recover(store.current().place() + 1)? {
        let found = found?;
        let commit = record::decode(found.place, &found.payload)?;
        for change in &commit.changes {
            if let Change::DefineName(definition) = change {
                store.names().define(definition)?;
            }
        }
        group.push(commit);
        bytes += found.payload.len();
        replayed += 1;
        if group.len() == REPLAY_GROUP || bytes > REPLAY_BYTES {
            apply_group(store, &mut group)?;
            bytes = 0;
        }
    }
    apply_group(store, &mut group)?;
    if replayed > 0 {
        store.allocator().restore(&store.current());
    }
    Ok(replayed)
}

fn apply_group(store: &Store, group: &mut Vec<CommitRecord>) -> Result<(), TransactError> {
    if let Some(last) = group.last() {
        let lists: Vec<&[Change]> = group.iter().map(|commit| commit.changes.as_slice()).collect();
        store.publish(store.current().apply(last.place, &lists)?);
        group.clear();
    }
    Ok(())
}

impl Engine {
    /// Ends the engine in order: a checkpoint if there is something to write, the log's end mark, the feeds' end.
    pub fn close(&self) -> Result<(), TransactError> {
        self.close_feeds();
        if self.shared.log_bytes() > 0 {
            self.checkpoint()?;
        }
        Ok(self.shared.backing.close()?)
    }
}
