//! Questions about every vertex of a graph: the algorithms of LDBC Graphalytics beside breadth-first search and cheapest paths.
//!
//! | question | algorithm |
//! |---|---|
//! | which vertices hang together? | [`Components`] |
//! | which are important? | [`PageRank`] |
//! | which communities form by themselves? | [`Propagation`] |
//! | how densely are a vertex's neighbours joined? | [`Clustering`] |
//!
//! Each is a state machine like the searches: it works by quota, can be left and dropped, and tells its memory. Each works on a
//! [`Field`]: the graph both ways, narrowed to some vertices.

mod clustering;
mod components;
mod page_rank;
mod propagation;

pub use clustering::Clustering;
pub use components::Components;
pub use page_rank::PageRank;
pub use propagation::Propagation;

use crate::adjacency::Adjacency;
use crate::frontier::Bitmap;
use crate::hops::Orientation;

/// A graph both ways, and the vertices that take part; edges to others are not there.
pub struct Field<A> {
    pub(crate) along: A,
    /// The same edges the other way; not asked where they are undirected.
    pub(crate) against: A,
    pub(crate) orientation: Orientation,
    /// Rising.
    pub(crate) members: Vec<u32>,
    /// None where every vertex with an edge is a member.
    chosen: Option<Bitmap>,
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
    /// The vertices that take part, rising: what results are in the order of.
    pub fn members(&self) -> &[u32] {
        &self.members
    }
    pub(crate) fn bound(&self) -> usize {
        self.along.vertex_bound() as usize
    }
    #[inline(always)]
    pub(crate) fn admits(&self, vertex: u32) -> bool {
        self.chosen.as_ref().is_none_or(|bits| bits.contains(vertex))
    }
    pub(crate) fn has_failed(&self) -> bool {
        self.along.failure() || self.against.failure()
    }
    pub(crate) fn bytes(&self) -> usize {
        self.members.capacity() * 4 + self.chosen.as_ref().map_or(0, Bitmap::bytes)
    }
}
