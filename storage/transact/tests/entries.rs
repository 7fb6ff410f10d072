//! Entries of the catalogue are commits like any other: random changes of them, from several threads, against a model, through crashes,
//! checkpoints, bulk loads, backups and the past.
#![allow(clippy::disallowed_methods)]

use durable::{LocalFolder, LogOptions, OpenMode};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::{Change, EntryKind, Snapshot};
use tanglewood_transact::{Engine, History, Mode, Moment, OpenOptions, backup, open_backing, restore};
use world::chance::Chance;
use world::disk::{Disk, SimDisk};
use world::threads::in_parallel;

type Model = BTreeMap<(u8, String), Vec<u8>>;

fn open(disk: &Arc<SimDisk>, folder: &str) -> Engine {
    let disk: Arc<dyn Disk> = disk.clone();
    let options = LogOptions { segment_bytes_max: 4_096 };
    let folder = LocalFolder::open(disk, Path::new(folder), OpenMode::CreateIfMissing, options).unwrap();
    open_backing(Arc::new(folder), &OpenOptions::default()).unwrap().0
}

fn contents(snapshot: &Snapshot) -> Model {
    let entries = snapshot.catalog().entries().iter();
    entries.map(|(kind, name, content)| ((kind.0, name.to_string()), content.to_vec())).collect()
}

fn set(kind: u8, name: &str, content: Option<&[u8]>) -> Change {
    Change::SetEntry { kind: EntryKind(kind), name: name.into(), content: content.map(Into::into) }
}

/// Sets or removes some entries in one commit.
fn random_commit(engine: &Engine, model: &mut Model, chance: &mut Chance) -> u64 {
    let mut changes = Vec::new();
    for _ in 0..1 + chance.below(3) {
        let (kind, name) = (1 + chance.below(5) as u8, format!("n{}", chance.below(9)));
        let content = (chance.below(3) > 0).then(|| vec![chance.below(256) as u8; chance.below(99) as usize]);
        changes.push(set(kind, &name, content.as_deref()));
        match content {
            Some(content) => drop(model.insert((kind, name), content)),
            None => drop(model.remove(&(kind, name))),
        }
    }
    engine.alter(|_| Ok(changes.clone())).unwrap()
}

/// A vertex, or a whole load of nothing: entries must outlive both.
fn random_work(engine: &Engine, chance: &mut Chance) {
    if chance.below(3) == 0 {
        engine.install(|current, commit_version| Ok(current.apply(commit_version, &[])?)).unwrap();
        return;
    }
    let t = engine.begin(Mode::Write);
    t.create_vertex(&[], vec![]).unwrap();
    t.commit().unwrap();
}

#[test]
fn entries_are_as_they_were_acknowledged_after_crashes_and_in_backups() {
    for seed in 1..=8 {
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        let (mut disk, mut model) = (Arc::new(SimDisk::new()), Model::new());
        let mut past = Vec::new();
        for life in 0..6 {
            let engine = open(&disk, "/db");
            assert_eq!(contents(&engine.snapshot()), model, "seed {seed}");
            if life == 0 {
                engine.set_history(History::Forever).unwrap();
            }
            for _ in 0..chance.below(30) {
                match chance.below(8) {
                    0 => drop(engine.checkpoint().unwrap()),
                    1 => random_work(&engine, &mut chance),
                    _ => past.push((random_commit(&engine, &mut model, &mut chance), model.clone())),
                }
            }
            for (commit_version, then) in past.iter().filter(|_| chance.below(4) == 0).collect::<Vec<_>>() {
                let found = engine.snapshot_at(Moment::CommitVersion(*commit_version)).unwrap();
                assert_eq!(contents(&found), *then, "seed {seed}: at {commit_version}");
            }
            let as_disk: Arc<dyn Disk> = disk.clone();
            let (copy, again) = (format!("/backup{life}"), format!("/again{life}"));
            backup(&as_disk, Path::new("/db"), Path::new(&copy)).unwrap();
            restore(&as_disk, Path::new(&copy), Path::new(&again)).unwrap();
            assert_eq!(contents(&open(&disk, &again).snapshot()), model, "seed {seed}: restored");
            if chance.below(3) == 0 {
                engine.close().unwrap();
            }
            drop(engine);
            disk = Arc::new(disk.crash(chance.next_u64()));
        }
    }
}

/// Of twelve that were added at once, all acknowledged, one was there.
#[test]
fn all_that_were_added_at_once_are_there() {
    let disk = Arc::new(SimDisk::new());
    let engine = open(&disk, "/db");
    in_parallel("adds", 12, |at| {
        for round in 0..5 {
            engine.alter(|_| Ok(vec![set(1, &format!("user{at}-{round}"), Some(b"x"))])).unwrap();
        }
    });
    drop(engine);
    let engine = open(&Arc::new(disk.crash(3)), "/db");
    assert_eq!(engine.snapshot().catalog().entries().table(EntryKind::USER).unwrap().len(), 60);
}
