//! Weakly connected components: for each vertex the smallest one it is connected to.
//!
//! Idea: trees of vertices that are hung below each other, smaller ones on top. First every vertex follows two of its edges; by then most
//! hang below one root, and those are done; only the others follow the rest of their edges, both ways, and only until they hang
//! there too (Sutton, Ben-Nun and Barak, "Optimizing parallel graph connectivity computation via subgraph sampling").
//! Invariant: a vertex never hangs below a larger one, so there are no cycles, and the root of a tree is its smallest vertex whoever
//! hangs what first. Cost: a few edges a vertex in most graphs, all of them at worst; a word a vertex.

use super::field::Field;
use super::worker_pool::{Staged, Stretch};
use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::hops::Orientation;
use crate::work::Work;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Edges that every vertex follows at first.
const SAMPLED_EDGES: usize = 2;
/// Vertices looked at to find the largest component.
const SAMPLED_VERTICES: usize = 1024;
/// Edges followed between two looks whether the vertex hangs where most do.
const LOOK_EVERY: usize = 16;
/// Members in a range.
const MORSEL: usize = 1024;

/// The steps for each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It follows a few edges.
    Sample,
    /// It is hung right below its root.
    Raise,
    /// It follows the rest, unless it hangs below this root.
    Rest(u32),
    /// It is hung right below its root, for the last time.
    Settle,
}

/// Where a worker was in the lists of a vertex.
#[derive(Debug, Default)]
pub struct Own {
    scratch: Vec<u32>,
    cursor: usize,
    is_behind: bool,
}

/// See the module's head.
pub struct Components<A> {
    field: Field<A>,
    above: Vec<AtomicU32>,
}

impl<A: Adjacency> Components<A> {
    /// Of all members of the field.
    pub fn new(field: Field<A>) -> Components<A> {
        let above = (0..field.along.vertex_bound()).map(AtomicU32::new).collect();
        Components { field, above }
    }

    /// The smallest vertex of the component of the member at this position.
    pub fn value(&self, position: usize) -> u32 {
        self.up(self.field.members[position])
    }

    /// The graph and its members.
    pub fn field(&self) -> &Field<A> {
        &self.field
    }

    fn up(&self, vertex: u32) -> u32 {
        self.above[vertex as usize].load(Relaxed)
    }

    /// Hangs the larger one's root below the smaller one's.
    fn join(&self, one: u32, other: u32) {
        let (mut one, mut other) = (self.up(one), self.up(other));
        while one != other {
            let (low, high) = (one.min(other), one.max(other));
            let up = self.up(high);
            debug_assert!(up <= high, "a vertex never hangs below a larger one");
            let is_root = up == high;
            let place = &self.above[high as usize];
            if up == low || (is_root && place.compare_exchange(high, low, Relaxed, Relaxed).is_ok()) {
                return;
            }
            (one, other) = (self.up(self.up(high)), self.up(low));
        }
    }

    fn raise(&self, vertex: u32) {
        let mut up = self.up(vertex);
        while self.up(up) != up {
            up = self.up(up);
        }
        self.above[vertex as usize].store(up, Relaxed);
    }

    fn follow(&self, vertex: u32, ends: &[u32]) {
        ends.iter().filter(|far| self.field.admits(**far)).for_each(|far| self.join(vertex, *far));
    }

    fn sample(&self, vertex: u32, own: &mut Own, work: &mut Work<'_>) {
        let ends = self.field.along.neighbours(vertex, &mut own.scratch);
        let few = ends.len().min(SAMPLED_EDGES);
        self.follow(vertex, &ends[..few]);
        work.charge(few);
    }

    /// A piece of the rest of a vertex's edges; true once it needs no more.
    fn rest(&self, vertex: u32, largest: u32, own: &mut Own, work: &mut Work<'_>) -> bool {
        let Own { scratch, cursor, is_behind } = own;
        let side = if *is_behind { &self.field.against } else { &self.field.along };
        let ends = side.neighbours(vertex, scratch);
        let from = if *is_behind { *cursor } else { (*cursor).max(SAMPLED_EDGES).min(ends.len()) };
        let piece = &ends[from..from + work.piece(ends.len() - from)];
        let (mut followed, mut hangs) = (0, self.up(vertex) == largest);
        for some in piece.chunks(LOOK_EVERY) {
            if hangs {
                break;
            }
            self.follow(vertex, some);
            followed += some.len();
            hangs = self.up(vertex) == largest;
        }
        work.charge(followed);
        *cursor = from + piece.len();
        if !hangs && *cursor < ends.len() {
            return false;
        }
        *cursor = 0;
        let goes_on = !hangs && !*is_behind && self.field.orientation == Orientation::Directed;
        *is_behind = goes_on;
        !goes_on
    }

    /// The root below which most of a sample hang.
    fn largest(&self) -> u32 {
        let members = &self.field.members;
        let stride = (members.len() / SAMPLED_VERTICES).max(1);
        let mut roots: Vec<u32> = members.iter().step_by(stride).map(|vertex| self.up(*vertex)).collect();
        roots.sort_unstable();
        roots.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map_or(0, |run| run[0])
    }

    fn stretch(&self, kind: Kind) -> Option<Stretch<Kind>> {
        Some(Stretch { kind, count: self.field.members.len(), morsel: MORSEL })
    }
}

impl<A: Adjacency> Staged for Components<A> {
    type Kind = Kind;
    type Own = Own;

    fn first(&self) -> Option<Stretch<Kind>> {
        self.stretch(Kind::Sample)
    }
    fn work(&self, kind: Kind, range: &mut Range<usize>, own: &mut Own, work: &mut Work<'_>) {
        while range.start < range.end && !work.is_over() {
            let vertex = self.field.members[range.start];
            match kind {
                Kind::Sample => self.sample(vertex, own, work),
                Kind::Raise | Kind::Settle => {
                    self.raise(vertex);
                    work.charge(0);
                }
                Kind::Rest(largest) => {
                    if !self.rest(vertex, largest, own, work) {
                        continue;
                    }
                }
            }
            range.start += 1;
        }
    }
    fn next(&self, kind: Kind) -> Option<Stretch<Kind>> {
        match kind {
            Kind::Sample => self.stretch(Kind::Raise),
            Kind::Raise => self.stretch(Kind::Rest(self.largest())),
            Kind::Rest(_) => self.stretch(Kind::Settle),
            Kind::Settle => None,
        }
    }
    fn fault(&self) -> Option<PathError> {
        self.field.fault()
    }
    fn bytes(&self) -> usize {
        self.field.bytes() + self.above.capacity() * 4
    }
}
