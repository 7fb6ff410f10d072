//! The definition of a walk: edge types, a direction, a bound, and whether it may end at its source.

use model::Direction;
use plan::expr::Name;

/// A walk over edges.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// Admitted types; none admits all.
    pub types: Vec<Name>,
    pub direction: Direction,
    /// Whether a source is an end of itself.
    pub home: SourceStart,
    /// Which way back to it counts.
    pub back: Back,
    /// Most edges.
    pub max: Option<u32>,
}

/// Whether a source is an end of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceStart {
    /// A target at distance 0.
    Near,
    /// A target where a way leads back, at its length.
    Cycle,
    /// No target.
    Never,
}

/// Which way back counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// No edge twice.
    Trail,
    /// Edges may repeat.
    Walk,
}
