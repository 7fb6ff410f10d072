//! Group commit: who is settled leaves, nobody is forgotten, and a disk that fails fails everybody in the group alike.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use durable::{
    BackingStore, BlobRef, CheckpointSink, DurableError, DurableResult, LocalFolder, LogOptions, OpenMode,
    Records,
};
use model::Value;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_transact::{Engine, Mode, OpenOptions, TransactError, open_backing};
use world::disk::{Disk, SimDisk};
use world::threads::{in_parallel, sleep};

/// A folder whose syncs are slow, or fail when told.
struct Slow {
    inner: LocalFolder,
    sync_ms: u64,
    syncs: AtomicU64,
    fails: AtomicBool,
    truncation_fails: AtomicBool,
    one_at_a_time: Mutex<()>,
}

impl BackingStore for Slow {
    fn append(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        self.inner.append(records)
    }
    fn sync(&self) -> DurableResult<()> {
        self.inner.sync()
    }
    fn append_and_sync(&self, records: &[(u64, &[u8])]) -> DurableResult<()> {
        let _turn = self.one_at_a_time.try_lock().expect("commits are appended by one thread at a time");
        sleep(Duration::from_millis(self.sync_ms));
        self.syncs.fetch_add(1, Ordering::Relaxed);
        if self.fails.load(Ordering::Relaxed) {
            return Err(DurableError::Poisoned { cause: "the test says so".into() });
        }
        self.inner.append_and_sync(records)
    }
    fn recover(&self, from_place: u64) -> DurableResult<Records> {
        self.inner.recover(from_place)
    }
    fn last_place(&self) -> u64 {
        self.inner.last_place()
    }
    fn truncate_before(&self, place: u64) -> DurableResult<()> {
        match self.truncation_fails.load(Ordering::Relaxed) {
            true => Err(DurableError::Poisoned { cause: "the test says so".into() }),
            false => self.inner.truncate_before(place),
        }
    }
    fn begin_checkpoint(&self, place: u64) -> DurableResult<Box<dyn CheckpointSink + '_>> {
        self.inner.begin_checkpoint(place)
    }
    fn latest_checkpoint(&self) -> DurableResult<Option<(u64, Vec<u8>)>> {
        self.inner.latest_checkpoint()
    }
    fn read_blob(&self, blob: BlobRef) -> DurableResult<Vec<u8>> {
        self.inner.read_blob(blob)
    }
    fn retire(&self, live_files: &[u32]) -> DurableResult<()> {
        self.inner.retire(live_files)
    }
    fn is_durable(&self) -> bool {
        true
    }
    fn log_bytes(&self) -> u64 {
        self.inner.log_bytes()
    }
    fn close(&self) -> DurableResult<()> {
        self.inner.close()
    }
}

fn open(disk: &Arc<SimDisk>, sync_ms: u64) -> (Engine, Arc<Slow>) {
    let disk: Arc<dyn Disk> = disk.clone();
    let inner =
        LocalFolder::open(disk, Path::new("/db"), OpenMode::CreateIfMissing, LogOptions::default()).unwrap();
    let slow = Arc::new(Slow {
        inner,
        sync_ms,
        syncs: AtomicU64::new(0),
        fails: AtomicBool::new(false),
        truncation_fails: AtomicBool::new(false),
        one_at_a_time: Mutex::new(()),
    });
    let (engine, _) = open_backing(slow.clone(), &OpenOptions::default()).unwrap();
    (engine, slow)
}

fn create(engine: &Engine) -> Result<u64, TransactError> {
    let t = engine.begin(Mode::Write);
    t.create_vertex(&[], vec![(t.key("n")?, Value::Int(1))])?;
    t.commit()
}

#[test]
fn writers_share_syncs_and_wait_for_their_own_group_only() {
    let (engine, slow) = open(&Arc::new(SimDisk::new()), 10);
    create(&engine).unwrap();
    let waited = in_parallel("writer", 8, |_| {
        let once = |_| {
            let before = slow.syncs.load(Ordering::Relaxed);
            create(&engine).unwrap();
            slow.syncs.load(Ordering::Relaxed) - before
        };
        let mut syncs: Vec<u64> = (0..20).map(once).collect();
        syncs.sort_unstable();
        syncs[10]
    });
    let (counts, syncs) = (engine.counts(), slow.syncs.load(Ordering::Relaxed));
    assert_eq!((counts.commits, counts.groups), (161, syncs));
    assert!(syncs < 161 / 2, "{syncs} syncs for 161 commits");
    // A commit waits for the group before its own and for its own; a third sync would mean that it waited for a stranger.
    assert!(waited.iter().all(|syncs| *syncs <= 2), "half of the commits waited for {waited:?} syncs");
}

#[test]
fn a_failed_append_fails_its_group_and_leaves_nothing() {
    let disk = Arc::new(SimDisk::new());
    let (engine, slow) = open(&disk, 5);
    create(&engine).unwrap();
    slow.fails.store(true, Ordering::Relaxed);
    let failed = in_parallel("writer", 4, |_| create(&engine).is_err());
    assert_eq!(failed, [true; 4]);
    assert_eq!(engine.snapshot().statistics().vertices(), 1);
    slow.fails.store(false, Ordering::Relaxed);
    create(&engine).unwrap();
    assert_eq!(engine.snapshot().statistics().vertices(), 2);
    drop((engine, slow));
    assert_eq!(open(&disk, 0).0.snapshot().statistics().vertices(), 2);
}

/// A checkpoint whose log could not be cut was reported as failed, and a bulk load with it, although the disk had both: after
/// the next open the load was there, and a commit acknowledged after it had the checkpoint's own place and was passed over.
#[test]
fn a_checkpoint_stands_even_if_the_log_cannot_be_cut() {
    let disk = Arc::new(SimDisk::new());
    let (engine, slow) = open(&disk, 0);
    create(&engine).unwrap();
    slow.truncation_fails.store(true, Ordering::Relaxed);
    engine
        .install(|current, place| {
            let id = engine.store().allocator().vertex(model::LabelSetId(0))?;
            let change = store::Change::CreateVertex { id, labels: model::LabelSetId(0), properties: vec![] };
            Ok(current.apply(place, &[&[change]])?)
        })
        .unwrap();
    create(&engine).unwrap();
    assert_eq!(engine.snapshot().statistics().vertices(), 3);
    drop((engine, slow));
    assert_eq!(open(&disk, 0).0.snapshot().statistics().vertices(), 3);
}
