//! Every search against its slow twin, on random small multigraphs with self-loops, parallel edges and predicates,
//! directed and undirected, with random quotas. A failure prints the case; `Case::random(seed, ..)` replays it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with the tests of limits")]
mod twins;

use paths::{
    AllShortestPair, Hops, Keep, Listing, Path, PathMode, Progress, Reach, ShortestFrom, ShortestPair,
    TRAIL_ENDS_HOPS_MAX, Targets, Toward, TrailBatch, TrailEnds, Trails, WeightedShortest, Work,
};
use std::collections::BTreeMap;
use twins::{Case, Chance, NoSeventh, dense};

/// Enough that each rare branch occurs; about ten seconds without optimisation.
const CASES: u64 = 1500;

fn hops_of(chance: &mut Chance) -> Hops {
    let max = if chance.below(4) == 0 { Hops::UNBOUNDED } else { chance.below(6) as u32 };
    Hops::new(chance.below(2) as u32, max)
}

/// Twin of the distance searches: the least length of a trail from any source to each end.
fn ends_by_trails(case: &Case, sources: &[u32], hops: Hops) -> BTreeMap<u32, u32> {
    let mut ends = BTreeMap::new();
    for &source in sources {
        for path in case.paths(source, hops.max.min(case.edges.len() as u32), PathMode::Trail) {
            if path.length() >= hops.min && path.length() <= hops.max {
                let end = *path.vertices.last().unwrap();
                let least = ends.entry(end).or_insert(path.length());
                *least = path.length().min(*least);
            }
        }
    }
    ends
}

fn quota(chance: &mut Chance) -> Work<'static> {
    if chance.below(4) == 0 { Work::unlimited() } else { Work::new(1 + chance.below(12)) }
}

#[test]
fn reach_finds_the_ends_of_all_trails() {
    let mut returns = [0, 0];
    for seed in 0..CASES {
        let case = Case::random(seed, 7, 8);
        let chance = &mut Chance(seed ^ 0xA11CE);
        let sources: Vec<u32> =
            (0..1 + chance.below(3)).map(|_| chance.below(case.vertices as u64) as u32).collect();
        let hops = hops_of(chance);
        let twin = ends_by_trails(&case, &sources, hops);
        returns[(case.orientation == paths::Orientation::Undirected) as usize] +=
            (hops.min == 1 && sources.iter().any(|source| twin.contains_key(source))) as u32;
        for keep in [Keep::Levels, Keep::Ends, Keep::Count] {
            let mut reach = Reach::new(case.forward(), &sources, hops, case.orientation, keep).unwrap();
            let (mut ends, mut distances) = (Vec::new(), Vec::new());
            while reach.step(&mut quota(chance)).unwrap() == Progress::More {
                reach.drain_ends(&mut ends, &mut distances, chance.below(4) as usize);
            }
            while reach.drain_ends(&mut ends, &mut distances, 1 + chance.below(4) as usize) > 0 {}
            assert_eq!(reach.ends_count(), twin.len() as u64, "{case:?} from {sources:?} {hops:?} {keep:?}");
            assert!(reach.bytes() > 0);
            check_ends(keep, &twin, ends, distances, &format!("{case:?} from {sources:?} {hops:?} {keep:?}"));
        }
    }
    assert!(returns[0] > 100 && returns[1] > 100, "paths back to a source are not rare: {returns:?}");
}

/// Exactly those vertices at which a trail of such a length ends, however many sets of edges had to be kept for it.
#[test]
fn ends_of_trails_are_found_without_the_trails() {
    let mut late = 0;
    for seed in 0..CASES {
        let chance = &mut Chance(seed ^ 0xE2D5);
        let (vertices, edges) = if seed % 3 == 0 { (4, 11) } else { (7, 9) };
        let case = Case::random(seed, vertices, edges);
        let source = chance.below(case.vertices as u64) as u32;
        let min = chance.below(u64::from(TRAIL_ENDS_HOPS_MAX) + 1) as u32;
        let max = (min + chance.below(4) as u32).min(TRAIL_ENDS_HOPS_MAX);
        let hops = Hops::new(min, max);
        let twin: Vec<u32> = ends_by_trails(&case, &[source], hops).into_keys().collect();
        let mut search = TrailEnds::new(case.forward(), source, hops).unwrap();
        let mut ends = Vec::new();
        while search.step(&mut quota(chance)).unwrap() == Progress::More {
            search.drain(&mut ends, chance.below(3) as usize);
            assert!(search.bytes() > 0);
        }
        while search.drain(&mut ends, 1 + chance.below(4) as usize) > 0 {}
        ends.sort_unstable();
        assert_eq!(ends, twin, "{case:?} from {source} {hops:?}");
        late += usize::from(min > 3 && !twin.is_empty());
    }
    assert!(late > 100, "long trails are not rare: {late}");
    let graph = Case::random(1, 3, 3);
    assert!(TrailEnds::new(graph.forward(), 99, Hops::new(2, 3)).is_err());
    assert!(TrailEnds::new(graph.forward(), 0, Hops::new(2, TRAIL_ENDS_HOPS_MAX + 1)).is_err());
}

#[test]
fn a_search_from_below_finds_what_one_from_above_finds() {
    for seed in 0..300 {
        let chance = &mut Chance(seed ^ 0xBE10);
        let vertices = 2 + chance.below(400) as u32;
        let (orientation, along, against) = dense(chance, vertices, 12, seed % 3 == 0);
        let sources: Vec<u32> =
            (0..1 + chance.below(3)).map(|_| chance.below(vertices.into()) as u32).collect();
        let hops = hops_of(chance);
        for keep in [Keep::Levels, Keep::Ends, Keep::Count] {
            let mut answers = Vec::new();
            for both_ways in [false, true] {
                let mut reach = Reach::new(NoSeventh(&along), &sources, hops, orientation, keep).unwrap();
                if both_ways {
                    reach = reach.both_ways(NoSeventh(&against));
                }
                let (mut ends, mut distances) = (Vec::new(), Vec::new());
                while reach.step(&mut quota(chance)).unwrap() == Progress::More {
                    reach.drain_ends(&mut ends, &mut distances, chance.below(40) as usize);
                }
                while reach.drain_ends(&mut ends, &mut distances, 1 + chance.below(40) as usize) > 0 {}
                let mut found: Vec<_> = ends.into_iter().zip(distances).collect();
                found.sort_unstable();
                answers.push((reach.ends_count(), found));
            }
            assert_eq!(answers[0], answers[1], "seed {seed} {keep:?} {hops:?} {orientation:?} {sources:?}");
        }
    }
}

fn check_ends(keep: Keep, twin: &BTreeMap<u32, u32>, ends: Vec<u32>, distances: Vec<u32>, story: &str) {
    let mut found: Vec<(u32, u32)> = ends.into_iter().zip(distances).collect();
    found.sort_unstable();
    match keep {
        Keep::Levels => assert_eq!(found, twin.clone().into_iter().collect::<Vec<_>>(), "{story}"),
        Keep::Ends => {
            let found: Vec<u32> = found.into_iter().map(|(end, _)| end).collect();
            assert_eq!(found, twin.keys().copied().collect::<Vec<_>>(), "{story}");
        }
        Keep::Count => assert!(found.is_empty()),
    }
}

/// Twin: the shortest among all trails from source to target.
fn shortest_by_trails(case: &Case, source: u32, target: u32, hops: Hops) -> Vec<Path> {
    let mut paths = case.paths(source, hops.max.min(case.edges.len() as u32), PathMode::Trail);
    paths.retain(|path| path.vertices.last() == Some(&target) && path.length() >= hops.min);
    let least = paths.iter().map(Path::length).min();
    paths.retain(|path| Some(path.length()) == least);
    paths
}

/// The order in which paths between two vertices are listed.
fn backwards(path: &Path) -> (Vec<u32>, Vec<u64>) {
    (path.vertices.iter().rev().copied().collect(), path.edges.iter().rev().copied().collect())
}

fn interleaved(path: &Path) -> Vec<(u32, u64)> {
    let (vertices, edges) = backwards(path);
    vertices[1..].iter().copied().zip(edges).collect()
}

#[test]
fn shortest_pair_lists_all_shortest_trails_in_order() {
    for seed in 0..CASES {
        let case = Case::random(seed, 6, 8);
        let chance = &mut Chance(seed ^ 0x9A12);
        let source = chance.below(case.vertices as u64) as u32;
        let target = chance.below(case.vertices as u64) as u32;
        let hops = hops_of(chance);
        let mut twin = shortest_by_trails(&case, source, target, hops);
        let story = format!("{case:?} from {source} to {target} {hops:?}");
        let (forward, backward) = (case.forward(), case.backward());
        let make = || {
            AllShortestPair::new(forward.clone(), backward.clone(), source, target, hops, case.orientation)
        };
        let mut all = make().unwrap();
        let mut listed = Vec::new();
        loop {
            match all.next_path(&mut quota(chance)).unwrap() {
                Listing::Path(path) => listed.push(path),
                Listing::More => {}
                Listing::End => break,
            }
        }
        assert_eq!(all.length(), twin.first().map(Path::length), "{story}");
        if source != target {
            twin.sort_by_key(interleaved);
        } else {
            twin.sort();
            listed.sort();
        }
        assert_eq!(listed, twin, "{story}");
        let (forward, backward) = (case.forward(), case.backward());
        let mut one = ShortestPair::new(forward, backward, source, target, hops, case.orientation).unwrap();
        while one.step(&mut quota(chance)).unwrap() == Progress::More {}
        assert_eq!(one.length(), twin.first().map(Path::length), "{story}");
        if source != target {
            assert_eq!(one.path(), twin.first(), "{story}");
        }
    }
}

#[test]
fn shortest_from_finds_all_targets_and_all_their_paths() {
    for seed in 0..CASES {
        let case = Case::random(seed, 6, 8);
        let chance = &mut Chance(seed ^ 0xF20A);
        let source = chance.below(case.vertices as u64) as u32;
        let hops = hops_of(chance);
        let some: Vec<u32> =
            (0..chance.below(4)).map(|_| chance.below(case.vertices as u64) as u32).collect();
        let targets = if chance.below(2) == 0 { Targets::All } else { Targets::Some(&some) };
        let story = format!("{case:?} from {source} to {targets:?} {hops:?}");
        let (forward, backward) = (case.forward(), case.backward());
        let mut search =
            ShortestFrom::new(forward, backward, source, targets, hops, case.orientation).unwrap();
        let (mut ends, mut distances) = (Vec::new(), Vec::new());
        while search.step(&mut quota(chance)).unwrap() == Progress::More {
            search.drain_ends(&mut ends, &mut distances, chance.below(3) as usize);
        }
        while search.drain_ends(&mut ends, &mut distances, 2) > 0 {}
        let mut twin = ends_by_trails(&case, &[source], hops);
        if let Targets::Some(list) = targets {
            twin.retain(|end, _| list.contains(end));
        }
        check_ends(Keep::Levels, &twin, ends.clone(), distances, &story);
        for end in ends {
            let mut list = search.paths_to(end).unwrap().unwrap();
            let mut listed = Vec::new();
            loop {
                match search.next_path(&mut list, &mut quota(chance)).unwrap() {
                    Listing::Path(path) => listed.push(path),
                    Listing::More => {}
                    Listing::End => break,
                }
            }
            listed.sort();
            let mut paths = shortest_by_trails(&case, source, end, hops);
            paths.sort();
            assert_eq!(listed, paths, "{story} end {end}");
        }
    }
}

#[test]
fn trails_list_every_path_of_their_mode_once() {
    for seed in 0..CASES {
        let case = Case::random(seed, 5, 7);
        let chance = &mut Chance(seed ^ 0x72A11);
        let source = chance.below(case.vertices as u64) as u32;
        let mode =
            [PathMode::Walk, PathMode::Trail, PathMode::Acyclic, PathMode::Simple][chance.below(4) as usize];
        let is_bounded = mode == PathMode::Walk || chance.below(2) == 0;
        let max = if is_bounded { chance.below(5) as u32 } else { Hops::UNBOUNDED };
        let hops = Hops::new(chance.below(4) as u32, max);
        let longest = if mode == PathMode::Walk { max } else { max.min(1 + case.edges.len() as u32) };
        let mut twin = case.paths(source, longest, mode);
        twin.retain(|path| path.length() >= hops.min && path.length() <= hops.max);
        // Sometimes in the memory of a search from elsewhere that did not end.
        let is_restarted = chance.below(2) == 0;
        let first = if is_restarted { chance.below(case.vertices as u64) as u32 } else { source };
        let mut trails = Trails::new(case.forward(), first, hops, mode).unwrap();
        if is_restarted {
            let few = 1 + chance.below(5) as usize;
            trails.fill(&mut quota(chance), &mut TrailBatch::ends_only(), few).unwrap();
            trails.restart(source).unwrap();
        }
        let mut listed = listed(&mut trails, chance);
        listed.sort();
        twin.sort();
        assert_eq!(listed, twin, "{case:?} from {source} {hops:?} {mode:?}");
    }
}

fn listed<A: paths::Adjacency, G: paths::Guide>(trails: &mut Trails<A, G>, chance: &mut Chance) -> Vec<Path> {
    let mut listed = Vec::new();
    let mut batch = TrailBatch::with_paths();
    loop {
        let rows_max = 1 + chance.below(5) as usize;
        let progress = trails.fill(&mut quota(chance), &mut batch, rows_max).unwrap();
        assert!(batch.len() <= rows_max);
        for row in 0..batch.len() {
            let (vertices, edges) = batch.path(row);
            assert_eq!(
                (batch.ends[row], batch.lengths[row]),
                (*vertices.last().unwrap(), edges.len() as u32)
            );
            listed.push(Path { vertices: vertices.to_vec(), edges: edges.to_vec() });
        }
        batch.clear();
        if progress == Progress::Done {
            return listed;
        }
    }
}

#[test]
fn guided_trails_list_the_paths_to_their_target() {
    for seed in 0..CASES / 2 {
        let case = Case { vertex_refused: None, edge_refused: None, ..Case::random(seed, 6, 8) };
        let chance = &mut Chance(seed ^ 0x60A1);
        let source = chance.below(case.vertices as u64) as u32;
        let target = chance.below(case.vertices as u64) as u32;
        let hops = Hops::new(chance.below(3) as u32, 2 + chance.below(3) as u32);
        let reverse = (case.backward(), case.forward());
        let away = Hops::new(0, hops.max);
        let mut search =
            ShortestFrom::new(reverse.0, reverse.1, target, Targets::All, away, case.orientation).unwrap();
        search.step(&mut Work::unlimited()).unwrap();
        let guide = Toward { target, distances: search.into_distances() };
        let mut trails = Trails::guided(case.forward(), source, hops, PathMode::Trail, guide).unwrap();
        let mut found = listed(&mut trails, chance);
        let mut twin = case.paths(source, hops.max, PathMode::Trail);
        twin.retain(|path| path.length() >= hops.min && path.vertices.last() == Some(&target));
        found.sort();
        twin.sort();
        assert_eq!(found, twin, "{case:?} from {source} to {target} {hops:?}");
    }
}

#[test]
fn weighted_paths_are_the_cheapest_of_all() {
    for seed in 0..CASES {
        let case = Case::random(seed, 6, 8);
        let chance = &mut Chance(seed ^ 0xD1357);
        let source = chance.below(case.vertices as u64) as u32;
        let weight = move |edge: u64| Chance(edge ^ seed).below(4) as f64 / 2.0;
        let cost = |path: &Path| path.edges.iter().map(|&edge| weight(edge)).sum::<f64>();
        let mut twin: BTreeMap<u32, f64> = BTreeMap::new();
        for path in case.paths(source, case.vertices, PathMode::Acyclic) {
            let least = twin.entry(*path.vertices.last().unwrap()).or_insert(f64::INFINITY);
            *least = least.min(cost(&path));
        }
        let mut search = WeightedShortest::new(case.forward(), source, None, weight).unwrap();
        while search.step(&mut quota(chance)).unwrap() == Progress::More {}
        let (mut ends, mut costs) = (Vec::new(), Vec::new());
        while search.drain_ends(&mut ends, &mut costs, 2) > 0 {}
        assert!(costs.is_sorted(), "{case:?}");
        assert_eq!(
            ends.iter().copied().zip(costs).collect::<BTreeMap<_, _>>(),
            twin,
            "{case:?} from {source}"
        );
        let all = case.paths(source, case.vertices, PathMode::Acyclic);
        for end in ends {
            let path = search.path(end).unwrap();
            assert!(all.contains(&path), "{case:?} from {source}: {path:?} is no path");
            assert_eq!(Some(cost(&path)), search.cost(end), "{case:?}");
            let mut one = WeightedShortest::new(case.forward(), source, Some(end), weight).unwrap();
            one.step(&mut Work::unlimited()).unwrap();
            assert_eq!(one.path(end), Some(path), "{case:?}");
        }
    }
}

/// Behind the first 32 edges a set takes over the test for repetition; random small cases never get there.
#[test]
fn long_paths_repeat_nothing_behind_their_first_part() {
    const CHAIN: u32 = 40;
    let mut edges: Vec<(u32, u32)> = (0..CHAIN).map(|vertex| (vertex, vertex + 1)).collect();
    // A knot at the end: a cycle of three with a parallel edge, a self-loop, and a way back into the chain.
    let knot = [(CHAIN, CHAIN + 1), (CHAIN, CHAIN + 1), (CHAIN + 1, CHAIN + 2), (CHAIN + 2, CHAIN)];
    edges.extend(knot.iter().chain(&[(CHAIN + 1, CHAIN + 1), (CHAIN + 2, CHAIN - 3)]));
    for orientation in [paths::Orientation::Directed, paths::Orientation::Undirected] {
        let (vertex_refused, edge_refused, vertices) = (None, None, CHAIN + 3);
        let case = Case {
            seed: 0,
            vertices,
            edges: edges.clone(),
            orientation,
            vertex_refused,
            edge_refused,
            scramble: 9,
        };
        for mode in [PathMode::Trail, PathMode::Acyclic, PathMode::Simple] {
            let mut twin = case.paths(0, edges.len() as u32, mode);
            let mut trails = Trails::new(case.forward(), 0, Hops::new(0, Hops::UNBOUNDED), mode).unwrap();
            let mut found = listed(&mut trails, &mut Chance(4));
            found.sort();
            twin.sort();
            assert_eq!(found, twin, "{orientation:?} {mode:?}");
        }
    }
}
