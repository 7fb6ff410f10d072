//! Why a search could not go on.

use std::fmt;

/// Errors of a search. Each has a stable [`code`](PathError::code), a message and a [`hint`](PathError::hint).
#[derive(Debug, Clone, PartialEq)]
pub enum PathError {
    /// The adjacency reported a failure; the caller holds the reason.
    GraphFailed,
    /// A source or target is not below the vertex bound.
    VertexOutOfBounds {
        /// The vertex.
        vertex: u32,
        /// The adjacency's bound.
        bound: u32,
    },
    /// This search decides by distance and so takes a least length of 0 or 1 only.
    LeastLengthTooLong {
        /// The least number of hops.
        hops_min: u32,
    },
    /// A path grew longer than the enumeration's stack may.
    PathTooLong {
        /// The limit on hops.
        hops_max: u32,
    },
    /// A pattern repeats its parts more often than the search can tell apart.
    PatternTooLarge {
        /// The limit on states.
        states_max: usize,
    },
    /// A weight was negative or not a number.
    BadWeight {
        /// The edge.
        edge: u64,
        /// Its weight.
        weight: f64,
    },
}

impl PathError {
    /// Stable code for users and tests.
    pub fn code(&self) -> &'static str {
        match self {
            PathError::GraphFailed => "path.graph-failed",
            PathError::VertexOutOfBounds { .. } => "path.vertex-out-of-bounds",
            PathError::LeastLengthTooLong { .. } => "path.least-length",
            PathError::PathTooLong { .. } => "path.too-long",
            PathError::PatternTooLarge { .. } => "path.pattern-too-large",
            PathError::BadWeight { .. } => "path.bad-weight",
        }
    }

    /// Advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            PathError::GraphFailed => "see the storage or evaluation error reported with it",
            PathError::VertexOutOfBounds { .. } => "this is a defect of the engine: please report it",
            PathError::LeastLengthTooLong { .. } => "enumerate trails instead, and keep distinct ends",
            PathError::PathTooLong { .. } => {
                "give the pattern an upper bound, as in *1..10, or ask for a shortest path"
            }
            PathError::PatternTooLarge { .. } => {
                "lower the bounds of its quantifiers, or leave the upper one out"
            }
            PathError::BadWeight { .. } => "weights must be numbers of zero or more",
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::GraphFailed => write!(f, "the graph could not be read"),
            PathError::VertexOutOfBounds { vertex, bound } => {
                write!(f, "vertex {vertex} is not below the bound {bound}")
            }
            PathError::LeastLengthTooLong { hops_min } => {
                write!(f, "a search by distance cannot ask for at least {hops_min} hops")
            }
            PathError::PathTooLong { hops_max } => write!(f, "a path grew beyond {hops_max} relationships"),
            PathError::PatternTooLarge { states_max } => {
                write!(f, "the repetitions of a path pattern come to more than {states_max} steps")
            }
            PathError::BadWeight { edge, weight } => write!(f, "relationship {edge} has the weight {weight}"),
        }
    }
}

impl std::error::Error for PathError {}
