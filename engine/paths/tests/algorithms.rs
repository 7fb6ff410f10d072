//! The algorithms over all vertices against their definitions, on random small multigraphs and random parts of them, with random quotas.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with the other tests")]
mod twins;

use paths::algorithms::{Clustering, Components, Field, PageRank, Propagation};
use paths::csr::Csr;
use paths::{Orientation, Progress, Work};
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

fn quota(chance: &mut Chance) -> Work<'static> {
    if chance.below(4) == 0 { Work::unlimited() } else { Work::new(1 + chance.below(12)) }
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
        let mut components = Components::new(case.field());
        while components.step(&mut quota(&mut chance)).unwrap() == Progress::More {}
        assert_eq!(components.values(), least.into_values().collect::<Vec<_>>(), "seed {seed}");
        assert!(components.bytes() > 0 && components.field().members() == case.members);
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
        let mut search = PageRank::new(case.field(), 0.85, rounds);
        while search.step(&mut quota(&mut chance)).unwrap() == Progress::More {}
        let values = search.values();
        assert!(values.iter().zip(ranks.values()).all(|(a, b)| (a - b).abs() < 1e-12), "seed {seed}");
        assert!(values.is_empty() || (values.iter().sum::<f64>() - 1.0).abs() < 1e-9, "seed {seed}");
        assert!(search.bytes() > 0 && search.field().members() == case.members);
    }
}

#[test]
fn labels_spread_by_their_definition() {
    for seed in 0..CASES {
        let (case, mut chance) = Case::random(seed);
        let rounds = chance.below(6) as u32;
        let first: Vec<i64> = case.members.iter().map(|_| chance.below(30) as i64 - 10).collect();
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
        let mut search = Propagation::new(case.field(), &first, rounds);
        while search.step(&mut quota(&mut chance)).unwrap() == Progress::More {}
        assert_eq!(search.values(), labels.into_values().collect::<Vec<_>>(), "seed {seed}");
        assert!(search.bytes() > 0 && search.field().members() == case.members);
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
        let mut search = Clustering::new(case.field());
        while search.step(&mut quota(&mut chance)).unwrap() == Progress::More {}
        assert_eq!(search.values(), wanted, "seed {seed}");
        assert!(search.bytes() > 0 && search.field().members() == case.members);
        triangles += usize::from(wanted.iter().any(|value| *value > 0.0));
    }
    assert!(triangles > 100, "{triangles}");
}
