//! Acknowledged commits are there after a crash, and no partial ones: random commits against a twin, on a disk that loses power.
#![allow(clippy::disallowed_methods)]

use durable::{LocalFolder, LogOptions, OpenMode};
use model::{Direction, Value, VertexId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tanglewood_transact::{Engine, Mode, OpenOptions, open_backing};
use world::chance::Chance;
use world::disk::{Disk, Faults, SimDisk};

type Twin = BTreeMap<u64, (i64, Vec<u64>)>;

fn open(disk: &Arc<SimDisk>) -> Engine {
    let disk: Arc<dyn Disk> = disk.clone();
    let options = LogOptions { segment_bytes_max: 4_096 };
    let folder = LocalFolder::open(disk, Path::new("/db"), OpenMode::CreateIfMissing, options).unwrap();
    open_backing(Arc::new(folder), &OpenOptions::default()).unwrap().0
}

fn contents(engine: &Engine) -> Twin {
    let snapshot = engine.snapshot();
    let (Some(label), Some(key)) = (snapshot.catalog().label("V"), snapshot.catalog().key("n")) else {
        return Twin::new();
    };
    let filter = store::LabelFilter::Has(label);
    let view = snapshot.adjacency(&[], Direction::Out);
    let (mut found, mut vertices, mut scratch) = (Twin::new(), Vec::new(), Vec::new());
    for chunk in snapshot.scan_chunks(&filter) {
        snapshot.scan_chunk(chunk, &filter, &mut vertices).unwrap();
    }
    for vertex in vertices {
        let value = snapshot.property(vertex, key).unwrap().as_int().unwrap();
        let mut neighbours: Vec<u64> = view
            .neighbours(vertex.dense(), &mut scratch)
            .unwrap()
            .iter()
            .map(|dense| *dense as u64)
            .collect();
        neighbours.sort_unstable();
        found.insert(vertex.0, (value, neighbours));
    }
    found
}

fn random_commit(engine: &Engine, twin: &Twin, chance: &mut Chance) -> Option<Twin> {
    let t = engine.begin(Mode::Write);
    let mut next = twin.clone();
    let (label, key, edge_type) = (t.label("V").unwrap(), t.key("n").unwrap(), t.edge_type("E").unwrap());
    for _ in 0..1 + chance.below(4) {
        let known: Vec<u64> = next.keys().copied().collect();
        let pick = |chance: &mut Chance| known[chance.below(known.len() as u64) as usize];
        match chance.below(4) {
            0 | 1 => {
                let value = chance.below(1_000) as i64;
                let vertex = t.create_vertex(&[label], vec![(key, value.into())]).unwrap();
                next.insert(vertex.0, (value, Vec::new()));
            }
            2 if !known.is_empty() => {
                let (a, b) = (pick(chance), pick(chance));
                t.create_edge(VertexId(a), VertexId(b), edge_type, vec![]).unwrap();
                let list = &mut next.get_mut(&a).unwrap().1;
                list.push(b);
                list.sort_unstable();
            }
            3 if !known.is_empty() => {
                let a = pick(chance);
                let value = chance.below(1_000) as i64;
                t.set_property(VertexId(a), key, Value::Int(value)).unwrap();
                next.get_mut(&a).unwrap().0 = value;
            }
            _ => {}
        }
    }
    if chance.below(2) == 0 {
        t.refresh().unwrap();
    }
    t.commit().ok().map(|_| next)
}

#[test]
fn acknowledged_commits_survive_power_loss() {
    for seed in 0..60 {
        let mut chance = Chance::seeded(seed);
        let disk = Arc::new(SimDisk::new());
        let mut disk_now = disk;
        let mut twin = Twin::new();
        for _life in 0..4 {
            let engine = open(&disk_now);
            assert_eq!(contents(&engine), twin, "seed {seed}");
            for _ in 0..chance.below(40) {
                if let Some(next) = random_commit(&engine, &twin, &mut chance) {
                    twin = next;
                }
                if chance.below(15) == 0 {
                    engine.checkpoint().unwrap();
                }
            }
            assert_eq!(contents(&engine), twin, "seed {seed}");
            if chance.below(3) == 0 {
                engine.close().unwrap();
            }
            drop(engine);
            disk_now = Arc::new(disk_now.crash(chance.next_u64()));
        }
        assert_eq!(contents(&open(&disk_now)), twin, "seed {seed}");
    }
}

/// A name that a transaction had shown to itself, or whose first commit found the disk full, counted as durable: no record carried
/// it, and the log could not be replayed.
#[test]
fn names_are_in_the_log_whatever_happened_before_their_commit() {
    let disk = Arc::new(SimDisk::new());
    let engine = open(&disk);
    let shown = engine.begin(Mode::Write);
    let label = shown.label("Shown").unwrap();
    shown.create_vertex(&[label], vec![(shown.key("a").unwrap(), 1.into())]).unwrap();
    shown.refresh().unwrap();
    shown.rollback();
    let create = || {
        let t = engine.begin(Mode::Write);
        t.create_vertex(&[label, t.label("Full").unwrap()], vec![(t.key("b").unwrap(), 2.into())]).unwrap();
        t.commit()
    };
    disk.set_faults(Faults { capacity_bytes: Some(0), ..Faults::default() });
    create().unwrap_err();
    disk.set_faults(Faults::default());
    create().unwrap();
    let request = tanglewood_transact::IndexRequest {
        name: None,
        target: model::schema::SchemaTarget::Vertices(engine.store().names().intern_label("New").unwrap()),
        keys: vec![engine.store().names().intern_key("c").unwrap()],
        if_not_exists: false,
    };
    engine.create_index(&request).unwrap();
    drop(engine);
    let disk = Arc::new(disk.crash(1));
    let snapshot = open(&disk).snapshot();
    let catalog = snapshot.catalog();
    assert!(["Shown", "Full", "New"].iter().all(|name| catalog.label(name).is_some()));
    assert!(["a", "b", "c"].iter().all(|name| catalog.key(name).is_some()));
    assert_eq!(snapshot.statistics().vertices(), 1);
}
