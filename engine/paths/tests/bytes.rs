//! The bytes that a search says it holds are those that the allocator gave it, and no step does more than its quota.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with the other tests")]
mod twins;

use paths::algorithms::{
    Cheapest, Clustering, Components, Field, Hand, PageRank, Propagation, ReadWeight, Staged, Weights,
    WorkerPool,
};
use paths::csr::Csr;
use paths::{
    Adjacency, AllShortestPair, Answers, Choice, Conditions, DispatchPolicy, Dispatcher, EdgeScratch, Hops,
    Keep, Listing, Orientation, Part, Path, PathMode, PathPattern, PatternGraph, PatternPath, PatternSearch,
    Progress, Reach, ShortestFrom, ShortestPair, Targets, TrailBatch, TrailEnds, Trails, Turn,
    WeightedShortest, Work, Worker,
};
use std::sync::atomic::{AtomicU32, Ordering};
use twins::Chance;

const VERTICES: u32 = 9_000;
/// Vertices of the next graph. Each is larger than all before it, so that no search takes over what an earlier one left behind.
static NEXT: AtomicU32 = AtomicU32::new(VERTICES);
/// What lies beside the tables: queues, locks, readers.
const SLACK_BYTES: usize = 12 << 10;

/// Lists that are assembled in the room that a search has for it, as a store gives those of changed vertices.
struct Assembled(Csr);

impl Adjacency for Assembled {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound()
    }
    fn edges_estimate(&self) -> Option<u64> {
        self.0.edges_estimate()
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        scratch.clear();
        scratch.extend_from_slice(self.0.neighbours(vertex, &mut Vec::new()));
        scratch
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        let mut none = EdgeScratch::default();
        let (neighbours, edges) = self.0.edges(vertex, &mut none);
        scratch.clear();
        scratch.extend(neighbours, edges);
        scratch.as_slices()
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.0.degree(vertex)
    }
}

/// A graph without hubs, along its edges and against them.
fn graph() -> (Assembled, Assembled) {
    let vertices = NEXT.fetch_add(64, Ordering::Relaxed);
    let mut chance = Chance(11);
    let mut end = || chance.below(u64::from(VERTICES)) as u32;
    let edges: Vec<(u32, u32)> = (0..4 * VERTICES).map(|_| (end(), end())).collect();
    (Assembled(Csr::outgoing(vertices, &edges)), Assembled(Csr::incoming(vertices, &edges)))
}

/// Graphs whose searches are deep or wide, new ones each time.
const FORMS: [&str; 4] = ["a line", "a star", "a star with a line", "a random graph"];

fn form(name: &str) -> (Assembled, Assembled) {
    let line = |from: u32, to: u32| (from..to).map(|vertex| (vertex, vertex + 1)).collect::<Vec<_>>();
    let star = |to: u32| (1..to).map(|vertex| (0, vertex)).collect::<Vec<_>>();
    let edges = match name {
        "a line" => line(0, VERTICES - 1),
        "a star" => star(VERTICES),
        "a star with a line" => [star(VERTICES / 2), line(VERTICES / 2 - 1, VERTICES - 1)].concat(),
        _ => return graph(),
    };
    let vertices = NEXT.fetch_add(64, Ordering::Relaxed);
    (Assembled(Csr::outgoing(vertices, &edges)), Assembled(Csr::incoming(vertices, &edges)))
}

#[track_caller]
fn compare(what: &str, says: usize, before: isize) {
    compare_beside(what, says, before, 0);
}

/// Where some bytes at most are held beside those that are said, or are said twice.
#[track_caller]
fn compare_beside(what: &str, says: usize, before: isize, beside: usize) {
    let given = usize::try_from(heap::held_by_thread() - before).unwrap();
    assert!(says * 5 / 4 + SLACK_BYTES + beside >= given, "{what} holds {given} bytes and says {says}");
    assert!(says <= given * 5 / 4 + SLACK_BYTES + beside, "{what} holds {given} bytes and says {says}");
}

struct Ones;
struct One;

impl Weights for Ones {
    type Reader<'a> = One;
    fn reader(&self) -> One {
        One
    }
}

impl ReadWeight for One {
    fn weight(&mut self, edge: u64) -> f64 {
        1.0 + (edge % 7) as f64
    }
}

/// At some moments on the way, and at the end.
fn worker_pool<S: Staged>(what: &str, before: isize, job: S) {
    let worker_pool = WorkerPool::new(job);
    compare(&format!("{what} at first"), worker_pool.bytes(), before);
    let mut hand = Hand::default();
    while worker_pool.work_on(&mut hand, &mut Work::new(6_000)).unwrap() != Turn::Done {}
    drop(hand);
    compare(what, worker_pool.bytes(), before);
}

#[test]
fn algorithms_over_all_vertices() {
    let _turn = heap::turn();
    let (along, against) = graph();
    let members: Vec<u32> = (0..VERTICES).filter(|vertex| vertex % 5 > 0).collect();
    for all in [true, false] {
        let members: Vec<u32> = if all { (0..VERTICES).collect() } else { members.clone() };
        let labels: Vec<i64> = members.iter().map(|vertex| i64::from(vertex % 100)).collect();
        let before = || heap::held_by_thread();
        let field = || Field::new(&along, &against, Orientation::Directed, members.clone(), all);
        let at = before();
        worker_pool("components", at, Components::new(field()));
        let at = before();
        worker_pool("page rank", at, PageRank::new(field(), 0.85, 3));
        let at = before();
        worker_pool("propagation", at, Propagation::new(field(), labels.clone(), 3));
        let at = before();
        worker_pool("clustering", at, Clustering::new(field()));
        let at = before();
        worker_pool("cheapest", at, Cheapest::new(field(), members[7], Ones).unwrap());
    }
}

/// Steps until it is done, and compares on the way and at the end.
fn stepped<S>(
    what: &str,
    make: impl FnOnce() -> S,
    mut step: impl FnMut(&mut S, &mut Work<'_>) -> bool,
    bytes: impl Fn(&S) -> usize,
) {
    let before = heap::held_by_thread();
    let mut search = make();
    compare(&format!("{what}, at first"), bytes(&search), before);
    let mut steps = 0;
    loop {
        let mut work = Work::new(QUOTA_EDGES);
        let is_more = step(&mut search, &mut work);
        let visited = work.edges_visited();
        assert!(visited <= 2 * QUOTA_EDGES + 64, "{what}: {visited} edges are booked in a step");
        if !is_more {
            break;
        }
        compare(&format!("{what}, on its way"), bytes(&search), before);
        steps += 1;
        if steps == STEPS_MAX {
            break;
        }
    }
    // What it gave back is kept for the searches to come.
    compare_beside(what, bytes(&search), before, 4 * VERTICES as usize);
}

/// Edges that a step may visit; it may pass that by a vertex and its sets.
const QUOTA_EDGES: u64 = 4_500;
/// A search that is not done then is deep enough.
const STEPS_MAX: usize = 12;

#[test]
fn searches_from_a_source() {
    let _turn = heap::turn();
    for both_ways in [false, true] {
        for keep in [Keep::Levels, Keep::Ends, Keep::Count] {
            for sources in [&[3][..], &(0..3_000).collect::<Vec<_>>()] {
                let (along, against) = graph();
                let make = || {
                    let reach =
                        Reach::new(&along, sources, Hops::new(1, 30), Orientation::Directed, keep).unwrap();
                    if both_ways { reach.both_ways(&against) } else { reach }
                };
                let what = format!(
                    "a reach that keeps {keep:?}, both ways {both_ways}, from {} sources",
                    sources.len()
                );
                stepped(&what, make, |reach, work| reach.step(work).unwrap() == Progress::More, Reach::bytes);
            }
        }
    }
    let (along, _) = graph();
    for hops in [Hops::new(0, 2), Hops::new(2, 3), Hops::new(3, 4)] {
        let make = || TrailEnds::new(&along, 3, hops).unwrap();
        let step = |ends: &mut TrailEnds<_>, work: &mut Work<'_>| ends.step(work).unwrap() == Progress::More;
        stepped(&format!("the ends of trails of {hops:?}"), make, step, TrailEnds::bytes);
    }
    for name in FORMS {
        let (along, _) = form(name);
        let make = || TrailEnds::new(&along, 0, Hops::new(1, 3)).unwrap();
        let step = |ends: &mut TrailEnds<_>, work: &mut Work<'_>| ends.step(work).unwrap() == Progress::More;
        stepped(&format!("the ends of trails in {name}"), make, step, TrailEnds::bytes);
    }
}

#[test]
fn shortest_paths() {
    let _turn = heap::turn();
    let directed = Orientation::Directed;
    let hops = Hops::new(1, Hops::UNBOUNDED);
    for name in FORMS {
        for (source, target) in [(0, VERTICES - 1), (0, 0)] {
            let (along, against) = form(name);
            let make = || ShortestPair::new(&along, &against, source, target, hops, directed).unwrap();
            let step = |pair: &mut ShortestPair<_, _>, work: &mut Work<'_>| {
                pair.step(work).unwrap() == Progress::More
            };
            stepped(&format!("a shortest path to {target} in {name}"), make, step, ShortestPair::bytes);
            let (along, against) = form(name);
            let make = || AllShortestPair::new(&along, &against, source, target, hops, directed).unwrap();
            let step = |all: &mut AllShortestPair<_, _>, work: &mut Work<'_>| {
                !matches!(all.next_path(work).unwrap(), Listing::End)
            };
            stepped(&format!("all shortest paths to {target} in {name}"), make, step, AllShortestPair::bytes);
        }
        let (along, against) = form(name);
        let make = || ShortestFrom::new(&along, &against, 0, Targets::All, hops, directed).unwrap();
        let step =
            |from: &mut ShortestFrom<_, _>, work: &mut Work<'_>| from.step(work).unwrap() == Progress::More;
        stepped(&format!("shortest paths from a source in {name}"), make, step, ShortestFrom::bytes);
        let make = || WeightedShortest::new(&along, 0, None, |edge: u64| (edge % 7) as f64).unwrap();
        let step = |paths: &mut WeightedShortest<_, _>, work: &mut Work<'_>| {
            paths.step(work).unwrap() == Progress::More
        };
        stepped(&format!("cheapest paths in {name}"), make, step, WeightedShortest::bytes);
    }
}

#[test]
fn paths_of_every_mode() {
    let _turn = heap::turn();
    for name in FORMS {
        let (along, _) = form(name);
        for mode in [PathMode::Walk, PathMode::Trail, PathMode::Acyclic, PathMode::Simple] {
            for min in [1, VERTICES / 2] {
                // Half of the line is a path before the first is listed.
                let make = || {
                    let trails = Trails::new(&along, 0, Hops::new(min, VERTICES), mode).unwrap();
                    (trails, TrailBatch::with_paths())
                };
                let step = |(trails, batch): &mut (Trails<_, _>, TrailBatch), work: &mut Work<'_>| {
                    batch.clear();
                    trails.fill(work, batch, 300).unwrap() == Progress::More
                };
                let bytes = |(trails, batch): &(Trails<_, _>, TrailBatch)| trails.bytes() + batch.bytes();
                stepped(&format!("paths of {mode:?} from {min} hops in {name}"), make, step, bytes);
            }
        }
    }
}

/// Admits everything.
struct Anything;

impl Conditions for Anything {
    fn admits_vertex(&self, _: usize, _: u32) -> bool {
        true
    }
    fn admits_round(&self, _: usize, _: &[u32], _: &[u64]) -> bool {
        true
    }
    fn admits_path(&self, _: &PatternPath) -> bool {
        true
    }
    fn failure(&self) -> bool {
        false
    }
}

#[test]
fn paths_of_patterns() {
    let _turn = heap::turn();
    for name in FORMS {
        let (along, against) = form(name);
        for choice in [Choice::Every, Choice::Paths(1), Choice::Groups(2)] {
            for (min, max) in [(1, None), (500, Some(600))] {
                let make = || {
                    let part = Part { edges: 1, min, max, has_condition: false };
                    let pattern = PathPattern::new(vec![Part::vertex(false), part]).unwrap();
                    let graph =
                        PatternGraph { along: vec![&along], against: vec![&against], conditions: Anything };
                    PatternSearch::new(graph, pattern, 0, None, PathMode::Trail, choice)
                };
                let step = |search: &mut PatternSearch<_, _>, work: &mut Work<'_>| {
                    search.fill(work, &mut Vec::new(), 50).unwrap() == Progress::More
                };
                let what = format!("{choice:?} of {min} to {max:?} edges in {name}");
                stepped(&what, make, step, PatternSearch::bytes);
            }
        }
    }
}

#[test]
fn dispatched_searches() {
    let _turn = heap::turn();
    for policy in [
        DispatchPolicy::one_thread_one_source(1),
        DispatchPolicy::all_threads_one_source(),
        DispatchPolicy::all_threads_some_sources(3),
        DispatchPolicy::all_threads_lanes(2),
        DispatchPolicy { lanes: 3, ..DispatchPolicy::all_threads_some_sources(2) },
    ] {
        for (keep, with_paths, both_ways) in
            [(Keep::Levels, false, true), (Keep::Count, false, false), (Keep::Levels, true, false)]
        {
            let (along, against) = graph();
            let what = format!("{policy:?} that keeps {keep:?}, paths {with_paths}, both ways {both_ways}");
            let before = heap::held_by_thread();
            let (sources, hops) = ((0..70).collect::<Vec<u32>>(), Hops::new(1, 30));
            let dispatcher =
                Dispatcher::new(&along, &sources, hops, Orientation::Directed, keep, policy).unwrap();
            let dispatcher = if with_paths { dispatcher.with_paths(&against) } else { dispatcher };
            let dispatcher = if both_ways { dispatcher.both_ways(&against) } else { dispatcher };
            drop(sources);
            let (mut worker, mut answers, mut most) = (Worker::new(0), Answers::default(), 0);
            for _ in 0..STEPS_MAX {
                answers.clear();
                let turn = dispatcher.work_on(&mut worker, &mut Work::new(4_500), &mut answers, 300).unwrap();
                let says = dispatcher.bytes();
                most = says.max(most);
                // The lists that the worker fills are not counted; a list of answers is that of its level.
                compare_beside(&what, says + answers.bytes(), before, 8 * VERTICES as usize);
                if turn == Turn::Done {
                    break;
                }
            }
            assert_eq!(dispatcher.bytes_peak(), most);
            let each = most as f64 / f64::from(along.0.vertex_bound());
            assert!(dispatcher.told().ends_with(&format!("at most {each:.1} bytes a vertex")));
        }
    }
}

#[test]
fn plain_paths_and_lists() {
    for length in [1, 100, 10_000] {
        let (vertices, edges) =
            (|| (0..length as u32 + 1).collect::<Vec<u32>>(), || (0..length as u64).collect::<Vec<u64>>());
        let before = heap::held_by_thread();
        let path = Path { vertices: vertices(), edges: edges() };
        assert_eq!(path.bytes() as isize, heap::held_by_thread() - before);
        let before = heap::held_by_thread();
        let path = PatternPath { vertices: vertices(), edges: edges(), rounds: vertices() };
        assert_eq!(path.bytes() as isize, heap::held_by_thread() - before);
        let before = heap::held_by_thread();
        let mut scratch = EdgeScratch::default();
        scratch.extend(&vertices()[1..], &edges());
        assert_eq!(scratch.bytes() as isize, heap::held_by_thread() - before);
    }
}

/// What lists the paths to one end beside the search.
#[test]
fn lists_of_paths() {
    let _turn = heap::turn();
    for name in ["a line", "a star", "a star with a line"] {
        let (along, against) = form(name);
        let hops = Hops::new(1, Hops::UNBOUNDED);
        let mut search =
            ShortestFrom::new(&along, &against, 0, Targets::All, hops, Orientation::Directed).unwrap();
        while search.step(&mut Work::unlimited()).unwrap() == Progress::More {}
        let before = heap::held_by_thread();
        let mut list = search.paths_to(VERTICES - 1).unwrap().unwrap();
        let listed = search.next_path(&mut list, &mut Work::unlimited()).unwrap();
        assert!(matches!(&listed, Listing::Path(path) if path.vertices.last() == Some(&(VERTICES - 1))));
        drop(listed);
        compare(&format!("paths to an end of {name}"), list.bytes(), before);
    }
}

#[test]
fn lists_of_a_graph_are_as_long_as_they_say() {
    let edges = [(0, 1), (0, 2), (0, 2), (1, 1), (2, 0)];
    for (graph, degrees) in [
        (Csr::outgoing(4, &edges), [3, 1, 1, 0]),
        (Csr::incoming(4, &edges), [1, 2, 2, 0]),
        (Csr::undirected(4, &edges), [4, 2, 3, 0]),
    ] {
        let (mut scratch, mut both) = (Vec::new(), EdgeScratch::default());
        for (vertex, degree) in (0..4).zip(degrees) {
            assert_eq!(graph.degree(vertex), degree, "{vertex}");
            assert_eq!(graph.neighbours(vertex, &mut scratch).len(), degree as usize);
            assert_eq!(graph.edges(vertex, &mut both).1.len(), degree as usize);
        }
    }
}
