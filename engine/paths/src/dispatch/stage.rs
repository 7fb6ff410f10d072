//! One stage of a search: positions with the same work at each, drawn as morsels by its workers.
//!
//! Invariant: the inputs of a stage do not change while it lasts, but for what its own kind says; the worker that finishes its last morsel
//! makes the next stage. Cost: two atomic additions and two short locks a morsel.

use super::policy::{DispatchPolicy, Sharing};
use crate::morsel::{Morsel, MorselDispatcher, MorselPolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The work at a position.
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
    /// Position in the level just found, for lanes number of a lane: its ends' paths are rebuilt and handed out.
    Trace,
}

pub(super) struct Stage {
    pub(super) kind: Kind,
    /// Hops from the source to the frontier.
    pub(super) depth: u32,
    /// The frontier; for [`Kind::Settle`] what was touched.
    pub(super) list: Arc<Vec<u32>>,
    /// For [`Kind::Settle`] the last frontier.
    pub(super) old: Arc<Vec<u32>>,
    /// For [`Kind::Trace`] what follows, and its positions; none at the end.
    pub(super) then: Option<(Kind, usize)>,
    /// Edges in the lists of a frontier, as far as they are known.
    edges: u64,
    /// The one worker that may draw while the stage is closed.
    owner: usize,
    /// May all draw? The owner opens a stage between two morsels of its own, so nobody works as if alone while others do.
    is_open: AtomicBool,
    may_open: bool,
    morsels: MorselDispatcher,
}

/// Vertices of a frontier in a morsel that others may draw, at most.
const EXPAND_MORSEL: usize = 1024;
/// Words in one.
const GATHER_MORSEL: usize = 256;
/// Vertices settled in one.
const SETTLE_MORSEL: usize = 16_384;
/// Edges that are as much work as a vertex of a level.
const EDGES_PER_VERTEX: u64 = 8;
/// Morsels of a stage, as far as these sizes allow, where others want some: enough for the last ones to be short beside the whole.
const MORSELS_WANTED: usize = 32;
/// The same where nobody does as yet.
const MORSELS_KEPT: usize = 8;

impl Stage {
    /// A stage of so many positions, in one morsel, for a worker to be named.
    pub(super) fn new(
        kind: Kind,
        depth: u32,
        list: Arc<Vec<u32>>,
        old: Arc<Vec<u32>>,
        count: usize,
    ) -> Stage {
        let morsels = MorselDispatcher::new(count, MorselPolicy { vertices_max: count });
        let is_open = AtomicBool::new(false);
        Stage { kind, depth, list, old, then: None, edges: 0, owner: 0, is_open, may_open: false, morsels }
    }
    /// The same, whose positions have so many edges.
    pub(super) fn with_edges(self, edges: u64) -> Stage {
        Stage { edges, ..self }
    }
    /// The level of these vertices as something to trace, and then as a frontier, as `then` says.
    pub(super) fn tracing(
        depth: u32,
        list: Arc<Vec<u32>>,
        count: usize,
        then: Option<(Kind, usize)>,
    ) -> Stage {
        Stage { then, ..Stage::new(Kind::Trace, depth, list, Arc::default(), count) }
    }
    /// The stage after a level that was traced.
    pub(super) fn traced(&self) -> Option<Stage> {
        let (kind, positions) = self.then?;
        let stage = Stage::new(kind, self.depth, self.list.clone(), Arc::default(), positions);
        Some(stage.with_edges(self.edges))
    }
    /// The same for one worker alone.
    pub(super) fn of(self, owner: usize) -> Stage {
        Stage { owner, ..self }
    }
    /// The same in morsels, as the policy says. What no two workers write alike is open from the beginning.
    pub(super) fn cut(self, policy: &DispatchPolicy, owner: usize, is_wanted: bool) -> Stage {
        let (unit, most) = match self.kind {
            Kind::Return => return self.of(owner),
            Kind::Expand => (1, EXPAND_MORSEL),
            Kind::Gather => (64, GATHER_MORSEL),
            Kind::Settle => (1, SETTLE_MORSEL),
            // A lane goes through the whole level.
            Kind::Trace if self.morsels.count() == self.list.len() => (1, EXPAND_MORSEL),
            Kind::Trace => (self.list.len().max(1), EXPAND_MORSEL),
        };
        let count = self.morsels.count();
        // Few vertices may have many edges.
        let edges = if self.kind == Kind::Expand { self.edges / EDGES_PER_VERTEX } else { 0 };
        let work = (count * unit).max(usize::try_from(edges).unwrap_or(usize::MAX));
        if policy.sharing == Sharing::Never || work < policy.shared_min {
            return self.of(owner);
        }
        let least = (policy.shared_min / 2 * count / work).max(1);
        let morsels = if is_wanted { MORSELS_WANTED } else { MORSELS_KEPT };
        let most = if is_wanted { most } else { usize::MAX };
        let vertices_max = count.div_ceil(morsels).clamp(least, most.max(least));
        let is_open = policy.sharing == Sharing::Always || self.kind != Kind::Expand;
        let morsels = MorselDispatcher::new(count, MorselPolicy { vertices_max });
        Stage { owner, is_open: AtomicBool::new(is_open), may_open: true, morsels, ..self }
    }
    pub(super) fn is_shared(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }
    /// A morsel for this worker, if one is left and it may have it; `opens` says whether others want some.
    pub(super) fn draw(&self, worker: usize, opens: impl FnOnce() -> bool) -> Option<Morsel> {
        if !self.is_shared() {
            if self.owner != worker {
                return None;
            }
            if self.may_open && opens() {
                self.is_open.store(true, Ordering::Release);
            }
        }
        self.morsels.draw()
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
    /// Goes on with a morsel that follows its own, as one; false if there is something between them.
    pub(super) fn extend(&mut self, morsel: &Morsel) -> bool {
        let follows = morsel.positions.start == self.morsel.positions.end;
        if follows {
            self.morsel.positions.end = morsel.positions.end;
        }
        follows
    }
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.morsel.positions.end
    }
    pub(super) fn next_position(&mut self) {
        (self.at, self.edge_cursor, self.left) = (self.at + 1, 0, None);
    }
}
