//! What a step walks: edge types, a direction, a bound, and what a source is to itself.

use model::Direction;
use plan::expr::Name;

/// What is walked.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// Admitted types; none admits all.
    pub types: Vec<Name>,
    pub direction: Direction,
    /// What a source is to itself.
    pub home: SourceStart,
    /// Which way back to it counts.
    pub back: Back,
    /// Most edges.
    pub max: Option<u32>,
}

/// What a source is to itself.
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
