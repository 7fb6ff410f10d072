//! Distances of each (vertex, state) from the source, level by level.
//!
//! Conditions on vertices and on rounds of at most one edge are applied; other conditions are not, so a distance is a lower bound. Moves without an
//! edge stay on their level.

use super::automaton::{Move, PathPattern, START};
use super::{Conditions, PatternGraph};
use crate::adjacency::{Adjacency, EdgeScratch};
use crate::work::Work;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A known distance, or a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    Exactly(u32),
    /// Greater than this, or there is none.
    Beyond(u32),
    /// There is none.
    Never,
}

pub(super) struct Levels {
    known: HashMap<u64, u32, FixedState>,
    /// What is at this level; up to `at` its moves are made.
    level: u32,
    here: Vec<u64>,
    at: usize,
    next: Vec<u64>,
    scratch: EdgeScratch,
    has_begun: bool,
}

fn key(vertex: u32, state: u32) -> u64 {
    (vertex as u64) << 32 | state as u64
}

impl Levels {
    pub fn new(source: u32) -> Levels {
        Levels {
            known: HashMap::default(),
            level: 0,
            here: vec![key(source, START)],
            at: 0,
            next: Vec::new(),
            scratch: EdgeScratch::default(),
            has_begun: false,
        }
    }

    /// Whether all distances are known.
    pub fn is_finished(&self) -> bool {
        self.at == self.here.len() && self.next.is_empty()
    }

    pub fn distance(&self, vertex: u32, state: u32) -> Distance {
        match self.known.get(&key(vertex, state)) {
            Some(distance) => Distance::Exactly(*distance),
            None if self.is_finished() => Distance::Never,
            None => Distance::Beyond(self.level),
        }
    }

    /// Goes on until all up to `bound` is known (true) or the work is over; appends the ends met, with their distances.
    pub fn spread<A: Adjacency, C: Conditions>(
        &mut self,
        graph: &PatternGraph<A, C>,
        pattern: &PathPattern,
        bound: u32,
        work: &mut Work<'_>,
        ends: &mut Vec<(u32, u32)>,
    ) -> bool {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.known.insert(self.here[0], 0);
        }
        while !work.is_over() && !graph.failure() {
            if self.at == self.here.len() {
                if self.next.is_empty() || self.level >= bound {
                    return true;
                }
                self.here.clear();
                std::mem::swap(&mut self.here, &mut self.next);
                (self.at, self.level) = (0, self.level + 1);
            }
            let (vertex, state) = ((self.here[self.at] >> 32) as u32, self.here[self.at] as u32);
            self.at += 1;
            if state == pattern.accept {
                ends.push((vertex, self.level));
            }
            for way in &pattern.out[state as usize] {
                self.go(graph, pattern, vertex, *way, work);
            }
        }
        false
    }

    fn go<A: Adjacency, C: Conditions>(
        &mut self,
        graph: &PatternGraph<A, C>,
        pattern: &PathPattern,
        vertex: u32,
        way: Move,
        work: &mut Work<'_>,
    ) {
        let place = pattern.places[way.state as usize];
        let admits =
            |vertex| place.is_none_or(|place| graph.conditions.admits_vertex(place.number as usize, vertex));
        let Some(edge) = way.edge else {
            let round = pattern.round(way.state).filter(|(_, edges)| *edges == 0);
            let holds = round.is_none_or(|(part, _)| graph.conditions.admits_round(part, &[vertex], &[]));
            if !self.known.contains_key(&key(vertex, way.state)) && holds && admits(vertex) {
                self.known.insert(key(vertex, way.state), self.level);
                self.here.push(key(vertex, way.state));
            }
            return;
        };
        // The condition on a round of one edge can be tested on that edge alone.
        let part = place.map(|place| place.part as usize).filter(|part| pattern.parts[*part].has_condition);
        let single = part.filter(|part| pattern.parts[*part].edges == 1);
        let mut scratch = std::mem::take(&mut self.scratch);
        let (neighbours, edges) = graph.along[edge as usize].edges(vertex, &mut scratch);
        work.charge(edges.len());
        for (far, edge) in neighbours.iter().zip(edges) {
            let holds =
                || single.is_none_or(|part| graph.conditions.admits_round(part, &[vertex, *far], &[*edge]));
            if !self.known.contains_key(&key(*far, way.state)) && admits(*far) && holds() {
                self.known.insert(key(*far, way.state), self.level + 1);
                self.next.push(key(*far, way.state));
            }
        }
        self.scratch = scratch;
    }

    pub fn bytes(&self) -> usize {
        self.known.capacity() * 17 + (self.here.capacity() + self.next.capacity()) * 8 + self.scratch.bytes()
    }
}
