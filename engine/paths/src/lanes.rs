//! The distinct vertices within some hops of each of many sources: up to 64 breadth-first searches in one.
//!
//! Idea: a bit a source, a word a vertex. Searches that meet at a vertex on the same level cross its edges together, once (Then et al., "The
//! more the merrier: efficient multi-source graph traversal"; the paper's nTkMS with 64 lanes). Where a level holds a good part of all
//! edges, each vertex that some lane has not seen gathers its lanes from below instead, and stops when it has all.
//! Invariant: `frontier` holds the lanes that reached a vertex on the level being expanded, `next` those on the one after, `seen` all.
//! A lane's source is an end as in [`Reach`](crate::Reach): at no hops, or where a path comes back to it.
//! Cost: an edge once a level and set of lanes, at best once for all; three words a vertex touched.

use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::{Hops, Orientation};
use crate::returns::Returns;
use crate::work::{Progress, Work};

/// Lanes of one search.
pub const LANES_MAX: usize = 64;

/// A level is taken from below if its frontier's edges are more than one in so many.
const BELOW_SHARE: u64 = 8;
/// And from above again if it holds less than one in so many vertices.
const ABOVE_SHARE: usize = 18;

/// Answers of a [`LanesReach`], in parallel columns.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LaneEnds {
    /// Position of the source.
    pub lanes: Vec<u8>,
    /// Vertex reached.
    pub ends: Vec<u32>,
    /// Hops to it.
    pub distances: Vec<u32>,
}

impl LaneEnds {
    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Empties the columns and keeps their memory.
    pub fn clear(&mut self) {
        self.lanes.clear();
        self.ends.clear();
        self.distances.clear();
    }
    fn push(&mut self, lane: u32, end: u32, distance: u32) {
        self.lanes.push(lane as u8);
        self.ends.push(end);
        self.distances.push(distance);
    }
}

/// What a step does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Undirected closed paths of this lane.
    Return(usize),
    /// Edges of the frontier.
    Expand,
    /// Lanes of vertices some lane has not seen, from below.
    Gather,
    /// The level's answers.
    Settle,
    Over,
}

/// See the module's head. Step it until it is done; each step appends answers.
pub struct LanesReach<A> {
    graph: A,
    against: Option<A>,
    hops: Hops,
    sources: Vec<u32>,
    /// All lanes.
    all: u64,
    /// A source that is met again is an end: directed, with at least one hop.
    sources_return: bool,
    returns: Option<Returns>,
    seen: Vec<u64>,
    frontier: Vec<u64>,
    next: Vec<u64>,
    /// Vertices with lanes in `frontier`, and in `next`.
    active: Vec<u32>,
    touched: Vec<u32>,
    stage: Stage,
    depth: u32,
    cursor: usize,
    edge_cursor: usize,
    scratch: Vec<u32>,
}

impl<A: Adjacency> LanesReach<A> {
    /// Searches from each of up to [`LANES_MAX`] sources by itself; a source may come twice. `hops.min` is 0 or 1. Conditions on edges
    /// are not for it.
    ///
    /// # Errors
    /// Bounds that distance does not decide, a source that is no vertex.
    ///
    /// # Panics
    /// With more sources than lanes, or a graph with a condition on edges.
    pub fn new(
        graph: A,
        sources: &[u32],
        hops: Hops,
        orientation: Orientation,
    ) -> Result<LanesReach<A>, PathError> {
        assert!(sources.len() <= LANES_MAX, "{} sources are more than there are lanes", sources.len());
        assert!(!graph.has_edge_predicate(), "lanes share edges, so they have no condition of their own");
        let hops = hops.checked_by_distance()?;
        let bound = graph.vertex_bound();
        crate::frontier::checked_sources(sources, bound)?;
        let must_return = hops.min == 1 && hops.max > 0;
        let closes = must_return && orientation == Orientation::Undirected && !sources.is_empty();
        let words = || vec![0; bound as usize];
        let mut lanes = LanesReach {
            against: None,
            hops,
            sources: sources.to_vec(),
            all: if sources.len() == LANES_MAX { u64::MAX } else { (1 << sources.len()) - 1 },
            sources_return: must_return && orientation == Orientation::Directed,
            returns: None,
            seen: words(),
            frontier: words(),
            next: words(),
            active: Vec::new(),
            touched: Vec::new(),
            // The sources themselves are the answers of level 0.
            stage: if closes { Stage::Return(0) } else { Stage::Settle },
            depth: 0,
            cursor: 0,
            edge_cursor: 0,
            scratch: Vec::new(),
            graph,
        };
        for (lane, source) in sources.iter().enumerate() {
            lanes.reach(*source, 1 << lane);
        }
        Ok(lanes)
    }

    /// Lets the search look from below, along the same edges the other way (the same graph again if undirected), where that is faster.
    pub fn both_ways(mut self, against: A) -> LanesReach<A> {
        self.against = Some(against);
        self
    }

    /// Goes on until the work is over, about `count_max` answers were appended, or the search has ended.
    ///
    /// # Errors
    /// Reading the graph failed.
    pub fn step(
        &mut self,
        work: &mut Work<'_>,
        found: &mut LaneEnds,
        count_max: usize,
    ) -> Result<Progress, PathError> {
        let count_max = found.len() + count_max;
        while self.stage != Stage::Over {
            if self.graph.failure() || self.against.as_ref().is_some_and(Adjacency::failure) {
                return Err(PathError::GraphFailed);
            }
            if work.is_over() || found.len() >= count_max {
                return Ok(Progress::More);
            }
            match self.stage {
                Stage::Return(lane) => self.close(lane, work, found)?,
                Stage::Expand => self.expand(work),
                Stage::Gather => self.gather(work),
                Stage::Settle => self.settle(work, found, count_max),
                Stage::Over => {}
            }
        }
        Ok(Progress::Done)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let words = self.seen.capacity() + self.frontier.capacity() + self.next.capacity();
        words * 8
            + (self.active.capacity() + self.touched.capacity() + self.scratch.capacity()) * 4
            + self.returns.as_ref().map_or(0, Returns::bytes)
    }

    #[inline(always)]
    fn reach(&mut self, vertex: u32, lanes: u64) {
        let next = &mut self.next[vertex as usize];
        if *next == 0 {
            self.touched.push(vertex);
        }
        *next |= lanes;
    }

    fn close(&mut self, lane: usize, work: &mut Work<'_>, found: &mut LaneEnds) -> Result<(), PathError> {
        let source = self.sources[lane];
        let returns = self.returns.get_or_insert_with(|| Returns::new(&[source], self.hops.max, true));
        if returns.step(&self.graph, work)? == Progress::More {
            return Ok(());
        }
        for (end, distance) in returns.answers(&self.graph) {
            found.push(lane as u32, end, distance);
        }
        self.returns = None;
        self.stage = if lane + 1 < self.sources.len() { Stage::Return(lane + 1) } else { Stage::Settle };
        Ok(())
    }

    /// A piece of one active vertex's list.
    fn expand(&mut self, work: &mut Work<'_>) {
        let Some(vertex) = self.active.get(self.cursor).copied() else {
            return self.begin_settle();
        };
        let lanes = self.frontier[vertex as usize];
        let LanesReach { graph, scratch, seen, next, touched, edge_cursor, .. } = self;
        let rest = &graph.neighbours(vertex, scratch)[*edge_cursor..];
        let piece = work.piece(rest.len());
        for far in &rest[..piece] {
            let new = lanes & !seen[*far as usize];
            if new != 0 {
                let next = &mut next[*far as usize];
                if *next == 0 {
                    touched.push(*far);
                }
                *next |= new;
            }
        }
        work.charge(piece);
        if piece == rest.len() {
            (self.cursor, self.edge_cursor) = (self.cursor + 1, 0);
        } else {
            self.edge_cursor += piece;
        }
    }

    /// Vertices from `cursor` on, each gathering from the frontier the lanes it has not seen.
    fn gather(&mut self, work: &mut Work<'_>) {
        let all = self.all;
        let Some(against) = &self.against else { return self.begin_settle() };
        while self.cursor < self.seen.len() {
            let wanted = all & !self.seen[self.cursor];
            if wanted != 0 {
                let vertex = self.cursor as u32;
                let rest = &against.neighbours(vertex, &mut self.scratch)[self.edge_cursor..];
                let piece = work.piece(rest.len());
                let before = self.next[self.cursor];
                let mut lanes = before;
                let mut tried = 0;
                for near in &rest[..piece] {
                    tried += 1;
                    lanes |= self.frontier[*near as usize] & wanted;
                    if lanes == wanted {
                        break;
                    }
                }
                work.charge(tried);
                if before == 0 && lanes != 0 {
                    self.touched.push(vertex);
                }
                self.next[self.cursor] = lanes;
                if lanes != wanted && piece < rest.len() {
                    self.edge_cursor += piece;
                    return;
                }
                self.edge_cursor = 0;
            }
            self.cursor += 1;
            if work.is_over() {
                return;
            }
        }
        self.begin_settle();
    }

    fn begin_settle(&mut self) {
        for vertex in self.active.drain(..) {
            self.frontier[vertex as usize] = 0;
        }
        self.depth += 1;
        (self.stage, self.cursor, self.edge_cursor) = (Stage::Settle, 0, 0);
    }

    /// Turns what was touched into answers and the next frontier.
    fn settle(&mut self, work: &mut Work<'_>, found: &mut LaneEnds, count_max: usize) {
        let is_start = self.depth == 0;
        while let Some(vertex) = self.touched.get(self.cursor).copied() {
            if found.len() >= count_max || work.is_over() {
                return;
            }
            self.cursor += 1;
            work.charge(1);
            let at = vertex as usize;
            let mut new = std::mem::take(&mut self.next[at]) & !self.seen[at];
            // A source that will be met again is not seen yet.
            if !(is_start && self.sources_return) {
                self.seen[at] |= new;
            }
            if !is_start && !self.graph.admits_vertex(vertex) {
                continue;
            }
            if !is_start || self.hops.min == 0 {
                let mut lanes = new;
                while lanes != 0 {
                    found.push(lanes.trailing_zeros(), vertex, self.depth);
                    lanes &= lanes - 1;
                }
            }
            if !is_start && self.sources_return {
                new &= !self.lanes_of(vertex, new);
            }
            if new != 0 {
                self.frontier[at] = new;
                self.active.push(vertex);
            }
        }
        self.touched.clear();
        self.begin_level();
    }

    /// The lanes, of those given, whose source this vertex is: they expanded it at the start.
    fn lanes_of(&self, vertex: u32, lanes: u64) -> u64 {
        let is_source = |lane: &usize| lanes >> lane & 1 == 1 && self.sources[*lane] == vertex;
        (0..self.sources.len()).filter(is_source).fold(0, |of, lane| of | 1 << lane)
    }

    fn begin_level(&mut self) {
        self.cursor = 0;
        if self.active.is_empty() || self.depth >= self.hops.max {
            self.stage = Stage::Over;
            return;
        }
        self.stage = if self.pays_from_below() { Stage::Gather } else { Stage::Expand };
        if self.stage == Stage::Expand && self.active.len() * 64 > self.seen.len() {
            self.active.sort_unstable();
        }
    }

    fn pays_from_below(&self) -> bool {
        let Some(edges) = self.against.as_ref().and_then(Adjacency::edges_estimate) else { return false };
        if self.active.len() * ABOVE_SHARE < self.seen.len() {
            return false;
        }
        let degrees: u64 = self.active.iter().map(|vertex| u64::from(self.graph.degree(*vertex))).sum();
        degrees > edges / BELOW_SHARE
    }
}
