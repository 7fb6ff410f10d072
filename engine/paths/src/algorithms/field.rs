//! The input of algorithms: a graph in both directions, restricted to some vertices.

use crate::adjacency::Adjacency;
use crate::error::PathError;
use crate::frontier::Bitmap;
use crate::hops::Orientation;

/// A graph both ways, and the vertices that take part; edges to others are not there.
pub struct Field<A> {
    pub(crate) along: A,
    /// The same edges in the other direction; not read where they are undirected.
    pub(crate) against: A,
    pub(crate) orientation: Orientation,
    /// Rising.
    pub(crate) members: Vec<u32>,
    /// None where every vertex with an edge is a member.
    pub(super) chosen: Option<Bitmap>,
}

impl<A: Adjacency> Field<A> {
    /// `members` are distinct and below the bound; `all` says that no other vertex has an edge.
    pub fn new(along: A, against: A, orientation: Orientation, mut members: Vec<u32>, all: bool) -> Field<A> {
        members.sort_unstable();
        let mut bits = Bitmap::new(if all { 0 } else { along.vertex_bound() });
        if !all {
            members.iter().for_each(|vertex| {
                bits.insert(*vertex);
            });
        }
        Field { along, against, orientation, members, chosen: (!all).then_some(bits) }
    }
    /// The participating vertices, ascending: the order of results.
    pub fn members(&self) -> &[u32] {
        &self.members
    }
    pub(crate) fn bound(&self) -> usize {
        self.along.vertex_bound() as usize
    }
    pub(crate) fn is_directed(&self) -> bool {
        self.orientation == Orientation::Directed
    }
    #[inline(always)]
    pub(crate) fn admits(&self, vertex: u32) -> bool {
        self.chosen.as_ref().is_none_or(|bits| bits.contains(vertex))
    }
    /// Entries of all lists that are looked at, roughly.
    pub(crate) fn edges(&self) -> u64 {
        let behind = if self.is_directed() { self.against.edges_estimate() } else { Some(0) };
        self.along.edges_estimate().unwrap_or(0) + behind.unwrap_or(0)
    }
    pub(crate) fn fault(&self) -> Option<PathError> {
        (self.along.failure() || self.against.failure()).then_some(PathError::GraphFailed)
    }
    pub(crate) fn bytes(&self) -> usize {
        self.members.capacity() * 4 + self.chosen.as_ref().map_or(0, Bitmap::bytes)
    }
}
