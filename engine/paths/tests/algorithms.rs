//! The algorithms over all vertices against their definitions, on random small multigraphs and random parts of them, with random quotas.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with the other tests")]
mod twins;

use paths::algorithms::{
    Cheapest, Clustering, Components, Field, Hand, PageRank, Propagation, ReadWeight, Staged, Weights,
    WorkerPool,
};
use paths::csr::Csr;
use paths::{Adjacency, EdgeScratch, Orientation, PathError, Turn, Work};
use std::collections::{BTreeMap, BTreeSet};
use twins::{Chance, dense};

const CASES: u64 = 400;

/// A random graph and some of its vertices.
struct Case {
    orientation: Orientation,
    along: Csr,
    against: Csr,
    members: Vec<u32>,
    all: bool,
}

impl Case {
    fn random(seed: u64) -> (Case, Chance) {
        let mut chance = Chance(seed ^ 0xA160);
        let vertices = 1 + chance.below(40) as u32;
        let (orientation, along, against) = dense(&mut chance, vertices.max(2), 4, seed.is_multiple_of(3));
        let all = chance.below(2) == 0;
        let bound = paths::Adjacency::vertex_bound(&along);
        let members = (0..bound).filter(|_| all || chance.below(4) > 0).collect();
        (Case { orientation, along, against, members, all }, chance)
    }
    fn field(&self) -> Field<&Csr> {
        Field::new(&self.along, &self.against, self.orientation, self.members.clone(), self.all)
    }
    fn out(&self, vertex: u32) -> Vec<u32> {
        self.along.list(vertex).iter().copied().filter(|far| self.members.contains(far)).collect()
    }
    /// Ends of edges that lead here; of undirected ones, all.
    fn inward(&self, vertex: u32) -> Vec<u32> {
        self.against.list(vertex).iter().copied().filter(|far| self.members.contains(far)).collect()
    }
}

/// Up to three workers in any order, with quotas of any size.
fn finished<S: Staged>(job: S, chance: &mut Chance) -> Result<WorkerPool<S>, PathError> {
    let worker_pool = WorkerPool::new(job);
    let mut hands: Vec<Hand<S>> = (0..1 + chance.below(3)).map(|_| Hand::default()).collect();
    loop {
        let at = chance.below(hands.len() as u64) as usize;
        let mut work = match chance.below(4) {
            0 => Work::unlimited(),
            _ => Work::new(1 + chance.below(12)),
        };
        if worker_pool.work_on(&mut hands[at], &mut work)? == Turn::Done {
            assert!(worker_pool.bytes() > 0);
            return Ok(worker_pool);
        }
    }
}

fn all<T>(count: usize, value: impl Fn(usize) -> T) -> Vec<T> {
    (0..count).map(value).collect()
}

#[test]
fn components_are_those_of_repeated_spreading() {
    for seed in 0..CASES {
        let (case, mut chance) = Case::random(seed);
        let mut least: BTreeMap<u32, u32> = case.members.iter().map(|vertex| (*vertex, *vertex)).collect();
        for _ in 0..case.members.len() {
            for vertex in &case.members {
                for far in case.out(*vertex) {
                    let least_of_both = least[vertex].min(least[&far]);
                    least.insert(*vertex, least_of_both);
                    least.insert(far, least_of_both);
                }
            }
        }
        let worker_pool = finished(Components::new(case.field()), &mut chance).unwrap();
        let values = all(case.members.len(), |at| worker_pool.job().value(at));
        assert_eq!(values, least.into_values().collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(worker_pool.job().field().members(), case.members);
    }
}

#[test]
fn ranks_follow_their_definition_and_add_up_to_one() {
    for seed in 0..CASES {
        let (case, mut chance) = Case::random(seed);
        let (count, rounds) = (case.members.len() as f64, chance.below(8) as u32);
        let mut ranks: BTreeMap<u32, f64> =
            case.members.iter().map(|vertex| (*vertex, 1.0 / count)).collect();
        for _ in 0..rounds {
            let stuck = |vertex: &&u32| case.out(**vertex).is_empty();
            let lost: f64 = case.members.iter().filter(stuck).map(|vertex| ranks[vertex]).sum();
            let rank = |vertex: &u32| {
                let near = case.inward(*vertex);
                let shares: f64 = near.iter().map(|near| ranks[near] / case.out(*near).len() as f64).sum();
                (*vertex, 0.15 / count + 0.85 * (shares + lost / count))
            };
            ranks = case.members.iter().map(rank).collect();
        }
        let worker_pool = finished(PageRank::new(case.field(), 0.85, rounds), &mut chance).unwrap();
        let values = all(case.members.len(), |at| worker_pool.job().value(at));
        let again = finished(PageRank::new(case.field(), 0.85, rounds), &mut chance).unwrap();
        assert_eq!(
            values,
            all(case.members.len(), |at| again.job().value(at)),
            "seed {seed}: to the last bit"
        );
        assert!(values.iter().zip(ranks.values()).all(|(a, b)| (a - b).abs() < 1e-12), "seed {seed}");
        assert!(values.is_empty() || (values.iter().sum::<f64>() - 1.0).abs() < 1e-9, "seed {seed}");
        assert_eq!(worker_pool.job().field().members(), case.members);
    }
}

#[test]
fn labels_spread_by_their_definition() {
    for seed in 0..CASES {
        let (case, mut chance) = Case::random(seed);
        let rounds = chance.below(6) as u32;
        let apart = [1, 1 << 50][seed as usize % 2];
        let first: Vec<i64> = case.members.iter().map(|_| (chance.below(30) as i64 - 10) * apart).collect();
        let mut labels: BTreeMap<u32, i64> =
            case.members.iter().copied().zip(first.iter().copied()).collect();
        for _ in 0..rounds {
            let label = |vertex: &u32| {
                let mut near = case.out(*vertex);
                if case.orientation == Orientation::Directed {
                    near.extend(case.inward(*vertex));
                }
                let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
                near.iter().for_each(|near| *counts.entry(labels[near]).or_default() += 1);
                let most = counts.values().max().copied();
                let best = counts.iter().find(|(_, count)| Some(**count) == most).map(|(label, _)| *label);
                (*vertex, best.unwrap_or(labels[vertex]))
            };
            labels = case.members.iter().map(label).collect();
        }
        let worker_pool = finished(Propagation::new(case.field(), first, rounds), &mut chance).unwrap();
        let values = all(case.members.len(), |at| worker_pool.job().value(at));
        assert_eq!(values, labels.into_values().collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(worker_pool.job().field().members(), case.members);
    }
}

#[test]
fn clustering_counts_edges_among_neighbours() {
    let mut triangles = 0;
    for seed in 0..CASES {
        let (case, mut chance) = Case::random(seed);
        let value = |vertex: &u32| {
            let mut around: BTreeSet<u32> =
                case.out(*vertex).into_iter().chain(case.inward(*vertex)).collect();
            around.remove(vertex);
            let inner = |near: &u32| {
                let ends: BTreeSet<u32> = case.out(*near).into_iter().filter(|far| far != near).collect();
                ends.intersection(&around).count()
            };
            let among: usize = around.iter().map(inner).sum();
            let pairs = around.len() * around.len().saturating_sub(1);
            if pairs == 0 { 0.0 } else { among as f64 / pairs as f64 }
        };
        let wanted: Vec<f64> = case.members.iter().map(value).collect();
        let worker_pool = finished(Clustering::new(case.field()), &mut chance).unwrap();
        assert_eq!(all(case.members.len(), |at| worker_pool.job().value(at)), wanted, "seed {seed}");
        assert_eq!(worker_pool.job().field().members(), case.members);
        triangles += usize::from(wanted.iter().any(|value| *value > 0.0));
    }
    assert!(triangles > 100, "{triangles}");
}

/// By edge; no number where there is none.
struct Table(Vec<f64>);
struct TableReader<'a>(&'a [f64]);

impl Weights for Table {
    type Reader<'a> = TableReader<'a>;
    fn reader(&self) -> TableReader<'_> {
        TableReader(&self.0)
    }
}

impl ReadWeight for TableReader<'_> {
    fn weight(&mut self, edge: u64) -> f64 {
        self.0.get(edge as usize).copied().unwrap_or(f64::NAN)
    }
}

#[test]
fn cheapest_distances_are_those_of_repeated_relaxation() {
    let (mut reached, mut refused) = (0, 0);
    for seed in 0..CASES {
        let (case, mut chance) = Case::random(seed);
        if case.members.is_empty() {
            continue;
        }
        let source = case.members[chance.below(case.members.len() as u64) as usize];
        let weight = |chance: &mut Chance| match chance.below(40) {
            0 if seed % 4 == 0 => [f64::NAN, -1.0][chance.below(2) as usize],
            1 | 2 => 0.0,
            3 => 1e300 * chance.below(3) as f64,
            4 => f64::INFINITY,
            _ => chance.below(1000) as f64 / 7.0,
        };
        let mut scratch = EdgeScratch::default();
        let mut edges = Vec::new();
        for from in &case.members {
            let (ends, ids) = case.along.edges(*from, &mut scratch);
            let inner = ends.iter().zip(ids).filter(|(end, _)| case.members.contains(end));
            edges.extend(inner.map(|(end, edge)| (*from, *end, *edge)));
        }
        let count = edges.iter().map(|edge| edge.2 + 1).max().unwrap_or(0);
        let table: Vec<f64> = (0..count).map(|_| weight(&mut chance)).collect();
        let mut least: BTreeMap<u32, f64> = [(source, 0.0)].into();
        for _ in 0..case.members.len() {
            for (from, to, edge) in &edges {
                let sum = least.get(from).map_or(f64::INFINITY, |far| far + table[*edge as usize]);
                if table[*edge as usize] >= 0.0 && sum < *least.get(to).unwrap_or(&f64::INFINITY) {
                    least.insert(*to, sum);
                }
            }
        }
        let far = |vertex: &u32| *least.get(vertex).unwrap_or(&f64::INFINITY);
        let counts = |(from, to, edge): &&(u32, u32, u64)| {
            let weight = table[*edge as usize];
            (weight.is_nan() || weight < 0.0) && far(from) < far(to)
        };
        let bad = edges.iter().filter(counts).map(|edge| edge.2).min();
        let search = Cheapest::new(case.field(), source, Table(table)).unwrap();
        match (finished(search, &mut chance), bad) {
            (Ok(worker_pool), None) => {
                let bound = worker_pool.job().bound() as u32;
                let wanted: Vec<Option<f64>> = (0..bound).map(|vertex| least.get(&vertex).copied()).collect();
                assert_eq!(all(bound as usize, |at| worker_pool.job().value(at)), wanted, "seed {seed}");
                reached += usize::from(least.len() > 3);
            }
            (Err(PathError::BadWeight { edge, .. }), Some(bad)) => {
                assert_eq!(edge, bad, "seed {seed}");
                refused += 1;
            }
            (outcome, bad) => panic!("seed {seed}: {:?}, {bad:?}", outcome.map(|_| ())),
        }
    }
    assert!(reached > 100 && refused > 10, "{reached} {refused}");
}

#[test]
fn triangles_among_many_and_beyond_the_core() {
    // Hubs that all know each other, and many that know some of them: rows of bits are compared word by word, and lists go beyond them.
    let mut chance = Chance(7);
    for is_directed in [false, true] {
        let count = 9_000;
        let mut edges: Vec<(u32, u32)> =
            (0..300).flat_map(|one| (0..one).map(move |two| (one, two))).collect();
        edges.retain(|_| chance.below(3) > 0);
        for vertex in 300..count {
            edges.extend((0..3).map(|_| (vertex, chance.below(300) as u32)));
            edges.extend((0..3).map(|_| (vertex, vertex - 1 - chance.below(20) as u32)));
            edges.extend((chance.below(3) == 0).then_some((vertex - 1, vertex)));
        }
        let case = match is_directed {
            true => (Orientation::Directed, Csr::outgoing(count, &edges), Csr::incoming(count, &edges)),
            false => (Orientation::Undirected, Csr::undirected(count, &edges), Csr::default()),
        };
        let field = Field::new(&case.1, &case.2, case.0, (0..count).collect(), true);
        let worker_pool = finished(Clustering::new(field), &mut chance).unwrap();
        let out: Vec<BTreeSet<u32>> =
            (0..count).map(|vertex| case.1.list(vertex).iter().copied().collect()).collect();
        let mut around = out.clone();
        out.iter().zip(0..).for_each(|(ends, vertex)| {
            ends.iter().for_each(|end| {
                around[*end as usize].insert(vertex);
            });
        });
        for (vertex, near) in around.iter().enumerate() {
            let mut near = near.clone();
            near.remove(&(vertex as u32));
            let among: usize = near
                .iter()
                .map(|one| out[*one as usize].iter().filter(|two| *two != one && near.contains(two)).count())
                .sum();
            let pairs = near.len() * near.len().saturating_sub(1);
            let wanted = if pairs == 0 { 0.0 } else { among as f64 / pairs as f64 };
            assert_eq!(worker_pool.job().value(vertex), wanted, "vertex {vertex}");
        }
    }
}

#[test]
fn threads_of_their_own_agree() {
    let (case, _) = Case::random(3);
    let alone = finished(Components::new(case.field()), &mut Chance(1)).unwrap();
    let worker_pool = WorkerPool::new(Components::new(case.field()));
    world::threads::in_parallel("pool", 4, |_| {
        let mut hand = Hand::default();
        while worker_pool.work_on(&mut hand, &mut Work::new(5)).unwrap() != Turn::Done {}
    });
    let values = |worker_pool: &WorkerPool<Components<&Csr>>| {
        all(case.members.len(), |at| worker_pool.job().value(at))
    };
    assert_eq!(values(&worker_pool), values(&alone));
}
