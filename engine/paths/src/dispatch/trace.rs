//! Rebuilds shortest paths backwards, one for each end, when they are handed out.
//!
//! Idea: no parent is stored; the vertex before one at level `k` is the first in its list against the direction that the same source found at level
//! `k - 1`, so a path follows from the distances alone and does not depend on scheduling. Vertices before those on the way are cached for the paths
//! that run through them too, within a limit.
//! Invariant: the vertices of a path in progress are those from its end back to where it stands. It may be left at any look.
//! Cost: a look-up an edge of a path; a list, as far as the first vertex before, once a vertex and lane for all paths through it.

use super::ground::Ground;
use crate::adjacency::{Adjacency, EdgeScratch};
use crate::work::Work;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Vertices whose predecessor is remembered, for one worker: some seven megabytes. Then it begins anew.
const KNOWN_MAX: usize = 1 << 17;

/// How far a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// The work is over before it is whole.
    More,
    Whole,
    /// A vertex has none before it: reading its list failed.
    Lost,
}

/// A worker's path in progress, and its cache for one search.
#[derive(Default)]
pub(super) struct Tracer {
    /// The search that is remembered, by its first source's number.
    search: Option<u32>,
    /// By lane and vertex: the vertex before, and the edge between.
    known: HashMap<u64, (u32, u64), FixedState>,
    /// From the end backwards, without the end.
    vertices: Vec<u32>,
    edges: Vec<u64>,
    /// How much of the list of the vertex where it stands was looked at.
    scanned: usize,
    scratch: EdgeScratch,
}

impl Tracer {
    /// Paths of this search follow.
    pub(super) fn turn_to(&mut self, search: u32) {
        if self.search != Some(search) {
            self.known.clear();
            self.search = Some(search);
        }
    }

    /// Goes on with the path of `lane` to `end`, found at `level`. `is_at` says whether the lane found a vertex at
    /// a level; level 0 is the source's.
    pub(super) fn follow<A: Adjacency>(
        &mut self,
        ground: &Ground<A>,
        (lane, end, level): (u32, u32, u32),
        is_at: impl Fn(u32, u32) -> bool,
        work: &mut Work<'_>,
    ) -> Trace {
        let Some(back) = &ground.back else { return Trace::Lost };
        while (self.edges.len() as u32) < level && !work.is_over() {
            let vertex = self.vertices.last().copied().unwrap_or(end);
            let key = u64::from(lane) << 32 | u64::from(vertex);
            if let Some((near, edge)) = self.known.get(&key).copied() {
                work.charge(0);
                self.go_to(near, edge);
                continue;
            }
            let before = level - 1 - self.edges.len() as u32;
            let (neighbours, edges) = back.edges(vertex, &mut self.scratch);
            let stop = self.scanned + work.piece(neighbours.len() - self.scanned);
            let is_before = |at: &usize| {
                let (near, edge) = (neighbours[*at], edges[*at]);
                is_at(near, before)
                    && (!ground.graph.has_edge_predicate() || ground.graph.admits_edge(edge, near, vertex))
            };
            let found = (self.scanned..stop).find(is_before);
            work.charge(found.map_or(stop, |at| at + 1) - self.scanned);
            match found.map(|at| (neighbours[at], edges[at])) {
                Some((near, edge)) => {
                    // An end is asked about once; what lies on the way, once for each path through it.
                    if !self.edges.is_empty() {
                        self.remember(key, near, edge);
                    }
                    self.go_to(near, edge);
                }
                None if stop == neighbours.len() => {
                    self.take(|_, _| ());
                    return Trace::Lost;
                }
                None => self.scanned = stop,
            }
        }
        if self.edges.len() as u32 == level { Trace::Whole } else { Trace::More }
    }

    fn go_to(&mut self, near: u32, edge: u64) {
        self.vertices.push(near);
        self.edges.push(edge);
        self.scanned = 0;
    }

    fn remember(&mut self, key: u64, near: u32, edge: u64) {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(key, (near, edge));
    }

    /// The path that is whole, from its end backwards without the end; the next one begins.
    pub(super) fn take(&mut self, mut take: impl FnMut(&[u32], &[u64])) {
        take(&self.vertices, &self.edges);
        self.vertices.clear();
        self.edges.clear();
        self.scanned = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.known.capacity() * (size_of::<(u64, (u32, u64))>() + 1)
            + self.vertices.capacity() * 4
            + self.edges.capacity() * 8
            + self.scratch.bytes()
    }
}
