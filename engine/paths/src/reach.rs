//! The distinct vertices within some hops of one source, or of a set of sources taken together.
//!
//! Idea: breadth-first search; the found vertices in order of distance are at once frontier and answer. A dense level
//! is expanded in the order of ids: half the time of the order of finding, where lists come from all over memory. A level that
//! holds a good part of all edges is taken from below where the way back is known ([`Reach::both_ways`]).
//! Invariant: the level being expanded is `level_start..level_end` of `found`, and everything behind it is one hop farther.
//! Trails: whatever a walk reaches a shortest path reaches, and a shortest path is a trail, so a plain search is
//! right for every end but the sources. A source is an end at zero hops, or when a path comes back: directed, when it
//! is simply met again (the shortest closed walk is a cycle); undirected, [`Returns`](crate::returns) decides.
//! Cost: each edge once; a bit per vertex and 4 bytes per found vertex.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::bottom_up::BottomUp;
use crate::error::PathError;
use crate::frontier::{Bitmap, Found, checked_sources, is_dense, put_in_order};
use crate::hops::{Hops, Orientation};
use crate::returns::Returns;
use crate::work::{Progress, Work};

/// At most this many vertices are sorted at once: under a tenth of a millisecond.
const ORDERED_MAX: usize = 1 << 15;
/// What is kept of the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Their number alone: memory for two levels.
    Count,
    /// The ends; distances are right for all but ends that are sources of an undirected search.
    Ends,
    /// The ends with exact distances.
    Levels,
}

/// See the module's head. Make it, [`step`](Reach::step) it to its end, and drain ends at any time in between.
pub struct Reach<A> {
    graph: A,
    hops: Hops,
    keep: Keep,
    sources: Vec<u32>,
    /// Sources are met again as ends, and must then not be expanded again.
    sources_return: bool,
    /// A path may come back to its source, over other edges.
    closes: bool,
    visited: Bitmap,
    found: Found,
    /// Where each level begins in `found`; with `Keep::Count` only the current one, at 0.
    level_starts: Vec<usize>,
    level_end: usize,
    cursor: usize,
    edge_cursor: usize,
    /// Up to here the level has been put into order, where that pays.
    ordered: usize,
    ordering: Option<Bitmap>,
    depth: u32,
    ends_count: u64,
    drained: usize,
    drained_depth: usize,
    from_below: Option<BottomUp<A>>,
    returns: Option<Returns>,
    returned: Vec<(u32, u32)>,
    scratch: Vec<u32>,
    edge_scratch: EdgeScratch,
}

impl<A: Adjacency> Reach<A> {
    /// Searches from `sources` (duplicates do not matter). `hops.min` is 0 or 1: with 0 each source is an end.
    pub fn new(
        graph: A,
        sources: &[u32],
        hops: Hops,
        orientation: Orientation,
        keep: Keep,
    ) -> Result<Reach<A>, PathError> {
        let hops = hops.checked_by_distance()?;
        let must_return = hops.min == 1 && hops.max > 0;
        let visited = Bitmap::new(graph.vertex_bound());
        let mut reach = Reach {
            returns: None,
            returned: Vec::new(),
            ends_count: 0,
            drained: 0,
            drained_depth: 0,
            from_below: None,
            level_starts: Vec::new(),
            level_end: 0,
            cursor: 0,
            edge_cursor: 0,
            ordered: 0,
            ordering: None,
            depth: 0,
            graph,
            hops,
            keep,
            sources: Vec::new(),
            sources_return: must_return && orientation == Orientation::Directed,
            closes: must_return && orientation == Orientation::Undirected,
            visited,
            found: Found::default(),
            scratch: Vec::new(),
            edge_scratch: EdgeScratch::default(),
        };
        reach.begin(sources)?;
        Ok(reach)
    }

    /// The same search from other sources, in the same memory.
    pub fn restart(&mut self, sources: &[u32]) -> Result<(), PathError> {
        self.visited.clear();
        self.found.clear();
        self.returned.clear();
        (self.drained_depth, self.cursor, self.edge_cursor) = (0, 0, 0);
        (self.ordered, self.depth) = (0, 0);
        if let Some(from_below) = &mut self.from_below {
            from_below.restart();
        }
        self.begin(sources)
    }

    fn begin(&mut self, sources: &[u32]) -> Result<(), PathError> {
        self.sources = checked_sources(sources, self.graph.vertex_bound())?;
        for &source in &self.sources {
            self.found.push(source);
            if !self.sources_return {
                self.visited.insert(source);
            }
        }
        let is_end = self.hops.min == 0;
        self.level_end = self.sources.len();
        self.level_starts.clear();
        self.level_starts.push(0);
        self.ends_count = if is_end { self.level_end as u64 } else { 0 };
        self.drained = if is_end { 0 } else { self.level_end };
        let closes = self.closes && !self.sources.is_empty();
        self.returns = closes.then(|| Returns::new(&self.sources, self.hops.max, self.keep == Keep::Levels));
        Ok(())
    }

    /// Lets the search look from below, along the same edges the other way (the same graph again if undirected), where that is faster.
    /// With a condition on edges it does not.
    pub fn both_ways(mut self, against: A) -> Reach<A> {
        if !self.graph.has_edge_predicate() {
            self.from_below = BottomUp::new(against);
        }
        self
    }

    /// Goes on until the work is over or the search has ended.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        if let Some(returns) = &mut self.returns {
            if returns.step(&self.graph, work)? == Progress::More {
                return Ok(Progress::More);
            }
            self.returned = returns.answers(&self.graph);
            self.ends_count += self.returned.len() as u64;
            self.returns = None;
        }
        while self.cursor < self.level_end || self.next_level() {
            if work.is_over() {
                return if self.has_failed() { Err(PathError::GraphFailed) } else { Ok(Progress::More) };
            }
            match &mut self.from_below {
                Some(from_below) if from_below.is_sweeping() => {
                    let before = self.found.len();
                    from_below.sweep(&self.graph, &mut self.visited, &mut self.found, work);
                    self.ends_count += (self.found.len() - before) as u64;
                    if !from_below.is_sweeping() {
                        self.cursor = self.level_end;
                    }
                }
                _ => self.expand(work),
            }
        }
        if self.has_failed() { Err(PathError::GraphFailed) } else { Ok(Progress::Done) }
    }

    fn has_failed(&self) -> bool {
        self.graph.failure() || self.from_below.as_ref().is_some_and(BottomUp::failure)
    }

    /// How many ends are known so far; all of them once the search is done.
    pub fn ends_count(&self) -> u64 {
        self.ends_count
    }

    /// Moves up to `count_max` ends not yet drained, and their distances, to the back of the two columns; how many. May
    /// be called between steps. 0 after the end means all are drained. With [`Keep::Count`] there is nothing to drain.
    pub fn drain_ends(&mut self, ends: &mut Vec<u32>, distances: &mut Vec<u32>, count_max: usize) -> usize {
        if self.keep == Keep::Count {
            return 0;
        }
        let before = ends.len();
        while ends.len() - before < count_max && self.drained < self.found.len() {
            while self.level_starts.get(self.drained_depth + 1).is_some_and(|&start| start <= self.drained) {
                self.drained_depth += 1;
            }
            // The level after the one being expanded has no start yet: it begins where that one ends.
            let is_beyond = self.drained >= self.level_end;
            let level_stop = if is_beyond { self.found.len() } else { self.stop_of(self.drained_depth) };
            let stop = level_stop.min(self.drained + count_max - (ends.len() - before));
            ends.extend_from_slice(&self.found.as_slice()[self.drained..stop]);
            distances.resize(ends.len(), self.drained_depth as u32 + is_beyond as u32);
            self.drained = stop;
        }
        while ends.len() - before < count_max {
            let Some((end, distance)) = self.returned.pop() else { break };
            ends.push(end);
            distances.push(distance);
        }
        ends.len() - before
    }

    fn stop_of(&self, depth: usize) -> usize {
        self.level_starts.get(depth + 1).copied().unwrap_or(self.level_end)
    }

    /// The distance that is being expanded.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The graph searched.
    pub fn graph(&self) -> &A {
        &self.graph
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.visited.bytes()
            + self.ordering.as_ref().map_or(0, Bitmap::bytes)
            + self.found.bytes()
            + self.level_starts.capacity() * size_of::<usize>()
            + (self.scratch.capacity() + self.sources.capacity()) * 4
            + self.edge_scratch.bytes()
            + self.from_below.as_ref().map_or(0, BottomUp::bytes)
            + self.returns.as_ref().map_or(0, Returns::bytes)
            + self.returned.capacity() * 8
    }

    /// Turns to the vertices found last; false at the end.
    fn next_level(&mut self) -> bool {
        if self.found.len() == self.level_end || self.depth + 1 >= self.hops.max || self.has_failed() {
            return false;
        }
        debug_assert!(self.level_end < self.found.len(), "a level is what was found behind the last one");
        self.depth += 1;
        if self.keep == Keep::Count {
            self.found.drop_front(self.level_end);
            self.cursor = 0;
            self.ordered = 0;
        } else {
            self.level_starts.push(self.level_end);
        }
        self.level_end = self.found.len();
        if let Some(from_below) = &mut self.from_below {
            let level = &self.found.as_slice()[self.cursor..];
            from_below.begin_level(level, &self.graph);
        }
        true
    }

    /// Puts the next block of the level into the order of ids, if it is dense and none of it was drained.
    fn order_block(&mut self) {
        let end = self.level_end.min(self.cursor + ORDERED_MAX);
        let bound = self.graph.vertex_bound();
        self.ordered = end;
        let is_free = self.keep == Keep::Count || self.drained <= self.cursor || self.drained >= end;
        if is_free && is_dense(end - self.cursor, bound) {
            let spare = self.ordering.get_or_insert_with(|| Bitmap::new(bound));
            put_in_order(self.found.part(self.cursor..end), spare);
        }
    }

    /// One piece of one vertex's list.
    fn expand(&mut self, work: &mut Work<'_>) {
        if self.cursor >= self.ordered {
            self.order_block();
        }
        let vertex = self.found.get(self.cursor);
        let is_again = self.sources_return && self.depth > 0 && self.sources.binary_search(&vertex).is_ok();
        if is_again || self.hops.max == 0 {
            self.cursor += 1;
            return work.charge(0);
        }
        let before = self.found.len();
        let (handled, is_finished) = if self.graph.has_edge_predicate() {
            self.absorb_edges(vertex, work)
        } else {
            self.absorb(vertex, work)
        };
        work.charge(handled);
        self.ends_count += (self.found.len() - before) as u64;
        self.edge_cursor = if is_finished { 0 } else { self.edge_cursor + handled };
        self.cursor += is_finished as usize;
    }

    fn absorb(&mut self, vertex: u32, work: &Work<'_>) -> (usize, bool) {
        let Reach { graph, scratch, visited, found, edge_cursor, .. } = self;
        let rest = &graph.neighbours(vertex, scratch)[*edge_cursor..];
        let piece = work.piece(rest.len());
        found.absorb(
            &rest[..piece],
            visited,
            |visited, far| visited.contains(far),
            |visited, far| visited.insert(far) && graph.admits_vertex(far),
        );
        (piece, piece == rest.len())
    }

    fn absorb_edges(&mut self, vertex: u32, work: &Work<'_>) -> (usize, bool) {
        let Reach { graph, edge_scratch, visited, found, edge_cursor, .. } = self;
        let (neighbours, edges) = graph.edges(vertex, edge_scratch);
        let piece = work.piece(neighbours.len() - *edge_cursor);
        let range = *edge_cursor..*edge_cursor + piece;
        for (&far, &edge) in neighbours[range.clone()].iter().zip(&edges[range.clone()]) {
            let is_new = !visited.contains(far)
                && graph.admits_edge(edge, vertex, far)
                && visited.insert(far)
                && graph.admits_vertex(far);
            if is_new {
                found.push(far);
            }
        }
        (piece, range.end == neighbours.len())
    }
}
