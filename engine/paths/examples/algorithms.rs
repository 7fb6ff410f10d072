//! The algorithms over whole graphs on plain arrays, on one thread and on two: milliseconds of each, without a store and without executors.
//!
//! `cargo run --profile quick -p tanglewood-paths --example algorithms -- SCALE` for a recursive matrix of so many bits.
#![allow(clippy::disallowed_methods)]
use tanglewood_paths::algorithms::*;
use tanglewood_paths::csr::Csr;
use tanglewood_paths::{Orientation, Turn, Work};
use world::chance::Chance;
use world::clock::monotonic_ns;

/// Each edge weighs from 1 to 255, as good as drawn.
struct Drawn;

impl Weights for Drawn {
    type Reader<'a> = Drawn;
    fn reader(&self) -> Drawn {
        Drawn
    }
}

impl ReadWeight for Drawn {
    fn weight(&mut self, edge: u64) -> f64 {
        ((edge.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % 255 + 1) as f64
    }
}

fn rmat(scale: u32) -> Vec<(u32, u32)> {
    let mut chance = Chance::seeded(43);
    let mut numbers: Vec<u32> = (0..1 << scale).collect();
    chance.shuffle(&mut numbers);
    let mut edge = |_| {
        let (mut from, mut to) = (0, 0);
        for _ in 0..scale {
            let drawn = chance.below(100);
            let quarter = usize::from(drawn >= 57) + usize::from(drawn >= 76) + usize::from(drawn >= 95);
            (from, to) = (from << 1 | quarter >> 1, to << 1 | quarter & 1);
        }
        (numbers[from], numbers[to])
    };
    (0..16_u64 << scale).map(&mut edge).collect()
}

/// Three runs on one thread and three on two: the best of each, and the answer, which must be the same in all to the last bit.
fn run<S: Staged>(name: &str, job: impl Fn() -> S, told: impl Fn(&S) -> f64) {
    let mut answer = None;
    for threads in [1, 2] {
        let mut best = f64::MAX;
        for _ in 0..3 {
            let begin = monotonic_ns();
            let worker_pool = WorkerPool::new(job());
            world::threads::in_parallel("pool", threads, |_| {
                let mut hand = Hand::default();
                while worker_pool.work_on(&mut hand, &mut Work::new(16_384)).unwrap() != Turn::Done {}
            });
            best = best.min((monotonic_ns() - begin) as f64 / 1e6);
            let found = told(worker_pool.job());
            let first = *answer.get_or_insert(found);
            assert_eq!(found.to_bits(), first.to_bits(), "{name}: {found} and {first}");
        }
        println!("{name:<10} {threads} threads {best:>9.1} ms   {}", answer.unwrap());
    }
}

fn main() {
    let scale = std::env::args().nth(1).and_then(|scale| scale.parse().ok()).unwrap_or(16);
    let (vertices, edges) = (1_u32 << scale, rmat(scale));
    let (out, into) = (Csr::outgoing(vertices, &edges), Csr::incoming(vertices, &edges));
    let both = Csr::undirected(vertices, &edges);
    let present = |vertex: &u32| !both.list(*vertex).is_empty();
    let members: Vec<u32> = (0..vertices).filter(present).collect();
    let count = members.len();
    let directed = || Field::new(&out, &into, Orientation::Directed, members.clone(), true);
    let undirected = || Field::new(&both, &both, Orientation::Undirected, members.clone(), true);
    let first: Vec<i64> = members.iter().map(|vertex| i64::from(*vertex)).collect();
    let sum = |value: &dyn Fn(usize) -> f64| (0..count).map(value).sum::<f64>();
    run("components", || Components::new(directed()), |job| sum(&|at| f64::from(job.value(at))));
    run("page rank", || PageRank::new(directed(), 0.85, 20), |job| sum(&|at| job.value(at).powi(2)));
    let labels = || Propagation::new(undirected(), first.clone(), 10);
    run("labels", labels, |job| sum(&|at| job.value(at) as f64));
    run("clustering", || Clustering::new(undirected()), |job| sum(&|at| job.value(at)));
    run("clustering, directed", || Clustering::new(directed()), |job| sum(&|at| job.value(at)));
    let cheapest = || Cheapest::new(directed(), out.hub(), Drawn).unwrap();
    run("cheapest", cheapest, |job| (0..job.bound()).filter_map(|vertex| job.value(vertex)).sum::<f64>());
}
