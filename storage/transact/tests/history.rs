//! The past is as it was: random commits, checkpoints, bulk loads and restarts, with every state remembered in a twin; and what is
//! given up is given up, on disk too, but never under a reader.
#![allow(clippy::disallowed_methods)]

use durable::{LocalFolder, LogOptions, OpenMode};
use model::{Direction, LabelSetId, Value, VertexId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::Snapshot;
use tanglewood_transact::{Engine, History, Mode, Moment, OpenOptions, TransactError, open_backing};
use world::chance::Chance;
use world::clock::ManualClock;
use world::disk::{Disk, SimDisk};

/// Value and neighbours of each vertex.
type Twin = BTreeMap<u64, (i64, Vec<u64>)>;

/// Every state there was: its commit version, when it came to be, and what it was.
type Remembered = Vec<(u64, u64, Twin)>;

const SECOND_NS: u64 = 1_000_000_000;

fn open(disk: &Arc<SimDisk>, clock: &Arc<ManualClock>, anchor_log_bytes: u64) -> Engine {
    let disk: Arc<dyn Disk> = disk.clone();
    let options = LogOptions { segment_bytes_max: 2_048 };
    let folder = LocalFolder::open(disk, Path::new("/db"), OpenMode::CreateIfMissing, options).unwrap();
    let options = OpenOptions { clock: clock.clone(), anchor_log_bytes, ..OpenOptions::default() };
    open_backing(Arc::new(folder), &options).unwrap().0
}

fn contents(snapshot: &Snapshot) -> Twin {
    let Some(key) = snapshot.catalog().key("n") else { return Twin::new() };
    let view = snapshot.adjacency(&[], Direction::Out);
    let (mut found, mut vertices, mut scratch) = (Twin::new(), Vec::new(), Vec::new());
    for chunk in snapshot.scan_chunks(&store::LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &store::LabelFilter::Any, &mut vertices).unwrap();
    }
    for vertex in vertices {
        let value = snapshot.property(vertex, key).unwrap().as_int().unwrap_or(-1);
        let neighbours = view.neighbours(vertex.dense(), &mut scratch).unwrap();
        let mut neighbours: Vec<u64> = neighbours.iter().map(|dense| u64::from(*dense)).collect();
        neighbours.sort_unstable();
        found.insert(vertex.0, (value, neighbours));
    }
    found
}

/// Creates, links, changes or deletes; the version of the commit.
fn random_commit(engine: &Engine, known: &Twin, chance: &mut Chance) -> u64 {
    let t = engine.begin(Mode::Write);
    let (label, key, edge_type) = (t.label("V").unwrap(), t.key("n").unwrap(), t.edge_type("E").unwrap());
    let known: Vec<u64> = known.keys().copied().collect();
    for _ in 0..1 + chance.below(3) {
        let pick = |chance: &mut Chance| VertexId(known[chance.below(known.len() as u64) as usize]);
        match chance.below(6) {
            0..3 => {
                let value = chance.below(1_000) as i64;
                t.create_vertex(&[label], vec![(key, value.into())]).unwrap();
            }
            3 if !known.is_empty() => {
                // It may be gone already.
                let _ = t.create_edge(pick(chance), pick(chance), edge_type, vec![]);
            }
            4 if !known.is_empty() => {
                let _ = t.set_property(pick(chance), key, Value::Int(chance.below(1_000) as i64));
            }
            5 if !known.is_empty() => drop(t.delete_vertex(pick(chance), true).unwrap()),
            _ => {}
        }
    }
    t.commit().unwrap()
}

fn load_in_bulk(engine: &Engine) -> u64 {
    let report = engine.install(|current, commit_version| {
        let id = engine.store().allocator().vertex(LabelSetId(0))?;
        let change = store::Change::CreateVertex { id, labels: LabelSetId(0), properties: vec![] };
        Ok(current.apply(commit_version, &[&[change]])?)
    });
    report.unwrap().commit_version
}

fn check(engine: &Engine, remembered: &Remembered, moment: usize, chance: &mut Chance, seed: u64) {
    let (commit_version, time, twin) = &remembered[moment];
    let next = remembered.get(moment + 1);
    let at = |moment| {
        contents(&engine.snapshot_at(moment).unwrap_or_else(|e| panic!("seed {seed}: {moment}: {e}")))
    };
    assert_eq!(at(Moment::CommitVersion(*commit_version)), *twin, "seed {seed}, version {commit_version}");
    // The last state of this microsecond is what its time means.
    if next.is_none_or(|(_, later, _)| later > time) {
        let until = next.map_or(*time, |(_, later, _)| later - 1);
        let asked = time + chance.below(until - time + 1);
        assert_eq!(at(Moment::Time(asked)), *twin, "seed {seed}, version {commit_version} by its time");
    }
}

/// The twin of the whole past: every state is remembered, and asked for again across checkpoints, bulk loads, crashes and restarts.
#[test]
fn every_moment_is_as_it_was() {
    for seed in 0..60 {
        let mut chance = Chance::seeded(seed);
        let mut disk = Arc::new(SimDisk::new());
        let clock = Arc::new(ManualClock::new(1_000_000_000));
        let apart = [200, 2_000, 1 << 20][chance.below(3) as usize];
        let mut remembered: Remembered = vec![(0, 0, Twin::new())];
        open(&disk, &clock, apart).set_history(History::Forever).unwrap();
        for _life in 0..3 {
            let engine = open(&disk, &clock, apart);
            assert_eq!(engine.history(), History::Forever, "it is kept with the database");
            for _ in 0..chance.below(60) {
                clock.advance_ns(chance.below(3) * 1_000);
                let known = &remembered.last().unwrap().2;
                let commit_version = match chance.below(30) {
                    0 => load_in_bulk(&engine),
                    1 | 2 => {
                        engine.checkpoint().unwrap();
                        continue;
                    }
                    3..6 => {
                        let moment = chance.below(remembered.len() as u64) as usize;
                        check(&engine, &remembered, moment, &mut chance, seed);
                        continue;
                    }
                    _ => random_commit(&engine, known, &mut chance),
                };
                if commit_version > remembered.last().unwrap().0 {
                    let time = engine.newest().time_micros;
                    remembered.push((commit_version, time, contents(&engine.snapshot())));
                }
            }
            // Time that was asked for is spent: a commit after it is later.
            clock.advance_ns(10_000);
            for moment in 0..remembered.len() {
                check(&engine, &remembered, moment, &mut chance, seed);
            }
            if chance.below(2) == 0 {
                engine.close().unwrap();
            }
            drop(engine);
            disk = Arc::new(disk.crash(chance.next_u64()));
        }
        let engine = open(&disk, &clock, apart);
        (0..remembered.len()).for_each(|moment| check(&engine, &remembered, moment, &mut chance, seed));
    }
}

#[test]
fn what_lies_behind_the_horizon_is_given_up_while_the_database_is_open() {
    let (disk, clock) = (Arc::new(SimDisk::new()), Arc::new(ManualClock::new(1_000_000_000)));
    let engine = open(&disk, &clock, 0);
    engine.set_history(History::Span(Duration::from_secs(10))).unwrap();
    let (mut chance, mut commit_versions) = (Chance::seeded(1), Vec::new());
    let files = |folder: &str| disk.list(&Path::new("/db").join(folder)).unwrap().len();
    let mut most = (0, 0);
    for _second in 0..60 {
        clock.advance_ns(SECOND_NS);
        let known = contents(&engine.snapshot());
        commit_versions.push(random_commit(&engine, &known, &mut chance).max(engine.newest().commit_version));
        engine.checkpoint().unwrap();
        most = (most.0.max(files("data")), most.1.max(files("log")));
    }
    assert!(most.0 < 30 && most.1 < 30, "{most:?} files of blobs and of the log at most");
    let oldest = engine.oldest();
    assert!((45..=50).contains(&oldest.commit_version), "{oldest}");
    engine.snapshot_at(Moment::CommitVersion(oldest.commit_version)).unwrap();
    let refused = engine.snapshot_at(Moment::CommitVersion(oldest.commit_version - 1)).unwrap_err();
    assert_eq!(refused.code(), "Tanglewood.ClientError.History.NotKept");
    let said = refused.to_string();
    assert!(
        said.contains(&format!(
            "the oldest that is kept is that at version {} (1970-",
            oldest.commit_version
        )),
        "{said}"
    );
    assert!(engine.snapshot_at(Moment::Time(oldest.time_micros - 1)).is_err());
    let future = engine.snapshot_at(Moment::CommitVersion(1_000)).unwrap_err();
    assert!(matches!(future, TransactError::NotReached { .. }), "{future}");
    assert!(engine.snapshot_at(Moment::Time(u64::MAX)).is_err());

    engine.set_history(History::None).unwrap();
    assert_eq!((files("data"), engine.oldest()), (files("data").min(3), engine.newest()));
    let refused = engine.snapshot_at(Moment::CommitVersion(oldest.commit_version)).unwrap_err();
    assert!(refused.to_string().contains("keeps no history"), "{refused}");
}

/// Chunks are read when they are first touched: a snapshot that touched nothing yet needs the files it was opened from, however
/// many checkpoints came since.
#[test]
fn files_stay_as_long_as_a_reader_may_ask_for_them() {
    let (disk, clock) = (Arc::new(SimDisk::new()), Arc::new(ManualClock::new(1_000_000_000)));
    let engine = open(&disk, &clock, 0);
    let mut chance = Chance::seeded(2);
    for _ in 0..20 {
        random_commit(&engine, &Twin::new(), &mut chance);
    }
    let twin = contents(&engine.snapshot());
    engine.close().unwrap();
    drop(engine);

    let engine = open(&disk, &clock, 0);
    let data = || disk.list(Path::new("/db/data")).unwrap();
    let (first, reader) = (data(), engine.snapshot());
    for _ in 0..5 {
        // So many that the chunk's base is written anew.
        for _ in 0..200 {
            random_commit(&engine, &twin, &mut chance);
        }
        engine.checkpoint().unwrap();
    }
    assert!(data().contains(&first[0]), "the reader may still ask for it");
    assert_eq!(contents(&reader), twin);
    assert!(!engine.has_garbage() || data().len() > 1);
    drop(reader);
    assert!(engine.has_garbage());
    engine.give_up().unwrap();
    assert!(!data().contains(&first[0]), "{:?}", data());
    assert_eq!(data().len(), 1, "only what the last checkpoint needs: {:?}", data());
}

#[test]
fn a_database_in_memory_keeps_no_history() {
    let (engine, _) = tanglewood_transact::open(None, &OpenOptions::default()).unwrap();
    assert!(matches!(engine.set_history(History::Forever), Err(TransactError::NoHistoryInMemory)));
    random_commit(&engine, &Twin::new(), &mut Chance::seeded(1));
    assert_eq!(
        engine.snapshot_at(Moment::CommitVersion(engine.newest().commit_version)).unwrap().commit_version(),
        engine.newest().commit_version
    );
    assert!(matches!(
        engine.snapshot_at(Moment::CommitVersion(0)),
        Err(TransactError::NotKept { oldest: None, .. })
    ));
}

/// Whoever asked for a moment that had just come gets the same answer when it asks again: no commit is given that moment afterwards.
#[test]
fn a_commit_after_a_question_is_later_than_the_moment_asked_for() {
    let (disk, clock) = (Arc::new(SimDisk::new()), Arc::new(ManualClock::new(5_000)));
    let engine = open(&disk, &clock, 1 << 20);
    engine.set_history(History::Forever).unwrap();
    let create = |value: i64| {
        let t = engine.begin(Mode::Write);
        t.create_vertex(&[], vec![(t.key("n").unwrap(), value.into())]).unwrap();
        t.commit().unwrap();
        engine.newest().time_micros
    };
    assert_eq!(create(1), 5_000);
    let answer = contents(&engine.snapshot_at(Moment::Time(5_000)).unwrap());
    // The clock stands still, and yet the next commit is later.
    assert_eq!(create(2), 5_001);
    assert_eq!(contents(&engine.snapshot_at(Moment::Time(5_000)).unwrap()), answer);
    clock.advance_ns(9_000_000);
    assert_eq!(create(3), 14_000);
    // A question about an earlier moment moves nothing.
    assert_eq!(contents(&engine.snapshot_at(Moment::Time(5_000)).unwrap()), answer);
    assert_eq!(contents(&engine.snapshot_at(Moment::Time(5_001)).unwrap()).len(), 2);
    assert_eq!(create(4), 14_000);
    // Nor is a commit before a bulk load that came before it.
    let later = contents(&engine.snapshot_at(Moment::Time(14_000)).unwrap());
    assert_eq!(later.len(), 4);
    load_in_bulk(&engine);
    assert_eq!((engine.newest().time_micros, create(5)), (14_001, 14_001));
    assert_eq!(contents(&engine.snapshot_at(Moment::Time(14_000)).unwrap()), later);
}
