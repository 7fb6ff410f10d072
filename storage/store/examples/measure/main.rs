//! Measures what the design promises: traversal beside flat CSR, latency of applying one change, import, memory, checkpoints.
//!
//! Run: `cargo run --release -p tanglewood-store --example measure`. Ratios within one run mean something; absolute figures depend on
//! the machine. Every timed traversal is verified against the flat twin.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use model::{Column, Direction, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId};
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

fn flat(pairs: &[(u32, u32)], bound: usize) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0u32; bound + 1];
    pairs.iter().for_each(|pair| offsets[pair.0 as usize + 1] += 1);
    (0..bound).for_each(|at| offsets[at + 1] += offsets[at]);
    let mut next = offsets.clone();
    let mut neighbours = vec![0; pairs.len()];
    for (source, target) in pairs {
        neighbours[next[*source as usize] as usize] = *target;
        next[*source as usize] += 1;
    }
    (0..bound).for_each(|at| neighbours[offsets[at] as usize..offsets[at + 1] as usize].sort_unstable());
    (offsets, neighbours)
}

/// Breadth first from `start`; distances, 255 where not reached.
fn search<'a>(bound: usize, start: u32, mut visit: impl FnMut(u32, &mut dyn FnMut(&[u32])) + 'a) -> Vec<u8> {
    let mut distances = vec![255u8; bound];
    let (mut frontier, mut next) = (vec![start], Vec::new());
    distances[start as usize] = 0;
    let mut depth = 0;
    while !frontier.is_empty() {
        depth += 1;
        for vertex in &frontier {
            visit(*vertex, &mut |neighbours| {
                for neighbour in neighbours {
                    if distances[*neighbour as usize] == 255 {
                        distances[*neighbour as usize] = depth;
                        next.push(*neighbour);
                    }
                }
            });
        }
        std::mem::swap(&mut frontier, &mut next);
        next.clear();
    }
    distances
}

fn best_of<T>(rounds: usize, mut work: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::MAX;
    let mut last = None;
    for _ in 0..rounds {
        let start = Instant::now();
        last = Some(std::hint::black_box(work()));
        best = best.min(millis(start));
    }
    (best, last.unwrap())
}

fn compare_search(what: &str, snapshot: &Snapshot, pairs: &[(u32, u32)]) {
    let bound = snapshot.vertex_bound() as usize;
    let (offsets, neighbours) = flat(pairs, bound);
    let view = snapshot.adjacency(&[TYPE], Direction::Out);
    let starts: Vec<u32> = pairs.iter().step_by(pairs.len() / 8).map(|pair| pair.0).collect();
    let (mut flat_best, mut view_best) = (0.0, 0.0);
    for start in &starts {
        let (time, expected) = best_of(5, || {
            search(bound, *start, |vertex, found| {
                found(&neighbours[offsets[vertex as usize] as usize..offsets[vertex as usize + 1] as usize])
            })
        });
        flat_best += time;
        let mut scratch = Vec::new();
        let (time, found) = best_of(5, || {
            search(bound, *start, |vertex, found| found(view.neighbours(vertex, &mut scratch).unwrap()))
        });
        view_best += time;
        assert_eq!(found, expected);
    }
    println!(
        "search {what}: flat {flat_best:.2} ms, view {view_best:.2} ms, ratio {:.3}",
        view_best / flat_best
    );
    let (flat_time, sum) = best_of(5, || {
        (0..std::hint::black_box(bound))
            .map(|v| {
                neighbours[offsets[v] as usize..offsets[v + 1] as usize]
                    .iter()
                    .map(|n| *n as u64)
                    .sum::<u64>()
            })
            .sum::<u64>()
    });
    let mut scratch = Vec::new();
    let (view_time, same) = best_of(5, || {
        (0..std::hint::black_box(bound) as u32)
            .map(|v| view.neighbours(v, &mut scratch).unwrap().iter().map(|n| *n as u64).sum::<u64>())
            .sum::<u64>()
    });
    assert_eq!(sum, same);
    println!(
        "sweep  {what}: flat {flat_time:.2} ms, view {view_time:.2} ms, ratio {:.3}",
        view_time / flat_time
    );
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

/// Applies `make(n)` for n below `count`, one at a time; prints mean and worst.
fn measure_applies(what: &str, store: &Store, count: usize, mut make: impl FnMut(usize) -> Change) {
    let changes: Vec<Change> = (0..count).map(&mut make).collect();
    let mut worst = 0.0f64;
    let start = Instant::now();
    for change in changes {
        let one = Instant::now();
        let current = store.current();
        store.publish(current.apply(current.place() + 1, &[&[change]]).unwrap());
        worst = worst.max(one.elapsed().as_secs_f64() * 1e6);
    }
    println!(
        "apply {what}: {:.2} us mean, {worst:.0} us worst, {count} applies",
        millis(start) * 1e3 / count as f64
    );
}

#[derive(Default)]
struct Blobs(Mutex<Vec<Vec<u8>>>);

impl ChunkSource for Blobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.lock().unwrap()[u64::from_le_bytes(key.0[..8].try_into().unwrap()) as usize].clone())
    }
}

fn measure_checkpoint(snapshot: &Snapshot) {
    let blobs = Arc::new(Blobs::default());
    let start = Instant::now();
    let manifest = snapshot.checkpoint::<StoreError>(&mut |bytes| {
        let mut all = blobs.0.lock().unwrap();
        let mut key = [0; 20];
        key[..8].copy_from_slice(&(all.len() as u64).to_le_bytes());
        all.push(bytes.to_vec());
        Ok(BlobKey(key))
    });
    let (written, manifest) = (millis(start), manifest.unwrap());
    let bytes: usize = blobs.0.lock().unwrap().iter().map(Vec::len).sum();
    let start = Instant::now();
    let opened = Snapshot::open(&manifest, blobs, StoreOptions::default()).unwrap();
    let open = millis(start);
    let start = Instant::now();
    opened.load_all().unwrap();
    println!(
        "checkpoint: {written:.0} ms, {bytes} bytes; open {open:.2} ms ({} manifest bytes), load all {:.0} ms",
        manifest.len(),
        millis(start)
    );
}

fn main() {
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
    compare_search("clean", &store.current(), &pairs);

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
    compare_search("1 % dirty", &dirty, &pairs);
    store.publish(dirty);
    measure_checkpoint(&store.current());

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
}
