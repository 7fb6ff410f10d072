//! Shortest paths between two bound vertices, one or all.
//!
//! Idea: two waves, one from each end, the cheaper one first, until a level of one meets the other; the met vertices are
//! the middle of every shortest path. Then mark what lies between the middle and the target, and list paths from
//! the target backwards: behind the middle by marks, before it by distance, so no branch is a dead end.
//! Invariant: a whole level is finished after the first meeting, so the middle is complete, and the answer does not
//! depend on quotas or on the order of lists. Cost: about the square root of what one wave would visit.

use crate::adjacency::{Adjacency, EdgeScratch};
use crate::distances::Distances;
use crate::error::PathError;
use crate::frontier::checked_sources;
use crate::hops::{Hops, Orientation};
use crate::lister::{Levels, Lister, Listing};
use crate::path::Path;
use crate::shortest_from::{PathList, ShortestFrom, Targets};
use crate::wave::{Gate, Wave};
use crate::work::{Progress, Work};
use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// All shortest paths from one vertex to another, listed lazily.
pub struct AllShortestPair<F, B> {
    forward: F,
    backward: B,
    source: u32,
    target: u32,
    form: Form<F, B>,
}

enum Form<F, B> {
    /// No path, as far as known without a search or after it.
    None,
    /// Source and target are one vertex, and a path without edges will do; given or not.
    Point { is_given: bool },
    /// They are one vertex, and a closed path is wanted.
    Closed { search: Box<ShortestFrom<F, B>>, list: Option<PathList<F>> },
    /// They are two.
    Apart(Box<Apart>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Ahead,
    Behind,
    Marking,
    Listing,
}

struct Apart {
    hops_max: u32,
    phase: Phase,
    ahead: Wave,
    behind: Wave,
    /// The middle, then the vertices marked behind it, in the order of marking.
    middle: Vec<u32>,
    marks: HashSet<u32, FixedState>,
    mark_cursor: usize,
    mark_edge_cursor: usize,
    scratch: EdgeScratch,
    /// Distance of the middle from the source.
    middle_level: u32,
    length: u32,
    lister: Option<Lister>,
}

/// Which vertices lie on a shortest path: by distance up to the middle, by marks behind it.
struct Between<'a> {
    ahead: &'a Distances,
    behind: &'a Distances,
    marks: &'a HashSet<u32, FixedState>,
    middle_level: u32,
    length: u32,
}

impl Levels for Between<'_> {
    fn is_at(&self, vertex: u32, level: u32) -> bool {
        if level <= self.middle_level {
            return self.ahead.get(vertex) == Some(level);
        }
        self.behind.get(vertex) == Some(self.length - level) && self.marks.contains(&vertex)
    }
}

impl<F: Adjacency + Clone, B: Adjacency + Clone> AllShortestPair<F, B> {
    /// Searches along `forward` from `source` and along `backward` (the same graph against the direction, the same again if undirected) from
    /// `target`. Predicates are those of `forward`. `hops.min` is 0 or 1.
    pub fn new(
        forward: F,
        backward: B,
        source: u32,
        target: u32,
        hops: Hops,
        orientation: Orientation,
    ) -> Result<Self, PathError> {
        let hops = hops.checked_by_distance()?;
        let bound = forward.vertex_bound();
        checked_sources(&[source, target], bound)?;
        let form = if source == target && hops.min == 0 {
            Form::Point { is_given: false }
        } else if source == target {
            let (along, against) = (forward.clone(), backward.clone());
            let search =
                ShortestFrom::new(along, against, source, Targets::Some(&[target]), hops, orientation)?;
            Form::Closed { search: Box::new(search), list: None }
        } else if hops.max == 0 || !forward.admits_vertex(target) {
            Form::None
        } else {
            Form::Apart(Box::new(Apart::new(bound, source, target, hops.max)))
        };
        Ok(AllShortestPair { forward, backward, source, target, form })
    }

    /// Searches until the work is over or the length is known and paths can be listed.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        match &mut self.form {
            Form::None | Form::Point { .. } => {}
            Form::Closed { search, list } => {
                if search.step(work)? == Progress::More {
                    return Ok(Progress::More);
                }
                if list.is_none() {
                    *list = search.paths_to(self.target)?;
                }
            }
            Form::Apart(apart) => {
                match apart.step((&self.forward, &self.backward), (self.source, self.target), work)? {
                    None => return Ok(Progress::More),
                    Some(true) => {}
                    Some(false) => self.form = Form::None,
                }
            }
        }
        if self.forward.failure() || self.backward.failure() {
            return Err(PathError::GraphFailed);
        }
        Ok(Progress::Done)
    }

    /// Searches until the work is over or the length is known: from the first vertex that both waves have met, without marking for listing. For
    /// callers that need no path.
    pub fn step_to_length(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        let Form::Apart(apart) = &mut self.form else { return self.step(work) };
        match apart.measure((&self.forward, &self.backward), self.source, work)? {
            None => return Ok(Progress::More),
            Some(true) => {}
            Some(false) => self.form = Form::None,
        }
        if self.forward.failure() || self.backward.failure() {
            return Err(PathError::GraphFailed);
        }
        Ok(Progress::Done)
    }

    /// The length of the shortest paths, once the search is done; `None` if there is no path.
    pub fn length(&self) -> Option<u32> {
        match &self.form {
            Form::None => None,
            Form::Point { .. } => Some(0),
            Form::Closed { search, .. } => search.distance(self.target),
            Form::Apart(apart) => Some(apart.length).filter(|length| *length > 0),
        }
    }

    /// The next path. Searches first if that is not done. Paths come in an order that depends on ids alone: compared from
    /// the target backwards, smallest (vertex, edge) first (closed undirected ones: in the order of the lists).
    pub fn next_path(&mut self, work: &mut Work<'_>) -> Result<Listing, PathError> {
        if self.step(work)? == Progress::More {
            return Ok(Listing::More);
        }
        match &mut self.form {
            Form::None => Ok(Listing::End),
            Form::Point { is_given } if *is_given => Ok(Listing::End),
            Form::Point { is_given } => {
                *is_given = true;
                Ok(Listing::Path(Path { vertices: vec![self.source], edges: Vec::new() }))
            }
            Form::Closed { search, list } => match list {
                Some(list) => search.next_path(list, work),
                None => Ok(Listing::End),
            },
            Form::Apart(apart) => apart.next_path((&self.forward, &self.backward), self.target, work),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::None | Form::Point { .. } => 0,
            Form::Closed { search, list } => search.bytes() + list.as_ref().map_or(0, PathList::bytes),
            Form::Apart(apart) => apart.bytes(),
        }
    }
}

impl Apart {
    fn new(bound: u32, source: u32, target: u32, hops_max: u32) -> Apart {
        Apart {
            hops_max,
            phase: Phase::Ahead,
            ahead: Wave::new(bound, source),
            behind: Wave::new(bound, target),
            middle: Vec::new(),
            marks: HashSet::default(),
            mark_cursor: 0,
            mark_edge_cursor: 0,
            scratch: EdgeScratch::default(),
            middle_level: 0,
            length: 0,
            lister: None,
        }
    }

    /// `None`: more to do. Otherwise whether there is a path.
    fn step<F: Adjacency, B: Adjacency>(
        &mut self,
        graphs: (&F, &B),
        (source, target): (u32, u32),
        work: &mut Work<'_>,
    ) -> Result<Option<bool>, PathError> {
        loop {
            if self.phase == Phase::Listing {
                return Ok(Some(true));
            }
            if work.is_over() {
                let is_failed = graphs.0.failure() || graphs.1.failure();
                return if is_failed { Err(PathError::GraphFailed) } else { Ok(None) };
            }
            match self.phase {
                Phase::Ahead if !self.ahead.level_is_done() => self.expand_ahead(graphs.0, work),
                Phase::Behind if !self.behind.level_is_done() => self.expand_behind(graphs, source, work),
                Phase::Marking => self.mark(graphs.0, target, work),
                _ => {
                    if !self.end_level(graphs) {
                        return Ok(Some(false));
                    }
                }
            }
        }
    }

    /// As [`Apart::step`], until the waves have met.
    fn measure<F: Adjacency, B: Adjacency>(
        &mut self,
        graphs: (&F, &B),
        source: u32,
        work: &mut Work<'_>,
    ) -> Result<Option<bool>, PathError> {
        loop {
            if !self.middle.is_empty() {
                self.length = self.ahead.depth + self.behind.depth + 1;
                return Ok(Some(true));
            }
            if work.is_over() {
                let is_failed = graphs.0.failure() || graphs.1.failure();
                return if is_failed { Err(PathError::GraphFailed) } else { Ok(None) };
            }
            match self.phase {
                Phase::Ahead if !self.ahead.level_is_done() => self.expand_ahead(graphs.0, work),
                Phase::Behind if !self.behind.level_is_done() => self.expand_behind(graphs, source, work),
                _ => {
                    if !self.end_level(graphs) {
                        return Ok(Some(false));
                    }
                }
            }
        }
    }

    fn expand_ahead<F: Adjacency>(&mut self, forward: &F, work: &mut Work<'_>) {
        let gate = Gate {
            vertex: |vertex| forward.admits_vertex(vertex),
            edge: |edge, near, far| forward.admits_edge(edge, near, far),
            asks_edges: forward.has_edge_predicate(),
        };
        let before = self.ahead.next.len();
        self.ahead.expand(forward, &gate, work);
        for &found in &self.ahead.next[before..] {
            if self.behind.distances.get(found).is_some() {
                self.middle.push(found);
            }
        }
    }

    fn expand_behind<F: Adjacency, B: Adjacency>(
        &mut self,
        (forward, backward): (&F, &B),
        source: u32,
        work: &mut Work<'_>,
    ) {
        let gate = Gate {
            vertex: |vertex| vertex == source || forward.admits_vertex(vertex),
            edge: |edge, near, far| forward.admits_edge(edge, far, near),
            asks_edges: forward.has_edge_predicate(),
        };
        let before = self.behind.next.len();
        self.behind.expand(backward, &gate, work);
        for &found in &self.behind.next[before..] {
            if self.ahead.distances.get(found).is_some() {
                self.middle.push(found);
            }
        }
    }

    /// One side's level is complete: have they met, and if not, which side is next? False if there is no path.
    fn end_level<F: Adjacency, B: Adjacency>(&mut self, (forward, backward): (&F, &B)) -> bool {
        if !self.middle.is_empty() {
            self.length = self.ahead.depth + self.behind.depth + 1;
            self.middle_level = self.ahead.depth + (self.phase == Phase::Ahead) as u32;
            self.marks = self.middle.iter().copied().collect();
            self.phase = Phase::Marking;
            return true;
        }
        let wave = if self.phase == Phase::Ahead { &mut self.ahead } else { &mut self.behind };
        wave.turn();
        let is_at_end = wave.frontier.is_empty() || self.ahead.depth + self.behind.depth >= self.hops_max;
        if is_at_end || forward.failure() || backward.failure() {
            return false;
        }
        let is_ahead_cheaper =
            volume(&self.ahead.frontier, forward) <= volume(&self.behind.frontier, backward);
        self.phase = if is_ahead_cheaper { Phase::Ahead } else { Phase::Behind };
        true
    }

    /// Marks a part of the vertices between the middle and the target.
    fn mark<F: Adjacency>(&mut self, forward: &F, target: u32, work: &mut Work<'_>) {
        let Some(&vertex) = self.middle.get(self.mark_cursor) else {
            self.lister = Some(Lister::new(target, self.length));
            self.phase = Phase::Listing;
            return;
        };
        let distance = self.behind.distances.get(vertex).unwrap_or_default();
        if distance <= 1 {
            self.mark_cursor += 1;
            return work.charge(0);
        }
        let (neighbours, edges) = forward.edges(vertex, &mut self.scratch);
        let end = self.mark_edge_cursor + work.piece(neighbours.len() - self.mark_edge_cursor);
        for at in self.mark_edge_cursor..end {
            let (far, edge) = (neighbours[at], edges[at]);
            let is_nearer = self.behind.distances.get(far) == Some(distance - 1);
            let is_admitted = || !forward.has_edge_predicate() || forward.admits_edge(edge, vertex, far);
            if is_nearer && is_admitted() && self.marks.insert(far) {
                self.middle.push(far);
            }
        }
        work.charge(end - self.mark_edge_cursor);
        let is_finished = end == neighbours.len();
        self.mark_edge_cursor = if is_finished { 0 } else { end };
        self.mark_cursor += is_finished as usize;
    }

    fn next_path<F: Adjacency, B: Adjacency>(
        &mut self,
        graphs: (&F, &B),
        target: u32,
        work: &mut Work<'_>,
    ) -> Result<Listing, PathError> {
        let between = Between {
            ahead: &self.ahead.distances,
            behind: &self.behind.distances,
            marks: &self.marks,
            middle_level: self.middle_level,
            length: self.length,
        };
        let length = self.length;
        self.lister.get_or_insert_with(|| Lister::new(target, length)).next(graphs, &between, work)
    }

    fn bytes(&self) -> usize {
        self.ahead.bytes()
            + self.behind.bytes()
            + self.middle.capacity() * 4
            + self.marks.capacity() * 5
            + self.scratch.bytes()
            + self.lister.as_ref().map_or(0, Lister::bytes)
    }
}

/// Edges that leave these vertices, judged by the first thousand.
fn volume(vertices: &[u32], graph: &impl Adjacency) -> u64 {
    const SAMPLE_MAX: usize = 1024;
    let sample = &vertices[..vertices.len().min(SAMPLE_MAX)];
    let sum: u64 = sample.iter().map(|&vertex| graph.degree(vertex) as u64).sum();
    sum * vertices.len() as u64 / sample.len().max(1) as u64
}

/// One shortest path from one vertex to another: the first of [`AllShortestPair`].
pub struct ShortestPair<F, B> {
    all: AllShortestPair<F, B>,
    answer: Option<Option<Path>>,
}

impl<F: Adjacency + Clone, B: Adjacency + Clone> ShortestPair<F, B> {
    /// As [`AllShortestPair::new`].
    pub fn new(
        forward: F,
        backward: B,
        source: u32,
        target: u32,
        hops: Hops,
        orientation: Orientation,
    ) -> Result<Self, PathError> {
        let all = AllShortestPair::new(forward, backward, source, target, hops, orientation)?;
        Ok(ShortestPair { all, answer: None })
    }

    /// Goes on until the work is over or the path is known.
    pub fn step(&mut self, work: &mut Work<'_>) -> Result<Progress, PathError> {
        if self.answer.is_none() {
            self.answer = match self.all.next_path(work)? {
                Listing::More => return Ok(Progress::More),
                Listing::Path(path) => Some(Some(path)),
                Listing::End => Some(None),
            };
        }
        Ok(Progress::Done)
    }

    /// The path, once the search is done; `None` if there is none.
    pub fn path(&self) -> Option<&Path> {
        self.answer.as_ref().and_then(Option::as_ref)
    }

    /// Its length, once the search is done.
    pub fn length(&self) -> Option<u32> {
        self.path().map(Path::length)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.all.bytes() + self.path().map_or(0, Path::bytes)
    }
}
