//! Terms of a problem of ordering: sets of vertices, ways to find one, steps from set to set.

use crate::algebra::Seek;
use crate::expr::{Expr, LabelExpr, Name};

/// Bound vertices of a pattern.
pub(super) type Set = u128;
/// Everything that the input binds.
pub(super) const INPUT: Set = 1;

/// The end from which an edge is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    From,
    To,
}

/// The last step by which a set is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The input itself, or one empty row.
    Begin,
    /// A scan for this vertex.
    Scan(usize),
    /// The vertex, and which of its starts.
    Seek(usize, usize),
    /// The vertex, the edge that is walked, and from which end.
    Walk(usize, usize, Side),
    /// Hash join with this set.
    Join(Set),
}

/// A way to find a vertex.
pub(super) struct Start {
    pub how: How,
    /// Predicates that need no test after it.
    pub answered: Vec<usize>,
    /// Vertices that must be bound before.
    pub need: Set,
    /// Vertices found.
    pub rows: f64,
    /// Work of finding them.
    pub cost: f64,
}

/// How a vertex is found.
#[derive(Clone)]
pub(super) enum How {
    Ids(Expr),
    Index { label: Name, keys: Vec<Name>, seek: Seek },
    AnyLabel(AnyLabel),
}

/// The same look-up in the indexes of several labels.
#[derive(Clone)]
pub(super) struct AnyLabel {
    pub labels: Vec<Name>,
    pub key: Name,
    pub seek: Seek,
    /// The vertices outside of these labels that are still admitted.
    pub rest: Option<LabelExpr>,
}

/// How a vertex is to be bound.
#[derive(Default)]
pub(super) enum VertexBinding {
    #[default]
    Nothing,
    Scan,
    /// By one of these of its starts.
    Seek(Vec<usize>),
}

/// How many times more rows there are once all edges of it have been found.
pub(super) struct Fork {
    /// Their numbers: two, or one twice.
    pub edges: [usize; 2],
    /// The vertex that has them.
    pub at: Set,
    pub need: Set,
    pub share: f64,
}
