use std::collections::BTreeMap;
use std::path::PathBuf;

use world::chance::Chance;
use world::disk::{Faults, RealDisk, SimDisk};
use world::files::TemporaryFolder;

use super::*;
use crate::testing::{Entry, SMALL, is_named_damage, shared, sim};
use crate::{Volatile, verify};

/// A counter for each key: commits add, checkpoints keep the sums.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counters(BTreeMap<u8, u64>);

impl Counters {
    fn add(&mut self, payload: &[u8]) {
        *self.0.entry(payload[0]).or_default() += u64::from(payload[1]);
    }

    fn from_blob(blob: &[u8]) -> Self {
        let entry = |entry: &[u8]| (entry[0], u64::from_le_bytes(entry[1..].try_into().unwrap()));
        Self(blob.chunks_exact(9).map(entry).collect())
    }

    fn to_blob(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(key, sum)| [&[*key][..], &sum.to_le_bytes()[..]].concat()).collect()
    }
}

fn open(disk: &SimDisk, root: &Path) -> DurableResult<LocalFolder> {
    LocalFolder::open(shared(disk), root, OpenMode::CreateIfMissing, SMALL)
}

/// The state a store stands for: its checkpoint and the records behind it.
fn recover(store: &dyn BackingStore) -> DurableResult<(u64, Counters)> {
    let (mut commit_version, mut counters) = (0, Counters::default());
    if let Some((at, manifest)) = store.latest_checkpoint()? {
        commit_version = at;
        let blob = BlobRef::decode(manifest.as_slice().try_into().unwrap());
        counters = Counters::from_blob(&store.read_blob(blob)?);
    }
    for record in store.recover(commit_version + 1)? {
        let record = record?;
        assert!(record.commit_version > commit_version);
        commit_version = record.commit_version;
        counters.add(&record.payload);
    }
    Ok((commit_version, counters))
}

fn checkpoint(store: &dyn BackingStore, commit_version: u64, counters: &Counters) -> DurableResult<()> {
    let mut sink = store.begin_checkpoint(commit_version)?;
    let blob = sink.put(&counters.to_blob())?;
    sink.finish(&blob.encode(), &CheckpointMark::default())?;
    store.retire(&[blob.file])?;
    store.truncate_before(commit_version + 1)
}

/// States by commit version since the last confirmed commit.
struct Model {
    confirmed: u64,
    states: BTreeMap<u64, Counters>,
}

impl Model {
    fn new() -> Self {
        Self { confirmed: 0, states: BTreeMap::from([(0, Counters::default())]) }
    }

    fn run(&mut self, store: &dyn BackingStore, chance: &mut Chance) -> DurableResult<()> {
        for _ in 0..15 {
            let (mut commit_version, mut counters) = self
                .states
                .last_key_value()
                .map(|(commit_version, state)| (*commit_version, state.clone()))
                .unwrap();
            if chance.happens(0.15) {
                checkpoint(store, commit_version, &counters)?;
                continue;
            }
            commit_version = commit_version.max(store.last_version());
            let mut group = Vec::new();
            for _ in 0..chance.range(1..4) {
                commit_version += 1;
                let payload = chance.bytes(2 + chance.clone().index(20));
                counters.add(&payload);
                self.states.insert(commit_version, counters.clone());
                group.push((commit_version, payload));
            }
            let group: Vec<(u64, &[u8])> = group.iter().map(|(p, bytes)| (*p, bytes.as_slice())).collect();
            store.append_and_sync(&group)?;
            self.confirmed = commit_version;
        }
        Ok(())
    }

    fn check(&mut self, (commit_version, counters): (u64, Counters), what: &str) {
        assert!(
            commit_version >= self.confirmed,
            "{what}: {commit_version} is before the confirmed {}",
            self.confirmed
        );
        assert_eq!(
            self.states.get(&commit_version),
            Some(&counters),
            "{what}: wrong state at {commit_version}"
        );
        self.states.retain(|at, _| *at <= commit_version);
        self.confirmed = commit_version;
    }
}

/// Creation, commits, checkpoints, retirement and truncation, with a crash at every operation, twice.
#[test]
fn every_crash_recovers_what_was_confirmed() {
    let mut runs = 0;
    for seed in 0..40 {
        for step in 1.. {
            let (mut disk, root) = sim();
            let (mut model, mut chance) = (Model::new(), Chance::seeded(seed));
            let mut finished = false;
            for round in 0..2 {
                let what = format!("seed {seed} step {step} round {round}");
                let power_fails_at = Some(disk.operations() + step);
                disk.set_faults(Faults { power_fails_at, ..Faults::default() });
                let run = open(&disk, &root).and_then(|store| model.run(&store, &mut chance));
                finished = run.is_ok();
                disk = disk.crash(seed * 1000 + step);
                let store = open(&disk, &root).unwrap_or_else(|error| panic!("{what}: {error}"));
                model.check(recover(&store).unwrap_or_else(|error| panic!("{what}: {error}")), &what);
                drop(store);
                let report = verify(&shared(&disk), &root).unwrap();
                assert_eq!((report.problems, report.leftovers), (vec![], vec![]), "{what}");
            }
            runs += 1;
            if finished {
                break;
            }
        }
    }
    assert!(runs > 1000, "{runs}");
}

#[test]
fn the_real_disk_keeps_it_too() {
    let folder = TemporaryFolder::new("local-test").unwrap();
    let root: PathBuf = folder.path().join("graph.tw");
    let (mut model, mut chance) = (Model::new(), Chance::seeded(1));
    for round in 0..5 {
        let mode = if round == 0 { OpenMode::CreateIfMissing } else { OpenMode::Existing };
        let store = LocalFolder::open(Arc::new(RealDisk), &root, mode, SMALL).unwrap();
        model.check(recover(&store).unwrap(), "real");
        model.run(&store, &mut chance).unwrap();
        store.close().unwrap();
    }
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    assert_eq!(verify(&disk, &root).unwrap().problems, []);
}

/// A bulk load writes no records: it ends with a checkpoint at a commit version the log never saw.
#[test]
fn a_checkpoint_may_be_ahead_of_the_log() {
    let (disk, root) = sim();
    let store = open(&disk, &root).unwrap();
    let loaded = Counters(BTreeMap::from([(1, 1000)]));
    checkpoint(&store, 5, &loaded).unwrap();
    assert_eq!(store.append(&[(5, b"")]), Err(DurableError::OutOfOrder { commit_version: 5, last: 5 }));
    store.append_and_sync(&[(6, &[1, 1])]).unwrap();
    let store = open(&disk.crash(9), &root).unwrap();
    assert_eq!(recover(&store).unwrap(), (6, Counters(BTreeMap::from([(1, 1001)]))));
}

/// Commits whose sync was not awaited may be in a checkpoint before they are durable in the log.
#[test]
fn a_checkpoint_of_unsynced_commits_is_not_ahead_of_the_log() {
    for seed in 0..50 {
        let (disk, root) = sim();
        let store = open(&disk, &root).unwrap();
        store.append(&[(1, &[1, 1]), (2, &[1, 1])]).unwrap();
        let mut sink = store.begin_checkpoint(2).unwrap();
        let blob = sink.put(&Counters(BTreeMap::from([(1, 2)])).to_blob()).unwrap();
        sink.finish(&blob.encode(), &CheckpointMark::default()).unwrap();
        let store = open(&disk.crash(seed), &root).unwrap();
        assert_eq!(recover(&store).unwrap().0, 2);
    }
}

#[test]
fn a_log_that_ends_before_the_checkpoint_is_damage() {
    let (disk, root) = sim();
    let store = open(&disk, &root).unwrap();
    store.append_and_sync(&[(1, &[1, 1]), (2, &[1, 1])]).unwrap();
    let blob = {
        let mut sink = store.begin_checkpoint(2).unwrap();
        let blob = sink.put(b"").unwrap();
        sink.finish(&blob.encode(), &CheckpointMark::default()).unwrap();
        blob
    };
    assert_eq!(store.read_blob(blob).unwrap(), b"");
    drop(store);
    let log = root.join("log/00000000000000000001.log");
    disk.open(&log, world::disk::OpenHow::Write).unwrap().truncate(32).unwrap();
    assert!(is_named_damage(&open(&disk, &root).err().unwrap()));
    assert_eq!(verify(&shared(&disk), &root).unwrap().problems.len(), 1);
}

#[test]
fn a_volatile_store_keeps_order_and_nothing_else() {
    let store = Volatile::new();
    store.append_and_sync(&[(1, b"a"), (3, b"b")]).unwrap();
    assert_eq!(store.append(&[(3, b"")]), Err(DurableError::OutOfOrder { commit_version: 3, last: 3 }));
    assert_eq!((store.last_version(), store.recover(1).unwrap().count()), (3, 0));
    assert!(!store.is_durable() && store.begin_checkpoint(3).err() == Some(DurableError::Volatile));
    assert_eq!(store.latest_checkpoint(), Ok(None));
}

struct Nothing;

impl crate::Meddler for Nothing {}

/// The checkpoint may never end: settled blobs are there.
#[test]
fn what_is_settled_is_read_while_the_checkpoint_goes_on() {
    let (disk, root) = sim();
    let store = open(&disk, &root).unwrap();
    let mut sink = store.begin_checkpoint(0).unwrap();
    let blob = sink.put(b"early").unwrap();
    sink.settle().unwrap();
    assert_eq!(store.read_blob(blob).unwrap(), b"early");
}

/// All reads of a store, as text.
fn told(store: &dyn BackingStore) -> String {
    let anchors = store.anchors();
    let manifests: Vec<_> = anchors
        .iter()
        .filter(|anchor| anchor.sequence > 0)
        .map(|anchor| store.anchor_manifest(anchor))
        .collect();
    let facts = (store.last_version(), store.history(), store.log_bytes(), store.is_durable());
    let from = store.latest_checkpoint().unwrap().map_or(1, |(commit_version, _)| commit_version + 1);
    let records: Vec<Entry> = store
        .recover(from)
        .unwrap()
        .map(|record| record.map(|record| (record.commit_version, record.payload)).unwrap())
        .collect();
    format!("{facts:?} {anchors:?} {manifests:?} {:?} {records:?}", store.latest_checkpoint())
}

/// All files but the one that tells databases apart.
fn files(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    let all = disk.contents().into_iter();
    all.filter(|(path, _)| !path.ends_with("IDENTITY")).collect()
}

/// Two stores get the same calls: one is a folder, the other the same behind a wrapper that changes nothing.
#[test]
fn who_meddles_with_nothing_changes_nothing() {
    for seed in 0..20 {
        let ((one, root), (other, _)) = (sim(), sim());
        let plain = open(&one, &root).unwrap();
        let meddled = crate::Meddled::new(open(&other, &root).unwrap(), Nothing);
        let stores: [&dyn BackingStore; 2] = [&plain, &meddled];
        let (mut chance, mut commit_version, mut history, mut counters) =
            (Chance::seeded(seed), 0, 0, Counters::default());
        for _ in 0..60 {
            let (action, payload, number) =
                (chance.below(10), chance.bytes(2 + chance.clone().index(60)), chance.below(9));
            for store in stores {
                match action {
                    0 => checkpoint(store, commit_version, &counters).unwrap(),
                    1 => store.set_history(number).unwrap(),
                    2 => store.keep_anchors(&[commit_version, number]).unwrap(),
                    3 => store.close().unwrap(),
                    4 | 5 => {
                        store.append(&[(commit_version + 1, &payload)]).unwrap();
                        store.sync().unwrap();
                    }
                    _ => store.append_and_sync(&[(commit_version + 1, &payload)]).unwrap(),
                }
            }
            if action >= 4 {
                commit_version += 1;
                counters.add(&payload);
            }
            history = if action == 1 { number } else { history };
            assert_eq!((plain.history(), plain.last_version()), (history, commit_version), "seed {seed}");
            assert_eq!(told(&plain), told(&meddled), "seed {seed}");
            assert!(files(&one) == files(&other), "seed {seed}");
        }
        drop((plain, meddled));
        let (plain, meddled) = (open(&one, &root).unwrap(), open(&other, &root).unwrap());
        assert_eq!((told(&plain), plain.history()), (told(&meddled), history));
        assert_eq!(recover(&plain).unwrap(), (commit_version, counters));
    }
}
