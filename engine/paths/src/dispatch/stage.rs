//! One stage of a search: positions at each of which the same thing is to be done, drawn as morsels by those who may.
//!
//! Invariant: what a stage reads does not change while it lasts, but for what its own kind says; whoever finishes its last morsel
//! makes the next stage. Cost: two atomic additions and two short locks a morsel.

use crate::morsel::{Morsel, MorselDispatcher, MorselPolicy};
use std::sync::Arc;

/// What is done at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The one position: do paths come back to the sources?
    Return,
    /// Position in the frontier: its vertex looks at its list.
    Expand,
    /// Sixty-four vertices from `64 * position` on: those not seen look for the frontier.
    Gather,
    /// Position in what lanes touched, then in the last frontier: the level is made of the first, the second is forgotten.
    Settle,
}

pub(super) struct Stage {
    pub(super) kind: Kind,
    /// Hops from the source to the frontier.
    pub(super) depth: u32,
    /// The frontier; for [`Kind::Settle`] what was touched.
    pub(super) list: Arc<Vec<u32>>,
    /// For [`Kind::Settle`] the last frontier.
    pub(super) old: Arc<Vec<u32>>,
    /// The one worker that may draw, if not all.
    owner: Option<usize>,
    morsels: MorselDispatcher,
}

/// Vertices of a frontier in a morsel that others may draw, at most.
const EXPAND_MORSEL: usize = 1024;
/// Words in one.
const GATHER_MORSEL: usize = 256;
/// Vertices settled in one.
const SETTLE_MORSEL: usize = 16_384;
/// Morsels of a stage, as far as these sizes allow: enough for the last ones to be short beside the whole.
const MORSELS_WANTED: usize = 32;

impl Stage {
    /// A stage of so many positions, in one morsel.
    pub(super) fn new(
        kind: Kind,
        depth: u32,
        list: Arc<Vec<u32>>,
        old: Arc<Vec<u32>>,
        count: usize,
    ) -> Stage {
        let morsels = MorselDispatcher::new(count, MorselPolicy { vertices_max: count });
        Stage { kind, depth, list, old, owner: None, morsels }
    }
    /// The same for one worker alone.
    pub(super) fn of(self, owner: usize) -> Stage {
        Stage { owner: Some(owner), ..self }
    }
    /// The same for all, if it has at least so many vertices; else for one.
    pub(super) fn shared(self, vertices_min: usize, owner: usize) -> Stage {
        let (unit, most) = match self.kind {
            Kind::Return => return self.of(owner),
            Kind::Expand => (1, EXPAND_MORSEL),
            Kind::Gather => (64, GATHER_MORSEL),
            Kind::Settle => (1, SETTLE_MORSEL),
        };
        let count = self.morsels.count();
        if count * unit < vertices_min {
            return self.of(owner);
        }
        let least = (vertices_min / 2 / unit).max(1);
        let vertices_max = count.div_ceil(MORSELS_WANTED).clamp(least, most.max(least));
        Stage { morsels: MorselDispatcher::new(count, MorselPolicy { vertices_max }), ..self }
    }
    pub(super) fn is_shared(&self) -> bool {
        self.owner.is_none()
    }
    /// A morsel for this worker, if one is left and it may have it.
    pub(super) fn draw(&self, worker: usize) -> Option<Morsel> {
        if self.owner.is_none_or(|owner| owner == worker) { self.morsels.draw() } else { None }
    }
    /// True for the one call that ends the stage.
    pub(super) fn finish(&self, morsel: &Morsel) -> bool {
        self.morsels.finish(morsel)
    }
}

/// A morsel at work.
pub(super) struct Task {
    pub(super) stage: Arc<Stage>,
    pub(super) morsel: Morsel,
    /// The position that is being handled.
    pub(super) at: usize,
    /// How much of its vertex's list was handled.
    pub(super) edge_cursor: usize,
    /// For [`Kind::Gather`]: the vertices of the word that are left; none before it is begun.
    pub(super) left: Option<u64>,
}

impl Task {
    pub(super) fn new(stage: Arc<Stage>, morsel: Morsel) -> Task {
        Task { at: morsel.positions.start, stage, morsel, edge_cursor: 0, left: None }
    }
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.morsel.positions.end
    }
    pub(super) fn next_position(&mut self) {
        (self.at, self.edge_cursor, self.left) = (self.at + 1, 0, None);
    }
}
