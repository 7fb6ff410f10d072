//! Groups of commits that overlap: while one is synced, slowly, the next is validated against it, and now and then the disk refuses one,
//! and with it all that was built upon it. Every history must be strictly serializable, in memory and after recovery.

use durable::{
    BackingStore, DurableError, DurableResult, LocalFolder, LogOptions, Meddled, Meddler, OpenMode,
};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tanglewood_sim::audit::audit;
use tanglewood_sim::check::check;
use tanglewood_sim::client::{DirectClient, Forgets, Layout};
use tanglewood_sim::history::{History, Recorder};
use tanglewood_sim::workload::{Shape, Values, on_threads, read_everything};
use transact::{Engine, OpenOptions};
use world::chance::Chance;
use world::disk::SimDisk;
use world::threads::sleep;

/// Longest sync.
const SYNC_US_MAX: u64 = 400;

/// A disk that takes its time, and refuses some groups.
struct Moody {
    chance: Mutex<Chance>,
    refuses: f64,
    refused: AtomicU64,
}

impl Meddler for Moody {
    fn append_and_sync(&self, inner: &LocalFolder, records: &[(u64, &[u8])]) -> DurableResult<()> {
        let mut chance = self.chance.lock();
        let (us, refuses) = (chance.below(SYNC_US_MAX), chance.happens(self.refuses));
        drop(chance);
        sleep(Duration::from_micros(us));
        if refuses {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(DurableError::Poisoned { cause: "the test says so".into() });
        }
        inner.append_and_sync(records)
    }
}

fn open(disk: &SimDisk, seed: u64, refuses: f64) -> (Engine, Arc<Meddled<Moody>>) {
    let mode = OpenMode::CreateIfMissing;
    let inner =
        LocalFolder::open(Arc::new(disk.clone()), Path::new("/db"), mode, LogOptions::default()).unwrap();
    let chance = Mutex::new(Chance::seeded(seed));
    let moody = Arc::new(Meddled::new(inner, Moody { chance, refuses, refused: AtomicU64::new(0) }));
    (transact::open_backing(moody.clone(), &OpenOptions::default()).unwrap().0, moody)
}

fn shape() -> Shape {
    Shape { processes: 6, transactions: 10, objects: 4, ..Shape::default() }
}

#[derive(Default, Debug)]
struct Seen {
    refused: u64,
    committed: usize,
    transactions: usize,
    shared: u64,
}

/// One history over two lives: threads on a disk with faults, then, after a power failure, a read of everything left.
fn history(seed: u64, refuses: f64, forgets: Option<Forgets>, seen: &mut Seen) -> History {
    let disk = SimDisk::new();
    let (recorder, values) = (Recorder::new(), Values::default());
    let (engine, _) = open(&disk, seed, 0.0);
    let layout = Layout::of(&engine).unwrap();
    layout.prepare(&engine, shape().objects()).unwrap();
    drop(engine);
    let (engine, moody) = open(&disk, seed, refuses);
    on_threads(seed, &shape(), &recorder, &values, || {
        let client = DirectClient::new(&engine, layout);
        forgets.map_or(DirectClient::new(&engine, layout), |kind| client.forgetting(kind))
    });
    read_everything(999, &shape(), &recorder, &mut DirectClient::new(&engine, layout)).unwrap();
    let counts = engine.counts();
    seen.shared += counts.commits - counts.groups;
    seen.refused += moody.meddler.refused.load(Ordering::Relaxed);
    let (engine, _) = open(&disk.crash(seed), seed, 0.0);
    read_everything(1_999, &shape(), &recorder, &mut DirectClient::new(&engine, layout)).unwrap();
    assert!(audit(&engine.snapshot()).unwrap().is_empty(), "seed {seed}");
    let history = recorder.history();
    seen.committed += history.committed();
    seen.transactions += history.transactions.len();
    history
}

#[test]
fn groups_that_overlap_are_strictly_serializable_and_so_are_those_that_fail() {
    for refuses in [0.0, 0.1] {
        let mut seen = Seen::default();
        for seed in 0..25 {
            let history = history(seed, refuses, None, &mut seen);
            let findings = check(&history);
            assert!(findings.is_clean(), "seed {seed}, {refuses}\n{findings}\nthe whole history:\n{history}");
        }
        assert!(seen.shared > 50, "hardly any commits shared a sync: {seen:?}");
        assert!(seen.committed * 4 > seen.transactions, "hardly anything was committed: {seen:?}");
        assert_eq!(refuses > 0.0, seen.refused > 10, "{seen:?}");
    }
}

/// A mutant that validates no vertex reads, neither against pending commits nor against others, must be found.
#[test]
fn reads_that_are_not_validated_against_pending_commits_are_found_out() {
    let forgetful = |seed: &u64| history(*seed, 0.0, Some(Forgets::Vertices), &mut Seen::default());
    let found: Vec<u64> = (0..40).filter(|seed| !check(&forgetful(seed)).is_clean()).collect();
    assert!(!found.is_empty(), "reads that are not validated were found in no seed");
}
