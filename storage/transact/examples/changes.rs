//! The cost of large commits: groups of random new edges on a graph of a million vertices and ten million edges, in memory.
//!
//! `cargo run --release -p tanglewood-transact --example changes -- [GROUPS] [CHANGES]`: prints the time a group takes to be written into a
//! transaction and to be committed, median and worst, and checks that all edges are there, at both ends.
#![allow(clippy::disallowed_methods, missing_docs)]

use model::{Direction, LabelSetId, VertexId};
use store::Bulk;
use tanglewood_transact::{Mode, OpenOptions, open};
use world::chance::Chance;
use world::clock::monotonic_ns;

const VERTICES: usize = 1_000_000;
const EDGES: usize = 10_000_000;

fn median_and_worst(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    format!("{:.1} ms median, {:.1} ms worst", times[times.len() / 2], times[times.len() - 1])
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|number| number.parse::<usize>().unwrap());
    let (groups, changes) = (arguments.next().unwrap_or(80), arguments.next().unwrap_or(10_000));
    let engine = open(None, &OpenOptions::default()).unwrap().0;
    let edge_type = engine.begin(Mode::Write).edge_type("E").unwrap();
    let (mut chance, mut ids) = (Chance::seeded(1), Vec::new());
    engine
        .install(|current, commit_version| {
            let bulk = Bulk::new(engine.store().allocator());
            let labels = current.names().intern_label_set(&[])?;
            debug_assert_eq!(labels, LabelSetId(0));
            ids = bulk.vertices(labels, VERTICES, Vec::new())?.into_iter().flatten().collect();
            let mut end = || ids[chance.below(VERTICES as u64) as usize];
            bulk.edges(edge_type, (0..EDGES).map(|_| (end(), end())).collect(), Vec::new())?;
            let alone = |count: usize, task: &(dyn Fn(usize) + Sync)| (0..count).for_each(task);
            Ok(bulk.finish(current, commit_version, &alone)?)
        })
        .unwrap();
    let mut end = || VertexId::from_dense(ids[chance.below(VERTICES as u64) as usize]);
    let (mut written, mut committed) = (Vec::new(), Vec::new());
    for _ in 0..groups {
        let pairs: Vec<(VertexId, VertexId)> = (0..changes).map(|_| (end(), end())).collect();
        let begin_ns = monotonic_ns();
        let transaction = engine.begin(Mode::Write);
        for (source, target) in pairs {
            transaction.create_edge(source, target, edge_type, Vec::new()).unwrap();
        }
        let written_ns = monotonic_ns();
        transaction.commit().unwrap();
        committed.push((monotonic_ns() - written_ns) as f64 / 1e6);
        written.push((written_ns - begin_ns) as f64 / 1e6);
    }
    println!("{groups} groups of {changes} new edges");
    println!("written into a transaction: {}", median_and_worst(&mut written));
    println!("committed: {}", median_and_worst(&mut committed));
    let snapshot = engine.snapshot();
    for direction in [Direction::Out, Direction::In] {
        let lists = snapshot.adjacency(&[edge_type], direction);
        let degrees = (0..snapshot.vertex_bound()).map(|vertex| lists.degree(vertex).unwrap() as usize);
        assert_eq!(degrees.sum::<usize>(), EDGES + groups * changes, "{direction:?}");
    }
    assert_eq!(snapshot.statistics().edges() as usize, EDGES + groups * changes);
}
