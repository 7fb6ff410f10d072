//! Lists shortest paths one by one, from their end backwards.
//!
//! Idea: no predecessor is stored; a predecessor of a vertex at level `k` is a neighbour against the direction at level
//! `k - 1`. Invariant: each frame's vertex lies on a shortest path, so no branch is a dead end and the next path
//! costs at most its own lists. Order: compared from the end backwards, smallest (vertex, edge) first, whatever the
//! order of the lists. Cost: the candidates of one path.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::error::PathError;
use crate::path::Path;
use crate::work::Work;

/// The result of asking for the next path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// One more path.
    Path(Path),
    /// The work is over before a path was complete: ask again.
    More,
    /// There are no more.
    End,
}

/// Which vertices lie on a shortest path, at which distance from the source.
pub(crate) trait Levels {
    fn is_at(&self, vertex: u32, level: u32) -> bool;
}

impl Levels for crate::Distances {
    fn is_at(&self, vertex: u32, level: u32) -> bool {
        self.get(vertex) == Some(level)
    }
}

struct Frame {
    vertex: u32,
    /// The edge from this vertex towards the target; meaningless in the first frame.
    edge: u64,
    /// How much of the vertex's list has been looked at.
    scanned: usize,
    is_sorted: bool,
    /// Predecessors not yet tried, the smallest last.
    candidates: Vec<(u32, u64)>,
}

/// State of a listing; the graphs and the levels are lent to each call and must stay the same.
pub(crate) struct Lister {
    length: u32,
    stack: Vec<Frame>,
    scratch: EdgeScratch,
}

impl Lister {
    /// All paths of exactly `length` hops that end at `target`. `length` 0 is the caller's to answer.
    pub(crate) fn new(target: u32, length: u32) -> Lister {
        debug_assert!(length > 0);
        let root = Frame { vertex: target, edge: 0, scanned: 0, is_sorted: false, candidates: Vec::new() };
        Lister { length, stack: vec![root], scratch: EdgeScratch::default() }
    }

    /// `forward` is read for edge predicates; `backward` for lists.
    pub(crate) fn next<F: Adjacency, B: Adjacency>(
        &mut self,
        (forward, backward): (&F, &B),
        levels: &impl Levels,
        work: &mut Work<'_>,
    ) -> Result<Listing, PathError> {
        while let Some(frame) = self.stack.last_mut() {
            if !frame.is_sorted {
                if work.is_over() {
                    return if backward.failure() { Err(PathError::GraphFailed) } else { Ok(Listing::More) };
                }
                let level = self.length + 1 - self.stack.len() as u32;
                self.scan((forward, backward), levels, level - 1, work);
                continue;
            }
            let Some((vertex, edge)) = frame.candidates.pop() else {
                self.stack.pop();
                continue;
            };
            let is_sorted = self.stack.len() as u32 == self.length;
            self.stack.push(Frame { vertex, edge, scanned: 0, is_sorted, candidates: Vec::new() });
            if is_sorted {
                let path = self.path();
                self.stack.pop();
                return Ok(Listing::Path(path));
            }
        }
        if backward.failure() { Err(PathError::GraphFailed) } else { Ok(Listing::End) }
    }

    /// Looks at one piece of the last frame's list for vertices at `level`.
    fn scan<F: Adjacency, B: Adjacency>(
        &mut self,
        (forward, backward): (&F, &B),
        levels: &impl Levels,
        level: u32,
        work: &mut Work<'_>,
    ) {
        let frame = self.stack.last_mut().expect("called with a frame");
        let (neighbours, edges) = backward.edges(frame.vertex, &mut self.scratch);
        let end = frame.scanned + work.piece(neighbours.len() - frame.scanned);
        for at in frame.scanned..end {
            let (near, edge) = (neighbours[at], edges[at]);
            let is_admitted =
                || !forward.has_edge_predicate() || forward.admits_edge(edge, near, frame.vertex);
            if levels.is_at(near, level) && is_admitted() {
                frame.candidates.push((near, edge));
            }
        }
        work.charge(end - frame.scanned);
        frame.scanned = end;
        if end == neighbours.len() {
            frame.candidates.sort_unstable_by(|one, other| other.cmp(one));
            frame.is_sorted = true;
        }
    }

    fn path(&self) -> Path {
        let from_source = self.stack.iter().rev();
        Path {
            vertices: from_source.clone().map(|frame| frame.vertex).collect(),
            edges: from_source.take(self.length as usize).map(|frame| frame.edge).collect(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let candidates: usize = self.stack.iter().map(|frame| frame.candidates.capacity()).sum();
        self.stack.capacity() * size_of::<Frame>()
            + candidates * size_of::<(u32, u64)>()
            + self.scratch.bytes()
    }
}
