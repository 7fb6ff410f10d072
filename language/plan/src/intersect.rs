//! The operator for a vertex that is a neighbour of several bound ones: closes a cycle of a pattern without walking it round.
//!
//! Where a pattern comes back to a bound vertex, walking an edge and then testing whether the far end has an edge to the other vertex costs the
//! longer of both lists for each row. An intersection of the neighbour lists costs the shortest, however the pattern was ordered (a worst-case
//! optimal join, one vertex at a time: Ngo, Porat, Ré, Rudra 2012), and where a vertex comes in many rows its list is read once for all of them.

use crate::label_expr::Name;
use crate::vars::Var;
use model::Direction;

/// An edge from a bound vertex. No column is made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct IntersectArm {
    /// The bound vertex.
    pub from: Var,
    /// Admitted types; empty admits all.
    pub types: Vec<Name>,
    /// Seen from `from`.
    pub direction: Direction,
    /// That there is an edge counts, not how many.
    pub once: bool,
}
