//! How long a path may be, and whether edges are followed one way or both.

use crate::error::PathError;

/// Bounds on the number of edges of a path, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hops {
    /// Fewest edges.
    pub min: u32,
    /// Most edges; [`Hops::UNBOUNDED`] for no bound.
    pub max: u32,
}

impl Hops {
    /// As `max`: no upper bound.
    pub const UNBOUNDED: u32 = u32::MAX;

    /// From `min` to `max` edges.
    pub fn new(min: u32, max: u32) -> Hops {
        Hops { min, max }
    }

    /// `*`: one or more.
    pub fn any() -> Hops {
        Hops::new(1, Hops::UNBOUNDED)
    }

    /// Searches by distance cannot answer "at least two": a longer detour may be a path where the shortest is too short.
    pub(crate) fn checked_by_distance(self) -> Result<Hops, PathError> {
        if self.min > 1 { Err(PathError::LeastLengthTooLong { hops_min: self.min }) } else { Ok(self) }
    }
}

/// Whether the adjacency lists edges from one end (outgoing or incoming) or from both.
///
/// It matters where a path returns to its start: undirected, going out and back over the same edge is no trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// Each edge is listed at one end.
    Directed,
    /// Each edge is listed at both ends.
    Undirected,
}
