//! Where the trails of a bounded length end, each end once, without listing the trails.
//!
//! Trails cannot be searched like walks: whether one goes on over an edge depends on the edges behind it. But not on all of them. A trail
//! of `p` edges to a vertex is needed only if some continuation of at most `q` edges, the most that may follow, shares an edge with every
//! other trail kept there and none with it. So each vertex keeps, level by level, a *representative family* of sets of `p` edges
//! (B. Monien, "How to find long paths efficiently", 1985), of which there are at most `(p + q)` over `p` (Bollobás): 20 where six
//! edges are asked for. A family is full once no `q` edges meet all its sets; then nothing more is looked at there, which comes soon
//! where many trails meet.
//! Invariant: for every trail of `level` edges to a vertex and every set of at most `q` edges apart from it, the family of the vertex holds a
//! set apart from those edges too.
//! Cost: for each level, the edges of the vertices reached, times the sets kept there, times at most `p` to the power of `q` for each set
//! that is tried; memory for the families of two levels.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::error::PathError;
use crate::hops::Hops;
use crate::work::{Progress, Work};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

/// The most edges: 70 sets of four edges for a vertex, and 256 tries for one more.
pub const TRAIL_ENDS_HOPS_MAX: u32 = 8;

/// The sets of edges kept at a vertex, end to end, all of one size.
#[derive(Default)]
struct Family {
    edges: Vec<u64>,
    count: usize,
    is_full: bool,
}

impl Family {
    /// The family of the source: the trail without edges.
    fn of_source() -> Family {
        Family { edges: Vec::new(), count: 1, is_full: true }
    }
    /// Its sets, of `size` edges each.
    fn sets(&self, size: usize) -> impl Iterator<Item = &[u64]> {
        (0..self.count).map(move |at| &self.edges[at * size..(at + 1) * size])
    }
    /// Keeps a set if it is needed while at most `follow` edges may follow.
    fn offer(&mut self, set: &[u64], follow: u32) {
        let mut chosen = Vec::new();
        if self.is_full || !self.can_be_met(set.len(), set, &mut chosen, follow) {
            return;
        }
        self.edges.extend_from_slice(set);
        self.count += 1;
        self.is_full = !self.can_be_met(set.len(), &[], &mut chosen, follow);
    }
    /// Do at most `left` more edges, none of `apart`, meet every set that `chosen` does not?
    fn can_be_met(&self, size: usize, apart: &[u64], chosen: &mut Vec<u64>, left: u32) -> bool {
        let missed = self.sets(size).find(|set| !set.iter().any(|edge| chosen.contains(edge)));
        let Some(missed) = missed else { return true };
        if left == 0 {
            return false;
        }
        for edge in missed.iter().filter(|edge| !apart.contains(edge)) {
            chosen.push(*edge);
            let is_met = self.can_be_met(size, apart, chosen, left - 1);
            chosen.pop();
            if is_met {
                return true;
            }
        }
        false
    }
    /// Bytes of its sets.
    fn bytes(&self) -> usize {
        self.edges.capacity() * 8
    }
}

/// See the module's head.
pub struct TrailEnds<A> {
    graph: A,
    hops: Hops,
    /// Edges of the trails to `here`.
    level: u32,
    here: Vec<(u32, Family)>,
    next: HashMap<u32, Family, FixedState>,
    /// The vertex of `here` that is followed, and the position in its list.
    at: (usize, usize),
    found: HashSet<u32, FixedState>,
    /// Ends not taken yet.
    waiting: Vec<u32>,
    scratch: EdgeScratch,
    /// A piece of a list: far end and edge.
    piece: Vec<(u32, u64)>,
    set: Vec<u64>,
    /// Bytes of both levels' families.
    family_bytes: usize,
}

impl<A: Adjacency> TrailEnds<A> {
    /// The ends of trails from `source` with `hops.min..=hops.max` edges.
    ///
    /// # Errors
    /// There is no such vertex, or more than [`TRAIL_ENDS_HOPS_MAX`] edges are wanted.
    pub fn new(graph: A, source: u32, hops: Hops) -> Result<Self, PathError> {
        let bound = graph.vertex_bound();
        if source >= bound {
            return Err(PathError::VertexOutOfBounds { vertex: source, bound });
        }
        if hops.max > TRAIL_ENDS_HOPS_MAX {
            return Err(PathError::PathTooLong { hops_max: TRAIL_ENDS_HOPS_MAX });
        }
        let mut ends = TrailEnds {
            graph,
            hops,
            level: 0,
            here: vec![(source, Family::of_source())],
            next: HashMap::default(),
            at: (0, 0),
            found: HashSet::default(),
            waiting: Vec::new(),
            scratch: EdgeScratch::default(),
            piece: Vec::new(),
            set: Vec::new(),
            family_bytes: 0,
        };
        if hops.min == 0 {
            ends.find(source);
        }
        Ok(ends)
    }

    fn find(&mut self, end: u32) {
        if self.found.insert(end) {
            self.waiting.push(end);
        }
    }

    /// Goes on for a slice of work; ends that were found can be taken at any time.
    ///
    /// # Errors
    /// The graph failed.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        while self.level < self.hops.max && !self.here.is_empty() {
            while self.at.0 < self.here.len() {
                if work.is_over() {
                    return self.outcome(Progress::More);
                }
                self.follow(work);
            }
            let families = self.next.drain();
            self.here = families.collect();
            self.family_bytes = self.here.iter().map(|(_, family)| family.bytes()).sum();
            (self.level, self.at) = (self.level + 1, (0, 0));
        }
        self.outcome(Progress::Done)
    }

    fn outcome(&self, progress: Progress) -> Result<Progress, PathError> {
        if self.graph.failure() { Err(PathError::GraphFailed) } else { Ok(progress) }
    }

    /// A piece of the list of one vertex.
    fn follow(&mut self, work: &mut Work<'_>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let (vertex, family) = std::mem::take(&mut self.here[self.at.0]);
        let (neighbours, edges) = self.graph.edges(vertex, &mut scratch);
        let (start, length) = (self.at.1, neighbours.len());
        let end = start + work.piece(length - start);
        let mut piece = std::mem::take(&mut self.piece);
        piece.extend(neighbours[start..end].iter().copied().zip(edges[start..end].iter().copied()));
        let (mut tried, most) = (0, end - start + work.piece(usize::MAX));
        for (far, edge) in piece.drain(..) {
            self.at.1 += 1;
            tried += self.cross(vertex, &family, far, edge);
            // Many sets are as much work as many edges.
            if tried > most {
                break;
            }
        }
        work.charge(self.at.1 - start + tried);
        if self.at.1 == length {
            self.at = (self.at.0 + 1, 0);
        } else {
            self.here[self.at.0] = (vertex, family);
        }
        (self.scratch, self.piece) = (scratch, piece);
    }

    /// One edge; returns how many sets were tried.
    fn cross(&mut self, near: u32, family: &Family, far: u32, edge: u64) -> usize {
        let follow = self.hops.max - self.level - 1;
        let is_refused = self.next.get(&far).is_some_and(|family| family.is_full)
            || (self.graph.has_edge_predicate() && !self.graph.admits_edge(edge, near, far))
            || !self.graph.admits_vertex(far);
        if is_refused {
            return 0;
        }
        let (mut tried, mut is_reached) = (0, false);
        let size = self.level as usize;
        for set in family.sets(size).filter(|set| !set.contains(&edge)) {
            let met = self.next.entry(far).or_default();
            let before = met.bytes();
            self.set.clear();
            self.set.extend_from_slice(set);
            self.set.push(edge);
            met.offer(&self.set, follow);
            self.family_bytes += met.bytes() - before;
            (tried, is_reached) = (tried + 1, true);
            if met.is_full {
                break;
            }
        }
        if is_reached && self.level + 1 >= self.hops.min {
            self.find(far);
        }
        tried
    }

    /// Appends at most `most` ends that were not taken yet; returns how many.
    pub fn drain(&mut self, ends: &mut Vec<u32>, most: usize) -> usize {
        let from = self.waiting.len() - self.waiting.len().min(most);
        let before = ends.len();
        ends.extend(self.waiting.drain(from..));
        ends.len() - before
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.family_bytes
            + self.here.capacity() * size_of::<(u32, Family)>()
            + self.next.capacity() * (size_of::<(u32, Family)>() + 1)
            + (self.found.capacity() * 5 + self.waiting.capacity() * 4)
            + self.scratch.bytes()
            + self.piece.capacity() * size_of::<(u32, u64)>()
    }
}
