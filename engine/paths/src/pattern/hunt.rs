//! The paths to one end, backwards and depth first, no longer than a bound.
//!
//! Invariant: `vertices` and `edges` are the path from the end to where the search stands; a frame is a state with its moves that are not
//! made yet. No move is made that the distances show to be too long; the least length that was cut off so is remembered.
//! Cost: a frame reads the whole list of its vertex once, and keeps of it what may be walked.

use super::automaton::{PathPattern, START};
use super::levels::{Distance, Levels};
use super::{Conditions, PatternGraph, PatternPath};
use crate::adjacency::{Adjacency, EdgeScratch};
use crate::error::PathError;
use crate::trails::{PathMode, TRAIL_HOPS_MAX};
use crate::work::Work;

/// The result of a step of the search.
pub(super) enum Hunted {
    /// Nothing yet.
    More,
    Path(PatternPath),
    /// All has been seen; the least length beyond the bound that may have paths.
    End(Option<u32>),
}

struct Frame {
    state: u32,
    /// Its moves are `moves[first..]`, up to those of the next frame.
    first: usize,
    is_entered: bool,
    by_edge: bool,
    /// The path has closed a circle and goes no further.
    is_closed: bool,
}

struct Next {
    state: u32,
    edge: Option<(u32, u64)>,
    closes: bool,
}

pub(super) struct Hunt {
    source: u32,
    bound: u32,
    frames: Vec<Frame>,
    moves: Vec<Next>,
    vertices: Vec<u32>,
    edges: Vec<u64>,
    beyond: Option<u32>,
    scratch: EdgeScratch,
}

impl Hunt {
    pub fn new(source: u32) -> Hunt {
        Hunt {
            source,
            bound: 0,
            frames: Vec::new(),
            moves: Vec::new(),
            vertices: Vec::new(),
            edges: Vec::new(),
            beyond: None,
            scratch: EdgeScratch::default(),
        }
    }

    pub fn begin(&mut self, end: u32, bound: u32, pattern: &PathPattern) {
        (self.bound, self.beyond) = (bound, None);
        self.frames.clear();
        self.moves.clear();
        self.edges.clear();
        self.vertices.clear();
        self.vertices.push(end);
        self.push(pattern.accept, false, false);
    }

    fn push(&mut self, state: u32, by_edge: bool, is_closed: bool) {
        self.frames.push(Frame { state, first: self.moves.len(), is_entered: false, by_edge, is_closed });
    }

    pub fn next<A: Adjacency, C: Conditions>(
        &mut self,
        graph: &PatternGraph<A, C>,
        pattern: &PathPattern,
        levels: &Levels,
        mode: PathMode,
        work: &mut Work<'_>,
    ) -> Result<Hunted, PathError> {
        while !work.is_over() {
            let Some(frame) = self.frames.last_mut() else { return Ok(Hunted::End(self.beyond)) };
            if !std::mem::replace(&mut frame.is_entered, true) {
                let state = frame.state;
                if state == START && self.vertices.last() == Some(&self.source) {
                    return Ok(Hunted::Path(self.path(pattern)));
                }
                if self.admits_round(graph, pattern, state) {
                    self.collect(graph, pattern, levels, mode, work);
                }
                if graph.failure() {
                    return Err(PathError::GraphFailed);
                }
                continue;
            }
            match self.moves.len() > frame.first {
                true => self.follow()?,
                false => self.back(),
            }
        }
        Ok(Hunted::More)
    }

    fn follow(&mut self) -> Result<(), PathError> {
        let Some(next) = self.moves.pop() else { return Ok(()) };
        if let Some((vertex, edge)) = next.edge {
            if self.edges.len() >= TRAIL_HOPS_MAX as usize {
                return Err(PathError::PathTooLong { hops_max: TRAIL_HOPS_MAX });
            }
            self.vertices.push(vertex);
            self.edges.push(edge);
        }
        debug_assert_eq!(self.vertices.len(), self.edges.len() + 1, "vertices and edges are one path");
        self.push(next.state, next.edge.is_some(), next.closes);
        Ok(())
    }

    fn back(&mut self) {
        if self.frames.pop().is_some_and(|frame| frame.by_edge) {
            self.vertices.pop();
            self.edges.pop();
        }
    }

    /// A round that begins where the search stands is complete, and tested.
    fn admits_round<A: Adjacency, C: Conditions>(
        &self,
        graph: &PatternGraph<A, C>,
        pattern: &PathPattern,
        state: u32,
    ) -> bool {
        let Some((part, edges)) = pattern.round(state) else { return true };
        let vertices: Vec<u32> = self.vertices.iter().rev().take(edges + 1).copied().collect();
        let edges: Vec<u64> = self.edges.iter().rev().take(edges).copied().collect();
        graph.conditions.admits_round(part, &vertices, &edges)
    }

    /// Collects the moves into the state on top.
    fn collect<A: Adjacency, C: Conditions>(
        &mut self,
        graph: &PatternGraph<A, C>,
        pattern: &PathPattern,
        levels: &Levels,
        mode: PathMode,
        work: &mut Work<'_>,
    ) {
        let Some(&Frame { state, is_closed, .. }) = self.frames.last() else { return };
        let vertex = self.vertices[self.vertices.len() - 1];
        for way in &pattern.into[state as usize] {
            let Some(edge) = way.edge else {
                work.charge(0);
                if self.is_within(levels, vertex, way.state, 0) {
                    self.moves.push(Next { state: way.state, edge: None, closes: is_closed });
                }
                continue;
            };
            if is_closed {
                continue;
            }
            let mut scratch = std::mem::take(&mut self.scratch);
            let (neighbours, edges) = graph.against[edge as usize].edges(vertex, &mut scratch);
            work.charge(edges.len());
            for (far, edge) in neighbours.iter().zip(edges) {
                let Some(closes) = self.repeats(*far, *edge, mode) else { continue };
                if self.is_within(levels, *far, way.state, 1) {
                    self.moves.push(Next { state: way.state, edge: Some((*far, *edge)), closes });
                }
            }
            self.scratch = scratch;
        }
    }

    /// Whether a move to a vertex may be made, which closes a circle (`Some(true)`) or not; none where it repeats what the mode forbids.
    fn repeats(&self, far: u32, edge: u64, mode: PathMode) -> Option<bool> {
        let may = match mode {
            PathMode::Walk => true,
            PathMode::Trail => !self.edges.contains(&edge),
            PathMode::Acyclic => !self.vertices.contains(&far),
            PathMode::Simple if far == self.source && far == self.vertices[0] => {
                return (!self.edges.contains(&edge)).then_some(true);
            }
            PathMode::Simple => !self.vertices.contains(&far),
        };
        may.then_some(false)
    }

    /// Whether a path through this state can be within the bound.
    fn is_within(&mut self, levels: &Levels, vertex: u32, state: u32, more: u32) -> bool {
        let walked = self.edges.len() as u32 + more;
        let least = match levels.distance(vertex, state) {
            Distance::Exactly(distance) => walked.saturating_add(distance),
            Distance::Beyond(level) => walked.saturating_add(level).saturating_add(1),
            Distance::Never => return false,
        };
        if least > self.bound {
            self.beyond = Some(self.beyond.map_or(least, |beyond| beyond.min(least)));
        }
        least <= self.bound
    }

    fn path(&self, pattern: &PathPattern) -> PatternPath {
        let mut rounds = vec![0; pattern.parts.len()];
        for frame in &self.frames {
            if let Some(place) = pattern.places[frame.state as usize].filter(|place| place.at == 0) {
                rounds[place.part as usize] += 1;
            }
        }
        let vertices = self.vertices.iter().rev().copied().collect();
        PatternPath { vertices, edges: self.edges.iter().rev().copied().collect(), rounds }
    }

    pub fn bytes(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>()
            + self.moves.capacity() * size_of::<Next>()
            + self.vertices.capacity() * 4
            + self.edges.capacity() * 8
            + self.scratch.bytes()
    }
}
