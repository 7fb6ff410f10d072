//! The bytes that a search says it holds are those that the allocator gave it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with the other tests")]
mod twins;

use paths::algorithms::{
    Cheapest, Clustering, Components, Crew, Field, Hand, PageRank, Propagation, ReadWeight, Staged, Weights,
};
use paths::csr::Csr;
use paths::{Hops, Keep, Orientation, Progress, Reach, TrailEnds, Turn, Work};
use twins::Chance;

const VERTICES: u32 = 30_000;
/// What lies beside the tables: queues, locks, readers.
const SLACK_BYTES: usize = 24 << 10;

/// A graph without hubs, along its edges and against them.
fn graph() -> (Csr, Csr) {
    let mut chance = Chance(11);
    let mut end = || chance.below(u64::from(VERTICES)) as u32;
    let edges: Vec<(u32, u32)> = (0..4 * VERTICES).map(|_| (end(), end())).collect();
    (Csr::outgoing(VERTICES, &edges), Csr::incoming(VERTICES, &edges))
}

#[track_caller]
fn compare(what: &str, says: usize, before: isize) {
    let given = usize::try_from(heap::held_by_thread() - before).unwrap();
    assert!(says * 5 / 4 + SLACK_BYTES >= given, "{what} holds {given} bytes and says {says}");
    assert!(says <= given * 5 / 4 + SLACK_BYTES, "{what} holds {given} bytes and says {says}");
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
fn crew<S: Staged>(what: &str, before: isize, job: S) {
    let crew = Crew::new(job);
    compare(&format!("{what} at first"), crew.bytes(), before);
    let mut hand = Hand::default();
    while crew.work_on(&mut hand, &mut Work::new(20_000)).unwrap() != Turn::Done {}
    drop(hand);
    compare(what, crew.bytes(), before);
}

#[test]
fn algorithms_over_all_vertices() {
    let (along, against) = graph();
    let members: Vec<u32> = (0..VERTICES).filter(|vertex| vertex % 5 > 0).collect();
    for all in [true, false] {
        let members: Vec<u32> = if all { (0..VERTICES).collect() } else { members.clone() };
        let labels: Vec<i64> = members.iter().map(|vertex| i64::from(vertex % 100)).collect();
        let before = || heap::held_by_thread();
        let field = || Field::new(&along, &against, Orientation::Directed, members.clone(), all);
        let at = before();
        crew("components", at, Components::new(field()));
        let at = before();
        crew("page rank", at, PageRank::new(field(), 0.85, 3));
        let at = before();
        crew("propagation", at, Propagation::new(field(), labels.clone(), 3));
        let at = before();
        crew("clustering", at, Clustering::new(field()));
        let at = before();
        crew("cheapest", at, Cheapest::new(field(), members[7], Ones).unwrap());
    }
}

#[test]
fn searches_from_a_source() {
    let (along, _) = graph();
    for keep in [Keep::Levels, Keep::Ends, Keep::Count] {
        let before = heap::held_by_thread();
        let mut reach = Reach::new(&along, &[3], Hops::new(0, 30), Orientation::Directed, keep).unwrap();
        while reach.step(&mut Work::new(10_000)).unwrap() == Progress::More {
            compare(&format!("a reach that keeps {keep:?}, on its way"), reach.bytes(), before);
        }
        compare(&format!("a reach that keeps {keep:?}"), reach.bytes(), before);
    }
    let before = heap::held_by_thread();
    let mut ends = TrailEnds::new(&along, 3, Hops::new(2, 3)).unwrap();
    while ends.step(&mut Work::new(10_000)).unwrap() == Progress::More {}
    compare("the ends of trails", ends.bytes(), before);
}
