//! A graph four times its memory budget beside the same graph without one: what a load costs, and that answers agree.

use crate::{Blobs, TYPE, chance, millis};
use model::{ColumnBuilder, Direction, KeyId, VertexId};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use store::*;

/// Vertices of a block, and ends whose texts are read at once.
const BLOCK: usize = 400;
const BATCH: usize = 1_024;
const BLOCKS: usize = 50;

/// Sum of all neighbours, vertices in order: one long scan over one snapshot.
fn sweep(snapshot: &Snapshot) -> u64 {
    let view = snapshot.adjacency(&[TYPE], Direction::Out);
    let mut scratch = Vec::new();
    let mut sum = 0;
    for vertex in 0..black_box(view.vertex_bound()) {
        sum += view.neighbours(vertex, &mut scratch).unwrap().iter().map(|to| *to as u64).sum::<u64>();
    }
    sum
}

/// Vertices reached from `start`; frontiers are walked in the order of pages.
fn reached(snapshot: &Snapshot, start: u32) -> usize {
    let view = snapshot.adjacency(&[TYPE], Direction::Out);
    let mut seen = vec![false; view.vertex_bound() as usize];
    let (mut frontier, mut count, mut scratch) = (vec![start], 0, Vec::new());
    seen[start as usize] = true;
    while !frontier.is_empty() {
        frontier.sort_unstable();
        count += frontier.len();
        let mut next = Vec::new();
        for vertex in frontier {
            for to in view.neighbours(vertex, &mut scratch).unwrap() {
                if !std::mem::replace(&mut seen[*to as usize], true) {
                    next.push(*to);
                }
            }
        }
        frontier = next;
    }
    count
}

/// Digest of a property and a list of vertices drawn at random.
fn points(snapshot: &Snapshot, ids: &[u32], count: usize) -> u64 {
    let view = snapshot.adjacency(&[TYPE], Direction::In);
    let (mut state, mut scratch, mut sum) = (11, Vec::new(), 0u64);
    for _ in 0..count {
        let vertex = ids[chance(&mut state) as usize % ids.len()];
        let list = view.neighbours(vertex, &mut scratch).unwrap().iter().map(|to| *to as u64).sum::<u64>();
        let value = snapshot.property(VertexId::from_dense(vertex), KeyId(0)).unwrap().as_int().unwrap_or(0);
        sum = sum.wrapping_mul(31).wrapping_add(list).wrapping_add(value as u64);
    }
    sum
}

/// Digest of the texts of all ends of the edges of some neighbouring vertices, as a block of a chain is shown.
fn blocks(snapshot: &Snapshot, ids: &[u32], count: usize) -> u64 {
    let view = snapshot.adjacency(&[TYPE], Direction::Out);
    let (mut state, mut scratch, mut sum) = (7, Vec::new(), 0u64);
    for _ in 0..count {
        let first = chance(&mut state) as usize % (ids.len() - BLOCK);
        let mut ends = Vec::new();
        for vertex in &ids[first..first + BLOCK] {
            let found = view.neighbours(*vertex, &mut scratch).unwrap();
            ends.extend(found.iter().map(|end| VertexId::from_dense(*end)));
        }
        for batch in ends.chunks(BATCH) {
            let mut texts = ColumnBuilder::new();
            snapshot.property_column(batch, KeyId(1), &mut texts).unwrap();
            let texts = texts.finish();
            let length = |at: usize| texts.get(at).as_str().map_or(0, |text| text.len() as u64);
            sum = (0..texts.len()).fold(sum, |sum, at| sum.wrapping_mul(31).wrapping_add(length(at)));
        }
    }
    sum
}

fn kernels(what: &str, snapshot: &Snapshot, ids: &[u32], start: u32) -> (u64, usize, [u64; 2]) {
    let time = Instant::now();
    let swept = sweep(snapshot);
    let (sweep_ms, time) = (millis(time), Instant::now());
    let found = reached(snapshot, start);
    let (search_ms, time) = (millis(time), Instant::now());
    let digest = points(snapshot, ids, 4000);
    let (point_us, time) = (millis(time) / 4.0, Instant::now());
    let shown = blocks(snapshot, ids, BLOCKS);
    let block_ms = millis(time) / BLOCKS as f64;
    println!(
        "{what}: sweep {sweep_ms:.1} ms, search {search_ms:.1} ms, point read {point_us:.2} us, block {block_ms:.3} ms"
    );
    (swept, found, [digest, shown])
}

/// Measures a store under a sixteenth, a quarter, a half and twice its pages, each against the same without a budget.
pub fn compare(snapshot: &Snapshot, ids: &[u32]) {
    let blobs = Arc::new(Blobs::default());
    let manifest = crate::write(snapshot, &blobs);
    let whole = Snapshot::open(&manifest, blobs.clone(), StoreOptions::default()).unwrap();
    whole.load_all(&mut Default::default()).unwrap();
    let bytes = whole.memory().paging.page_bytes;
    let expected = kernels("no budget, loaded", &whole, ids, ids[0]);
    let budgets =
        [("a sixteenth", bytes / 16), ("a quarter", bytes / 4), ("a half", bytes / 2), ("twice", bytes * 2)];
    for (name, budget) in budgets {
        let options = StoreOptions { memory_bytes: Some(budget), ..StoreOptions::default() };
        let tight = Snapshot::open(&manifest, blobs.clone(), options).unwrap();
        let found = kernels(&format!("budget {name} of {bytes} bytes"), &tight, ids, ids[0]);
        assert_eq!(found, expected);
        let paging = tight.memory().paging;
        println!(
            "  held {} of {budget}, {} loads, {} evictions",
            paging.total_bytes(),
            paging.loads,
            paging.evictions
        );
    }
}
