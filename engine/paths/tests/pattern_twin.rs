//! Patterns of several parts against a twin that tries everything: every reading of every path, sorted by length and cut.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with other tests")]
mod twins;

use paths::csr::Csr;
use paths::{
    Adjacency, Choice, Conditions, Part, PathMode, PathPattern, PatternGraph, PatternPath, PatternSearch,
    Progress, Work,
};
use std::collections::BTreeMap;
use twins::{Chance, Scrambled};

const CASES: u64 = 3_000;

#[derive(Clone, Copy, Debug)]
enum Way {
    Out,
    In,
    Both,
}

/// Conditions that are refused by small numbers.
#[derive(Clone, Debug)]
struct Rules {
    /// A vertex that a place refuses.
    refused: Vec<Option<u32>>,
    /// Rounds of a part must not end where this leads, counted over their vertices.
    round: u32,
    path: u32,
}

impl Conditions for Rules {
    fn admits_vertex(&self, place: usize, vertex: u32) -> bool {
        self.refused[place] != Some(vertex)
    }
    fn admits_round(&self, part: usize, vertices: &[u32], edges: &[u64]) -> bool {
        let weight: u32 = vertices.iter().zip(1..).map(|(vertex, at)| vertex * at).sum();
        !(weight + edges.len() as u32 + part as u32).is_multiple_of(self.round)
    }
    fn admits_path(&self, path: &PatternPath) -> bool {
        !(path.vertices.iter().sum::<u32>() + path.edges.len() as u32).is_multiple_of(self.path)
    }
    fn failure(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct Case {
    vertices: u32,
    edges: Vec<(u32, u32)>,
    parts: Vec<Part>,
    ways: Vec<Way>,
    rules: Rules,
    mode: PathMode,
    source: u32,
    target: Option<u32>,
    choice: Choice,
}

impl Case {
    fn random(seed: u64) -> Case {
        let mut chance = Chance(seed);
        let vertices = 1 + chance.below(5) as u32;
        let edges = (0..chance.below(7))
            .map(|_| (chance.below(vertices as u64) as u32, chance.below(vertices as u64) as u32));
        let edges = edges.collect();
        let modes = [PathMode::Walk, PathMode::Trail, PathMode::Trail, PathMode::Acyclic, PathMode::Simple];
        let mode = modes[chance.below(5) as usize];
        let parts: Vec<Part> =
            (0..1 + chance.below(3)).map(|_| part(&mut chance, mode == PathMode::Walk)).collect();
        let count: u32 = parts.iter().map(|part| part.edges).sum();
        let places = count + parts.len() as u32;
        let ways = (0..count).map(|_| [Way::Out, Way::In, Way::Both][chance.below(3) as usize]).collect();
        let refused = (0..places)
            .map(|_| (chance.below(4) == 0).then(|| chance.below(vertices as u64) as u32))
            .collect();
        let rules = Rules {
            refused,
            round: 2 + chance.below(4) as u32,
            path: if chance.below(2) == 0 { 97 } else { 2 },
        };
        let choice = match chance.below(3) {
            0 => Choice::Every,
            1 => Choice::Paths(1 + chance.below(3)),
            _ => Choice::Groups(1 + chance.below(3)),
        };
        let source = chance.below(vertices as u64) as u32;
        let target = (chance.below(2) == 0).then(|| chance.below(vertices as u64) as u32);
        Case { vertices, edges, parts, ways, rules, mode, source, target, choice }
    }

    fn csr(&self, way: Way) -> Scrambled {
        let csr = match way {
            Way::Out => Csr::outgoing(self.vertices, &self.edges),
            Way::In => Csr::incoming(self.vertices, &self.edges),
            Way::Both => Csr::undirected(self.vertices, &self.edges),
        };
        Scrambled(csr, 7)
    }

    fn graph(&self) -> PatternGraph<Scrambled, Rules> {
        let against = |way: &Way| match way {
            Way::Out => Way::In,
            Way::In => Way::Out,
            Way::Both => Way::Both,
        };
        PatternGraph {
            along: self.ways.iter().map(|way| self.csr(*way)).collect(),
            against: self.ways.iter().map(|way| self.csr(against(way))).collect(),
            conditions: self.rules.clone(),
        }
    }

    /// Twin: every reading, by plain recursion over parts, rounds and edges.
    fn all(&self) -> Vec<PatternPath> {
        let mut found = Vec::new();
        let path =
            PatternPath { vertices: vec![self.source], edges: vec![], rounds: vec![0; self.parts.len()] };
        self.enter(0, path, &mut found);
        found.retain(|path| {
            self.target.is_none_or(|target| target == path.end()) && self.rules.admits_path(path)
        });
        found
    }

    /// At the border of part `number`, which has been gone through so many times.
    fn enter(&self, number: usize, path: PatternPath, found: &mut Vec<PatternPath>) {
        let Some(part) = self.parts.get(number) else {
            found.extend(is_of(self.mode, &path).then_some(path));
            return;
        };
        let rounds = path.rounds[number];
        if rounds >= part.min {
            self.enter(number + 1, path.clone(), found);
        }
        // Without an upper bound no path of distinct edges is longer than the graph.
        if part.max.map_or((path.edges.len() as u32) < self.edges.len() as u32, |max| rounds < max) {
            self.walk(number, 0, path, found);
        }
    }

    fn walk(&self, number: usize, at: u32, mut path: PatternPath, found: &mut Vec<PatternPath>) {
        let part = self.parts[number];
        let before: u32 = self.parts[..number].iter().map(|part| part.edges).sum();
        let place = before as usize + number + at as usize;
        if !self.rules.admits_vertex(place, path.end()) {
            return;
        }
        if at == part.edges {
            let (vertices, edges) = (&path.vertices, &path.edges);
            let round = (&vertices[vertices.len() - 1 - at as usize..], &edges[edges.len() - at as usize..]);
            if !part.has_condition || self.rules.admits_round(number, round.0, round.1) {
                path.rounds[number] += 1;
                self.enter(number, path, found);
            }
            return;
        }
        let graph = self.csr(self.ways[(before + at) as usize]);
        let mut scratch = paths::EdgeScratch::default();
        let (neighbours, edges) = graph.edges(path.end(), &mut scratch);
        for (far, edge) in neighbours.iter().zip(edges) {
            let mut longer = path.clone();
            longer.vertices.push(*far);
            longer.edges.push(*edge);
            // Cut what no mode forgives early, so that the twin ends.
            if self.mode == PathMode::Walk || !path.edges.contains(edge) {
                self.walk(number, at + 1, longer, found);
            }
        }
    }
}

fn part(chance: &mut Chance, is_bounded: bool) -> Part {
    let edges = chance.below(3) as u32;
    let has_condition = chance.below(3) == 0;
    if edges == 0 {
        return Part::vertex(has_condition);
    }
    let min = chance.below(3) as u32;
    let max = (is_bounded || chance.below(2) == 0).then(|| (min + chance.below(2) as u32).max(1));
    Part { edges, min, max, has_condition }
}

fn is_of(mode: PathMode, path: &PatternPath) -> bool {
    let distinct = |items: &[u32]| (1..items.len()).all(|at| !items[..at].contains(&items[at]));
    let edges = (1..path.edges.len()).all(|at| !path.edges[..at].contains(&path.edges[at]));
    match mode {
        PathMode::Walk => true,
        PathMode::Trail => edges,
        PathMode::Acyclic => distinct(&path.vertices),
        PathMode::Simple => {
            edges && distinct(&path.vertices[1..]) && {
                let closes = path.vertices.len() > 1 && path.end() == path.vertices[0];
                let inner =
                    if closes { &path.vertices[..path.vertices.len() - 1] } else { &path.vertices[..] };
                distinct(inner)
            }
        }
    }
}

/// By end, and by length within it.
fn by_end(paths: Vec<PatternPath>) -> BTreeMap<u32, BTreeMap<usize, Vec<PatternPath>>> {
    let mut ends: BTreeMap<u32, BTreeMap<usize, Vec<PatternPath>>> = BTreeMap::new();
    for path in paths {
        ends.entry(path.end()).or_default().entry(path.edges.len()).or_default().push(path);
    }
    ends.values_mut().flat_map(BTreeMap::values_mut).for_each(|paths| paths.sort());
    ends
}

#[test]
fn patterns_find_what_trying_everything_finds() {
    let (mut rows, mut cut) = (0, 0);
    for seed in 0..CASES {
        let case = Case::random(seed);
        let story = format!("seed {seed}: {case:?}");
        let pattern = PathPattern::new(case.parts.clone()).unwrap();
        let mut search =
            PatternSearch::new(case.graph(), pattern, case.source, case.target, case.mode, case.choice);
        let chance = &mut Chance(seed ^ 0xFADE);
        let mut all = Vec::new();
        let mut more = true;
        while more {
            let mut found = Vec::new();
            let rows_max = 3 + chance.below(9) as usize;
            let mut work =
                if chance.below(4) == 0 { Work::unlimited() } else { Work::new(1 + chance.below(20)) };
            more = search.fill(&mut work, &mut found, rows_max).unwrap() == Progress::More;
            assert!(found.len() <= rows_max, "{story}");
            cut += usize::from(found.len() == rows_max);
            all.append(&mut found);
        }
        rows += all.len();
        assert!(search.bytes() > 0);
        compare(&case, all, &story);
    }
    println!("{rows} rows, {cut} batches");
    assert!(cut > 100);
}

fn compare(case: &Case, found: Vec<PatternPath>, story: &str) {
    let twin = by_end(case.all());
    let found = by_end(found);
    assert_eq!(found.keys().collect::<Vec<_>>(), twin.keys().collect::<Vec<_>>(), "{story}");
    for (end, lengths) in &twin {
        let wanted: BTreeMap<usize, usize> = match case.choice {
            Choice::Every => lengths.iter().map(|(length, paths)| (*length, paths.len())).collect(),
            Choice::Groups(k) => {
                lengths.iter().take(k as usize).map(|(length, paths)| (*length, paths.len())).collect()
            }
            Choice::Paths(k) => {
                let mut left = k as usize;
                let take = |(length, paths): (&usize, &Vec<PatternPath>)| {
                    let taken = paths.len().min(left);
                    left -= taken;
                    (taken > 0).then_some((*length, taken))
                };
                lengths.iter().filter_map(take).collect()
            }
        };
        let counts: BTreeMap<usize, usize> =
            found[end].iter().map(|(length, paths)| (*length, paths.len())).collect();
        assert_eq!(counts, wanted, "to {end} of {story}\nfound {:?}\ntwin {lengths:?}", found[end]);
        for (length, paths) in &found[end] {
            let mut distinct = paths.clone();
            distinct.dedup();
            assert_eq!(distinct.len(), paths.len(), "twice, {story}");
            assert!(paths.iter().all(|path| lengths[length].contains(path)), "{story}");
        }
    }
}

#[test]
fn a_pattern_that_repeats_too_often_is_refused() {
    let part = Part { edges: 2, min: 1, max: Some(1_000_000), has_condition: false };
    assert_eq!(PathPattern::new(vec![part]).unwrap_err().code(), "path.pattern-too-large");
}
