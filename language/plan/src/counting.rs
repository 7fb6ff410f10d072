//! Counting without enumerating: the parts of [`crate::algebra::CountMatches`].
//!
//! A pattern that is only counted falls into a core and trees. The core's vertices are bound one after another, each out of the
//! intersection of the neighbour lists of those before it (a worst-case optimal join, one vertex at a time: Ngo, Porat, Ré, Rudra 2012);
//! a tree that hangs on a core vertex by one edge is never bound but multiplied in, as the sum over its ends of the product of their own trees (a
//! factorised count, Olteanu and Schleich 2016).

use crate::label_expr::{LabelExpr, Name};
use crate::vars::Var;
use model::Direction;

/// Entities that the store counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Counted {
    /// Vertices with these labels.
    Vertices(LabelExpr),
    /// Edges at vertices with these labels.
    Edges {
        /// Admitted types, each once; empty admits all.
        types: Vec<Name>,
        /// Of the vertex at one end.
        labels: LabelExpr,
        /// Out or in, seen from that vertex.
        direction: Direction,
    },
}

/// One more vertex of the core.
#[derive(Clone, Debug, PartialEq)]
pub struct CountStep {
    /// Its variable; no column is made of it.
    pub vertex: Var,
    /// Its labels.
    pub labels: LabelExpr,
    /// Edges from vertices bound before, at least one; every combination of edges counts.
    pub arms: Vec<CountArm>,
    /// Edges that must not be there, likewise.
    pub absent: Vec<CountArm>,
    /// Vertices bound before that it must not be.
    pub differs: Vec<Var>,
    /// The trees that hang on it.
    pub trees: Vec<CountTree>,
}

/// An edge to a vertex that is bound already.
#[derive(Clone, Debug, PartialEq)]
pub struct CountArm {
    /// The vertex bound before.
    pub other: Var,
    /// Admitted types; empty admits all.
    pub types: Vec<Name>,
    /// Seen from `other`.
    pub direction: Direction,
    /// Ends of edges found before that this edge must not be: in stored direction where this one has a direction, else either way round.
    pub unlike: Vec<(Var, Var)>,
}

/// A tree that hangs on a vertex by one edge.
#[derive(Clone, Debug, PartialEq)]
pub struct CountTree {
    /// Admitted types; empty admits all.
    pub types: Vec<Name>,
    /// Seen from the vertex it hangs on.
    pub direction: Direction,
    /// Labels of the far end.
    pub labels: LabelExpr,
    /// Where there is none, that counts as one way.
    pub optional: bool,
    /// The edge leads back to the vertex it hangs on, and nothing hangs on it.
    pub is_loop: bool,
    /// The trees that hang on the far end.
    pub trees: Vec<CountTree>,
}
