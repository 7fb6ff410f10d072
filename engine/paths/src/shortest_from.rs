//! Shortest paths from one source to every vertex, or to some.
//!
//! Idea: keep distances alone (a byte a vertex) and rebuild paths backwards when they are asked for, one or all.
//! The search ends early when every wanted target is found. The source as a target at one hop or more is a closed path:
//! directed, the first edge back to it closes the shortest; undirected, [`Returns`](crate::returns) tells its length
//! and guided trails list it, since walking out and back over one edge is no trail.
//! Cost: each edge once at most; a byte per vertex (less when little is touched) and 4 bytes per end kept.

use crate::adjacency::Adjacency;
use crate::distances::Distances;
use crate::error::PathError;
use crate::frontier::checked_sources;
use crate::hops::{Hops, Orientation};
use crate::lister::{Lister, Listing};
use crate::path::Path;
use crate::returns::Returns;
use crate::trails::{PathMode, Toward, TrailBatch, Trails};
use crate::wave::{Gate, Wave};
use crate::work::{Progress, Work};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::sync::Arc;

/// Which ends are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Targets<'t> {
    /// Every vertex within the bound.
    All,
    /// These; the search ends when all are found.
    Some(&'t [u32]),
}

/// See the module's head.
pub struct ShortestFrom<F, B> {
    forward: F,
    backward: B,
    source: u32,
    hops: Hops,
    orientation: Orientation,
    wave: Wave,
    /// The distances, once the search is done and paths are wanted.
    settled: Option<Arc<Distances>>,
    /// Targets not found yet; `None` for all.
    missing: Option<HashSet<u32, FixedState>>,
    ends: Vec<u32>,
    drained: usize,
    /// Undirected, while the length of the shortest closed path is sought.
    returns: Option<Returns>,
    wants_return: bool,
    return_length: Option<u32>,
    is_return_drained: bool,
    is_done: bool,
}

/// A listing of the paths to one target, made by [`ShortestFrom::paths_to`].
pub struct PathList<F> {
    form: ListForm<F>,
}

enum ListForm<F> {
    /// The path without edges, unless it was given already.
    Point(Option<u32>),
    Backwards(Lister),
    /// Closed paths of one length in an undirected graph.
    Closed {
        trails: Box<Trails<F, Toward>>,
        batch: TrailBatch,
    },
}

impl<F: Adjacency + Clone, B: Adjacency> ShortestFrom<F, B> {
    /// Searches along `forward`; `backward` is the same graph against the direction (the same again if undirected) and is only read to rebuild paths.
    /// Predicates are those of `forward`. `hops.min` is 0 or 1.
    pub fn new(
        forward: F,
        backward: B,
        source: u32,
        targets: Targets<'_>,
        hops: Hops,
        orientation: Orientation,
    ) -> Result<Self, PathError> {
        let hops = hops.checked_by_distance()?;
        let bound = forward.vertex_bound();
        checked_sources(&[source], bound)?;
        let mut missing = match targets {
            Targets::All => None,
            Targets::Some(list) => Some(checked_sources(list, bound)?.into_iter().collect::<HashSet<_, _>>()),
        };
        let wants_source = missing.as_ref().is_none_or(|missing| missing.contains(&source));
        let mut ends = Vec::new();
        if hops.min == 0 && wants_source {
            missing.as_mut().map(|missing| missing.remove(&source));
            ends.push(source);
        }
        let wants_return = hops.min == 1 && hops.max > 0 && wants_source;
        let closes = wants_return && orientation == Orientation::Undirected;
        Ok(ShortestFrom {
            wave: Wave::new(bound, source),
            returns: closes.then(|| Returns::new(&[source], hops.max, true)),
            forward,
            backward,
            source,
            hops,
            orientation,
            settled: None,
            missing,
            ends,
            drained: 0,
            wants_return,
            return_length: None,
            is_return_drained: false,
            is_done: false,
        })
    }

    /// Goes on until the work is over or the search has ended.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        if let Some(returns) = &mut self.returns {
            if returns.step(&self.forward, work)? == Progress::More {
                return Ok(Progress::More);
            }
            self.return_length = returns.answers(&self.forward).first().map(|&(_, length)| length);
            if let Some(missing) = &mut self.missing {
                missing.remove(&self.source);
            }
            self.returns = None;
        }
        while !self.is_done {
            if self.wave.level_is_done() {
                self.is_done = !self.next_level()?;
            } else if self.has_found_all() {
                self.is_done = true;
            } else if work.is_over() {
                return if self.forward.failure() { Err(PathError::GraphFailed) } else { Ok(Progress::More) };
            } else {
                self.expand(work);
            }
        }
        if self.forward.failure() { Err(PathError::GraphFailed) } else { Ok(Progress::Done) }
    }

    fn next_level(&mut self) -> Result<bool, PathError> {
        if self.forward.failure() {
            return Err(PathError::GraphFailed);
        }
        if !self.wave.frontier.is_empty() {
            self.wave.turn();
        }
        Ok(!self.wave.frontier.is_empty() && self.wave.depth < self.hops.max && !self.has_found_all())
    }

    /// Rebuilding a closed undirected path needs the distances of its vertices: half its length.
    fn has_found_all(&self) -> bool {
        let Some(missing) = &self.missing else { return false };
        let is_undirected = self.orientation == Orientation::Undirected;
        let radius = self.return_length.filter(|_| is_undirected).map_or(0, |length| length / 2);
        missing.is_empty() && self.wave.depth >= radius
    }

    fn expand(&mut self, work: &mut Work<'_>) {
        if self.hops.max == 0 {
            self.is_done = true;
            return;
        }
        let ShortestFrom { forward, wave, .. } = self;
        let gate = Gate {
            vertex: |vertex| forward.admits_vertex(vertex),
            edge: |edge, near, far| forward.admits_edge(edge, near, far),
            asks_edges: forward.has_edge_predicate(),
        };
        let before = wave.next.len();
        wave.expand(&*forward, &gate, work);
        match &mut self.missing {
            None => self.ends.extend_from_slice(&wave.next[before..]),
            Some(missing) => self.ends.extend(wave.next[before..].iter().filter(|end| missing.remove(*end))),
        }
        let is_return =
            self.wants_return && self.orientation == Orientation::Directed && self.return_length.is_none();
        if is_return && wave.returned.is_some() {
            self.return_length = wave.returned;
            if let Some(missing) = &mut self.missing {
                missing.remove(&self.source);
            }
        }
    }

    /// The distance of an end within the bounds, as far as found. The source's own is 0, or with `hops.min` 1 the
    /// length of the shortest closed path.
    pub fn distance(&self, vertex: u32) -> Option<u32> {
        if vertex == self.source && self.hops.min > 0 {
            return self.return_length;
        }
        self.distances().get(vertex)
    }

    fn distances(&self) -> &Distances {
        self.settled.as_deref().unwrap_or(&self.wave.distances)
    }

    /// Moves up to `count_max` wanted ends not yet drained, with their distances, to the back of the columns; how many.
    /// May be called between steps.
    pub fn drain_ends(&mut self, ends: &mut Vec<u32>, distances: &mut Vec<u32>, count_max: usize) -> usize {
        let before = ends.len();
        let stop = self.ends.len().min(self.drained + count_max);
        for &end in &self.ends[self.drained..stop] {
            ends.push(end);
            distances.push(self.distances().get(end).unwrap_or_default());
        }
        self.drained = stop;
        if let Some(length) = self.return_length
            && !self.is_return_drained
            && self.wants_return
            && ends.len() - before < count_max
        {
            self.is_return_drained = true;
            ends.push(self.source);
            distances.push(length);
        }
        ends.len() - before
    }

    /// Begins to list the shortest paths to `target`; `None` if it was not found. Call after the search is done.
    pub fn paths_to(&mut self, target: u32) -> Result<Option<PathList<F>>, PathError> {
        checked_sources(&[target], self.forward.vertex_bound())?;
        let Some(length) = self.distance(target) else { return Ok(None) };
        if length == 0 {
            return Ok(Some(PathList { form: ListForm::Point(Some(target)) }));
        }
        if target != self.source || self.orientation == Orientation::Directed {
            return Ok(Some(PathList { form: ListForm::Backwards(Lister::new(target, length)) }));
        }
        let distances = self.settle();
        let guide = Toward { target, distances };
        let hops = Hops::new(length, length);
        let trails = Trails::guided(self.forward.clone(), target, hops, PathMode::Trail, guide)?;
        Ok(Some(PathList {
            form: ListForm::Closed { trails: Box::new(trails), batch: TrailBatch::with_paths() },
        }))
    }

    fn settle(&mut self) -> Arc<Distances> {
        let wave = &mut self.wave;
        let taken = || Arc::new(std::mem::replace(&mut wave.distances, Distances::new(0)));
        Arc::clone(self.settled.get_or_insert_with(taken))
    }

    /// The distances by vertex, as a guide for other searches: [`Toward`].
    pub fn into_distances(mut self) -> Arc<Distances> {
        self.shared_distances()
    }

    /// The same of a search that is over and stays where it is.
    pub fn shared_distances(&mut self) -> Arc<Distances> {
        self.settle()
    }

    /// The next path of a listing.
    pub fn next_path(&self, list: &mut PathList<F>, work: &mut Work<'_>) -> Result<Listing, PathError> {
        match &mut list.form {
            ListForm::Point(point) => Ok(point.take().map_or(Listing::End, |vertex| {
                Listing::Path(Path { vertices: vec![vertex], edges: Vec::new() })
            })),
            ListForm::Backwards(lister) => {
                lister.next((&self.forward, &self.backward), self.distances(), work)
            }
            ListForm::Closed { trails, batch } => {
                batch.clear();
                let progress = trails.fill(work, batch, 1)?;
                if batch.is_empty() {
                    return Ok(if progress == Progress::Done { Listing::End } else { Listing::More });
                }
                let (vertices, edges) = batch.path(0);
                Ok(Listing::Path(Path { vertices: vertices.to_vec(), edges: edges.to_vec() }))
            }
        }
    }

    /// Bytes held; listings say their own.
    pub fn bytes(&self) -> usize {
        self.wave.bytes()
            + self.settled.as_ref().map_or(0, |distances| distances.bytes())
            + self.ends.capacity() * 4
            + self.missing.as_ref().map_or(0, |missing| missing.capacity() * 5)
            + self.returns.as_ref().map_or(0, Returns::bytes)
    }
}

impl<F: Adjacency> PathList<F> {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.form {
            ListForm::Point(_) => 0,
            ListForm::Backwards(lister) => lister.bytes(),
            ListForm::Closed { trails, batch } => trails.bytes() + batch.bytes(),
        }
    }
}
