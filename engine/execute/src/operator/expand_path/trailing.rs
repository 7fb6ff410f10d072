//! Trails of one row: listed one by one, guided towards a bound far end, or only their ends, level by level.
//!
//! Distinct ends of more than one edge are searched trail by trail at first: a consumer of few ends has them soon, and a short search ends. Where
//! there are many trails, their ends are found without listing them ([`TrailEnds`]).

use super::expansion::{Expansion, Walks};
use super::search::{Along, Found, done_if};
use crate::operator::expand_pattern::mode;
use crate::turn::Progress;
use paths::{
    Hops, Orientation, Path, PathError, ShortestFrom, TRAIL_ENDS_HOPS_MAX, Targets, Toward, TrailBatch,
    TrailEnds, Trails, Work,
};
use plan::pattern::{DISTINCT_TRAIL_HOPS_MAX, PathMode};

/// Edges visited trail by trail before distinct ends are looked for level by level.
const EDGES_TRAIL_BY_TRAIL: u64 = 65_536;

pub(super) enum Trailing {
    /// Every trail.
    Every { search: Box<Trails<Along>>, batch: TrailBatch },
    /// Distinct ends, trail by trail.
    Probe { search: Box<Trails<Along>>, batch: TrailBatch, source: u32, hops: Hops, edges_left: u64 },
    /// Distinct ends, level by level.
    Ends(Box<TrailEnds<Along>>),
    /// Distances to the bound far end, for the guide.
    Guide {
        search: Box<ShortestFrom<Along, Along>>,
        source: u32,
        target: u32,
        hops: Hops,
        mode: paths::PathMode,
        batch: TrailBatch,
    },
    /// Trails to the bound far end.
    Guided { search: Box<Trails<Along, Toward>>, batch: TrailBatch },
}

// What plans leave to the search, it takes.
const _: () = assert!(DISTINCT_TRAIL_HOPS_MAX <= TRAIL_ENDS_HOPS_MAX);

impl Trailing {
    /// Trails to anywhere; `distinct` says that each end counts once.
    pub(super) fn open(
        plan: &Expansion,
        walks: &Walks,
        from: u32,
        distinct: bool,
    ) -> Result<Trailing, PathError> {
        let search = Box::new(Trails::new(walks.along.clone(), from, plan.hops, mode(plan.mode))?);
        let (batch, hops, edges_left) = (trail_batch(plan), plan.hops, EDGES_TRAIL_BY_TRAIL);
        Ok(match distinct && plan.mode == PathMode::Trail && hops.max <= TRAIL_ENDS_HOPS_MAX {
            true => Trailing::Probe { search, batch, source: from, hops, edges_left },
            false => Trailing::Every { search, batch },
        })
    }
    /// Could [`Trailing::restart`] begin it anew?
    pub(super) fn is_restartable(&self) -> bool {
        matches!(self, Trailing::Every { .. } | Trailing::Probe { .. })
    }
    /// The same from another vertex, in the same memory, where there is nothing else to make anew.
    pub(super) fn restart(&mut self, from: u32) -> Result<bool, PathError> {
        let (search, batch) = match self {
            Trailing::Every { search, batch } => (search, batch),
            Trailing::Probe { search, batch, source, edges_left, .. } => {
                (*source, *edges_left) = (from, EDGES_TRAIL_BY_TRAIL);
                (search, batch)
            }
            Trailing::Ends(_) | Trailing::Guide { .. } | Trailing::Guided { .. } => return Ok(false),
        };
        batch.clear();
        search.restart(from)?;
        Ok(true)
    }
    /// Trails to one vertex.
    pub(super) fn toward(plan: &Expansion, walks: &Walks, from: u32, to: u32) -> Result<Trailing, PathError> {
        let hops = Hops::new(0, plan.hops.max);
        let (along, against) = (walks.against.clone(), walks.against.clone());
        let search = ShortestFrom::new(along, against, to, Targets::All, hops, Orientation::Directed)?;
        let (source, hops, mode, batch) = (from, plan.hops, mode(plan.mode), trail_batch(plan));
        Ok(Trailing::Guide { search: Box::new(search), source, target: to, hops, mode, batch })
    }
    /// May a slice with little work have answers?
    pub(super) fn is_early(&self) -> bool {
        !matches!(self, Trailing::Guide { .. } | Trailing::Ends(_))
    }
    /// A slice of work along `walk`; `first_only` says that one trail is enough.
    pub(super) fn advance(
        &mut self,
        walk: Option<&Along>,
        work: &mut Work<'_>,
        found: &mut Found,
        (rows_max, first_only, keeps_paths): (usize, bool, bool),
    ) -> Result<Progress, PathError> {
        match self {
            Trailing::Every { search, batch } => {
                batch.clear();
                let progress = search.fill(work, batch, rows_max)?;
                take(batch, keeps_paths, found);
                Ok(done_if(progress == paths::Progress::Done))
            }
            Trailing::Probe { search, batch, source, hops, edges_left } => {
                batch.clear();
                let progress = search.fill(work, batch, rows_max)?;
                take(batch, keeps_paths, found);
                *edges_left = edges_left.saturating_sub(work.edges_visited());
                // The search by levels begins anew: who asks takes no end twice.
                if let (paths::Progress::More, 0, Some(walk)) = (progress, *edges_left, walk) {
                    *self = Trailing::Ends(Box::new(TrailEnds::new(walk.clone(), *source, *hops)?));
                }
                Ok(done_if(progress == paths::Progress::Done))
            }
            Trailing::Ends(search) => {
                let progress = search.step(work)?;
                let drained = search.drain(&mut found.ends, rows_max);
                found.lengths.resize(found.ends.len(), 0);
                Ok(done_if(progress == paths::Progress::Done && drained < rows_max))
            }
            Trailing::Guided { search, batch } => {
                batch.clear();
                let progress = search.fill(work, batch, if first_only { 1 } else { rows_max })?;
                let is_enough = first_only && !batch.is_empty();
                take(batch, keeps_paths, found);
                Ok(done_if(is_enough || progress == paths::Progress::Done))
            }
            Trailing::Guide { search, source, target, hops, mode, batch } => {
                if let (paths::Progress::Done, Some(walk)) = (search.step(work)?, walk) {
                    // The distances to the far end are known: now the trails.
                    let guide = Toward { target: *target, distances: search.shared_distances() };
                    let search = Trails::guided(walk.clone(), *source, *hops, *mode, guide)?;
                    *self = Trailing::Guided { search: Box::new(search), batch: std::mem::take(batch) };
                }
                Ok(Progress::More)
            }
        }
    }
    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Trailing::Every { search, batch } | Trailing::Probe { search, batch, .. } => {
                search.bytes() + batch.bytes()
            }
            Trailing::Ends(search) => search.bytes(),
            Trailing::Guide { search, .. } => search.bytes(),
            Trailing::Guided { search, batch } => search.bytes() + batch.bytes(),
        }
    }
}

fn trail_batch(plan: &Expansion) -> TrailBatch {
    if plan.keep_edges { TrailBatch::with_paths() } else { TrailBatch::ends_only() }
}

fn take(batch: &TrailBatch, keeps_paths: bool, found: &mut Found) {
    found.ends.extend_from_slice(&batch.ends);
    found.lengths.extend_from_slice(&batch.lengths);
    if keeps_paths {
        for row in 0..batch.len() {
            let (vertices, edges) = batch.path(row);
            found.runs.push(Path { vertices: vertices.to_vec(), edges: edges.to_vec() });
        }
    }
}
