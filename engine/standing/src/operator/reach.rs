//! Distances from every source, maintained edge by edge: reachability and shortest paths on a graph that changes.
//!
//! For each source the distances of a breadth-first search are kept. An edge that comes can only shorten them: what it improves is
//! relaxed outwards. An edge that goes can only lengthen those that leant on it: in order of their old distance, each vertex that has no
//! other neighbour one step nearer is *affected*; the affected then get their distances anew from those that are not (Ramalingam and
//! Reps 1996, "An incremental algorithm for a generalization of the shortest-path problem", for edges of length one). Work is
//! proportional to the affected vertices and their edges; the sources that a change concerns are found backwards from it.
//!
//! Whether a source is its own target is said by [`SourceStart`].

use super::returns::shortest_return;
use super::walk::{SourceStart, Walk};
use crate::StandingError;
use crate::event_context::{Changes, EventContext};
use crate::row::Row;
use crate::table::{HashMap, HashSet};
use crate::view::{Timestamp, View};
use crate::weight::Weight;
use model::{Direction, EdgeRef, EdgeTypeId, Value, VertexId};
use std::collections::BTreeMap;

/// Distances from one source, itself at 0.
pub(super) struct Source {
    pub(super) distances: HashMap<VertexId, u32>,
    /// Length of the shortest cycle through it.
    pub(super) cycle: Option<u32>,
}

/// Distances from all sources.
pub(crate) struct Reach {
    walk: Walk,
    sources: HashMap<VertexId, Source>,
}

/// The graph of a walk at one timestamp.
pub(super) struct Ground<'a> {
    view: &'a View,
    types: Vec<EdgeTypeId>,
    /// None of the types exists yet.
    is_barren: bool,
    pub(super) direction: Direction,
    timestamp: Timestamp,
    pub(super) max: u32,
}

/// Where one can go from a vertex, and from where one gets to it.
pub(super) trait Ways {
    /// Most steps of a walk.
    fn max(&self) -> u32;
    /// Where a step leads.
    fn next(&self, vertex: VertexId, found: &mut dyn FnMut(VertexId)) -> Result<(), StandingError>;
    /// Calls `found` with the vertices from which a step leads to this one.
    fn previous(&self, vertex: VertexId, found: &mut dyn FnMut(VertexId)) -> Result<(), StandingError>;
}

/// Edges that went and came at a timestamp: pairs of the near and the far end, as the walk goes.
#[derive(Default)]
pub(super) struct Moved {
    pub gone: Vec<(VertexId, VertexId)>,
    pub come: Vec<(VertexId, VertexId)>,
}

impl Moved {
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.come.is_empty()
    }
}

impl<'a> Ground<'a> {
    /// The graph of a walk in this direction, up to `max` edges.
    pub fn of(walk: &Walk, turn: &EventContext<'a>, direction: Direction, max: u32) -> Ground<'a> {
        let catalog = turn.view.newest().catalog();
        let types: Vec<EdgeTypeId> = walk.types.iter().filter_map(|name| catalog.edge_type(name)).collect();
        let is_barren = !walk.types.is_empty() && types.is_empty();
        Ground { view: turn.view, types, is_barren, direction, timestamp: turn.timestamp, max }
    }
    /// Its changes at this timestamp.
    pub fn moved(&self, turn: &EventContext<'_>) -> Moved {
        let mut moved = Moved::default();
        for (edge, diff) in turn.touched.iter().filter(|_| !self.is_barren).flat_map(|touched| &touched.moved)
        {
            if !self.types.is_empty() && !self.types.contains(&edge.id.edge_type()) {
                continue;
            }
            let (forth, back) = ((edge.source, edge.target), (edge.target, edge.source));
            let ends = match self.direction {
                Direction::Out => vec![forth],
                Direction::In => vec![back],
                Direction::Both => vec![forth, back],
            };
            if *diff < 0 { &mut moved.gone } else { &mut moved.come }.extend(ends);
        }
        moved
    }
    /// The edges of a step from a vertex.
    pub(super) fn edges(
        &self,
        vertex: VertexId,
        found: &mut dyn FnMut(EdgeRef),
    ) -> Result<(), StandingError> {
        if self.is_barren {
            return Ok(());
        }
        Ok(self.view.edges(vertex, &self.types, self.direction, self.timestamp, found)?)
    }
    fn neighbours(
        &self,
        vertex: VertexId,
        direction: Direction,
        found: &mut dyn FnMut(VertexId),
    ) -> Result<(), StandingError> {
        if self.is_barren {
            return Ok(());
        }
        let each = |edge: EdgeRef| found(if edge.source == vertex { edge.target } else { edge.source });
        Ok(self.view.edges(vertex, &self.types, direction, self.timestamp, each)?)
    }
}

impl Ways for Ground<'_> {
    fn max(&self) -> u32 {
        self.max
    }
    fn next(&self, vertex: VertexId, found: &mut dyn FnMut(VertexId)) -> Result<(), StandingError> {
        self.neighbours(vertex, self.direction, found)
    }
    fn previous(&self, vertex: VertexId, found: &mut dyn FnMut(VertexId)) -> Result<(), StandingError> {
        self.neighbours(vertex, self.direction.reversed(), found)
    }
}

/// Vertices by the distance at which they are to be processed.
#[derive(Default)]
struct Due(BTreeMap<u32, Vec<VertexId>>);

impl Due {
    fn push(&mut self, distance: u32, vertex: VertexId) {
        self.0.entry(distance).or_default().push(vertex);
    }
    fn pop(&mut self) -> Option<(u32, VertexId)> {
        let mut first = self.0.first_entry()?;
        let (distance, vertex) = (*first.key(), first.get_mut().pop());
        if first.get().is_empty() {
            first.remove();
        }
        vertex.map(|vertex| (distance, vertex))
    }
}

impl Source {
    /// Searches from a source.
    pub fn begin(source: VertexId, ground: &impl Ways) -> Result<Source, StandingError> {
        let mut state = Source { distances: HashMap::default(), cycle: None };
        let mut due = Due::default();
        due.push(0, source);
        state.relax(due, ground, &mut HashMap::default())?;
        Ok(state)
    }
    /// Sets a distance, and notes the one before this timestamp.
    fn set(&mut self, vertex: VertexId, distance: Option<u32>, before: &mut HashMap<VertexId, Option<u32>>) {
        let old = match distance {
            Some(distance) => self.distances.insert(vertex, distance),
            None => self.distances.remove(&vertex),
        };
        before.entry(vertex).or_insert(old);
    }
    /// Relaxes outwards: each vertex at its least distance.
    fn relax(
        &mut self,
        mut due: Due,
        ground: &impl Ways,
        before: &mut HashMap<VertexId, Option<u32>>,
    ) -> Result<(), StandingError> {
        while let Some((distance, vertex)) = due.pop() {
            if distance > ground.max() || self.distances.get(&vertex).is_some_and(|known| *known <= distance)
            {
                continue;
            }
            self.set(vertex, Some(distance), before);
            ground.next(vertex, &mut |next| {
                if self.distances.get(&next).is_none_or(|known| *known > distance + 1) {
                    due.push(distance + 1, next);
                }
            })?;
        }
        Ok(())
    }
    /// Takes up edges that went and came. `before` gets the distances that changed, as they were.
    pub(super) fn change(
        &mut self,
        source: VertexId,
        moved: &Moved,
        ground: &impl Ways,
        before: &mut HashMap<VertexId, Option<u32>>,
    ) -> Result<(), StandingError> {
        let mut suspects = Due::default();
        for (near, far) in &moved.gone {
            if let (Some(here), Some(there)) = (self.distances.get(near), self.distances.get(far))
                && here + 1 == *there
            {
                suspects.push(*there, *far);
            }
        }
        let mut affected: HashSet<VertexId> = HashSet::default();
        let mut in_order = Vec::new();
        while let Some((distance, vertex)) = suspects.pop() {
            if vertex == source || affected.contains(&vertex) {
                continue;
            }
            let mut is_held = false;
            ground.previous(vertex, &mut |near| {
                let nearer = self.distances.get(&near).is_some_and(|known| known + 1 == distance);
                is_held |= nearer && !affected.contains(&near);
            })?;
            if is_held {
                continue;
            }
            affected.insert(vertex);
            in_order.push(vertex);
            ground.next(vertex, &mut |far| {
                if self.distances.get(&far).is_some_and(|known| *known == distance + 1) {
                    suspects.push(distance + 1, far);
                }
            })?;
        }
        in_order.iter().for_each(|vertex| self.set(*vertex, None, before));
        let mut due = Due::default();
        for vertex in &in_order {
            let mut best: Option<u32> = None;
            ground.previous(*vertex, &mut |near| {
                if let Some(known) = self.distances.get(&near) {
                    best = Some(best.map_or(known + 1, |best| best.min(known + 1)));
                }
            })?;
            best.into_iter().for_each(|best| due.push(best, *vertex));
        }
        for (near, far) in &moved.come {
            if let Some(known) = self.distances.get(near) {
                due.push(known + 1, *far);
            }
        }
        self.relax(due, ground, before)
    }
    pub(super) fn cycle(&self, source: VertexId, ground: &impl Ways) -> Result<Option<u32>, StandingError> {
        let mut best: Option<u32> = None;
        ground.previous(source, &mut |near| {
            if let Some(known) = self.distances.get(&near) {
                best = Some(best.map_or(known + 1, |best| best.min(known + 1)));
            }
        })?;
        Ok(best.filter(|best| *best <= ground.max()))
    }
    /// The distance of this source to itself.
    pub(super) fn own(&self, home: SourceStart) -> Option<u32> {
        match home {
            SourceStart::Near => Some(0),
            SourceStart::Cycle => self.cycle,
            SourceStart::Never => None,
        }
    }
}

fn row(source: VertexId, target: VertexId, distance: u32) -> Row {
    Row::new([Value::Vertex(source), Value::Vertex(target), Value::Int(i64::from(distance))])
}

impl Reach {
    /// A walk from no source.
    pub fn new(walk: Walk) -> Reach {
        Reach { walk, sources: HashMap::default() }
    }
    /// Rows of source, target and distance that come and go. The input's only column is the source, each once.
    pub fn advance(&mut self, turn: &EventContext<'_>, input: &Changes) -> Result<Changes, StandingError> {
        let ground = Ground::of(&self.walk, turn, self.walk.direction, self.walk.max.unwrap_or(u32::MAX - 1));
        let mut found = Changes::new();
        let moved = ground.moved(turn);
        if !moved.is_empty() {
            match self.concerned(&moved, &ground)? {
                Some(sources) => {
                    for source in sources {
                        let Some(state) = self.sources.get_mut(&source) else { continue };
                        update(source, state, &moved, &ground, &self.walk, &mut found)?;
                    }
                }
                None => {
                    for (source, state) in &mut self.sources {
                        update(*source, state, &moved, &ground, &self.walk, &mut found)?;
                    }
                }
            }
        }
        for (given, diff) in input {
            let Value::Vertex(source) = given.values()[0] else { continue };
            if *diff < 0 {
                if let Some(state) = self.sources.remove(&source) {
                    tell_all(source, &state, self.walk.home, -1, &mut found);
                }
                continue;
            }
            let mut state = Source::begin(source, &ground)?;
            state.cycle = way_back(source, &state, &self.walk, &ground)?;
            tell_all(source, &state, self.walk.home, 1, &mut found);
            self.sources.insert(source, state);
        }
        Ok(found)
    }
}

impl Reach {
    /// Vertices from which a walk comes, or came, to where an edge moved, those among them that are sources; none where to find them takes more than to
    /// ask each source.
    ///
    /// They are found backwards, over the graph as it is now. A source that only came there before went over an edge that is gone: it still comes to the
    /// first of these.
    fn concerned(
        &self,
        moved: &Moved,
        ground: &Ground<'_>,
    ) -> Result<Option<HashSet<VertexId>>, StandingError> {
        let mut met: HashSet<VertexId> =
            moved.gone.iter().chain(&moved.come).map(|(near, _)| *near).collect();
        let back = ground.view.newest().adjacency(&ground.types, ground.direction.reversed());
        let (mut now, mut looked) = (met.iter().copied().collect::<Vec<_>>(), met.len());
        for _ in 0..ground.max() {
            let mut next = Vec::new();
            for vertex in now {
                // A hub is not gone through to find that it is one.
                looked += back.degree_about(vertex.dense())? as usize;
                if looked > self.sources.len() {
                    return Ok(None);
                }
                ground.previous(vertex, &mut |before| {
                    if met.insert(before) {
                        next.push(before);
                    }
                })?;
            }
            if next.is_empty() {
                break;
            }
            now = next;
        }
        met.retain(|vertex| self.sources.contains_key(vertex));
        Ok(Some(met))
    }
}

/// The shortest way from a source back to it, where it counts.
fn way_back(
    source: VertexId,
    state: &Source,
    walk: &Walk,
    ground: &Ground<'_>,
) -> Result<Option<u32>, StandingError> {
    match (walk.home, walk.direction) {
        (SourceStart::Near | SourceStart::Never, _) => Ok(None),
        (SourceStart::Cycle, Direction::Both) => shortest_return(source, walk.back, ground),
        (SourceStart::Cycle, _) => state.cycle(source, ground),
    }
}

fn tell_all(source: VertexId, state: &Source, home: SourceStart, diff: isize, found: &mut Changes) {
    let others = state.distances.iter().filter(|(target, _)| **target != source);
    found.extend(others.map(|(target, distance)| (row(source, *target, *distance), diff)));
    found.extend(state.own(home).map(|distance| (row(source, source, distance), diff)));
}

fn update(
    source: VertexId,
    state: &mut Source,
    moved: &Moved,
    ground: &Ground<'_>,
    walk: &Walk,
    found: &mut Changes,
) -> Result<(), StandingError> {
    let mut before = HashMap::default();
    state.change(source, moved, ground, &mut before)?;
    let own_before = state.own(walk.home);
    // Undirected, an edge may close a cycle and change no distance.
    let is_near = |(near, far): &(VertexId, VertexId)| match walk.direction {
        Direction::Both => state.distances.contains_key(near),
        _ => *far == source,
    };
    if !before.is_empty() || moved.gone.iter().chain(&moved.come).any(is_near) {
        state.cycle = way_back(source, state, walk, ground)?;
    }
    let own_after = state.own(walk.home);
    if own_before != own_after {
        found.extend(own_before.map(|distance| (row(source, source, distance), -1)));
        found.extend(own_after.map(|distance| (row(source, source, distance), 1)));
    }
    for (target, old) in before.into_iter().filter(|(target, _)| *target != source) {
        let new = state.distances.get(&target).copied();
        if old != new {
            found.extend(old.map(|distance| (row(source, target, distance), -1)));
            found.extend(new.map(|distance| (row(source, target, distance), 1)));
        }
    }
    Ok(())
}

impl Weight for Source {
    fn bytes_behind(&self) -> usize {
        self.distances.bytes_behind()
    }
}

impl Weight for Reach {
    fn bytes_behind(&self) -> usize {
        self.sources.bytes_behind()
    }
}
