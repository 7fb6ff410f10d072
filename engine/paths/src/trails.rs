//! Every path of a mode, one by one: trails, walks, acyclic and simple paths.
//!
//! Idea: depth first with an explicit stack, so that any number of paths can be taken and the rest never exists.
//! Each inner vertex keeps a window of its list (undirected lists are assembled, and must not be assembled
//! again for every path through them); at the greatest length the list is read in place.
//! Invariant: `vertices` and `edges` are the path to the last frame; `on_path` holds what must not repeat.
//! Cost: as many steps as there are paths, which may be exponential in the length: give a bound, or a [`Guide`].

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::error::PathError;
use crate::hops::Hops;
use crate::work::{Progress, Work};
use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// The most edges a path may have before the enumeration gives up with [`PathError::PathTooLong`]: some hundred bytes
/// each, so a stack of about a hundred megabytes, beyond which every budget ends.
pub const TRAIL_HOPS_MAX: u32 = 1 << 20;
/// Up to here a path is searched from end to end; a set takes over behind it.
const LINEAR_MAX: usize = 32;

/// The kinds of repetition that a mode forbids along a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathMode {
    /// Nothing: vertices and edges may repeat. Endless on a cycle without an upper bound.
    Walk,
    /// No edge twice: Cypher's rule.
    Trail,
    /// No vertex twice.
    Acyclic,
    /// No vertex twice, but the last may be the first (and then the path goes no further). No edge twice either, which matters
    /// where an undirected edge leads out and back.
    Simple,
}

/// Keeps an enumeration away from vertices that lead nowhere. `()` allows everything.
pub trait Guide: Send {
    /// Whether an end may still be reached from `vertex` with `hops_left` more edges.
    #[inline(always)]
    fn allows(&self, _vertex: u32, _hops_left: u32) -> bool {
        true
    }
    /// Whether a path that ends in `vertex` is wanted.
    #[inline(always)]
    fn is_end(&self, _vertex: u32) -> bool {
        true
    }
}

impl Guide for () {}

/// Paths to one vertex: `distances` are those *to* `target`, from a search against the direction
/// ([`ShortestFrom::into_distances`](crate::ShortestFrom::into_distances)) that went at least `hops.max` far.
pub struct Toward {
    /// The wanted end.
    pub target: u32,
    /// Distance to it; a vertex without one is not entered.
    pub distances: std::sync::Arc<crate::Distances>,
}

impl Guide for Toward {
    fn allows(&self, vertex: u32, hops_left: u32) -> bool {
        self.distances.get(vertex).is_some_and(|distance| distance <= hops_left)
    }
    fn is_end(&self, vertex: u32) -> bool {
        vertex == self.target
    }
}

/// Paths in columns. Row `i` has `lengths[i]` edges; with paths kept, [`path`](TrailBatch::path) gives them.
#[derive(Debug, Default)]
pub struct TrailBatch {
    /// The last vertex of each path.
    pub ends: Vec<u32>,
    /// The number of edges of each path.
    pub lengths: Vec<u32>,
    keeps_paths: bool,
    /// Where each row's edges end; its vertices end one per row later.
    stops: Vec<usize>,
    edges: Vec<u64>,
    vertices: Vec<u32>,
}

impl TrailBatch {
    /// For callers that need ends and lengths only.
    pub fn ends_only() -> TrailBatch {
        TrailBatch::default()
    }

    /// For callers that need the paths as well.
    pub fn with_paths() -> TrailBatch {
        TrailBatch { keeps_paths: true, ..TrailBatch::default() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Vertices and edges of a row, from source to end. Paths must have been kept.
    pub fn path(&self, row: usize) -> (&[u32], &[u64]) {
        let start = if row == 0 { 0 } else { self.stops[row - 1] };
        let stop = self.stops[row];
        (&self.vertices[start + row..stop + row + 1], &self.edges[start..stop])
    }

    /// Takes all rows out and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.lengths.clear();
        self.stops.clear();
        self.edges.clear();
        self.vertices.clear();
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.ends.capacity() + self.lengths.capacity() + self.vertices.capacity()) * 4
            + (self.stops.capacity() + self.edges.capacity()) * 8
    }

    fn push(&mut self, vertices: &[u32], edges: &[u64], last: Option<(u32, u64)>) {
        let end = last.map_or(vertices[vertices.len() - 1], |(vertex, _)| vertex);
        self.ends.push(end);
        self.lengths.push(edges.len() as u32 + last.is_some() as u32);
        if self.keeps_paths {
            self.vertices.extend_from_slice(vertices);
            self.edges.extend_from_slice(edges);
            self.vertices.extend(last.map(|(vertex, _)| vertex));
            self.edges.extend(last.map(|(_, edge)| edge));
            self.stops.push(self.edges.len());
        }
    }
}

/// Things on the path, in order, with a quick test.
#[derive(Default)]
struct OnPath {
    list: Vec<u64>,
    /// Those behind the first `LINEAR_MAX`.
    tail: HashSet<u64, FixedState>,
}

impl OnPath {
    fn contains(&self, item: u64) -> bool {
        let head = &self.list[..self.list.len().min(LINEAR_MAX)];
        head.contains(&item) || (self.list.len() > LINEAR_MAX && self.tail.contains(&item))
    }
    fn clear(&mut self) {
        self.list.clear();
        self.tail.clear();
    }
    fn push(&mut self, item: u64) {
        if self.list.len() >= LINEAR_MAX {
            self.tail.insert(item);
        }
        self.list.push(item);
    }
    fn pop(&mut self) {
        if let Some(item) = self.list.pop()
            && self.list.len() >= LINEAR_MAX
        {
            self.tail.remove(&item);
        }
    }
}

/// A vertex on the path whose list is being followed.
struct Frame {
    /// How much of the list has been read (into the window, or in place).
    read: usize,
    is_all_read: bool,
    /// The window: `windows[window_start..]`, read up to `cursor`.
    window_start: usize,
    cursor: usize,
}

/// See the module's head.
pub struct Trails<A, G = ()> {
    graph: A,
    guide: G,
    hops: Hops,
    mode: PathMode,
    has_begun: bool,
    stack: Vec<Frame>,
    vertices: Vec<u32>,
    edges: Vec<u64>,
    on_path: OnPath,
    windows: EdgeScratch,
    scratch: EdgeScratch,
}

/// The verdict on an edge.
enum Verdict {
    Refuse,
    /// Part of a path that goes on.
    Extend,
    /// Ends a path that goes no further.
    Close,
}

impl<A: Adjacency> Trails<A, ()> {
    /// All paths of `mode` from `source` with `hops.min..=hops.max` edges.
    pub fn new(graph: A, source: u32, hops: Hops, mode: PathMode) -> Result<Self, PathError> {
        Trails::guided(graph, source, hops, mode, ())
    }
}

impl<A: Adjacency, G: Guide> Trails<A, G> {
    /// The same, restricted by `guide`.
    pub fn guided(graph: A, source: u32, hops: Hops, mode: PathMode, guide: G) -> Result<Self, PathError> {
        let (stack, vertices, edges) = (Vec::new(), Vec::new(), Vec::new());
        let (windows, scratch) = (EdgeScratch::default(), EdgeScratch::default());
        let (on_path, has_begun) = (OnPath::default(), false);
        let mut trails =
            Trails { graph, guide, hops, mode, has_begun, stack, vertices, edges, on_path, windows, scratch };
        trails.restart(source)?;
        Ok(trails)
    }

    /// Begins anew from another source, in the memory of the last search.
    pub fn restart(&mut self, source: u32) -> Result<(), PathError> {
        let bound = self.graph.vertex_bound();
        if source >= bound {
            return Err(PathError::VertexOutOfBounds { vertex: source, bound });
        }
        self.has_begun = false;
        self.stack.clear();
        self.edges.clear();
        self.vertices.clear();
        self.vertices.push(source);
        self.truncate_windows(0);
        self.on_path.clear();
        if self.mode == PathMode::Acyclic {
            self.on_path.push(u64::from(source));
        }
        Ok(())
    }

    /// Appends paths until the batch has `rows_max` rows or the work is over (`More`), or there are no more (`Done`).
    pub fn fill(
        &mut self,
        work: &mut Work<'_>,
        batch: &mut TrailBatch,
        rows_max: usize,
    ) -> Result<Progress, PathError> {
        if !self.has_begun {
            self.begin(batch);
        }
        while !self.stack.is_empty() {
            if batch.len() >= rows_max || work.is_over() {
                return if self.graph.failure() { Err(PathError::GraphFailed) } else { Ok(Progress::More) };
            }
            if self.stack.len() as u64 == self.hops.max as u64 {
                self.finish_in_place(work, batch, rows_max);
            } else {
                self.descend(work, batch)?;
            }
        }
        if self.graph.failure() { Err(PathError::GraphFailed) } else { Ok(Progress::Done) }
    }

    fn begin(&mut self, batch: &mut TrailBatch) {
        self.has_begun = true;
        if self.hops.min == 0 && self.guide.is_end(self.vertices[0]) {
            batch.push(&self.vertices, &[], None);
        }
        if self.hops.max > 0 && self.hops.min <= self.hops.max {
            self.push_frame();
        }
    }

    fn push_frame(&mut self) {
        let window_start = self.windows.neighbours.len();
        self.stack.push(Frame { read: 0, is_all_read: false, window_start, cursor: window_start });
    }

    fn pop_frame(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        self.truncate_windows(frame.window_start);
        if self.edges.pop().is_some() {
            self.vertices.pop();
            if self.mode != PathMode::Walk {
                self.on_path.pop();
            }
        }
    }

    fn truncate_windows(&mut self, length: usize) {
        self.windows.neighbours.truncate(length);
        self.windows.edges.truncate(length);
    }

    /// At the greatest length: every admitted edge of a piece is a row.
    fn finish_in_place(&mut self, work: &mut Work<'_>, batch: &mut TrailBatch, rows_max: usize) {
        let vertex = self.vertices[self.vertices.len() - 1];
        let mut scratch = std::mem::take(&mut self.scratch);
        let (neighbours, edges) = self.graph.edges(vertex, &mut scratch);
        let read = self.stack[self.stack.len() - 1].read;
        let end = read + work.piece(neighbours.len() - read).min(rows_max - batch.len());
        for at in read..end {
            let (far, edge) = (neighbours[at], edges[at]);
            let is_row = !matches!(self.judge(vertex, far, edge), Verdict::Refuse);
            if is_row && self.edges.len() as u32 + 1 >= self.hops.min && self.guide.is_end(far) {
                batch.push(&self.vertices, &self.edges, Some((far, edge)));
            }
        }
        work.charge(end - read);
        let is_finished = end == neighbours.len();
        self.scratch = scratch;
        if is_finished {
            self.pop_frame();
        } else if let Some(frame) = self.stack.last_mut() {
            frame.read = end;
        }
    }

    /// Below it: goes one edge deeper, reads another window, or goes back.
    fn descend(&mut self, work: &mut Work<'_>, batch: &mut TrailBatch) -> Result<(), PathError> {
        let depth = self.stack.len() - 1;
        let vertex = self.vertices[depth];
        while self.stack[depth].cursor < self.windows.neighbours.len() {
            let at = self.stack[depth].cursor;
            self.stack[depth].cursor += 1;
            let (far, edge) = (self.windows.neighbours[at], self.windows.edges[at]);
            let verdict = self.judge(vertex, far, edge);
            if matches!(verdict, Verdict::Refuse) {
                continue;
            }
            if depth as u32 + 1 >= self.hops.min && self.guide.is_end(far) {
                batch.push(&self.vertices, &self.edges, Some((far, edge)));
            }
            if matches!(verdict, Verdict::Extend) {
                return self.enter(far, edge);
            }
            return Ok(());
        }
        if self.stack[depth].is_all_read {
            self.pop_frame()
        } else {
            self.read_window(depth, vertex, work)
        }
        Ok(())
    }

    fn enter(&mut self, far: u32, edge: u64) -> Result<(), PathError> {
        if self.stack.len() as u64 >= TRAIL_HOPS_MAX as u64 {
            return Err(PathError::PathTooLong { hops_max: TRAIL_HOPS_MAX });
        }
        self.vertices.push(far);
        self.edges.push(edge);
        match self.mode {
            PathMode::Walk => {}
            PathMode::Trail => self.on_path.push(edge),
            PathMode::Acyclic | PathMode::Simple => self.on_path.push(far as u64),
        }
        debug_assert_eq!(self.vertices.len(), self.edges.len() + 1, "vertices and edges are one path");
        self.push_frame();
        Ok(())
    }

    fn read_window(&mut self, depth: usize, vertex: u32, work: &mut Work<'_>) {
        let window_start = self.stack[depth].window_start;
        self.truncate_windows(window_start);
        let (neighbours, edges) = self.graph.edges(vertex, &mut self.scratch);
        let frame = &mut self.stack[depth];
        let end = frame.read + work.piece(neighbours.len() - frame.read);
        self.windows.extend(&neighbours[frame.read..end], &edges[frame.read..end]);
        work.charge(end - frame.read);
        frame.read = end;
        frame.is_all_read = end == neighbours.len();
        frame.cursor = window_start;
    }

    fn judge(&self, near: u32, far: u32, edge: u64) -> Verdict {
        let mut verdict = Verdict::Extend;
        let repeats = match self.mode {
            PathMode::Walk => false,
            PathMode::Trail => self.on_path.contains(edge),
            PathMode::Acyclic => self.on_path.contains(far as u64),
            PathMode::Simple if far == self.vertices[0] => {
                // Out and back over one undirected edge is no circle.
                verdict = Verdict::Close;
                self.edges.first() == Some(&edge)
            }
            PathMode::Simple => self.on_path.contains(far as u64),
        };
        let hops_left = self.hops.max - self.edges.len() as u32 - 1;
        let is_refused = repeats
            || !self.guide.allows(far, hops_left)
            || (self.graph.has_edge_predicate() && !self.graph.admits_edge(edge, near, far))
            || !self.graph.admits_vertex(far);
        if is_refused { Verdict::Refuse } else { verdict }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.stack.capacity() * size_of::<Frame>()
            + self.vertices.capacity() * 4
            + (self.edges.capacity() + self.on_path.list.capacity()) * 8
            + self.on_path.tail.capacity() * 9
            + self.windows.bytes()
            + self.scratch.bytes()
    }
}
