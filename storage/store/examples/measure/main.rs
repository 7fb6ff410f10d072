//! Measures what the design promises: traversal beside flat CSR, latency of applying one change, import, memory, checkpoints.
//!
//! Run: `cargo run --release -p tanglewood-store --example measure`. Ratios within one run mean something; absolute figures depend on
//! the machine. Every timed traversal is verified against the flat twin. With the
//! argument `traverse` only traversal is measured, with `apply` all but traversal, with `paging` only checkpoints and memory budgets, with
//! `beside` only readers between commits, with `restricted` only readers from whom something is hidden.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

mod beside;
mod paging;
mod restricted;
mod traverse;

use model::{Column, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use store::*;

const VERTICES: usize = 300_000;
const EDGES: usize = 1_500_000;
const TYPE: EdgeTypeId = EdgeTypeId(0);

fn chance(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn parallel(count: usize, task: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    task(at);
                }
            });
        }
    });
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Skewed random pairs: some targets are hubs.
fn random_pairs() -> Vec<(u32, u32)> {
    let mut state = 42;
    let mut pick = |power: f64| {
        let unit = chance(&mut state) as f64 / u64::MAX as f64;
        ((unit.powf(power) * VERTICES as f64) as usize).min(VERTICES - 1) as u32
    };
    (0..EDGES).map(|_| (pick(1.0), pick(2.0))).collect()
}

fn import(store: &Store, pairs: &[(u32, u32)], labels: LabelSetId) -> Vec<u32> {
    let numbers: Column = (0..VERTICES as i64).map(Value::Int).collect();
    let names: Column = (0..VERTICES).map(|n| Value::string(format!("name {n}"))).collect();
    let start = Instant::now();
    let bulk = Bulk::new(store.allocator());
    let ranges = bulk.vertices(labels, VERTICES, vec![(KeyId(0), numbers), (KeyId(1), names)]).unwrap();
    let ids: Vec<u32> = ranges.into_iter().flatten().collect();
    let mapped: Vec<(u32, u32)> = pairs.iter().map(|(a, b)| (ids[*a as usize], ids[*b as usize])).collect();
    bulk.edges(TYPE, mapped, Vec::new()).unwrap();
    let collected = millis(start);
    let snapshot = bulk.finish(&store.current(), 1, &parallel).unwrap();
    println!(
        "import: {VERTICES} vertices, {EDGES} edges: {:.0} ms ({collected:.0} ms of it collecting)",
        millis(start)
    );
    store.publish(snapshot);
    ids
}

fn measure_memory(store: &Store) {
    let memory = store.current().memory();
    println!("memory: {:.2} bytes an edge; {memory:?}", memory.adjacency_bytes as f64 / EDGES as f64);
}

/// Applies `make(n)` for n below `count`, one at a time; prints mean, 999th of 1000, and worst (which others on the machine can cause).
fn measure_applies(what: &str, store: &Store, count: usize, mut make: impl FnMut(usize) -> Change) {
    let changes: Vec<Change> = (0..count).map(&mut make).collect();
    let mut times = Vec::with_capacity(count);
    for change in changes {
        let one = Instant::now();
        let current = store.current();
        store.publish(current.apply(current.commit_version() + 1, &[&[change]]).unwrap());
        times.push(one.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / count as f64;
    let (most, worst) = (times[(count - 1) * 999 / 1000], times[count - 1]);
    println!("apply {what}: {mean:.2} us mean, {most:.0} us p99.9, {worst:.0} us worst, {count} applies");
}

/// A graph made by commits alone, its deltas compacted: bytes an edge for both directions, versions included.
fn measure_committed(pairs: &[(u32, u32)]) {
    let store = Store::new(StoreOptions::default());
    store.names().intern_edge_type("T").unwrap();
    let (vertices, edges) = (VERTICES / 3, EDGES / 3);
    let ids: Vec<VertexId> =
        (0..vertices).map(|_| store.allocator().vertex(LabelSetId(0)).unwrap()).collect();
    let create =
        |id: &VertexId| Change::CreateVertex { id: *id, labels: LabelSetId(0), properties: Vec::new() };
    let mut changes: Vec<Change> = ids.iter().map(create).collect();
    for (source, target) in &pairs[..edges] {
        let (source, target) = (ids[*source as usize % vertices], ids[*target as usize % vertices]);
        let edge = EdgeRef { id: store.allocator().edge(source, TYPE).unwrap(), source, target };
        changes.push(Change::CreateEdge { edge, properties: Vec::new() });
    }
    for group in changes.chunks(500) {
        let current = store.current();
        store.publish(current.apply(current.commit_version() + 1, &[group]).unwrap());
    }
    let before = store.current().memory();
    store.chunks_to_compact().into_iter().for_each(|chunk| store.compact(chunk));
    let after = store.current().memory();
    println!(
        "committed graph: {:.2} bytes an edge with deltas, {:.2} compacted ({} + {} versions)",
        (before.adjacency_bytes + before.delta_bytes) as f64 / edges as f64,
        (after.adjacency_bytes + after.delta_bytes) as f64 / edges as f64,
        after.adjacency_bytes,
        after.paging.version_bytes,
    );
    assert_eq!(store.current().statistics().edges(), edges as u64);
}

#[derive(Default)]
struct Blobs(Mutex<Vec<Vec<u8>>>);

impl ChunkSource for Blobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.lock().unwrap()[number(key)].clone())
    }
    fn read_part(&self, key: BlobKey, at: u32, length: u32) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.lock().unwrap()[number(key)][at as usize..][..length as usize].to_vec())
    }
    fn read_end(&self, key: BlobKey, length: u32) -> Result<Vec<u8>, StoreError> {
        let blobs = self.0.lock().unwrap();
        let bytes = &blobs[number(key)];
        Ok(bytes[bytes.len().saturating_sub(length as usize)..].to_vec())
    }
}

fn number(key: BlobKey) -> usize {
    u64::from_le_bytes(key.0[..8].try_into().unwrap()) as usize
}

/// Writes a checkpoint; its manifest.
fn write(snapshot: &Snapshot, blobs: &Blobs) -> Vec<u8> {
    let written = snapshot.checkpoint::<StoreError>(&mut |bytes| {
        let mut all = blobs.0.lock().unwrap();
        let mut key = [0; 20];
        key[..8].copy_from_slice(&(all.len() as u64).to_le_bytes());
        all.push(bytes.to_vec());
        Ok(BlobKey(key))
    });
    written.unwrap().manifest().to_vec()
}

fn measure_checkpoint(snapshot: &Snapshot) {
    let blobs = Arc::new(Blobs::default());
    let start = Instant::now();
    let manifest = write(snapshot, &blobs);
    let written = millis(start);
    let bytes: usize = blobs.0.lock().unwrap().iter().map(Vec::len).sum();
    let start = Instant::now();
    let opened = Snapshot::open(&manifest, blobs, StoreOptions::default()).unwrap();
    let open = millis(start);
    let start = Instant::now();
    opened.load_all(&mut Default::default()).unwrap();
    println!(
        "checkpoint: {written:.0} ms, {bytes} bytes; open {open:.2} ms ({} manifest bytes), load all {:.0} ms",
        manifest.len(),
        millis(start)
    );
}

/// Builds an index while one vertex after another is written: what the commits wait for at most.
fn measure_online(
    store: &Store,
    index: &model::schema::IndexDefinition,
    mut make: impl FnMut(usize) -> Change,
) {
    let (built, mut worst, mut count) = (AtomicUsize::new(0), 0.0f64, 0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..4).for_each(|_| store.current().prepare_index(index).unwrap());
            built.store(1, Ordering::Release);
        });
        while built.load(Ordering::Acquire) == 0 {
            let (change, one) = (make(count), Instant::now());
            let current = store.current();
            store.publish(current.apply(current.commit_version() + 1, &[&[change]]).unwrap());
            worst = worst.max(one.elapsed().as_secs_f64() * 1e6);
            count += 1;
        }
    });
    let (prepared, last) = (millis(start), Instant::now());
    let current = store.current();
    store.publish(
        current.apply(current.commit_version() + 1, &[&[Change::CreateIndex(index.clone())]]).unwrap(),
    );
    let size = store.current().statistics().index(index.id).unwrap().entries;
    println!(
        "an index over {size} vertices, online: {prepared:.0} ms beside {count} commits (worst {worst:.0} us), last step {:.0} us",
        millis(last) * 1e3
    );
}

fn main() {
    if std::env::args().any(|argument| argument == "restricted") {
        return restricted::run();
    }
    let store = Store::new(StoreOptions::default());
    store.names().intern_edge_type("T").unwrap();
    let label = store.names().intern_label("L").unwrap();
    let labels = store.names().intern_label_set(&[label]).unwrap();
    ["number", "name"].iter().for_each(|key| assert!(store.names().intern_key(key).is_ok()));
    let pairs = random_pairs();
    let ids = import(&store, &pairs, labels);
    measure_memory(&store);
    let mut pairs: Vec<(u32, u32)> =
        pairs.iter().map(|(a, b)| (ids[*a as usize], ids[*b as usize])).collect();
    let asked = |part: &str| std::env::args().any(|argument| argument == part);
    if asked("beside") {
        return beside::compare(&store, &pairs);
    }
    if !asked("apply") && !asked("paging") {
        traverse::compare("clean", &store.current(), TYPE, &pairs);
    }

    let mut state = 7;
    let mut changes = Vec::new();
    for _ in 0..VERTICES / 100 {
        let source = VertexId::from_dense(ids[chance(&mut state) as usize % VERTICES]);
        let target = VertexId::from_dense(ids[chance(&mut state) as usize % VERTICES]);
        let edge = EdgeRef { id: store.allocator().edge(source, TYPE).unwrap(), source, target };
        pairs.push((source.dense(), target.dense()));
        changes.push(Change::CreateEdge { edge, properties: Vec::new() });
    }
    let dirty = store.current().apply(2, &[&changes]).unwrap();
    if !asked("apply") && !asked("paging") {
        traverse::compare("1 % dirty", &dirty, TYPE, &pairs);
    }
    if asked("traverse") {
        return;
    }
    store.publish(dirty);
    measure_checkpoint(&store.current());
    paging::compare(&store.current(), &ids);
    if asked("paging") {
        return;
    }

    measure_committed(&pairs);
    let hub = store.allocator().vertex(labels).unwrap();
    measure_applies("hub's birth", &store, 1, |_| Change::CreateVertex {
        id: hub,
        labels,
        properties: Vec::new(),
    });
    let edge_from_hub = |n: usize| {
        let target = VertexId::from_dense(ids[n % VERTICES]);
        Change::CreateEdge {
            edge: EdgeRef { id: store.allocator().edge(hub, TYPE).unwrap(), source: hub, target },
            properties: Vec::new(),
        }
    };
    let group: Vec<Change> = (0..100_000).map(edge_from_hub).collect();
    store.publish(store.current().apply(3, &[&group]).unwrap());
    measure_applies("one edge at a hub of 100 k edges", &store, 50_000, |n| edge_from_hub(n * 5));
    let insert = |n: usize| Change::CreateVertex {
        id: store.allocator().vertex(labels).unwrap(),
        labels,
        properties: vec![(KeyId(0), Value::Int(n as i64)), (KeyId(1), Value::string("someone"))],
    };
    measure_applies("one vertex with two properties", &store, 100_000, insert);
    measure_applies("one property", &store, 100_000, |n| Change::SetProperty {
        id: VertexId::from_dense(ids[(n * 7919) % VERTICES]),
        key: KeyId(0),
        value: Value::Int(n as i64),
    });
    let index = model::schema::IndexDefinition {
        id: model::schema::IndexId(0),
        name: "numbers".into(),
        target: model::schema::SchemaTarget::Vertices(label),
        keys: vec![KeyId(0)],
        unique: false,
    };
    measure_applies("an index over 400 k vertices", &store, 1, |_| Change::CreateIndex(index.clone()));
    measure_applies("one vertex with two properties, indexed", &store, 100_000, insert);
    let texts = model::schema::IndexDefinition {
        id: model::schema::IndexId(1),
        name: "names".into(),
        keys: vec![KeyId(1)],
        ..index
    };
    measure_online(&store, &texts, insert);
}
