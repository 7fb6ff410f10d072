//! Group commit: each waiting thread gets its outcome, and a failed disk fails all commits of the group.
#![allow(clippy::disallowed_methods)]

use durable::{
    BackingStore, DurableError, DurableResult, LocalFolder, LogOptions, Meddled, Meddler, OpenMode,
};
use model::{KeyId, Value, VertexId};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_transact::{Engine, Mode, OpenOptions, TransactError, Transaction, open_backing};
use world::disk::{Disk, SimDisk};
use world::threads::{Thread, in_parallel, sleep, spawn};

/// Syncs are slow, or fail when told.
#[derive(Default)]
struct Slow {
    sync_ms: u64,
    /// Syncs begun.
    syncs: AtomicU64,
    fails: AtomicBool,
    truncation_fails: AtomicBool,
    one_at_a_time: Mutex<()>,
}

impl Slow {
    fn failure() -> DurableError {
        DurableError::Poisoned { cause: "the test says so".into() }
    }
}

impl Meddler for Slow {
    fn append_and_sync(&self, inner: &LocalFolder, records: &[(u64, &[u8])]) -> DurableResult<()> {
        let _turn = self.one_at_a_time.try_lock().expect("commits are appended by one thread at a time");
        self.syncs.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(self.sync_ms));
        if self.fails.load(Ordering::Relaxed) { Err(Slow::failure()) } else { inner.append_and_sync(records) }
    }
    fn truncate_before(&self, inner: &LocalFolder, commit_version: u64) -> DurableResult<()> {
        let fails = self.truncation_fails.load(Ordering::Relaxed);
        if fails { Err(Slow::failure()) } else { inner.truncate_before(commit_version) }
    }
}

fn open(disk: &Arc<SimDisk>, sync_ms: u64) -> (Engine, Arc<Meddled<Slow>>) {
    let disk: Arc<dyn Disk> = disk.clone();
    let inner =
        LocalFolder::open(disk, Path::new("/db"), OpenMode::CreateIfMissing, LogOptions::default()).unwrap();
    let slow = Arc::new(Meddled::new(inner, Slow { sync_ms, ..Slow::default() }));
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
            let before = slow.meddler.syncs.load(Ordering::Relaxed);
            create(&engine).unwrap();
            slow.meddler.syncs.load(Ordering::Relaxed) - before
        };
        let mut syncs: Vec<u64> = (0..20).map(once).collect();
        syncs.sort_unstable();
        syncs[10]
    });
    let (counts, syncs) = (engine.counts(), slow.meddler.syncs.load(Ordering::Relaxed));
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
    slow.meddler.fails.store(true, Ordering::Relaxed);
    let failed = in_parallel("writer", 4, |_| create(&engine).is_err());
    assert_eq!(failed, [true; 4]);
    assert_eq!(engine.snapshot().statistics().vertices(), 1);
    slow.meddler.fails.store(false, Ordering::Relaxed);
    create(&engine).unwrap();
    assert_eq!(engine.snapshot().statistics().vertices(), 2);
    drop((engine, slow));
    assert_eq!(open(&disk, 0).0.snapshot().statistics().vertices(), 2);
}

/// A checkpoint whose log could not be cut was reported as failed, and a bulk load with it, although the disk had both: after
/// the next open the load was there, and a commit acknowledged after it had the checkpoint's own commit version and was passed over.
#[test]
fn a_checkpoint_stands_even_if_the_log_cannot_be_cut() {
    let disk = Arc::new(SimDisk::new());
    let (engine, slow) = open(&disk, 0);
    create(&engine).unwrap();
    slow.meddler.truncation_fails.store(true, Ordering::Relaxed);
    engine
        .install(|current, commit_version| {
            let id = engine.store().allocator().vertex(model::LabelSetId(0))?;
            let change = store::Change::CreateVertex { id, labels: model::LabelSetId(0), properties: vec![] };
            Ok(current.apply(commit_version, &[&[change]])?)
        })
        .unwrap();
    create(&engine).unwrap();
    assert_eq!(engine.snapshot().statistics().vertices(), 3);
    drop((engine, slow));
    assert_eq!(open(&disk, 0).0.snapshot().statistics().vertices(), 3);
}

/// A register: a vertex with one number.
fn register(engine: &Engine) -> (VertexId, KeyId) {
    let t = engine.begin(Mode::Write);
    let key = t.key("n").unwrap();
    let vertex = t.create_vertex(&[], vec![(key, Value::Int(0))]).unwrap();
    t.commit().unwrap();
    (vertex, key)
}

/// A transaction that has read one register and written another.
fn crossing(engine: &Engine, read: VertexId, write: VertexId, key: KeyId, value: i64) -> Transaction {
    let t = engine.begin(Mode::Write);
    t.reads().vertex(read);
    t.set_property(write, key, Value::Int(value)).unwrap();
    t
}

/// Commits on another thread; back when that is being synced.
fn send_off(t: Transaction, slow: &Meddled<Slow>) -> Thread<Result<u64, TransactError>> {
    let syncs = slow.meddler.syncs.load(Ordering::Relaxed);
    let flying = spawn("flying", move || t.commit());
    while slow.meddler.syncs.load(Ordering::Relaxed) == syncs {
        sleep(Duration::from_micros(100));
    }
    flying
}

/// Of a register.
fn number(engine: &Engine, vertex: VertexId, key: KeyId) -> Option<i64> {
    engine.snapshot().property(vertex, key).unwrap().as_int()
}

#[test]
fn a_commit_is_validated_against_pending_ones_and_nobody_sees_them() {
    let (engine, slow) = open(&Arc::new(SimDisk::new()), 200);
    let ((x, key), (y, _)) = (register(&engine), register(&engine));
    let first = crossing(&engine, y, x, key, 1);
    let skewed = crossing(&engine, x, y, key, 2);
    let apart = crossing(&engine, y, y, key, 3);
    let commit_version = engine.snapshot().commit_version();
    let pending = send_off(first, &slow);
    let refused = skewed.commit();
    assert!(
        refused.as_ref().is_err_and(TransactError::is_retryable),
        "write skew with one in flight: {refused:?}"
    );
    assert_eq!(engine.snapshot().commit_version(), commit_version, "what is not synced is seen by nobody");
    assert_eq!(number(&engine, x, key), Some(0));
    let second = spawn("second", move || apart.commit());
    let (_, feed) = engine.subscribe();
    assert_eq!(feed.from, commit_version, "whoever subscribes now hears of both");
    assert_eq!(pending.join().unwrap(), commit_version + 1);
    assert_eq!(number(&engine, x, key), Some(1));
    assert_eq!(second.join().unwrap(), commit_version + 2);
    let heard = [(); 2].map(|()| feed.next(Duration::from_secs(1)).unwrap().unwrap().commit_version);
    assert_eq!(heard, [commit_version + 1, commit_version + 2]);
}

#[test]
fn what_was_accepted_behind_a_group_that_fails_fails_with_it() {
    let disk = Arc::new(SimDisk::new());
    let (engine, slow) = open(&disk, 100);
    let ((x, key), (y, _)) = (register(&engine), register(&engine));
    let (first, second) = (crossing(&engine, x, x, key, 1), crossing(&engine, y, y, key, 2));
    slow.meddler.fails.store(true, Ordering::Relaxed);
    let commit_version = engine.snapshot().commit_version();
    let pending = send_off(first, &slow);
    // It writes something else, and names something for the first time: no later record may do without that name.
    let named = second.key("named in flight").unwrap();
    second.set_property(y, named, Value::Int(7)).unwrap();
    let behind = spawn("second", move || second.commit());
    let (one, other) = (pending.join(), behind.join());
    assert!(one.is_err() && other.is_err(), "{one:?} {other:?}");
    assert_eq!(engine.snapshot().commit_version(), commit_version);
    slow.meddler.fails.store(false, Ordering::Relaxed);
    crossing(&engine, y, y, named, 8).commit().unwrap();
    let values =
        |engine: &Engine| [(x, key), (y, key), (y, named)].map(|(vertex, key)| number(engine, vertex, key));
    assert_eq!(values(&engine), [Some(0), Some(0), Some(8)]);
    drop((engine, slow));
    let (engine, _slow) = open(&disk, 0);
    assert_eq!(values(&engine), [Some(0), Some(0), Some(8)]);
    assert_eq!(engine.snapshot().catalog().key("named in flight"), Some(named));
}

#[test]
fn chores_beside_pending_commits_lose_nothing() {
    let disk = Arc::new(SimDisk::new());
    let (engine, slow) = open(&disk, 1);
    let (x, key) = register(&engine);
    let done = AtomicBool::new(false);
    in_parallel("party", 5, |who| match who {
        0 => {
            while !done.load(Ordering::Relaxed) {
                engine.checkpoint().unwrap();
            }
        }
        _ => {
            for round in 0..40 {
                while crossing(&engine, x, x, key, who as i64 * 100 + round).commit().is_err() {}
                create(&engine).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        }
    });
    let (vertices, value) = (engine.snapshot().statistics().vertices(), number(&engine, x, key));
    assert_eq!(vertices, 1 + 4 * 40);
    drop((engine, slow));
    let (engine, _slow) = open(&disk, 0);
    assert_eq!(engine.snapshot().statistics().vertices(), vertices);
    assert_eq!(number(&engine, x, key), value);
}
