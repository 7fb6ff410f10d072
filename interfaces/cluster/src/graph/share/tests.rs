//! A share that begins with a checkpoint answers as the one that made it, then and after later records; a damaged checkpoint is ignored.

use super::super::chunks;
use super::*;
use crate::load;
use database::{Database, MEMORY, Options, Params};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::{Names, ShareKey};
use world::disk::SimDisk;

const SHARD: u16 = 1;
const SHARDS: u16 = 2;

/// The parts of one shard in some commits.
fn parts(texts: &[&str]) -> Vec<Vec<u8>> {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    for text in texts {
        database.session().query(text, Params::new()).unwrap().rows().unwrap();
    }
    let graph = database.snapshot();
    let owners: BTreeMap<ChunkNo, u16> = load::place(&graph, SHARDS).unwrap();
    let mut parts = Vec::new();
    load::records::<StoreError>(&graph, &owners, SHARDS, |lists| {
        parts.extend(lists.into_iter().filter(|(shard, _)| *shard == SHARD).map(|(_, part)| part.to_vec()));
        Ok(())
    })
    .unwrap();
    parts
}

fn graph() -> Vec<Vec<u8>> {
    parts(&[
        "CREATE INDEX FOR (p:P) ON (p.n)",
        "CREATE INDEX FOR ()-[r:R]-() ON (r.w)",
        "CREATE CONSTRAINT FOR (q:Q) REQUIRE q.n IS UNIQUE",
        "CREATE TENANT t SET SHARE 50",
        "UNWIND range(1, 6000) AS n CREATE (:P {n: n % 97, t: toString(n), f: 0.5 * n})",
        "UNWIND range(1, 5000) AS n CREATE (:Q {n: n})",
        "MATCH (p:P), (q:Q {n: p.n}) CREATE (p)-[:R {w: p.n}]->(q)",
        "MATCH (p:P {n: 3}) DETACH DELETE p",
    ])
}

/// All answers that a reader can request from a share, without its life.
fn answers(share: &ShardGraph, commit_version: u64) -> Vec<Vec<u8>> {
    let names = Names::new().table().counts();
    let version = share.version(commit_version).unwrap();
    let mut all: Vec<Vec<u8>> = Vec::new();
    let chunks: Vec<(ChunkNo, u64)> = version.chunks.iter().map(|(chunk, _)| (*chunk, 0)).collect();
    let news = ShareNews { life: 0, names, chunks: &chunks, catalogue: true, entries: None, records: None };
    all.push(version.snapshot.write_share(&news));
    for (chunk, at) in version.chunks.iter() {
        let key = ShareKey { shard: SHARD, life: share.life, chunk: *chunk, version: *at };
        let query = chunks::question(&[key.blob()]);
        all.push(share.answer(commit_version, &query).unwrap());
    }
    let page = |_, request: Vec<u8>| {
        let page = version.snapshot.index_page(&request)?;
        all.push(page.clone());
        Ok(page)
    };
    version.snapshot.with_loaded_indexes(1, page).unwrap();
    all
}

fn point(commit_version: u64) -> ShardPoint {
    ShardPoint { commit_version, settled: 7 * commit_version, epoch: 3, taken: vec![5, commit_version] }
}

fn opened(disk: &SimDisk) -> ShardGraph {
    ShardGraph::open(SHARD, Arc::new(disk.clone()), &PathBuf::from("/shard-1"))
}

/// Makes a checkpoint, and waits for it.
fn keep(share: &mut ShardGraph, commit_version: u64) {
    share.checkpoint(point(commit_version));
    drop(share.keeping.as_mut().unwrap().thread.take());
}

#[test]
fn a_share_goes_on_from_its_checkpoint() {
    let (disk, records) = (SimDisk::new(), graph());
    assert!(records.len() > 3);
    for kept in [1, records.len() / 2, records.len()] {
        let mut share = opened(&disk);
        share.reset();
        let mut commit_version = 0;
        for record in &records[..kept] {
            commit_version += 1;
            share.apply(commit_version, record);
        }
        keep(&mut share, commit_version);
        let mut again = opened(&disk);
        assert_eq!(again.point(), Some(point(commit_version)));
        assert_eq!(answers(&share, commit_version), answers(&again, commit_version));
        for record in &records[kept..] {
            commit_version += 1;
            share.apply(commit_version, record);
            again.apply(commit_version, record);
        }
        assert!(share.broken.is_none() && again.broken.is_none(), "{:?}", again.broken);
        assert_eq!(answers(&share, commit_version), answers(&again, commit_version));
        // A checkpoint of what came from one, none of whose chunks was touched since.
        keep(&mut again, commit_version);
        assert_eq!(answers(&share, commit_version), answers(&opened(&disk), commit_version));
    }
}

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let disk = SimDisk::new();
    let mut share = opened(&disk);
    let mut commit_version = 0;
    for record in graph() {
        commit_version += 1;
        share.apply(commit_version, &record);
    }
    keep(&mut share, commit_version);
    let path = PathBuf::from("/shard-1/checkpoint");
    let whole = disk.read_whole(&path).unwrap();
    let put = |bytes: &[u8]| world::disk::write_synced(&disk, &path, bytes).unwrap();
    let mut chance = world::chance::Chance::seeded(5);
    for _ in 0..60 {
        let (at, mut bytes) = (chance.index(whole.len()), whole.clone());
        if chance.happens(0.5) {
            bytes[at] ^= 1 << chance.below(8);
        } else {
            bytes.truncate(at);
        }
        put(&bytes);
        let opened = opened(&disk);
        assert_eq!(opened.point(), None, "at {at} of {}", whole.len());
        assert_eq!(opened.versions.len(), 1);
    }
    put(&whole);
    assert_eq!(opened(&disk).point(), Some(point(commit_version)));
    // Of another shard.
    let other = ShardGraph::open(SHARD + 1, Arc::new(disk.clone()), &PathBuf::from("/shard-1"));
    assert_eq!(other.point(), None);
}

#[test]
fn a_checkpoint_is_due_after_many_records_or_bytes() {
    let mut share = opened(&SimDisk::new());
    let due = |share: &mut ShardGraph, records: u64, bytes: u64, last: u64| {
        let keeping = share.keeping.as_mut().unwrap();
        (keeping.records, keeping.bytes) = (records, bytes);
        keeping.last_bytes.store(last, Ordering::Relaxed);
        share.wants_checkpoint(0)
    };
    assert!(!due(&mut share, CHECKPOINT_RECORDS - 1, CHECKPOINT_BYTES - 1, 0));
    assert!(due(&mut share, CHECKPOINT_RECORDS, 0, 0) && due(&mut share, 1, CHECKPOINT_BYTES, 0));
    let large = 1 << 30;
    assert!(!due(&mut share, CHECKPOINT_RECORDS, CHECKPOINT_BYTES, large));
    assert!(due(&mut share, large / RECORD_COST_BYTES, 0, large) && due(&mut share, 0, large / 2, large));
    share.broken = Some("it is".into());
    assert!(!due(&mut share, large, large, 0), "what is broken is not kept");
}

/// A past fault: a share that is seldom written kept a checkpoint from which it could not go on once the log was cut above it.
#[test]
fn a_checkpoint_is_due_when_others_committed_much() {
    let (disk, mut commit_version) = (SimDisk::new(), 0);
    let mut share = opened(&disk);
    for record in graph() {
        commit_version += 1;
        share.apply(commit_version, &record);
    }
    let settled = |settled| ShardPoint { settled, ..point(commit_version) };
    assert!(!share.wants_checkpoint(CHECKPOINT_COMMITS - 1));
    assert!(share.wants_checkpoint(CHECKPOINT_COMMITS));
    share.checkpoint(settled(CHECKPOINT_COMMITS));
    share.keeping.as_mut().and_then(|keeping| keeping.thread.take());
    assert!(!share.wants_checkpoint(2 * CHECKPOINT_COMMITS - 1));
    // Nothing was written since: the same content, further on.
    assert!(share.wants_checkpoint(2 * CHECKPOINT_COMMITS));
    share.checkpoint(settled(2 * CHECKPOINT_COMMITS));
    share.keeping.as_mut().and_then(|keeping| keeping.thread.take());
    let again = opened(&disk);
    assert_eq!(again.point(), Some(settled(2 * CHECKPOINT_COMMITS)));
    assert_eq!(answers(&share, commit_version), answers(&again, commit_version));
    // Its next life goes by what it began with.
    assert!(
        !again.wants_checkpoint(3 * CHECKPOINT_COMMITS - 1) && again.wants_checkpoint(3 * CHECKPOINT_COMMITS)
    );
    // A large one is made less often.
    let large = CHECKPOINTS_PER_BASE * CHECKPOINT_COMMITS * RECORD_COST_BYTES * 2;
    again.keeping.as_ref().unwrap().last_bytes.store(large, Ordering::Relaxed);
    assert!(
        !again.wants_checkpoint(4 * CHECKPOINT_COMMITS - 1) && again.wants_checkpoint(4 * CHECKPOINT_COMMITS)
    );
}

/// Files of a store by name, on the simulated disk.
struct StoredFiles(SimDisk, Mutex<BTreeMap<String, Vec<u8>>>);

impl CheckpointStore for StoredFiles {
    fn put(&self, name: &str, file: &Path) -> Result<(), String> {
        let bytes = self.0.read_whole(file).map_err(|error| error.to_string())?;
        self.1.lock().insert(name.to_string(), bytes);
        Ok(())
    }
    fn get(&self, name: &str, file: &Path) -> Result<bool, String> {
        let Some(bytes) = self.1.lock().get(name).cloned() else { return Ok(false) };
        world::disk::write_synced(&self.0, file, &bytes).map(|()| true).map_err(|error| error.to_string())
    }
}

/// A shard whose folder is lost begins with the copy of its last checkpoint; a copy that is damaged costs only time.
#[test]
fn a_share_whose_folder_is_lost_begins_with_the_store() {
    let (disk, mut commit_version) = (SimDisk::new(), 0);
    let store = Arc::new(StoredFiles(disk.clone(), Mutex::default()));
    let open = |shard: u16, folder: &str| {
        let store: Arc<dyn CheckpointStore> = store.clone();
        ShardGraph::open_with(shard, Arc::new(disk.clone()), &PathBuf::from(folder), Some(store))
    };
    let mut share = open(SHARD, "/one");
    assert_eq!(share.point(), None, "there is no copy yet");
    for record in graph() {
        commit_version += 1;
        share.apply(commit_version, &record);
    }
    keep(&mut share, commit_version);
    assert_eq!(store.1.lock().keys().collect::<Vec<_>>(), ["shard-1/checkpoint"]);
    let again = open(SHARD, "/other");
    assert_eq!(again.point(), Some(point(commit_version)));
    assert_eq!(answers(&share, commit_version), answers(&again, commit_version));
    assert_eq!(open(SHARD + 1, "/third").point(), None, "each shard has a name of its own");
    store.1.lock().values_mut().for_each(|bytes| bytes.truncate(bytes.len() / 2));
    assert_eq!(open(SHARD, "/fourth").point(), None);
}
