//! Quotas, hubs, long chains, large graphs, threads and failures.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with the comparisons, which use all of it")]
mod twins;

use paths::csr::Csr;
use paths::{
    Adjacency, AllShortestPair, Answers, Dispatcher, EdgeScratch, Hops, Keep, Listing, Orientation,
    PathError, PathMode, Progress, Reach, ShortestFrom, ShortestPair, TRAIL_HOPS_MAX, Targets, TrailBatch,
    Trails, WeightedShortest, Work, Worker,
};
use std::sync::atomic::{AtomicU32, Ordering};
use twins::Chance;

fn random_edges(vertices: u32, count: usize, seed: u64) -> Vec<(u32, u32)> {
    let mut chance = Chance(seed);
    // The product of two draws makes small ids hubs.
    let mut end = || (chance.below(vertices as u64) * chance.below(vertices as u64) / vertices as u64) as u32;
    (0..count).map(|_| (end(), end())).collect()
}

#[test]
fn no_step_exceeds_its_quota_even_on_a_hub() {
    const LEAVES: u32 = 300_000;
    let edges: Vec<(u32, u32)> = (1..=LEAVES).map(|leaf| (0, leaf)).collect();
    let graph = Csr::outgoing(LEAVES + 1, &edges);
    let mut reach = Reach::new(&graph, &[0], Hops::any(), Orientation::Directed, Keep::Ends).unwrap();
    let mut trails = Trails::new(&graph, 0, Hops::any(), PathMode::Trail).unwrap();
    let (mut steps, mut is_done, mut batch) = (0, false, TrailBatch::ends_only());
    while !is_done {
        let mut work = Work::new(1000);
        is_done = reach.step(&mut work).unwrap() == Progress::Done;
        assert!(work.edges_visited() <= 1001, "{}", work.edges_visited());
        steps += 1;
    }
    assert!(steps > LEAVES as usize / 1000);
    assert_eq!(reach.ends_count(), LEAVES as u64);
    let mut rows = 0;
    loop {
        let mut work = Work::new(1000);
        batch.clear();
        let progress = trails.fill(&mut work, &mut batch, usize::MAX).unwrap();
        assert!(work.edges_visited() <= 1002, "{}", work.edges_visited());
        rows += batch.len();
        if progress == Progress::Done {
            break;
        }
    }
    assert_eq!(rows, LEAVES as usize);
}

#[test]
fn the_callback_ends_a_step() {
    let graph = Csr::outgoing(20_000, &random_edges(20_000, 200_000, 1));
    let mut asked = 0;
    let mut ask = || {
        asked += 1;
        asked % 2 == 0
    };
    let mut reach = Reach::new(&graph, &[0], Hops::any(), Orientation::Directed, Keep::Count).unwrap();
    let mut steps = 1;
    while reach.step(&mut Work::with_yield(u64::MAX, &mut ask)).unwrap() == Progress::More {
        steps += 1;
    }
    assert!(steps > 10 && asked >= 2 * (steps - 1), "{steps} steps, asked {asked} times");
}

#[test]
fn distances_are_those_of_a_plain_queue_on_larger_graphs() {
    for (vertices, count, seed) in [(3_000, 9_000, 7), (100_000, 150_000, 8), (200_000, 800_000, 9)] {
        let edges = random_edges(vertices, count, seed);
        let graph = Csr::outgoing(vertices, &edges);
        let reverse = Csr::incoming(vertices, &edges);
        let twin = twins::levels(&graph, 0);
        let hops = Hops::new(0, Hops::UNBOUNDED);
        let mut search =
            ShortestFrom::new(&graph, &reverse, 0, Targets::All, hops, Orientation::Directed).unwrap();
        while search.step(&mut Work::new(10_000)).unwrap() == Progress::More {}
        let mut reach = Reach::new(&graph, &[0], hops, Orientation::Directed, Keep::Levels).unwrap();
        while reach.step(&mut Work::new(10_000)).unwrap() == Progress::More {}
        let (mut ends, mut distances) = (Vec::new(), Vec::new());
        reach.drain_ends(&mut ends, &mut distances, usize::MAX / 2);
        assert_eq!(ends.len(), twin.iter().flatten().count());
        assert!(ends.iter().zip(&distances).all(|(&end, &distance)| twin[end as usize] == Some(distance)));
        let mut chance = Chance(seed);
        for vertex in 0..vertices {
            assert_eq!(search.distance(vertex), twin[vertex as usize], "vertex {vertex}");
        }
        for _ in 0..200 {
            let target = chance.below(vertices as u64) as u32;
            let mut pair =
                ShortestPair::new(&graph, &reverse, 0, target, hops, Orientation::Directed).unwrap();
            while pair.step(&mut Work::new(500)).unwrap() == Progress::More {}
            assert_eq!(pair.length(), twin[target as usize], "target {target}");
        }
    }
}

#[test]
fn a_long_chain_is_no_exception() {
    const LENGTH: u32 = 100_000;
    let edges: Vec<(u32, u32)> = (0..LENGTH).map(|vertex| (vertex, vertex + 1)).collect();
    let (graph, reverse) = (Csr::outgoing(LENGTH + 1, &edges), Csr::incoming(LENGTH + 1, &edges));
    let directed = Orientation::Directed;
    let mut pair = ShortestPair::new(&graph, &reverse, 0, LENGTH, Hops::any(), directed).unwrap();
    while pair.step(&mut Work::new(1000)).unwrap() == Progress::More {}
    assert_eq!(pair.length(), Some(LENGTH));
    let mut from =
        ShortestFrom::new(&graph, &reverse, 0, Targets::Some(&[LENGTH]), Hops::any(), directed).unwrap();
    from.step(&mut Work::unlimited()).unwrap();
    assert_eq!(from.distance(LENGTH), Some(LENGTH));
    let mut trails = Trails::new(&graph, 0, Hops::new(LENGTH, LENGTH), PathMode::Trail).unwrap();
    let mut batch = TrailBatch::with_paths();
    assert_eq!(trails.fill(&mut Work::unlimited(), &mut batch, 10), Ok(Progress::Done));
    assert_eq!((batch.len(), batch.path(0).1.len()), (1, LENGTH as usize));
}

#[test]
fn an_endless_walk_ends_in_an_honest_error() {
    let graph = Csr::outgoing(1, &[(0, 0)]);
    let mut walks = Trails::new(&graph, 0, Hops::any(), PathMode::Walk).unwrap();
    let mut batch = TrailBatch::ends_only();
    let error = walks.fill(&mut Work::unlimited(), &mut batch, usize::MAX).unwrap_err();
    assert_eq!(error, PathError::PathTooLong { hops_max: TRAIL_HOPS_MAX });
    assert_eq!(error.code(), "path.too-long");
    assert!(error.to_string().contains("1048576") && error.hint().contains("upper bound"));
}

#[test]
fn a_quarter_of_a_trillion_shortest_paths_are_listed_lazily() {
    // 38 diamonds in a row: 2^38 shortest paths.
    let mut edges = Vec::new();
    for diamond in 0..38 {
        let at = diamond * 3;
        edges.extend([(at, at + 1), (at, at + 2), (at + 1, at + 3), (at + 2, at + 3)]);
    }
    let (graph, reverse) = (Csr::outgoing(115, &edges), Csr::incoming(115, &edges));
    let mut all = AllShortestPair::new(&graph, &reverse, 0, 114, Hops::any(), Orientation::Directed).unwrap();
    let mut last = None;
    for _ in 0..1000 {
        let Listing::Path(path) = all.next_path(&mut Work::unlimited()).unwrap() else {
            panic!("there are more")
        };
        assert_eq!(path.length(), 76);
        assert_ne!(last.replace(path.clone()), Some(path));
    }
    assert!(all.bytes() < 100_000, "{}", all.bytes());
}

/// Fails for good after some reads.
struct Failing(Csr, AtomicU32);

impl Failing {
    fn read(&self) {
        let _ = self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    }
}

impl Adjacency for Failing {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound()
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.read();
        if self.failure() { &[] } else { self.0.neighbours(vertex, scratch) }
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.read();
        if self.failure() { (&[], &[]) } else { self.0.edges(vertex, scratch) }
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.0.degree(vertex)
    }
    fn failure(&self) -> bool {
        self.1.load(Ordering::Relaxed) == 0
    }
}

#[test]
fn a_failing_graph_is_never_a_short_answer() {
    // The target 1999 has no edges, so no search ends early by finding it.
    let edges: Vec<_> = random_edges(1999, 6000, 5);
    for reads in [1, 2, 3, 10, 50, 200] {
        let graph = || Failing(Csr::undirected(2000, &edges), AtomicU32::new(reads));
        let both = Orientation::Undirected;
        let mut work = Work::unlimited();
        let failed = Err(PathError::GraphFailed);
        let any = Hops::any();
        assert_eq!(Reach::new(graph(), &[0], any, both, Keep::Ends).unwrap().step(&mut work), failed);
        for policy in ["nT1S", "nTkMS(1)"] {
            let shared =
                Dispatcher::new(graph(), &[0, 1], any, both, Keep::Ends, policy.parse().unwrap()).unwrap();
            let turn = shared.work_on(&mut Worker::new(0), &mut work, &mut Answers::default(), u64::MAX);
            assert_eq!(turn, Err(PathError::GraphFailed));
        }
        let one = std::sync::Arc::new(graph());
        let mut from = ShortestFrom::new(one.clone(), one, 0, Targets::All, any, both).unwrap();
        assert_eq!(from.step(&mut work), failed);
        let mut trails = Trails::new(graph(), 0, any, PathMode::Trail).unwrap();
        assert_eq!(trails.fill(&mut work, &mut TrailBatch::ends_only(), usize::MAX), failed);
        let mut weighted = WeightedShortest::new(graph(), 0, None, |_| 1.0).unwrap();
        assert_eq!(weighted.step(&mut work), failed);
    }
    let one = std::sync::Arc::new(Failing(Csr::undirected(2000, &edges), AtomicU32::new(1)));
    let mut pair =
        ShortestPair::new(one.clone(), one, 0, 1000, Hops::any(), Orientation::Undirected).unwrap();
    assert_eq!(pair.step(&mut Work::unlimited()), Err(PathError::GraphFailed));
}

#[test]
fn wrong_questions_are_refused() {
    let graph = Csr::outgoing(3, &[(0, 1), (1, 2)]);
    let directed = Orientation::Directed;
    let two = Reach::new(&graph, &[0], Hops::new(2, 3), directed, Keep::Ends).err();
    assert_eq!(two, Some(PathError::LeastLengthTooLong { hops_min: 2 }));
    let beyond = Reach::new(&graph, &[3], Hops::any(), directed, Keep::Ends).err();
    assert_eq!(beyond, Some(PathError::VertexOutOfBounds { vertex: 3, bound: 3 }));
    for weight in [-1.0, f64::NAN] {
        let mut search = WeightedShortest::new(&graph, 0, None, move |_| weight).unwrap();
        assert!(matches!(search.step(&mut Work::unlimited()), Err(PathError::BadWeight { edge: 0, .. })));
    }
    let mut none = Reach::new(&graph, &[], Hops::any(), Orientation::Undirected, Keep::Ends).unwrap();
    assert_eq!(none.step(&mut Work::unlimited()), Ok(Progress::Done));
}
