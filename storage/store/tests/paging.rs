//! A store under a memory budget against the same store without one: random reads, searches and commits over a graph four times
//! the budget; and what goes when nobody can see it any more.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_store as store;

use crate::common;

use common::{Chance, Hides, Pair};
use model::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use store::*;

/// Size of a graph.
#[derive(Clone, Copy)]
struct Shape {
    /// Label sets, each with a chunk of its own.
    chunks: usize,
    /// Vertices of each chunk.
    per_chunk: usize,
}

/// Few vertices a chunk, so that a page is quickly read.
const SHORT: Shape = Shape { chunks: 24, per_chunk: 250 };
/// Tables that are long enough to be read in groups of 512 slots; the last group is short.
const LONG: Shape = Shape { chunks: 4, per_chunk: 2_100 };
const TYPE: EdgeTypeId = EdgeTypeId(0);
const KEY: KeyId = KeyId(0);
const TEXT: KeyId = KeyId(1);
/// Readers at once; each may hold a page that is on its way out, and load one more.
const READERS: usize = 2;

#[derive(Default)]
struct Blobs(Mutex<Vec<Vec<u8>>>);

impl Blobs {
    fn checkpoint(&self, store: &Store) -> Vec<u8> {
        let mut write = |bytes: &[u8]| -> Result<BlobKey, StoreError> {
            let mut blobs = self.0.lock().unwrap();
            blobs.push(bytes.to_vec());
            let mut key = [0; 20];
            key[..8].copy_from_slice(&(blobs.len() as u64 - 1).to_le_bytes());
            Ok(BlobKey(key))
        };
        let written = store.current().checkpoint(&mut write).unwrap();
        let manifest = written.manifest().to_vec();
        written.keep();
        store.trim();
        manifest
    }
}

impl ChunkSource for Blobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        let number = u64::from_le_bytes(key.0[..8].try_into().unwrap()) as usize;
        Ok(self.0.lock().unwrap()[number].clone())
    }
}

fn one_by_one(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(task);
}

impl Shape {
    fn edges(self) -> usize {
        self.chunks * self.per_chunk * 5
    }
    fn vertex(self, chance: &mut Chance) -> VertexId {
        VertexId::new(chance.below(self.chunks) as u32, chance.below(self.per_chunk) as u16)
    }
}

/// A store with a random graph, without a budget.
fn roomy(shape: Shape, chance: &mut Chance) -> Store {
    let store = Store::new(StoreOptions::default());
    store.names().intern_edge_type("T").unwrap();
    ["number", "text"].iter().for_each(|key| assert!(store.names().intern_key(key).is_ok()));
    let bulk = Bulk::new(store.allocator());
    for chunk in 0..shape.chunks {
        let label = store.names().intern_label(&format!("L{chunk}")).unwrap();
        let labels = store.names().intern_label_set(&[label]).unwrap();
        let numbers: Column = (0..shape.per_chunk as i64).map(|n| Value::Int(n % 977)).collect();
        let texts: Column =
            (0..shape.per_chunk).map(|n| Value::string(format!("vertex number {n}"))).collect();
        let ids = bulk.vertices(labels, shape.per_chunk, vec![(KEY, numbers), (TEXT, texts)]).unwrap();
        assert_eq!(ids[0].start as usize, chunk * CHUNK_SLOTS);
    }
    let pairs =
        (0..shape.edges()).map(|_| (shape.vertex(chance).dense(), shape.vertex(chance).dense())).collect();
    bulk.edges(TYPE, pairs, Vec::new()).unwrap();
    store.publish(bulk.finish(&store.current(), 1, &one_by_one).unwrap());
    store
}

/// The same store under a share of the memory it takes: one in `divisor`.
fn budgeted(roomy: &Store, blobs: &Arc<Blobs>, divisor: u64) -> (Store, u64) {
    let budget = roomy.paging().page_bytes / divisor;
    let options = StoreOptions { memory_bytes: Some(budget), ..StoreOptions::default() };
    let manifest = blobs.checkpoint(roomy);
    (Store::from_snapshot(Snapshot::open(&manifest, blobs.clone(), options).unwrap()), budget)
}

/// Reads the same of both and compares.
fn compare_reads(shape: Shape, (tight, roomy): (&Snapshot, &Snapshot), chance: &mut Chance, rounds: usize) {
    for direction in [Direction::Out, Direction::In, Direction::Both] {
        let (one, two) = (tight.adjacency(&[], direction), roomy.adjacency(&[], direction));
        let (mut scratch, mut other) = (EdgeScratch::new(), EdgeScratch::new());
        let (mut list, mut list_too) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let vertex = shape.vertex(chance).dense();
            let expected = two.neighbours(vertex, &mut list_too).unwrap();
            assert_eq!(one.neighbours(vertex, &mut list).unwrap(), expected);
            assert_eq!(one.degree(vertex).unwrap() as usize, expected.len());
            assert_eq!(one.edges(vertex, &mut scratch).unwrap(), two.edges(vertex, &mut other).unwrap());
            if let Some(to) = expected.first() {
                let (mut found, mut found_too) = (Vec::new(), Vec::new());
                one.find(vertex, *to, &mut found).unwrap();
                two.find(vertex, *to, &mut found_too).unwrap();
                assert_eq!(found, found_too);
                for edge in found {
                    assert_eq!(tight.edge(edge).unwrap(), roomy.edge(edge).unwrap());
                }
            }
        }
    }
    let ids: Vec<VertexId> = (0..rounds).map(|_| shape.vertex(chance)).collect();
    for key in [KEY, TEXT] {
        let (mut one, mut two) = (ColumnBuilder::new(), ColumnBuilder::new());
        tight.property_column(&ids, key, &mut one).unwrap();
        roomy.property_column(&ids, key, &mut two).unwrap();
        assert_eq!(format!("{:?}", one.finish()), format!("{:?}", two.finish()));
    }
    let all = |snapshot: &Snapshot, id: &VertexId| format!("{:?}", snapshot.properties(*id).unwrap());
    ids.iter().for_each(|id| assert_eq!(all(tight, id), all(roomy, id)));
}

/// Vertices found from `start` by breadth, and the sum of their numbers.
fn search(snapshot: &Snapshot, start: u32) -> (usize, i64) {
    let view = snapshot.adjacency(&[TYPE], Direction::Both);
    let mut seen = vec![false; view.vertex_bound() as usize];
    let (mut frontier, mut count, mut sum, mut scratch) = (vec![start], 0, 0, Vec::new());
    seen[start as usize] = true;
    while !frontier.is_empty() {
        // In the order of pages, as path searches walk large frontiers.
        frontier.sort_unstable();
        let mut next = Vec::new();
        for vertex in frontier {
            count += 1;
            sum += snapshot.property(VertexId(vertex as u64), KEY).unwrap().as_int().unwrap_or(0);
            for to in view.neighbours(vertex, &mut scratch).unwrap() {
                if !std::mem::replace(&mut seen[*to as usize], true) {
                    next.push(*to);
                }
            }
        }
        frontier = next;
    }
    (count, sum)
}

/// Changes that fit the roomy store's current snapshot.
fn random_changes(shape: Shape, store: &Store, chance: &mut Chance) -> Vec<Change> {
    let mut changes = Vec::new();
    let current = store.current();
    let view = current.adjacency(&[TYPE], Direction::Out);
    for _ in 0..12 {
        let (a, b) = (shape.vertex(chance), shape.vertex(chance));
        match chance.below(4) {
            0 => {
                let mut edges = Vec::new();
                view.for_each_edge(a.dense(), |edge| edges.push(edge)).unwrap();
                let known = |edge: &EdgeRef| {
                    changes
                        .iter()
                        .any(|change| matches!(change, Change::DeleteEdge { edge: other } if other == edge))
                };
                if let Some(edge) = edges.first().copied().filter(|edge| !known(edge)) {
                    changes.push(Change::DeleteEdge { edge });
                }
            }
            1 => changes.push(Change::SetProperty {
                id: a,
                key: KEY,
                value: Value::Int(chance.below(99) as i64),
            }),
            _ => {
                let edge = EdgeRef { id: store.allocator().edge(a, TYPE).unwrap(), source: a, target: b };
                changes.push(Change::CreateEdge { edge, properties: Vec::new() });
            }
        }
    }
    changes
}

/// Bytes that may be held beyond the budget: a page that each reader loads before room is made, and what comes between the wish for
/// a checkpoint and its end.
fn slack(shape: Shape, budget: u64) -> u64 {
    let page = budget * 4 / shape.chunks as u64;
    page * READERS as u64 * 2 + budget / 2
}

#[test]
fn a_graph_four_times_the_budget_answers_right() {
    let shape = SHORT;
    for seed in [3, 4] {
        println!("seed {seed}");
        let mut chance = Chance(seed);
        let blobs = Arc::new(Blobs::default());
        let roomy = roomy(shape, &mut chance);
        let (tight, budget) = budgeted(&roomy, &blobs, 4);
        let (mut peak, mut checkpoints) = (0, 0);
        let old = (tight.current(), roomy.current());
        for round in 0..30 {
            let changes = random_changes(shape, &roomy, &mut chance);
            for store in [&roomy, &tight] {
                let current = store.current();
                store.publish(current.apply(current.commit_version() + 1, &[&changes]).unwrap());
            }
            if tight.wants_checkpoint() {
                blobs.checkpoint(&tight);
                checkpoints += 1;
            }
            compare_reads(shape, (&tight.current(), &roomy.current()), &mut chance, 20);
            compare_reads(shape, (&old.0, &old.1), &mut chance, 6);
            if round % 10 == 7 {
                let start = shape.vertex(&mut chance).dense();
                assert_eq!(search(&tight.current(), start), search(&roomy.current(), start));
                assert_eq!(search(&old.0, start), search(&old.1, start));
            }
            peak = peak.max(tight.paging().total_bytes());
        }
        let report = tight.paging();
        println!("budget {budget}, peak {peak}, {checkpoints} checkpoints, {report:?}");
        assert!(report.evictions > 100 && checkpoints > 1, "the budget was felt");
        assert!(peak <= budget + slack(shape, budget), "{peak} bytes of {budget}");
        let manifest = blobs.checkpoint(&tight);
        let again = Snapshot::open(&manifest, blobs.clone(), StoreOptions::default()).unwrap();
        compare_reads(shape, (&again, &roomy.current()), &mut chance, 100);
    }
}

#[test]
fn readers_share_a_budget_with_a_writer() {
    readers_share(SHORT, 4);
}

/// Lists are read by groups, whose pages others evict meanwhile.
#[test]
fn readers_of_long_tables_share_little_memory_with_a_writer() {
    let tight = readers_share(LONG, 16);
    assert!(tight.paging().evictions > 1_000, "{:?}", tight.paging());
}

fn readers_share(shape: Shape, divisor: u64) -> Store {
    let blobs = Arc::new(Blobs::default());
    let roomy = roomy(shape, &mut Chance(8));
    let (tight, budget) = budgeted(&roomy, &blobs, divisor);
    std::thread::scope(|scope| {
        for reader in 0..READERS as u64 {
            let pair = (tight.current(), roomy.current());
            scope.spawn(move || {
                let mut chance = Chance(80 + reader);
                (0..10).for_each(|_| compare_reads(shape, (&pair.0, &pair.1), &mut chance, 20));
                let start = shape.vertex(&mut chance).dense();
                assert_eq!(search(&pair.0, start), search(&pair.1, start));
            });
        }
        let mut chance = Chance(88);
        for _ in 0..40 {
            let changes = random_changes(shape, &roomy, &mut chance);
            for store in [&roomy, &tight] {
                let current = store.current();
                store.publish(current.apply(current.commit_version() + 1, &[&changes]).unwrap());
            }
            if tight.wants_checkpoint() {
                blobs.checkpoint(&tight);
            }
        }
    });
    compare_reads(shape, (&tight.current(), &roomy.current()), &mut Chance(89), 100);
    // A page is at most a whole chunk.
    let slack = if divisor > 4 { roomy.paging().page_bytes } else { slack(shape, budget) };
    assert!(tight.paging().total_bytes() <= budget + slack, "{:?} of {budget}", tight.paging());
    tight
}

/// What no reader can see is gone with its last reader: versions of chunks, their deltas, lists kept for readers, views.
#[test]
fn garbage_goes_with_its_last_reader() {
    let shape = SHORT;
    let mut chance = Chance(5);
    let store = roomy(shape, &mut chance);
    let clean = store.paging();
    let mut readers = Vec::new();
    for _ in 0..30 {
        let changes = random_changes(shape, &store, &mut chance);
        let current = store.current();
        store.publish(current.apply(current.commit_version() + 1, &[&changes]).unwrap());
        let snapshot = store.current();
        search(&snapshot, 0);
        readers.push(snapshot);
    }
    let held = store.paging();
    let chunks = clean.chunk_versions;
    assert!(held.chunk_versions > chunks * 8 && held.version_bytes > 30 * 2 * 64 * chunks, "{held:?}");
    let oldest = readers.swap_remove(0);
    drop(readers);
    let one_reader = store.paging();
    assert!(
        one_reader.chunk_versions <= chunks * 2,
        "an old reader keeps its own versions alone: {one_reader:?}"
    );
    drop(oldest);
    for chunk in store.current().chunks_to_compact(1) {
        store.publish(store.current().compact(chunk).unwrap());
    }
    let after = store.paging();
    assert_eq!((after.chunk_versions, after.version_bytes, after.pinned_bytes), (chunks, 0, 0));
    assert!(after.page_bytes < clean.page_bytes * 3 / 2, "{after:?}, {clean:?}");
}

/// Undirected views join the lists of chunks they ask often; what they show does not change by it, nor after commits.
#[test]
fn joined_lists_are_the_two_lists() {
    let shape = SHORT;
    let mut chance = Chance(6);
    let store = roomy(shape, &mut chance);
    let ids: Vec<u32> = (0..shape.chunks * shape.per_chunk)
        .map(|n| VertexId::new((n / shape.per_chunk) as u32, (n % shape.per_chunk) as u16).dense())
        .collect();
    let before = store.paging().version_bytes;
    for round in 0..4 {
        let snapshot = store.current();
        let view = snapshot.adjacency(&[TYPE], Direction::Both);
        let (mut scratch, mut lists) = (Vec::new(), EdgeScratch::new());
        for _ in 0..4 {
            for vertex in &ids {
                let expected = view.edges(*vertex, &mut lists).unwrap().0;
                assert_eq!(view.neighbours(*vertex, &mut scratch).unwrap(), expected, "round {round}");
            }
        }
        drop(view);
        drop(snapshot);
        let mut changes = random_changes(shape, &store, &mut chance);
        let id = shape.vertex(&mut chance);
        let looped = EdgeRef { id: store.allocator().edge(id, TYPE).unwrap(), source: id, target: id };
        changes.push(Change::CreateEdge { edge: looped, properties: Vec::new() });
        let current = store.current();
        store.publish(current.apply(current.commit_version() + 1, &[&changes]).unwrap());
    }
    let joined = store.paging().version_bytes - before;
    assert!(joined > shape.edges() as u64 * 4, "{joined} bytes: lists were joined");
}

thread_local! {
    /// Is the statement of this thread over?
    static IS_OVER: Cell<bool> = const { Cell::new(false) };
}

/// A source that answers the first read only when it is let go.
struct SlowBlobs {
    blobs: Arc<Blobs>,
    asked: Sender<()>,
    go: Mutex<Option<Receiver<()>>>,
}

impl ChunkSource for SlowBlobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        if let Some(go) = self.go.lock().unwrap().take() {
            self.asked.send(()).unwrap();
            go.recv().unwrap();
        }
        self.blobs.read(key)
    }
}

/// Who waits for a page that another loads leaves when its own statement is over; the other gets it all the same.
#[test]
fn who_waits_for_a_page_ends_with_its_statement() {
    let shape = SHORT;
    model::walk::ended_by(|| IS_OVER.get());
    let blobs = Arc::new(Blobs::default());
    let roomy = roomy(shape, &mut Chance(9));
    let manifest = blobs.checkpoint(&roomy);
    let (asked, was_asked) = channel();
    let (go, let_go) = channel();
    let slow = SlowBlobs { blobs, asked, go: Mutex::new(Some(let_go)) };
    let snapshot = Snapshot::open(&manifest, Arc::new(slow), StoreOptions::default()).unwrap();
    let id = VertexId::new(3, 7);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| snapshot.property(id, KEY));
        was_asked.recv().unwrap();
        let second = scope.spawn(|| {
            IS_OVER.set(true);
            snapshot.property(id, KEY)
        });
        assert!(matches!(second.join().unwrap(), Err(StoreError::Stopped)));
        go.send(()).unwrap();
        let (read, kept) = (first.join().unwrap().unwrap(), roomy.current().property(id, KEY).unwrap());
        assert!(read.as_int().is_some() && read.as_int() == kept.as_int());
    });
}

/// A source that counts the parts it is asked for, and may spoil them.
#[derive(Default)]
struct CountedBlobs {
    blobs: Arc<Blobs>,
    wholes: AtomicUsize,
    parts: AtomicUsize,
    spoils: AtomicBool,
}

impl ChunkSource for CountedBlobs {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        self.wholes.fetch_add(1, Relaxed);
        self.blobs.read(key)
    }
    fn read_part(&self, key: BlobKey, at: u32, length: u32) -> Result<Vec<u8>, StoreError> {
        self.parts.fetch_add(1, Relaxed);
        // The default, over a source that reads wholes.
        let mut part = self.blobs.read_part(key, at, length)?;
        part[0] ^= u8::from(self.spoils.load(Relaxed));
        Ok(part)
    }
    fn read_end(&self, key: BlobKey, length: u32) -> Result<Vec<u8>, StoreError> {
        self.blobs.read_end(key, length)
    }
}

/// Under a budget that nothing fits, each read loads the part that it needs. Everything read is what the twin holds, and what a restricted
/// reader is shown of it; the store goes on from there.
#[test]
fn parts_of_chunks_are_read_as_the_whole() {
    for seed in 41..43 {
        println!("seed {seed}");
        let mut chance = Chance(seed);
        let options =
            StoreOptions { compact_changes_min: 40, index_delta_min: 20, ..StoreOptions::default() };
        let mut pair = Pair::new(options);
        let hides = Hides::random(&mut chance);
        let restriction = Restriction::new(Arc::new(hides));
        let source = Arc::new(CountedBlobs::default());
        for memory_bytes in [1, 20_000, 200_000] {
            for _ in 0..20 {
                let mut changes = Vec::new();
                (0..8).for_each(|_| pair.random_change(&mut chance, &mut changes));
                pair.apply(&changes);
            }
            pair.twin.compare(&pair.store.current());
            if memory_bytes == 20_000 {
                pair.create_index(0, &[0]);
                pair.create_edge_index(0, &[0]);
            }
            let manifest = source.blobs.checkpoint(&pair.store);
            let options = StoreOptions { memory_bytes: Some(memory_bytes), ..options };
            let tight = Snapshot::open(&manifest, source.clone(), options).unwrap();
            [&source.wholes, &source.parts].into_iter().for_each(|count| count.store(0, Relaxed));
            pair.twin.compare(&tight);
            pair.twin.compare_shown(&tight, &hides, &restriction);
            let (wholes, parts) = (source.wholes.load(Relaxed), source.parts.load(Relaxed));
            println!("{memory_bytes} bytes: {wholes} wholes, {parts} parts");
            if memory_bytes == 1 {
                assert!(parts > 100 && parts > wholes, "{parts} parts, {wholes} wholes");
                source.spoils.store(true, Relaxed);
                let of_all = pair.twin.vertices.keys().map(|vertex| tight.properties(*vertex));
                let failed = of_all.filter(|read| matches!(read, Err(StoreError::Corrupt(_)))).count();
                assert!(failed > 0, "a spoilt part is an error");
                source.spoils.store(false, Relaxed);
                pair.twin.compare(&tight);
            }
            pair.store = Store::from_snapshot(tight);
        }
    }
}
